"""An object of the Go operator that lacks a field stops no command, and no other object."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import pytest
from rich.console import Console

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, labels_of, name_of
from hooks.server.clients.api_server import MERGE_PATCH, Refused, ServerAnswer
from hooks.tools.cli.kubectl.status import build_view
from hooks.tools.operating.doctor.examination import examine
from hooks.tools.operating.doctor.reading import read_facts
from hooks.tools.operating.live_tree import read_tree
from hooks.tools.operating.migration.execution import carry_out
from hooks.tools.operating.migration.go_operator import read_go_operator
from hooks.tools.operating.migration.planner import plan_migration
from hooks.tools.operating.migration.reading import read_found
from hooks.tools.operating.migration.report import write_json, write_text
from hooks.tools.operating.migration.steps import Plan, Step
from tests.tools.operating.migration import left_behind
from tests.tools.operating.migration.left_behind import Entry, stand_in
from tests.tools.operating.migration.left_behind_1x import stand_in_1x
from tests.tools.operating.migration.moved import FACTS, Moved, moved, put
from tests.tools.operating.migration.played_cluster import PlayedCluster
from tests.tools.operating.migration.test_planner import plan

OTHER = "other"
"""The graph of which nothing is damaged."""
Path = tuple[str, ...]
ALWAYS_THERE = {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"}
NATIVE = {"Deployment", "Service", "ReplicaSet", "Pod", "ServiceAccount", "Role", "RoleBinding", "EndpointSlice"}
"""Kinds whose spec the API server fills in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedCluster(PlayedCluster):
    """A cluster in which one object lacks a field, wherever it is read."""

    kind: str
    name: str
    path: Path

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        also: tuple[HTTPStatus, ...] = (),
        patch: str = MERGE_PATCH,
    ) -> ServerAnswer:
        found = super(DamagedCluster, self).ask(method, path, body, query=query, also=also, patch=patch)
        if method != "GET":
            return found
        if "items" in found.body:
            items = [self._damage(one, path.rpartition("/")[2]) for one in found.body["items"]]
            return ServerAnswer(status=found.status, body={**found.body, "items": items})
        return ServerAnswer(status=found.status, body=self._damage(found.body, path.split("/")[-2]))

    def _damage(self, one: Mapping[str, Any], plural: str) -> Mapping[str, Any]:
        is_it = plural == f"{self.kind.lower()}s" and (one.get("metadata") or {}).get("name") == self.name
        return without(one, self.path) if is_it else one


def without(manifest: Mapping[str, Any], path: Path) -> Manifest:
    damaged = copy.deepcopy(dict(manifest))
    place: Json = damaged
    for key in path[:-1]:
        place = place.get(key, {})
    place.pop(path[-1], None)
    return damaged


def paths_of(manifest: Manifest) -> Iterator[Path]:
    """Fields that may be missing: all of the metadata that no API server writes, the status, and parts of our specs."""
    yield from (("metadata", key) for key in manifest["metadata"] if key not in ALWAYS_THERE)
    yield from (("status", key) for key in manifest.get("status") or {})
    yield ("status",)
    if manifest["kind"] not in NATIVE:
        yield ("spec",)
        yield from (("spec", key) for key in manifest.get("spec") or ())


def other() -> Entry:
    text = json.dumps(stand_in())
    return json.loads(text.replace('"llm', f'"{OTHER}').replace("default-llm", f"default-{OTHER}"))  # type: ignore[no-any-return]


def build_world() -> Moved:
    world = moved([stand_in_1x(), other()])
    graph = world.graph("llm")
    put(world.simulated, left_behind.adapter_of(graph, "Worker", 2))
    model = {"metadata": {"name": "lora", "namespace": "default", "uid": "m"}, "spec": {"baseModelName": "b"}}
    put(world.simulated, {**left_behind.typed(contract.MODEL), **model})
    for kind in (contract.GRAPH, contract.COMPONENT, contract.MODEL, contract.SCALING_ADAPTER):
        for one in world.simulated.list_kind(kind):
            created = {**one["metadata"], "creationTimestamp": "2026-01-01T00:00:00Z"}
            world.simulated.restore({**one, "metadata": created})
    return world


def damages() -> list[Any]:
    found = [one for one in build_world().simulated.everything() if name_of(one).startswith(("llm", "lora"))]
    return [
        pytest.param(one["kind"], name_of(one), path, id=f"{one['kind']}-{name_of(one)}-{'.'.join(path)}")
        for one in found
        if not name_of(one).startswith("llm-frontend-")  # pods and ReplicaSets of the worker are enough
        for path in paths_of(one)
    ]


