"""The bare prefix of a graph's Dynamo namespace: which frontends get it, and that it is decided once."""

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

from hooks.graph.report.sharing import SHARED
from hooks.graph.sync import customize
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of
from hooks.wire.metacontroller.effects import Event
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer
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
    assert not accounts_asked_for(make.graph({"a": frontend(tag)}, name="v"))


ASKED = {
    "a frontend that sees by prefix": (frontend("1.0.2"), True),
    "a picker that sees by prefix": (make.service("epp", image="r/frontend:1.5.1"), True),
    "another frontend": (frontend("1.6.1"), False),
}


@pytest.mark.parametrize(("service", "is_seeing"), ASKED.values(), ids=ASKED)
def test_all_accounts_are_asked_for_only_where_workers_of_others_may_be_seen(
    service: dict[str, Any], is_seeing: bool
) -> None:
    (rule,) = accounts_asked_for(make.graph({"a": service}, name="vd-b"))
    assert rule.match_labels == ({contract.LABEL_APP_MANAGED_BY: contract.MANAGER} if is_seeing else {})
    shorter = tuple(f"{name}-k8s-service-discovery" for name in ("v", "vd"))
    assert rule.names == (() if is_seeing else shorter), "all that may see this graph's workers"


def accounts_asked_for(parent: Manifest) -> list[RelatedRule]:
    """The rules for ServiceAccounts by which the hook asks for related objects."""
    rules = customize(CustomizeRequest(parent=parent), make.facts())
    return [rule for rule in rules if rule.resource == "serviceaccounts"]


def test_frontend_beside_a_worker_counts_too() -> None:
    sidecar = {"image": "r/frontend:1.5.1"}
    services = {"a": make.service("worker", image="r/vllm-runtime:1.5.1", frontendSidecar=sidecar)}
    answer = world.ask(make.graph(services, name="vd"), (), [account("vd2")])
    assert decision(answer) == "false"


def test_prefix_is_not_taken_under_etcd_which_other_namespaces_share() -> None:
    graph = make.graph({"a": frontend("1.5.1")}, name="vd")
    assert decision(world.ask(graph, settings={"discovery_backend": "etcd"})) == "false"


SEES = contract.ANNOTATION_SEES_WORKERS_OF
TOLD = (
    "because releases before 1.6.1 look for workers in every Dynamo namespace that begins with that of their graph - "
)
LOOKS = f"a may send requests to the workers of DynamoGraphDeployment vd2 too, {TOLD}give a images of 1.6.1 or later"


def told(answer: SyncAnswer) -> str:
    """What the condition about shared workers says; empty if there is none."""
    assert answer.status is not None
    return next((one["message"] for one in answer.status["conditions"] if one["type"] == SHARED), "")


def sharing_events(answer: SyncAnswer) -> list[Event]:
    return [effect for effect in answer.effects if isinstance(effect, Event) and effect.reason == "SharedByPrefix"]


def names_seen(answer: SyncAnswer) -> str:
    (found,) = [child for child in answer.children if name_of(child) == "vd-k8s-service-discovery"]
    names: str = found["metadata"].get("annotations", {}).get(SEES, "")
    return names


@pytest.mark.parametrize("installed", PATHS.values(), ids=PATHS)
def test_graph_whose_frontend_sees_a_later_one_says_so_and_stays_as_it_is(installed: tuple[str, ...]) -> None:
    alone = answer_for("1.5.1", installed=installed)
    children = world.run(observed(alone))
    before = answer_for("1.5.1", children, installed=installed)
    beside = answer_for("1.5.1", children, ["vd2", "ve"], installed=installed)
    assert (told(alone), told(before), names_seen(before)) == ("", "", "")
    assert told(beside).startswith(LOOKS)
    assert names_seen(beside) == "vd2"
    was, now = world.ready(before), world.ready(beside)
    assert now["status"] == was["status"], "nothing of the graph has changed"
    assert told(beside) in now["message"]
    assert [child for child in beside.children if child["kind"] != "ServiceAccount"] == [
        child for child in before.children if child["kind"] != "ServiceAccount"
    ]


