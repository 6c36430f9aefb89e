"""The bare prefix of a graph's Dynamo namespace: which frontends get it, and that it is decided once."""

from collections.abc import Iterable
from typing import Any

import pytest

from hooks.graph.sync import customize
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.protocol import CustomizeRequest, SyncAnswer
from tests import make
from tests.graph import world

PREFIX = "DYN_NAMESPACE_PREFIX"
PATHS: dict[str, tuple[str, ...]] = {"components": (), "Grove": ("grove",)}


def frontend(tag: str, **fields: Any) -> dict[str, Any]:
    return make.service("frontend", image=f"r/vllm-runtime:{tag}", **fields)


def account(graph: str) -> Manifest:
    """The account by which the pods of a graph discover each other."""
    labels = {contract.LABEL_APP_MANAGED_BY: contract.MANAGER}
    metadata = {"name": f"{graph}-k8s-service-discovery", "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def answer_for(
    tag: str,
    children: Iterable[Manifest] = (),
    graphs: Iterable[str] = (),
    *,
    installed: Iterable[str] = (),
    **fields: Any,
) -> SyncAnswer:
    """The answer for a graph `vd` with a frontend, beside other graphs."""
    graph = make.graph({"a": frontend(tag, **fields)}, name="vd")
    return world.ask(graph, children, map(account, graphs), installed=installed)


def observed(answer: SyncAnswer) -> list[Manifest]:
    return [make.observed(child) for child in answer.children]


def decision(answer: SyncAnswer) -> str | None:
    """What the frontend's component, or the PodCliqueSet, keeps of the decision."""
    for child in answer.children:
        if child["kind"] == contract.COMPONENT.kind:
            found: str | None = child["spec"].get("annotations", {}).get(contract.ANNOTATION_NAMESPACE_PREFIX)
            return found
        if child["kind"] == kinds.POD_CLIQUE_SET.kind:
            kept: str | None = child["metadata"]["annotations"].get(contract.ANNOTATION_NAMESPACE_PREFIX)
            assert kept is None or (PREFIX in _variables(child)) == (kept == "true")
            return kept
    raise AssertionError("no workload")


def _variables(pod_clique_set: Manifest) -> dict[str, str]:
    (clique,) = pod_clique_set["spec"]["template"]["cliques"]
    return {one["name"]: one.get("value", "") for one in clique["spec"]["podSpec"]["containers"][-1]["env"]}


OTHERS = {
    "no other graph": ((), "true"),
    "itself": (("vd",), "true"),
    "one with another name": (("ve", "my-vd"), "true"),
    "one with a longer name": (("ve", "vd2"), "false"),
    "one with a part more": (("vd-b",), "false"),
    "one whose name it begins with": (("v",), "true"),
}


@pytest.mark.parametrize("installed", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize(("graphs", "expected"), OTHERS.values(), ids=OTHERS)
def test_prefix_is_taken_only_where_no_other_dynamo_namespace_begins_with_it(
    graphs: tuple[str, ...], expected: str, installed: tuple[str, ...]
) -> None:
    assert decision(answer_for("1.5.1", graphs=graphs, installed=installed)) == expected


@pytest.mark.parametrize("installed", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize(("before", "after"), [((), ("vd2",)), (("vd2",), ())])
def test_decision_is_kept(before: tuple[str, ...], after: tuple[str, ...], installed: tuple[str, ...]) -> None:
    first = answer_for("1.5.1", graphs=before, installed=installed)
    then = answer_for("1.5.1", observed(first), after, installed=installed)
    changed = answer_for("1.4.0", observed(first), after, installed=installed)
    assert decision(then) == decision(changed) == decision(first)
    assert decision(answer_for("1.5.1", graphs=after, installed=installed)) != decision(first)


@pytest.mark.parametrize("tag", ["0.9.1", "1.0.1", "1.6.1", "mine"])
def test_other_releases_need_no_decision(tag: str) -> None:
    answer = answer_for(tag, graphs=["vd2"])
    assert decision(answer) is None
    assert "serviceaccounts" not in asked_for(tag)


def test_neighbours_are_asked_for_where_a_decision_is_needed() -> None:
    assert "serviceaccounts" in asked_for("1.0.2")


def asked_for(tag: str) -> set[str]:
    """The resources that the hook asks for."""
    parent = make.graph({"a": frontend(tag)}, name="vd")
    return {rule.resource for rule in customize(CustomizeRequest(parent=parent), make.facts())}


def test_frontend_beside_a_worker_counts_too() -> None:
    sidecar = {"image": "r/frontend:1.5.1"}
    services = {"a": make.service("worker", image="r/vllm-runtime:1.5.1", frontendSidecar=sidecar)}
    answer = world.ask(make.graph(services, name="vd"), (), [account("vd2")])
    assert decision(answer) == "false"


def test_prefix_is_not_taken_under_etcd_which_other_namespaces_share() -> None:
    graph = make.graph({"a": frontend("1.5.1")}, name="vd")
    assert decision(world.ask(graph, settings={"discovery_backend": "etcd"})) == "false"
