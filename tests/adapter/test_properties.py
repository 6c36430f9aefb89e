"""What holds of every adapter and graph that the API server lets through."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.effects import WriteBackReplicas
from tests import make
from tests.adapter.test_sync import adapter, ask, counting, ready, status_of
from tests.effort import examples

counts = st.integers(0, 2**31 - 1)
services = st.fixed_dictionaries(
    {"componentType": st.sampled_from(["", "frontend", "worker", "planner", "epp", "other"])},
    optional={
        "replicas": counts,
        "scalingAdapter": st.none() | st.fixed_dictionaries({}, optional={"enabled": st.booleans()}),
        "multinode": st.none() | st.fixed_dictionaries({}, optional={"nodeCount": st.integers(2, 8)}),
    },
)
reported = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "services": st.none()
        | st.dictionaries(
            st.sampled_from(["Worker", "Gone"]), st.fixed_dictionaries({}, optional={"replicas": counts}), max_size=2
        ),
        "state": st.sampled_from(["pending", "successful", "failed"]),
    },
)
graphs = st.builds(
    lambda found, status: make.graph(found, status=status),
    st.dictionaries(st.sampled_from(["Worker", "Planner", "Other"]), services, max_size=3),
    reported,
)
before = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "replicas": counts,
        "desiredReplicas": counts,
        "observedGeneration": st.integers(0, 3),
        "lastScaleTime": st.just("2026-01-01T00:00:00Z"),
    },
)
few = st.integers(0, 2)
count_fields = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
modes = st.sampled_from(["planner", "always", "off"])


@settings(max_examples=examples(200), deadline=None)
@given(counts, st.integers(1, 3), before, graphs | st.none(), modes)
def test_answer_is_sound_and_settles_at_once(
    replicas: int, generation: int, status: Any, graph: Manifest | None, mode: str
) -> None:
    related = [] if graph is None else [graph]
    parent = adapter(replicas, generation=generation, status=status)
    first = ask(parent, *related, effect_write_back=mode)
    again = ask({**parent, "status": status_of(first)}, *related, effect_write_back=mode)
    assert again.status == first.status
    assert [effect for effect in again.effects if not isinstance(effect, WriteBackReplicas)] == []
    assert status_of(first)["observedGeneration"] == generation
    if ready(first)["status"] == "True":
        assert status_of(first)["replicas"] == replicas
    assert all(effect in first.effects for effect in again.effects)
    assert bool(again.resync_after_seconds) == bool(again.effects)


@settings(max_examples=examples(300), deadline=None)
@given(few, st.fixed_dictionaries({}, optional=dict.fromkeys(count_fields, few)))
def test_ready_is_true_of_nothing_but_replicas_that_serve(asked: int, counts: dict[str, int]) -> None:
    serving = counts.get("readyReplicas", counts.get("availableReplicas", 0))
    is_there = counts.get("replicas", 0) == asked and counts.get("updatedReplicas", 0) >= asked and serving >= asked
    assert ready(ask(adapter(asked), counting(**counts)))["status"] == str(is_there)
