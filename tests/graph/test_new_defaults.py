"""Components and PodCliqueSets of a graph wait with new defaults of the hooks until the graph's spec changes."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from hooks.graph.grove.scaling import NEVER
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, gvk_of, name_of
from hooks.wire.metacontroller.effects import ScalePodClique
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy import rendering_mark
from tests import make
from tests.graph import test_grove as grove
from tests.graph import world

COMPONENT, PCS = contract.COMPONENT.kind, kinds.POD_CLIQUE_SET.kind
SERVICES: dict[str, Any] = {"a": make.service("frontend"), "b": make.service("worker")}
OF_BEFORE = {"name": "OF_BEFORE", "value": "1"}
NOW = {contract.ANNOTATION_ROLLOUT: "now"}


def graph_of(services: Json = None, **metadata: Json) -> Manifest:
    found = make.graph(SERVICES if services is None else services)
    return {**found, "metadata": {**found["metadata"], **metadata}}


def _of_before(child: Manifest) -> Manifest:
    """The child as the Go operator rendered it: components with another variable, account of all with a label."""
    mark = rendering_mark.read_mark(child)
    if gvk_of(child) == contract.COMPONENT and mark is not None:
        spec = {**child["spec"], "envs": [OF_BEFORE, *child["spec"].get("envs", ())]}
        return rendering_mark.mark({**child, "spec": spec}, mark.digest, rendering_mark.FOREIGN_REVISION)
    if gvk_of(child) == kinds.SERVICE_ACCOUNT:
        return {**child, "metadata": {**child["metadata"], "labels": {"of": "before"}}}
    return child


def before(graph: Manifest, *, unready: Iterable[str] = (), installed: Iterable[str] = ()) -> list[Manifest]:
    children = [make.observed(_of_before(child)) for child in world.ask(graph, installed=installed).children]
    return world.run(children, unready=dict.fromkeys(unready, "down"))


def waiting(answer: SyncAnswer) -> list[str]:
    """The components that are as before; the status must name the same ones."""
    found = [
        name_of(child)
        for child in answer.children
        if child["kind"] == COMPONENT and OF_BEFORE in child["spec"].get("envs", ())
    ]
    assert answer.status is not None
    told = [one for one in answer.status["conditions"] if one["type"] == "Held"]
    assert [one["message"].split(":")[0] for one in told] == ([", ".join(found)] if found else [])
    return found


def test_components_of_another_revision_stay_as_they_were_applied() -> None:
    graph = graph_of()
    answer = world.ask(graph, before(graph))

    assert waiting(answer) == ["g-a", "g-b"]
    assert world.ready(answer)["status"] == "True"
    accounts = [child for child in answer.children if child["kind"] == "ServiceAccount"]
    assert [account["metadata"]["labels"] for account in accounts] == [{"of": "before"}]


def test_status_says_how_a_graph_takes_new_defaults_now() -> None:
    graph = graph_of()
    told = world.condition(world.ask(graph, before(graph)), "Held")
    assert (told["status"], told["reason"]) == ("True", "NewDefaultsWait")
    assert (
        "now by `kubectl annotate dynamographdeployment g -n default nvidia.com/dynamo-hooks-rollout=now`"
        in told["message"]
    )


def test_change_of_one_service_releases_this_one_alone() -> None:
    children = before(graph_of())
    changed = graph_of({**SERVICES, "b": {**SERVICES["b"], "envFromSecret": "s"}})
    assert waiting(world.ask(changed, children)) == ["g-a"]


def test_held_components_scale() -> None:
    answer = world.ask(graph_of({**SERVICES, "b": {**SERVICES["b"], "replicas": 5}}), before(graph_of()))
    assert waiting(answer) == ["g-a", "g-b"]
    assert world.child(answer.children, COMPONENT, "g-b")["spec"]["replicas"] == 5


def test_annotation_reaches_the_components_and_releases_them() -> None:
    answer = world.ask(graph_of(annotations=NOW), before(graph_of()))
    assert waiting(answer) == []
    annotations = world.child(answer.children, COMPONENT, "g-a")["metadata"]["annotations"]
    assert annotations[contract.ANNOTATION_ROLLOUT] == "now"


def test_setting_releases_all() -> None:
    assert waiting(world.ask(graph_of(), before(graph_of()), settings={"new_defaults": "now"})) == []


def test_component_without_ready_pods_takes_new_defaults() -> None:
    assert waiting(world.ask(graph_of(), before(graph_of(), unready=["g-b"]))) == ["g-a"]


def test_sequential_restart_releases_one_service_after_the_other() -> None:
    asked = {**graph_of(), "spec": {**graph_of()["spec"], "restart": {"id": "r1"}}}
    answer = world.ask(asked, before(graph_of()))
    assert answer.status is not None
    assert answer.status["restart"]["inProgress"] == ["a"]
    assert waiting(answer) == ["g-b"]


def test_component_whose_own_workload_waits_is_named_by_the_graph() -> None:
    graph = graph_of()
    children = world.run([make.observed(child) for child in world.ask(graph).children])
    for child in children:
        if name_of(child) == "g-b":
            child["status"]["conditions"].append({"type": "Held", "status": "True", "reason": "NewDefaultsWait"})
    assert world.condition(world.ask(graph, children), "Held")["message"].startswith("g-b: ")


def test_configuration_of_a_picker_follows_its_service_and_not_held_ones() -> None:
    picker = {"componentType": "epp", "eppConfig": {"config": {"plugins": []}}, "replicas": 1}
    services = {**SERVICES, "epp": picker}
    children = before(graph_of(services), installed=("inference-pool",))
    changed = {**picker, "eppConfig": {"config": {"plugins": [{"type": "new"}]}}}

    answer = world.ask(graph_of({**services, "epp": changed}), children, installed=("inference-pool",))

    assert answer.problems == ()
    assert waiting(answer) == ["g-a", "g-b"]
    (config,) = (child for child in answer.children if child["kind"] == "ConfigMap")
    assert "new" in str(config["data"])


# Grove


def _cliques(answer: SyncAnswer) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = world.child(answer.children, PCS, "g")["spec"]["template"]["cliques"]
    return found


def set_of_before(graph: Manifest, **clique: Json) -> list[Manifest]:
    """The children under Grove, whose PodCliqueSet the Go operator rendered."""
    children = []
    for child in grove.ask(graph).children:
        mark = rendering_mark.read_mark(child)
        if child["kind"] == PCS and mark is not None:
            template = child["spec"]["template"]
            cliques = [{**one, "spec": {**one["spec"], **clique}} for one in template["cliques"]]
            cliques = [{**one, "labels": {**one["labels"], "of": "before"}} for one in cliques]
            changed = {**child, "spec": {**child["spec"], "template": {**template, "cliques": cliques}}}
            children.append(make.observed(rendering_mark.mark(changed, mark.digest, rendering_mark.FOREIGN_REVISION)))
        else:
            children.append(make.observed(child))
    return children


def is_held(answer: SyncAnswer) -> bool:
    assert answer.status is not None
    found = all(one["labels"].get("of") == "before" for one in _cliques(answer))
    assert found is any(one["type"] == "Held" for one in answer.status["conditions"])
    return found


def test_pod_clique_set_of_another_revision_stays_and_scales() -> None:
    children = set_of_before(make.graph(grove.TWO))
    scaled = {**grove.TWO, "Frontend": {**grove.TWO["Frontend"], "replicas": 4}}

    answer = grove.ask(make.graph(scaled), children, grove.PARTS)

    assert is_held(answer)
    assert {one["name"]: one["spec"]["replicas"] for one in _cliques(answer)}["frontend"] == 4


@pytest.mark.parametrize(("replicas", "delay"), [(1, "15m0s"), (0, NEVER)])
def test_held_pod_clique_set_is_scaled_in_and_follows_a_service_at_none(replicas: int, delay: str) -> None:
    """Nothing of it is updated, so nothing is waited for."""
    children = set_of_before(make.graph(grove.TWO))
    scaled = {**grove.TWO, "Frontend": {**grove.TWO["Frontend"], "replicas": replicas}}
    answer = grove.ask(make.graph(scaled), children, grove.PARTS)
    assert is_held(answer)
    assert [effect.replicas for effect in grove.scalings(answer) if isinstance(effect, ScalePodClique)] == [replicas]
    assert grove.template(answer)["terminationDelay"] == delay


def test_ready_clique_holds_a_set_whose_scaling_group_does_not_say_yet_that_it_is_available() -> None:
    parts = (
        grove.part("PodClique", "g-0-frontend", desired=2, good=0),
        grove.part("PodClique", "g-0-worker-0-worker-ldr", desired=1),
        grove.part("PodCliqueScalingGroup", "g-0-worker", desired=2, good=0),
    )
    assert is_held(grove.ask(make.graph(grove.TWO), set_of_before(make.graph(grove.TWO)), parts))


@pytest.mark.parametrize(
    "change",
    [
        {"services": {**grove.TWO, "Frontend": {**grove.TWO["Frontend"], "envFromSecret": "s"}}},
        {"annotations": NOW},
        {"parts": ()},
    ],
    ids=["spec", "annotation", "no ready pod"],
)
def test_what_lets_new_defaults_into_a_pod_clique_set(change: dict[str, Any]) -> None:
    children = set_of_before(make.graph(grove.TWO))
    graph = graph_of(change.get("services", grove.TWO), annotations=change.get("annotations", {}))
    assert not is_held(grove.ask(graph, children, change.get("parts", grove.PARTS)))


def test_immutable_fields_of_an_adopted_pod_clique_set_are_kept() -> None:
    services = {**grove.TWO, "Worker": grove.multinode(4)}
    children = set_of_before(make.graph(services), minAvailable=1)
    changed = {**services, "Frontend": {**services["Frontend"], "envFromSecret": "s"}}

    answer = grove.ask(make.graph(changed), children, grove.PARTS)

    assert answer.problems == ()
    assert not is_held(answer)
    assert {one["spec"]["minAvailable"] for one in _cliques(answer)} == {1}
    assert {one["name"]: one["spec"]["replicas"] for one in _cliques(answer)}["worker-wkr"] == 3


def test_update_strategy_reaches_a_held_set() -> None:
    strategy = {"nvidia.com/grove-update-strategy": "OnDelete"}
    children = set_of_before(make.graph(grove.TWO))
    answer = grove.ask(graph_of(grove.TWO, annotations=strategy), children, grove.PARTS)
    assert is_held(answer)
    assert grove.pcs(answer)["spec"]["updateStrategy"] == {"type": "OnDelete"}
    kept = [make.observed(child) for child in answer.children]
    assert "updateStrategy" not in grove.pcs(grove.ask(make.graph(grove.TWO), kept, grove.PARTS))["spec"]
