"""Bodies that no Metacontroller sent: the hooks answer them, and nothing in the cluster or in etcd changes.

Each attack is posted to the whole application. Its effects are carried out on an API server that tells the truth.
"""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import responses

from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.server.clients.effects import EffectsClient
from hooks.server.routes import served_hooks
from tests import make
from tests.server.clients import grove_objects as stored
from tests.server.clients.played_server import PlayedServer, api_server, path_of, play

SETTINGS = parse_settings({}, {"effect_write_back": "always"})
Post = Callable[[str, dict[str, Any]], str]


@pytest.fixture
def server() -> Iterator[PlayedServer]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield play(mock, stored.stored())


@pytest.fixture
def post(server: PlayedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Post:
    """Posts a body to a path, and gives what the call's log line says of effects."""
    caplog.set_level("INFO")
    api = api_server(tmp_path)
    client = EffectsClient(server=api, settings=SETTINGS, now=lambda: make.NOW)
    hooks = served_hooks(SETTINGS, server=api)
    app = create_app(SETTINGS, lambda: make.NOW, carry_out=client, hooks=hooks).test_client()

    def send(path: str, body: dict[str, Any]) -> str:
        answer = app.post(path, json=body)
        assert answer.status_code == 200, answer.text
        lines = [record.__dict__["fields"] for record in caplog.records if record.getMessage() == "call"]
        return str(lines[-1].get("effects", ""))

    return send


def edited(found: Manifest, **metadata: Any) -> Manifest:
    return {**found, "metadata": {**found["metadata"], **metadata}}


def moved(found: Manifest, namespace: str) -> Manifest:
    return edited(found, namespace=namespace)


def scaling(parent: Manifest, *cliques: Manifest, adapters: tuple[Manifest, ...] = ()) -> dict[str, Any]:
    """A body about a graph whose cliques have other replicas than it wants."""
    namespace = parent["metadata"]["namespace"]
    name = parent["metadata"]["name"]
    pod_clique_set = edited(moved(stored.pod_clique_set(), namespace), name=name)
    return stored.body(parent, [pod_clique_set, *adapters], cliques)


# What an honest body does


def test_honest_bodies_scale_and_write_back(server: PlayedServer, post: Post) -> None:
    said = post("/graph/sync", scaling(stored.graph(), stored.clique(), adapters=(stored.adapter(),)))
    assert "refused" not in said
    assert ("PATCH", f"{path_of(stored.clique())}/scale", {"spec": {"replicas": 3}}) in server.writes
    before = len(server.writes)
    post("/scaling-adapter/sync", stored.attached(stored.adapter(), stored.graph()))
    (write,) = (one for one in server.writes[before:] if one[0] == "PATCH")
    assert write[2]["spec"] == {"services": {"Worker": {"replicas": 5}}}


# Scaling


OTHER_GRAPH = edited(stored.graph(), name="h", uid="u-h")
SCALINGS: dict[str, tuple[dict[str, Any], str]] = {
    "another uid": (
        scaling(stored.graph(uid="forged"), stored.clique()),
        "DynamoGraphDeployment default/g has another uid",
    ),
    "no uid": (
        scaling(stored.graph(uid=""), stored.clique()),
        "DynamoGraphDeployment default/g has another uid",
    ),
    "no replicas": (
        scaling(stored.graph(frontends=0), stored.clique()),
        "does not ask for 0 replicas of g-0-frontend",
    ),
    "an older spec": (
        scaling(stored.graph(frontends=2, generation=6), stored.clique()),
        "has generation 7, the request has 6",
    ),
    "an adapter that asks for more": (
        scaling(stored.graph(), stored.clique(stored.WORKER), adapters=(stored.adapter(50),)),
        "does not ask for 50 replicas of g-0-worker",
    ),
    "a graph that does not exist": (
        scaling(edited(stored.graph(), name="new"), stored.clique("new-0-frontend", part_of="new")),
        "DynamoGraphDeployment default/new does not exist",
    ),
    "the clique of another namespace": (
        scaling(moved(stored.graph(), "victim"), moved(stored.clique(), "victim")),
        "DynamoGraphDeployment victim/g does not exist",
    ),
}


@pytest.mark.parametrize(("body", "reason"), SCALINGS.values(), ids=SCALINGS)
def test_forged_body_scales_nothing(server: PlayedServer, post: Post, body: dict[str, Any], reason: str) -> None:
    server.keep(moved(stored.clique(), "victim"))
    said = post("/graph/sync", body)
    assert reason in said
    assert [write for write in server.writes if write[0] == "PATCH"] == []


def test_graph_scales_only_the_cliques_of_its_own_set(server: PlayedServer, post: Post) -> None:
    body = scaling(stored.graph(), stored.clique())
    for foreign in (stored.clique(owner="u-set-h"), edited(stored.clique(), ownerReferences=[])):
        server.keep(foreign)
        assert "does not belong to the PodCliqueSet of DynamoGraphDeployment default/g" in post("/graph/sync", body)
    server.keep(stored.clique(), stored.pod_clique_set(owner="u-h"))
    assert "does not belong to the PodCliqueSet" in post("/graph/sync", body)
    server.keep(stored.pod_clique_set(), stored.clique(part_of="h"))
    assert "does not ask for 3 replicas" in post("/graph/sync", body)
    assert [write for write in server.writes if write[0] == "PATCH"] == []


def test_adapter_that_another_graph_owns_counts_for_nothing(server: PlayedServer, post: Post) -> None:
    server.keep(stored.adapter(0, owner="u-h"))
    body = scaling(stored.graph(), stored.clique(stored.WORKER, 9), adapters=(stored.adapter(0),))
    assert "does not ask for 0 replicas" in post("/graph/sync", body)
    assert [write for write in server.writes if write[0] == "PATCH"] == []


@pytest.mark.parametrize(
    "name", ["../../../../api/v1/namespaces/kube-system/pods/x", "g?fieldManager=x", "..", "g/scale", "%2e%2e", "g#"]
)
@pytest.mark.parametrize("field", ["name", "namespace"])
def test_name_that_is_a_path_leads_nowhere(server: PlayedServer, post: Post, field: str, name: str) -> None:
    parent = edited(stored.adapter(), **{field: name})
    found = stored.graph()
    found["metadata"]["namespace"] = parent["metadata"]["namespace"]
    post("/scaling-adapter/sync", stored.attached({**parent, "status": {"observedGeneration": 3}}, found))
    assert server.reads == []
    assert server.writes == []


# Writing back


def adapter_of(graph: str = "g", service: str = "Worker", replicas: int = 5, **metadata: Any) -> Manifest:
    found = copy.deepcopy(stored.adapter(replicas))
    found["spec"]["dgdRef"] = {"name": graph, "serviceName": service}
    return edited(found, **metadata)


def writable(name: str = "g", service: str = "Worker", namespace: str = "default") -> Manifest:
    """A graph as a forger would describe it, so that the adapter controls the service."""
    services = {service: make.service(replicas=1, scalingAdapter={"enabled": True})}
    return edited(make.graph(services, name=name), namespace=namespace)


WRITINGS: dict[str, tuple[Manifest, Manifest, str]] = {
    "no replicas": (adapter_of(replicas=0), writable(), "does not ask for 0 replicas of Worker"),
    "another uid": (adapter_of(uid="forged"), writable(), "has another uid"),
    "an older spec": (adapter_of(generation=3, replicas=2), writable(), "has generation 4, the request has 3"),
    "another namespace": (
        adapter_of(namespace="victim"),
        writable(namespace="victim"),
        "DynamoGraphDeploymentScalingAdapter victim/g-worker does not exist",
    ),
    "an adapter that does not exist": (adapter_of(name="g-front", service="Front"), writable(service="Front"), "exist"),
    "another graph": (
        adapter_of(graph="h", name="h-worker"),
        edited(writable("h"), uid="u-g"),
        "DynamoGraphDeploymentScalingAdapter default/h-worker does not exist",
    ),
}


@pytest.mark.parametrize(("parent", "graph", "reason"), WRITINGS.values(), ids=WRITINGS)
def test_forged_adapter_writes_nothing(
    server: PlayedServer, post: Post, parent: Manifest, graph: Manifest, reason: str
) -> None:
    server.keep(moved(stored.graph(), "victim"), OTHER_GRAPH)
    assert reason in post("/scaling-adapter/sync", stored.attached(parent, graph))
    assert [write for write in server.writes if write[0] == "PATCH"] == []


def test_adapter_whose_graph_did_not_create_it_writes_nothing(server: PlayedServer, post: Post) -> None:
    server.keep(stored.adapter(owner="u-h"))
    assert "does not ask for 5" in post("/scaling-adapter/sync", stored.attached(stored.adapter(), stored.graph()))
    assert [write for write in server.writes if write[0] == "PATCH"] == []


def test_service_whose_adapter_was_disabled_meanwhile_is_not_written(server: PlayedServer, post: Post) -> None:
    found = copy.deepcopy(stored.graph())
    found["spec"]["services"]["Worker"]["scalingAdapter"]["enabled"] = False
    server.keep(found)
    assert "does not ask for 5" in post("/scaling-adapter/sync", stored.attached(stored.adapter(), stored.graph()))
    assert [write for write in server.writes if write[0] == "PATCH"] == []


# Events


@pytest.mark.parametrize(
    "metadata",
    [{"namespace": "kube-system"}, {"name": "coredns"}, {"uid": "forged"}, {"uid": ""}],
    ids=",".join,
)
def test_no_event_is_sent_about_what_does_not_exist(server: PlayedServer, post: Post, metadata: Any) -> None:
    broken = edited(make.graph({"Worker": {"replicas": -1}}), **metadata)
    said = post("/graph/sync", stored.body(broken))
    assert said.startswith("refused: event ValidationFailed about DynamoGraphDeployment ")
    assert server.writes == []
