"""What is told of a rollout, in Events and in the condition Rollout: each turn once, nothing while nothing changes."""

from collections.abc import Mapping

import pytest

from hooks.graph import sync as graph_sync
from hooks.graph.report.events import plan_transition_events
from hooks.graph.report.rollout_reasons import ROLLOUT, RolloutReason
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.not_ready import Explanation
from hooks.ground.k8s.types import Json
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.wire.metacontroller.effects import Event
from hooks.wire.metacontroller.protocol import SyncRequest
from tests.tools.offline.simulator.test_rollouts import ROLES, Rolled, annotate

Told = list[Event]
BEGAN, ENDED = ("Normal", "RolloutInProgress"), ("Normal", "RolloutCompleted")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """The Events about rollouts; a sync that asks for pods is answered twice, and the last answer counts."""
    plan, kept = plan_transition_events, list[Event]()

    def note(
        request: SyncRequest, status: Mapping[str, Json], explained: Mapping[str, Explanation]
    ) -> tuple[Event, ...]:
        events = plan(request, status, explained)
        for one in events:
            if one.reason.startswith("Rollout"):
                kept[:] = [
                    *(other for other in kept if (other.reason, other.occasion) != (one.reason, one.occasion)),
                    one,
                ]
        return events

    monkeypatch.setattr(graph_sync, "plan_transition_events", note)
    return kept


def words(told: Told) -> list[tuple[str, str]]:
    return [(one.type, one.reason) for one in told]


def reason_of(world: Rolled) -> str:
    found = find_condition(world.graph["status"]["conditions"], ROLLOUT) or {}
    return str(found.get("reason") or "")


def test_rollout_that_goes_through_is_told_at_both_ends(told: Told) -> None:
    world = Rolled(prefill=2, decode=4)
    assert (words(told), reason_of(world)) == ([], "")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    world.assert_at_rest()
    assert words(told) == [BEGAN, ENDED]
    assert reason_of(world) == ""
    world.change(image="r/vllm-runtime:1.6.3")
    world.run()
    assert words(told) == [BEGAN, ENDED, BEGAN, ENDED], "a second rollout is told, too"


def test_pause_and_its_end_are_told(told: Told) -> None:
    world = Rolled()
    annotate(world, paused="true")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    assert reason_of(world) == RolloutReason.PAUSED
    assert words(told)[-1] == ("Normal", "RolloutPaused")
    annotate(world, paused=None)
    world.run()
    world.assert_at_rest()
    assert words(told)[-2:] == [BEGAN, ENDED]
    assert len(told) <= 4


def test_canary_that_waits_is_told(told: Told) -> None:
    world = Rolled(prefill=2, decode=2)
    annotate(world, canary="1")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    assert reason_of(world) == RolloutReason.CANARY_READY
    annotate(world, canary=None)
    world.run()
    world.assert_at_rest()
    assert words(told) == [BEGAN, ("Normal", "RolloutCanaryReady"), BEGAN, ENDED]


def test_rollout_without_room_is_a_warning(told: Told) -> None:
    world = Rolled()
    world.change_to_broken("r/vllm-runtime:1.6.2", PodFault.UNSCHEDULABLE, *ROLES)
    world.run(3_600)
    assert reason_of(world) == RolloutReason.NO_ROOM
    assert words(told) == [BEGAN, ("Warning", "RolloutWithoutRoom")]
    assert "add nodes or raise the quota" in told[-1].message
    world.mend()
    world.run()
    world.assert_at_rest()
    assert words(told)[2:] == [BEGAN, ENDED]


def test_rollout_that_is_stalled_is_a_warning(told: Told) -> None:
    world = Rolled()
    world.change_to_broken("r/vllm-runtime:1.6.9", PodFault.IMAGE_PULL, "decode")
    world.run(7_200)
    assert reason_of(world) == RolloutReason.STALLED
    assert words(told) == [BEGAN, ("Warning", "RolloutStalled")]
    world.change(image="r/vllm-runtime:1.6.1")
    world.run()
    world.assert_at_rest()
    assert words(told)[-1] == ENDED
    assert len(told) <= 4
