"""The floor: a server that answers with the same objects and two statuses, all of them made before the run.

It decides nothing but whether a parent is ready. It runs in the hooks' own server.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from flask import Flask, Response, request

from bench.cluster.simulated import NAMESPACE, is_ready, name_graph, simulate
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.server.serving.logs import set_up_logging
from hooks.server.serving.server import ServerOptions, run_server
from hooks.server.serving.web import ServedBy, create_bare_app

_TEMPLATE = name_graph(0)
_MAX_BODY_BYTES = 2**24

Answers = Mapping[tuple[str, str], tuple[bytes, bytes]]
"""By path and name of the parent, of the graph `_TEMPLATE`: the answer while it is not ready, and when it is."""


def main() -> None:
    """Serve at the address in the first argument, with as many processes as the second says."""
    answers = precompute()
    set_up_logging("warning")
    run_server(
        ServerOptions(bind=sys.argv[1], workers=int(sys.argv[2])),
        lambda is_draining: create_floor(answers, is_draining),
    )


def precompute() -> Answers:
    """The answers of the project's hooks about one graph: the first, and the last."""
    recorder, _ = simulate(1)
    return {key: (_without_resync(recorder.first[key]), _without_resync(recorder.last[key])) for key in recorder.last}


def create_floor(answers: Answers, is_draining: Callable[[], bool] = lambda: False) -> Flask:
    """The application: health probes, and every path of `answers`."""
    app = create_bare_app("floor", "a path of a hook", _MAX_BODY_BYTES, ServedBy(is_draining=is_draining))

    def answer() -> Response:
        body = orjson.loads(request.get_data(cache=False))
        parent = body.get("parent") or body["object"]
        name, namespace = parent["metadata"]["name"], parent["metadata"]["namespace"]
        own = name[: len(_TEMPLATE)]
        pending, ready = answers[request.path, _TEMPLATE + name[len(_TEMPLATE) :]]
        text = ready if _is_ready(body) else pending
        text = text.replace(_TEMPLATE.encode(), own.encode())
        text = text.replace(b'"namespace":"%s"' % NAMESPACE.encode(), orjson.dumps({"namespace": namespace})[1:-1])
        return Response(text, mimetype="application/json")

    for path in sorted({path for path, _ in answers}):
        app.add_url_rule(path, path, answer, methods=["POST"])
    return app


def _is_ready(body: Mapping[str, Any]) -> bool:
    """Whether all components of a graph are ready, or the Deployment of a component is complete."""
    children = body.get("children") or {}
    if (components := children.get(contract.COMPONENT.key)) is not None:
        return bool(components) and all(is_ready(one) for one in components.values())
    deployments = (children.get(kinds.DEPLOYMENT.key) or {}).values()
    return bool(deployments) and all(_is_complete(one) for one in deployments)


def _is_complete(deployment: Mapping[str, Any]) -> bool:
    available = (deployment.get("status") or {}).get("availableReplicas", 0)
    return bool(available == deployment["spec"]["replicas"])


def _without_resync(answer: Mapping[str, Any]) -> bytes:
    return orjson.dumps({key: value for key, value in answer.items() if key != "resyncAfterSeconds"})


if __name__ == "__main__":
    main()
