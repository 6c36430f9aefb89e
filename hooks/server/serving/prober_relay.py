"""The path by which other hooks pods reach the prober of this pod, which listens on loopback only.

They show a token of their own, because that of callers is for what changes nothing.
"""

from collections.abc import Callable, Mapping

from flask import Flask, Response, request

from hooks.server.serving.call_id import CallId, read_call_id
from hooks.server.serving.callers import RefuseCaller
from hooks.server.serving.web import expect_token, read_body

Send = Callable[[str, str, bytes, CallId], bytes]
"""Sends an object's namespace and name, a body and of which call it is to this pod's prober, and returns its answer."""


def serve_relay(app: Flask, path: str, sends: Mapping[str, Send], refuse: RefuseCaller) -> None:
    """Pass requests below a path on to this pod's prober, which refuses them if it does not act.

    `sends` are by what they are about, as the prober's paths have it: `models`, `frontends`.
    """
    for about, send in sends.items():

        def relay(namespace: str, name: str, send: Send = send) -> Response:
            expect_token(refuse)
            body = read_body(app.config["MAX_CONTENT_LENGTH"] - 1)
            answer = send(namespace, name, body, read_call_id(request.headers))
            return Response(answer, mimetype="application/json")

        rule = f"{path}/v1/{about}/<namespace>/<name>"
        app.add_url_rule(rule, f"prober_relay/{about}", relay, methods=["PUT"])
