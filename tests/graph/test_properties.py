"""What holds of every graph: an answer or a reason, sound children, the same bytes whatever the order of keys."""

import random
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.graph.sync import customize, sync
from hooks.protocol import CustomizeRequest, SyncAnswer, write_sync_answer
from tests import make
from tests.graph import world

LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
INSTALLED = ["inference-pool"]

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


@settings(max_examples=300, deadline=None)
@given(sane_specs | wild_specs)
def test_every_graph_gets_a_sound_answer_or_reasons(spec: Any) -> None:
    answer = world.ask(parent_of(spec), installed=INSTALLED)
    assert_sound(answer)
    assert (
        bool(answer.problems) is (world.ready(answer)["reason"] != "some_resources_are_not_ready")
        or not spec["services"]
    )
    if answer.problems:
        assert answer.children == []


@settings(max_examples=100, deadline=None)
@given(sane_specs, st.randoms(use_true_random=False))
def test_order_of_keys_changes_no_byte(spec: Any, dice: random.Random) -> None:
    first, second = (make.sync_request(parent_of(s), installed=INSTALLED) for s in (spec, shuffle(spec, dice)))
    facts = make.facts()
    assert write_sync_answer(sync(first, facts), first.children) == write_sync_answer(
        sync(second, facts), second.children
    )


@settings(max_examples=100, deadline=None)
@given(sane_specs)
def test_graph_comes_to_rest_and_stays(spec: Any) -> None:
    parent = parent_of({**spec, "pvcs": [c for c in spec.get("pvcs", []) if c.get("create")]})
    first = world.ask(parent, installed=INSTALLED)
    if first.problems:
        return
    children = world.run(world.apply([], first.children))
    second = world.ask({**parent, "status": first.status}, children, installed=INSTALLED)
    assert world.ready(second)["status"] == "True"
    third = world.ask({**parent, "status": second.status}, world.apply(children, second.children), installed=INSTALLED)
    assert world.text(third) == world.text(second)


@settings(max_examples=100, deadline=None)
@given(sane_specs | wild_specs)
def test_related_objects_are_asked_for_whatever_the_spec(spec: Any) -> None:
    for rule in customize(CustomizeRequest(parent=parent_of(spec)), make.facts()):
        assert rule.namespace == "default"
        assert all(rule.names)
