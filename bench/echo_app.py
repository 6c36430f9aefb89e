"""The hooks' own server with the extra paths `POST /echo`, which answers with the request's body, and `/echo/json`.

The latter parses the body and writes it again with orjson, which is the least that a hook without caches has to do.

Arguments: address, processes, threads, and settings as `key=value`.
"""

import sys
from collections.abc import Callable
from datetime import UTC, datetime

import orjson
from flask import Flask, Response

from hooks.ground.settings import parse_settings
from hooks.server.serving.logs import set_up_logging
from hooks.server.serving.server import ServerOptions, run_server
from hooks.server.serving.web import ServedBy, read_body

_LIMIT = parse_settings({}).max_body_bytes


def load(is_draining: Callable[[], bool]) -> Flask:
    """The hooks' application with the echo, which uses the same server, Flask and request ids."""
    from hooks.server.app import create_app  # noqa: PLC0415 - its metrics look at the environment when imported

    served_by = ServedBy(is_draining=is_draining, at_once=int(sys.argv[3]))
    settings = parse_settings({}, dict(pair.split("=", 1) for pair in sys.argv[4:]))
    app = create_app(settings, lambda: datetime.now(UTC), served_by=served_by)
    app.add_url_rule("/echo", "echo", echo, methods=["POST"])
    app.add_url_rule("/echo/json", "echo/json", echo_json, methods=["POST"])
    return app


def echo() -> Response:
    return Response(read_body(_LIMIT), mimetype="application/json")


def echo_json() -> Response:
    return Response(orjson.dumps(orjson.loads(read_body(_LIMIT))), mimetype="application/json")


if __name__ == "__main__":
    set_up_logging("info")
    run_server(ServerOptions(bind=sys.argv[1], workers=int(sys.argv[2])), load)
