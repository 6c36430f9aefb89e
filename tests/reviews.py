"""AdmissionReviews and ConversionReviews as the API server posts them, and what it is answered."""

import base64
from typing import Any

import orjson
from flask import Flask

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, plural_of
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Review, Verdict
from hooks.server.admission.app import create_admission_app
from tests import make

GRAPHS = plural_of(contract.GRAPH)
MAY_PASS = Verdict(problems=())


def review(new: Any = None, old: Any = None, **fields: Any) -> dict[str, Any]:
    """A review of a graph that is created, or updated where `old` is given; `fields` go into the request."""
    request = {
        "uid": "u-1",
        "operation": "UPDATE" if old is not None else "CREATE",
        "name": "g",
        "namespace": "default",
        "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
        "object": make.graph() if new is None else new,
        "oldObject": old,
        "dryRun": False,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**request, **fields}}


def conversion_review(version: str = "v1beta1", *objects: Any, **fields: Any) -> dict[str, Any]:
    """A review of objects, or of one graph, that are wanted in a version; `fields` go into the request."""
    request = {"uid": "u-1", "desiredAPIVersion": f"nvidia.com/{version}", "objects": list(objects) or [make.graph()]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {**request, **fields}}


def admission_app(verdict: Verdict = MAY_PASS, patch: list[dict[str, Any]] | None = None, **options: Any) -> Flask:
    """An application whose only rule says this of every graph; `asked` in its config lists the reviews."""
    asked: list[Review] = []

    def rule(review: Review) -> Verdict:
        asked.append(review)
        return verdict

    def default(review: Review) -> list[dict[str, Any]]:
        asked.append(review)
        return patch or []

    settings = parse_settings({}, {"max_body_bytes": "8KiB"})
    app = create_admission_app(settings, {GRAPHS: rule}, {GRAPHS: default}, **options)
    app.config["asked"] = asked
    return app


def post(app: Flask, call: str, body: Any, plural: str = GRAPHS) -> dict[str, Any]:
    """The review's response; every answer is one that the API server takes."""
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    answer = app.test_client().post(f"/admission/{call}/{plural}", data=data)
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "application/json"
    document = orjson.loads(answer.data)
    assert (document["apiVersion"], document["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = document["response"]
    return response


def patch_of(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The JSON patch of a response; [] where there is none."""
    if "patch" not in response:
        return []
    assert response["patchType"] == "JSONPatch"
    patch: list[dict[str, Any]] = orjson.loads(base64.b64decode(response["patch"], validate=True))
    return patch


def deleted(manifest: Manifest) -> Manifest:
    """The object while it waits for its finalizers."""
    return {**manifest, "metadata": {**manifest["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}
