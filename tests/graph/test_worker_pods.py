"""The pods of a rolling worker as they were read: groups of them, what serves, and what old generations have whole."""

from datetime import timedelta
from fractions import Fraction
from typing import Any

from hooks.graph.change.worker_pods import SeenWorker, count_pods, find_complete, see_worker
from hooks.ground import contract
from hooks.ground.k8s.conditions import format_time
from hooks.ground.k8s.types import Manifest
from tests import make

OLD, NEW = "0a1b2c3d", "ffee0011"
PATIENCE = 60.0
FACTS = make.facts(rollout_room_after="60")


def pod(name: str, suffix: str, *, ready: bool = True, seconds: float = 600, **labels: str) -> Manifest:
    since = format_time(make.NOW - timedelta(seconds=seconds))
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": since}
    env = [{"name": contract.WORKER_SUFFIX, "value": suffix}]
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "env": env}]},
        "status": {"phase": "Running", "conditions": [condition]},
    }


def group(of: str, index: int, suffix: str, *, size: int = 2, **more: Any) -> list[Manifest]:
    labels = {
        "leaderworkerset.sigs.k8s.io/name": of,
        "leaderworkerset.sigs.k8s.io/group-index": str(index),
        "leaderworkerset.sigs.k8s.io/template-revision-hash": suffix,
    }
    return [pod(f"{of}-{index}-{rank}", suffix, **{**labels, **more}) for rank in range(size)]


def see(pods: list[Manifest], *, wanted: int, nodes: int = 1, is_known: bool = True) -> SeenWorker:
    spread = {"multinode": {"nodeCount": nodes}} if nodes > 1 else {}
    spec = {"replicas": wanted, "envs": [{"name": contract.WORKER_SUFFIX, "value": NEW}], **spread}
    return see_worker({"spec": spec}, pods, is_known=is_known)


def test_group_is_ready_once_all_its_pods_are() -> None:
    whole, part = group("c-0", 0, NEW), group("c-0", 1, NEW, size=1)
    unready = [pod("x", NEW, ready=False, **whole[0]["metadata"]["labels"]), whole[1]]
    assert count_pods(see([*whole, *part], wanted=2, nodes=2), FACTS).ready == 1
    assert count_pods(see(unready, wanted=2, nodes=2), FACTS).ready == 0


def test_settings_say_how_many_pods_may_be_missing_or_too_many() -> None:
    settings = {"rollout_max_surge": "2", "rollout_max_unavailable": "50%"}
    found, usual = (count_pods(see([], wanted=4), facts) for facts in (make.facts(make.NOW, **settings), FACTS))
    assert (found.spare, found.surge) == (2, 2)
    assert (usual.spare, usual.surge) == (None, 0)


def test_group_with_a_pod_of_before_is_an_old_one() -> None:
    mixed = [group("c-0", 0, NEW)[0], group("c-0", 0, OLD)[1]]
    found = count_pods(see(mixed, wanted=1, nodes=2), FACTS)
    assert (found.ready, found.old) == (0, 1)


def test_later_places_are_those_beyond_the_wanted_groups_of_a_set() -> None:
    alone = see([*group("c-0", 0, OLD), *group("c-0", 1, NEW), *group("c-0", 2, NEW)], wanted=2, nodes=2)
    numbered: dict[str, Any] = {contract.LABEL_INSTANCE: "0"}
    each = see([*group("c-0", 0, OLD, **numbered), *group("c-0", 1, NEW, **numbered)], wanted=2, nodes=2)
    for seen, surplus, settled in ((alone, 1, 1), (each, 1, 0)):
        found = count_pods(seen, FACTS)
        assert (found.surplus, found.settled, found.old) == (surplus, settled, 1)


def test_pod_that_was_ready_a_moment_ago_still_counts() -> None:
    pods = [
        pod("serves", OLD),
        pod("a-moment", OLD, ready=False, seconds=5),
        pod("long", OLD, ready=False, seconds=61),
    ]
    found = count_pods(see(pods, wanted=3), FACTS)
    assert (found.old, found.intact) == (3, 2)


def test_generations_are_complete_each_for_itself() -> None:
    third = "33333333"
    prefill = see([pod("p-0", OLD), pod("p-1", third)], wanted=2)
    decode = see([pod("d-0", OLD), pod("d-1", OLD), pod("d-2", OLD, ready=False)], wanted=4)
    assert find_complete([prefill, decode], make.NOW, PATIENCE) == Fraction(1, 2)
    broken = see([pod("d-0", third, ready=False)], wanted=1)
    assert find_complete([prefill, broken], make.NOW, PATIENCE) == 0
    assert find_complete([prefill, see([], wanted=1, is_known=False)], make.NOW, PATIENCE) is None


def test_progress_is_what_was_made_or_became_ready() -> None:
    made = pod("new", NEW, ready=False)
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    assert [*filter(None, see([made, pod("old", OLD)], wanted=1).progress)] == ["2026-01-01T00:00:00Z"]
    ready = pod("new", NEW, seconds=10)
    assert max(see([ready], wanted=1).progress) == format_time(make.NOW - timedelta(seconds=10))