def plan_of(cluster: PlayedCluster) -> Plan:
    made = plan_migration(read_found(cluster, "", FACTS), FACTS)
    assert write_text(made, verbose=True)
    assert write_text(made)
    assert len(write_json(made)) == len(made.steps)
    return made


def show_status(cluster: PlayedCluster) -> None:
    for graph in cluster.read_all(contract.GRAPH):
        found = read_tree(cluster, graph, FACTS.now)
        console = Console(width=200)
        with console.capture() as captured:
            console.print(build_view(found, FACTS.now))
        assert f"graph {name_of(graph)} in namespace default" in captured.get()


@pytest.fixture(scope="module")
def whole() -> Moved:
    return build_world()


@pytest.fixture
def damaged(whole: Moved) -> Callable[..., DamagedCluster]:
    """Makes a connection to the cluster in which one object lacks a field; the cluster itself is not changed."""
    simulated = copy.deepcopy(whole.simulated)
    common: dict[str, Any] = {
        "url": "https://127.0.0.1:1",
        "client": None,
        "namespace": "default",
        "authorize": str,
        "seconds": 1,
    }
    return lambda **fields: DamagedCluster(simulated=simulated, **common, **fields)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(("kind", "name", "path"), damages())
def test_object_that_lacks_a_field_stops_nothing(
    damaged: Callable[..., DamagedCluster], kind: str, name: str, path: Path
) -> None:
    cluster = damaged(kind=kind, name=name, path=path)
    assert read_go_operator(cluster)
    assert examine(read_facts(cluster, FACTS.now))
    show_status(cluster)
    made = plan_of(cluster)
    told: list[tuple[Step, str]] = []
    carry_out(made, cluster, lambda step, failure: told.append((step, failure)), lambda _seconds: None)
    assert [failure for step, failure in told if step.name != name and failure] == []
    for found in (contract.COMPONENT, kinds.DEPLOYMENT, kinds.SERVICE):
        (one,) = (one for one in cluster.simulated.list_kind(found) if name_of(one) == f"{OTHER}-frontend")
        assert contract.LABEL_CONTROLLER_UID in labels_of(one)
    plan_of(cluster)


def test_set_that_lacks_a_field_stops_no_plan() -> None:
    graph = left_behind.graph_of(stand_in())
    whole = [graph, *left_behind.grove_of(stand_in(), graph), *left_behind.parts_of(stand_in(), graph)]
    for one in whole:
        for path in (*paths_of(one), ("spec", "template", "cliques")):
            made = plan(*(without(it, path) if it is one else it for it in whole), installed=frozenset({"grove"}))
            assert all(step.name for step in made.steps), path


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusingCluster(PlayedCluster):
    """A cluster that does not accept any change of one object."""

    ending: str

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        also: tuple[HTTPStatus, ...] = (),
        patch: str = MERGE_PATCH,
    ) -> ServerAnswer:
        if method == "PATCH" and path.endswith(self.ending):
            raise Refused(f"PATCH {path}: 422 spec is invalid", 422)
        return super(RefusingCluster, self).ask(method, path, body, query=query, also=also, patch=patch)


def test_object_that_the_api_server_does_not_accept_stops_its_graph_alone(whole: Moved) -> None:
    simulated, worker = copy.deepcopy(whole.simulated), "llm-worker-0a1b2c3d"
    common: dict[str, Any] = {"client": None, "namespace": "default", "authorize": str, "seconds": 1}
    url = "https://127.0.0.1:1"
    cluster = RefusingCluster(simulated=simulated, url=url, ending=f"deployments/{worker}", **common)
    told: dict[str, str] = {}
    made = plan_of(cluster)
    assert not carry_out(made, cluster, lambda step, failure: told.update({step.title: failure}), lambda _seconds: None)
    assert "422 spec is invalid" in told[f"Deployment default/{worker}"]
    later = f"as Deployment default/{worker} of its graph could not be changed"
    assert told[f"DynamoComponentDeployment default/{worker}"] == later
    assert told["DynamoGraphDeployment default/llm"] == later
    assert {failure for title, failure in told.items() if f"/{OTHER}" in title} == {""}
    mended = PlayedCluster(simulated=simulated, url=url, **common)
    assert carry_out(plan_of(mended), mended, lambda _step, _failure: None, lambda _seconds: None)