def test_ready_graph_says_first_that_it_shares_workers_and_an_event_says_it_once() -> None:
    children = world.run(observed(answer_for("1.5.1")))
    first = answer_for("1.5.1", children, ["vd2"])
    assert world.ready(first)["message"].startswith(LOOKS)
    assert f"{told(first)}; All resources are ready" in world.ready(first)["message"]
    assert world.ready(first)["status"] == world.condition(first, "Applied")["status"] == "True"
    assert world.condition(first, SHARED)["reason"] == "SharedByPrefix"
    (event,) = sharing_events(first)
    assert (event.type, event.message) == ("Warning", told(first))
    graph = make.graph({"a": frontend("1.5.1")}, name="vd", status=first.status)
    second = world.ask(graph, world.run(observed(first)), [account("vd2")])
    assert sharing_events(second) == []
    assert world.condition(second, "Applied")["status"] == "True"
    third = world.ask(graph, world.run(observed(first)))
    assert (told(third), names_seen(third)) == ("", ""), "the other graph was deleted"
    assert world.condition(third, "Applied")["status"] == "True", "the annotation is no deviation"


UNSEEN = {
    "a frontend that leaves others out": ("1.6.1", {}),
    "a frontend of before the prefix": ("0.9.1", {}),
    "a frontend in the namespace that all share": ("1.5.1", {"globalDynamoNamespace": True}),
}


@pytest.mark.parametrize(("tag", "fields"), UNSEEN.values(), ids=UNSEEN)
def test_graph_whose_frontend_sees_no_other_one_says_nothing(tag: str, fields: dict[str, Any]) -> None:
    children = observed(answer_for(tag, **fields))
    answer = answer_for(tag, children, ["vd2"], **fields)
    assert (told(answer), names_seen(answer)) == ("", "")


def test_frontend_whose_prefix_is_withheld_sees_no_other_graph() -> None:
    children = observed(answer_for("1.5.1", graphs=["vd2"]))
    answer = answer_for("1.5.1", children, ["vd2"])
    assert (told(answer), names_seen(answer)) == ("", "")


def test_picker_sees_a_graph_that_was_there_first() -> None:
    services = {"p": make.service("epp", image="r/frontend:1.5.1"), "b": make.service("worker")}
    pools, graph = ["inference-pool"], make.graph(services, name="vd")
    answer = world.ask(graph, (), [account("vd2")], pools)
    assert told(answer).startswith("p may send requests to the workers of DynamoGraphDeployment vd2 too")
    off = world.ask(graph, (), [account("vd2")], pools, settings={"discovery_backend": "etcd"})
    assert told(off) == "", "nothing is known of other graphs under etcd"


def test_graph_that_another_one_sees_says_so() -> None:
    def seeing(names: str) -> Manifest:
        found = account("vd")
        return {**found, "metadata": {**found["metadata"], "annotations": {SEES: names}}}

    graph = make.graph({"b": make.service("worker", image="r/vllm-runtime:1.6.1")}, name="vd2")
    answer = world.ask(graph, (), [seeing("vd1,vd2")])
    assert told(answer).startswith(f"DynamoGraphDeployment vd may send requests to the workers of this graph, {TOLD}")
    assert told(answer) in world.ready(answer)["message"]
    for other in (seeing("vd1"), account("vd")):
        assert told(world.ask(graph, (), [other])) == ""
    middle = make.graph({"a": frontend("1.5.1")}, name="vd2")
    both = world.ask(middle, observed(world.ask(middle)), [seeing("vd2"), account("vd23")])
    assert " the workers of this graph, " in told(both)
    assert "of DynamoGraphDeployment vd23 too" in told(both)


def test_graph_with_held_defaults_names_what_it_sees_too() -> None:
    """What belongs to held pods is returned as it was last applied; what another graph is told is not."""
    graph = make.graph({"a": frontend("1.5.1"), "b": make.service("worker")}, name="vd")
    graph["metadata"]["uid"] = "u-vd"
    children = world.run(observed(world.ask(graph)))
    for child in children:
        if child["kind"] == contract.COMPONENT.kind:
            applied = json.loads(child["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED])
            applied["spec"]["extraPodMetadata"] = {"labels": {"older": "default"}}
            applied["metadata"]["annotations"][contract.ANNOTATION_RENDERING] = re.sub(
                r"^\d+", "0", applied["metadata"]["annotations"][contract.ANNOTATION_RENDERING]
            )
            child["metadata"]["annotations"] |= applied["metadata"]["annotations"]
            child["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED] = json.dumps(applied)
            child["status"]["service"]["readyReplicas"] = 1
    answer = world.ask(graph, children, [account("vd2")])
    assert "Held" in {one["type"] for one in (answer.status or {})["conditions"]}
    assert names_seen(answer) == "vd2"
