"""What holds of every graph: an answer or a reason, sound children, the same bytes whatever the order of keys."""

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from hooks.component import sync as component
from hooks.graph.sync import customize, sync
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.ground.problems import Problem
from hooks.wire.metacontroller.effects import ScalePodClique
from hooks.wire.metacontroller.protocol import CustomizeRequest, SyncAnswer
from hooks.wire.metacontroller.wire import write_sync_answer
from tests import make
from tests.effort import examples
from tests.graph import world
from tests.graph.test_grove import part, processed
from tests.graph.valid_specs import CLAIMS, MAX_SERVICES, ON_ONE_NODE, ON_SEVERAL_NODES

LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
INSTALLED = ["inference-pool"]
PATHS = {
    "components": (INSTALLED, ON_ONE_NODE),
    "groups": ([*INSTALLED, "lws", "volcano"], ON_SEVERAL_NODES),
    "Grove": ([*INSTALLED, "grove"], ON_SEVERAL_NODES),
}
"""What is installed on each path of a graph, and the valid specs that can take it."""
OF_OTHERS = [
    *(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": make.NAMESPACE}}
        for name in CLAIMS
    ),
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "mpi-run-ssh-secret", "namespace": make.NAMESPACE},
        "data": {"private.key": "YQ==", "private.key.pub": "Yg=="},
    },
]
"""The claims that a valid spec may name, and the key that TensorRT-LLM needs over several nodes."""

texts = st.text(st.characters(codec="utf-8"), max_size=6)
leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | texts
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
words = st.sampled_from(["a", "A", "b-c", "Decode", "x_y", "é", "", "a.b", "w" * 70, "-z"])
kinds_of_service = st.sampled_from(["frontend", "worker", "prefill", "decode", "planner", "epp", "", "other"])
configs = st.sampled_from(["", "null", "{}", '{"a":{"ServiceArgs":{"workers":2,"Resources":{"GPU":"1"}}}}', "[1.5]"])
envs = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(["A", "B", "DYN_DEPLOYMENT_CONFIG"]), "value": configs}), max_size=3
)
maps = st.dictionaries(texts, texts, max_size=2)
sane = st.fixed_dictionaries(
    {},
    optional={
        "componentType": kinds_of_service,
        "replicas": st.integers(0, 3) | st.none(),
        "envs": envs,
        "labels": maps,
        "annotations": maps,
        "modelRef": st.fixed_dictionaries({"name": texts}),
        "scalingAdapter": st.fixed_dictionaries({"enabled": st.booleans()}),
        "globalDynamoNamespace": st.booleans(),
        "multinode": st.fixed_dictionaries({"nodeCount": st.sampled_from([1, 1, 1, 2])}),
        "eppConfig": st.fixed_dictionaries({"config": st.dictionaries(texts, anything, min_size=1, max_size=2)}),
        "extraPodSpec": st.dictionaries(texts, anything, max_size=2),
        "ingress": st.fixed_dictionaries({"enabled": st.booleans()}),
    },
)
wild = st.dictionaries(
    st.sampled_from(["envs", "labels", "resources", "eppConfig", "extraPodSpec", "modelRef", "replicas", "x"]),
    anything,
    max_size=3,
)
claims = st.fixed_dictionaries(
    {"name": words},
    optional={
        "create": st.booleans(),
        "size": st.sampled_from(["1Gi", "1024Mi", "0", "x", 7]),
        "storageClass": st.sampled_from(["", "std"]),
        "volumeAccessMode": st.just("ReadWriteOnce"),
    },
)
sane_specs = st.fixed_dictionaries(
    {"services": st.dictionaries(words, sane, max_size=4)},
    optional={"envs": envs, "pvcs": st.lists(claims, max_size=3), "backendFramework": st.sampled_from(["vllm", ""])},
)
wild_specs = st.fixed_dictionaries(
    {"services": st.dictionaries(words, sane | wild, max_size=3)},
    optional={"envs": anything, "pvcs": anything, "restart": anything},
)


def parent_of(spec: Any) -> dict[str, Any]:
    return {**make.graph({}), "spec": spec}


def shuffle(value: Any, dice: random.Random) -> Any:
    """The same value with its keys in another order."""
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: shuffle(value[key], dice) for key in keys}
    return [shuffle(item, dice) for item in value] if isinstance(value, list) else value


def assert_sound(answer: SyncAnswer) -> None:
    for child in answer.children:
        metadata = child["metadata"]
        limit = 63 if child["kind"] in {"DynamoComponentDeployment", "Service"} else 253
        assert SUBDOMAIN.fullmatch(metadata["name"])
        assert len(metadata["name"]) <= limit
        ours = {k: v for k, v in metadata.get("labels", {}).items() if "nvidia.com/" in k or "kubernetes.io/" in k}
        assert all(LABEL_VALUE.fullmatch(value) for value in ours.values())


@settings(max_examples=examples(300), deadline=None)
@given(sane_specs | wild_specs | ON_ONE_NODE)
def test_every_graph_gets_a_sound_answer_or_reasons(spec: Any) -> None:
    answer = world.ask(parent_of(spec), installed=INSTALLED)
    assert_sound(answer)
    assert (
        bool(answer.problems) is (world.ready(answer)["reason"] != "some_resources_are_not_ready")
        or not spec["services"]
    )
    if answer.problems:
        assert not answer.children


