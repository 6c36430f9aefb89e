"""A restricted installation does nothing for parents of other namespaces, whatever labels they have."""

from collections.abc import Iterable
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from hooks.graph import sync as graph
from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.server.routes import all_hooks
from tests import make
from tests.model.parts import model
from tests.request import jobs

RESTRICTED = {"installation": "team-a", "installation_namespace": "team-a"}
LABELS = {contract.LABEL_INSTALLATION: "team-a"}
ADAPTER = {
    "apiVersion": contract.SCALING_ADAPTER.api_version,
    "kind": contract.SCALING_ADAPTER.kind,
    "metadata": {"name": "g-worker", "namespace": make.NAMESPACE, "uid": "u-a", "generation": 1},
    "spec": {"replicas": 2, "dgdRef": {"name": "g", "serviceName": "Worker"}},
}
PARENTS: dict[str, Manifest] = {
    "graph": make.graph(),
    "component": make.component(),
    "request": jobs.request(),
    "model": model(),
    "scaling-adapter": ADAPTER,
}
"""By hook: a parent of the namespace `default`."""
DECORATORS = ("model", "scaling-adapter")
FINALIZING = ("graph", "component", "request", "model")


def refuse_help(*_: Any) -> Any:
    pytest.fail("prober and etcd are not asked")


def hooks_of(**settings: str) -> FlaskClient:
    hooks = all_hooks(refuse_help, refuse_help, refuse_help)
    return create_app(parse_settings({}, settings), lambda: make.NOW, hooks=hooks).test_client()


def with_metadata(manifest: Manifest, **fields: Any) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": LABELS, **fields}}


def post(client: FlaskClient, name: str, what: str, parent: Manifest, *children: Manifest) -> TestResponse:
    body = {**make.wire_request(parent, children), "finalizing": what == "finalize"}
    if name in DECORATORS:
        body["object"], body["attachments"] = body.pop("parent"), body.pop("children")
    return client.post(f"/{name}/{what}", data=orjson.dumps(body))


def names_of(manifests: Iterable[Manifest]) -> list[tuple[str, str]]:
    return sorted((manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests)


@pytest.mark.parametrize("name", PARENTS)
def test_parent_of_another_namespace_is_refused_with_the_command_that_frees_it(name: str) -> None:
    response = post(hooks_of(**RESTRICTED), name, "sync", with_metadata(PARENTS[name]))
    assert response.status_code == 403
    metadata, kind = PARENTS[name]["metadata"], PARENTS[name]["kind"].lower()
    assert response.text == (
        "installation team-a serves only namespace team-a, so nothing is done for this object; remove the label: "
        f"kubectl --namespace default label {kind} {metadata['name']} nvidia.com/dynamo-installation-\n"
    )


@pytest.mark.parametrize("name", PARENTS)
def test_nothing_is_read_for_a_parent_of_another_namespace(name: str) -> None:
    response = hooks_of(**RESTRICTED).post(f"/{name}/customize", data=orjson.dumps({"parent": PARENTS[name]}))
    assert (response.status_code, response.json) == (200, {"relatedResources": []})


@pytest.mark.parametrize("name", FINALIZING)
def test_deleted_parent_of_another_namespace_may_go(name: str) -> None:
    parent = with_metadata({**PARENTS[name], "status": {"state": "x"}}, deletionTimestamp="2026-03-01T12:00:00Z")
    answer = post(hooks_of(**RESTRICTED), name, "finalize", parent).json
    key = "attachments" if name in DECORATORS else "children"
    assert answer == {key: [], "finalized": True, "status": {"state": "x"}}


def test_parent_that_lost_the_label_keeps_its_children_for_the_other_installation() -> None:
    parent = {**make.graph(), "metadata": {**make.graph()["metadata"], "labels": {}}}
    wanted = graph.sync(make.sync_request(parent), make.facts()).children
    applied = [make.observed(child) for child in wanted]
    answer = post(hooks_of(**RESTRICTED), "graph", "finalize", parent, *applied).json
    assert answer is not None
    assert answer["finalized"] is True
    assert names_of(answer["children"]) == names_of(wanted) != []


@pytest.mark.parametrize(
    "settings",
    [{}, {**RESTRICTED, "installation_namespace": make.NAMESPACE}, {"installation_namespace": "team-a"}],
    ids=["whole cluster", "its own namespace", "no name"],
)
def test_all_others_are_served(settings: dict[str, str]) -> None:
    client = hooks_of(**settings)
    assert post(client, "graph", "sync", with_metadata(PARENTS["graph"])).status_code == 200
    asked = client.post("/request/customize", data=orjson.dumps({"parent": PARENTS["request"]})).json
    assert asked is not None
    assert asked["relatedResources"] != []


def test_components_of_such_a_graph_are_refused_too() -> None:
    answer = graph.sync(make.sync_request(with_metadata(make.graph())), make.facts())
    child = next(found for found in answer.children if found["kind"] == contract.COMPONENT.kind)
    assert child["metadata"]["labels"][contract.LABEL_INSTALLATION] == "team-a"
    stored = make.observed(child, metadata={**child["metadata"], "namespace": make.NAMESPACE, "uid": "u-c"})
    assert post(hooks_of(**RESTRICTED), "component", "sync", stored).status_code == 403


def test_every_kind_has_a_case() -> None:
    kinds = {GroupVersionKind.of(parent["apiVersion"], parent["kind"]) for parent in PARENTS.values()}
    assert {hook.kind for hook in all_hooks(refuse_help, refuse_help, refuse_help).values()} == kinds