@settings(max_examples=examples(100), deadline=None)
@given(sane_specs | ON_ONE_NODE, st.randoms(use_true_random=False))
def test_order_of_keys_changes_no_byte(spec: Any, dice: random.Random) -> None:
    first, second = (make.sync_request(parent_of(s), installed=INSTALLED) for s in (spec, shuffle(spec, dice)))
    facts = make.facts()
    assert write_sync_answer(sync(first, facts), first.children) == write_sync_answer(
        sync(second, facts), second.children
    )


@pytest.mark.parametrize("specs", [ON_ONE_NODE, ON_SEVERAL_NODES], ids=["one node", "several nodes"])
@pytest.mark.parametrize("services", range(1, MAX_SERVICES + 1))
def test_valid_specs_have_up_to_so_many_services(services: int, specs: Any) -> None:
    unshrunk = settings(phases=[Phase.generate], derandomize=True, database=None)
    assert find(specs, lambda spec: len(spec["services"]) == services, settings=unshrunk)


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_valid_graph_is_accepted_with_sound_children(path: str, data: st.DataObject) -> None:
    installed, specs = PATHS[path]
    spec = data.draw(specs)
    answer = world.ask(parent_of(spec), related=OF_OTHERS, installed=installed)
    assert answer.problems == ()
    assert_sound(answer)
    assert services_of(answer) == set(spec["services"])
    assert list(refused_components(answer, installed)) == []
    adapted = {name for name, service in spec["services"].items() if service.get("scalingAdapter", {}).get("enabled")}
    adapters = world.names(answer.children, contract.SCALING_ADAPTER.kind)
    assert adapters == sorted(f"g-{name.lower()}" for name in adapted)


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_graph_comes_to_rest_and_stays(path: str, data: st.DataObject) -> None:
    installed, specs = PATHS[path]
    parent = parent_of(data.draw(specs))
    first = world.ask(parent, related=OF_OTHERS, installed=installed)
    assert first.problems == ()
    children = run(world.apply([], first.children))
    parts = list(grove_parts(children))
    scaled = world.ask({**parent, "status": first.status}, children, [*OF_OTHERS, *parts], installed=installed)
    parts = [scale(found, scaled) for found in parts]
    related = [*OF_OTHERS, *parts]
    second = world.ask({**parent, "status": scaled.status}, children, related, installed=installed)
    assert world.ready(second)["status"] == "True", world.ready(second)["message"]
    assert not [effect for effect in second.effects if isinstance(effect, ScalePodClique)]
    again = world.apply(children, second.children)
    third = world.ask({**parent, "status": second.status}, again, related, installed=installed)
    assert world.text(third) == world.text(second)


def refused_components(answer: SyncAnswer, installed: list[str]) -> Iterator[Problem]:
    """What the hook of the components has against them."""
    for child in answer.children:
        if gvk_of(child) == contract.COMPONENT:
            request = make.sync_request(make.observed(child), installed=installed)
            yield from component.sync(request, make.facts()).problems


def services_of(answer: SyncAnswer) -> set[str]:
    """Services that have a component or a clique."""
    sets = [child["spec"]["template"]["cliques"] for child in answer.children if gvk_of(child) == kinds.POD_CLIQUE_SET]
    labelled = [clique["labels"] for cliques in sets for clique in cliques]
    components = [child["metadata"]["labels"] for child in answer.children if gvk_of(child) == contract.COMPONENT]
    return {labels[contract.LABEL_COMPONENT] for labels in (*labelled, *components)}


def run(children: list[Manifest]) -> list[Manifest]:
    """The children with every component up, and the set, if there is one, seen by Grove."""
    return [processed(child) if gvk_of(child) == kinds.POD_CLIQUE_SET else child for child in world.run(children)]


def grove_parts(children: list[Manifest]) -> Iterator[Manifest]:
    """What Grove makes of a PodCliqueSet at first, all of it up."""
    for child in children:
        if gvk_of(child) == kinds.POD_CLIQUE_SET:
            template = child["spec"]["template"]
            groups = template.get("podCliqueScalingGroups", [])
            grouped = {clique for group in groups for clique in group["cliqueNames"]}
            for group in groups:
                yield part(kinds.POD_CLIQUE_SCALING_GROUP.kind, f"g-0-{group['name']}", desired=group["replicas"])
            for clique in template["cliques"]:
                if clique["name"] not in grouped:
                    desired = clique["spec"]["replicas"]
                    yield part(kinds.POD_CLIQUE.kind, f"g-0-{clique['name']}", desired=desired)


def scale(found: Manifest, answer: SyncAnswer) -> Manifest:
    """The part of a PodCliqueSet as the answer's effects scale it."""
    name = found["metadata"]["name"]
    scalings = (effect for effect in answer.effects if isinstance(effect, ScalePodClique) and effect.name == name)
    return next((part(found["kind"], name, desired=effect.replicas) for effect in scalings), found)


@settings(max_examples=examples(100), deadline=None)
@given(sane_specs | wild_specs | ON_ONE_NODE)
def test_related_objects_are_asked_for_whatever_the_spec(spec: Any) -> None:
    for rule in customize(CustomizeRequest(parent=parent_of(spec)), make.facts()):
        assert rule.namespace == ("" if rule.resource == "namespaces" else "default")
        assert all(rule.names)
