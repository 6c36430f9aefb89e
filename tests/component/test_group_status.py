"""What a component over several nodes reports of its LeaderWorkerSets."""

from datetime import timedelta
from typing import Any

import pytest

from hooks.component import sync
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.component.groups import INSTALLED, SETS, spec
from tests.component.render import answer


def set_status(ready: int = 1, *, generation: int | None = 1, updated: int = 1) -> dict[str, Any]:
    """Status of a LeaderWorkerSet of one group; counts of 0 are absent, as is the generation before version 0.9."""
    counts = {"replicas": 1, "readyReplicas": ready, "updatedReplicas": updated}
    available = {"type": "Available", "status": "True" if ready else "False", "reason": "AllGroupsReady", "message": ""}
    seen = {} if generation is None else {"observedGeneration": generation}
    return {**seen, **{key: count for key, count in counts.items() if count}, "conditions": [available]}


def running(fields: dict[str, Any], *statuses: dict[str, Any]) -> list[Manifest]:
    """The children of that spec as the cluster holds them, the LeaderWorkerSets with these statuses in order."""
    found = answer(make.component("c", "g", **fields), installed=INSTALLED).children
    left = iter(statuses)
    return [make.observed(child, **({"status": next(left)} if child["kind"] == SETS else {})) for child in found]


def ask(
    fields: dict[str, Any], observed: list[Manifest], *, status: Any = None, seconds: float = 0
) -> tuple[SyncAnswer, dict[str, dict[str, Any]]]:
    """The answer so many seconds later, and its conditions by type."""
    parent = make.component("c", "g", **fields, **({"status": status} if status else {}))
    facts = make.facts(make.NOW + timedelta(seconds=seconds))
    request = make.sync_request(parent, observed, installed=INSTALLED, shown=[kinds.POD])
    given = sync.sync(request, facts)
    assert given.status is not None
    return given, {condition["type"]: condition for condition in given.status["conditions"]}


def test_all_sets_ready_make_the_component_ready() -> None:
    given, found = ask(spec(replicas=2), running(spec(replicas=2), set_status(), set_status()))
    assert [condition["status"] for condition in found.values()] == ["True"] * 5
    assert found["Available"]["reason"] == "AllLeaderWorkerSetsReady"
    assert found["Available"]["message"] == "All LeaderWorkerSets are ready"
    assert given.resync_after_seconds == 0


def test_one_set_that_is_not_ready_is_named_and_counts_are_sums() -> None:
    fields = spec(replicas=3)
    observed = running(fields, set_status(), set_status(ready=0), set_status())
    given, found = ask(fields, observed)
    assert found["Available"]["status"] == "False"
    assert found["Available"]["reason"] == "SomeLeaderWorkerSetsNotReady"
    assert found["Available"]["message"] == (
        "Some LeaderWorkerSets are not ready: Progressing: wait (c-1: desired=1, ready=0)"
    )
    assert given.status is not None
    assert given.status["service"] == {
        "componentKind": "LeaderWorkerSet",
        "componentName": "c-0",
        "componentNames": ["c-0", "c-1", "c-2"],
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 2,
        "runtimeNamespace": "default-g",
        "gpusPerEngine": 2,
        "gpusPerReplica": 2,
    }


def test_no_replicas_are_ready_and_count_as_none() -> None:
    given, found = ask(spec(replicas=0), running(spec(replicas=0)))
    assert found["Ready"]["status"] == "True"
    assert given.status is not None
    service = given.status["service"]
    assert [service[field] for field in ("replicas", "updatedReplicas", "readyReplicas")] == [0, 0, 0]


@pytest.mark.parametrize("replicas", [0, 1])
def test_sets_above_the_replicas_count_until_they_are_gone(replicas: int) -> None:
    observed = running(spec(replicas=2), set_status(), set_status())
    given, found = ask(spec(replicas=replicas), observed)
    assert (found["Available"]["status"], found["Ready"]["status"]) == ("False", "False")
    for number in range(2):
        assert (f"c-{number}: its replica is no longer wanted" in found["Ready"]["message"]) == (number >= replicas)
    left = [child for child in observed if (child["kind"], child["metadata"]["name"]) in identities(given)]
    assert ask(spec(replicas=replicas), left)[1]["Ready"]["status"] == "True"


def identities(given: SyncAnswer) -> set[tuple[str, str]]:
    return {(child["kind"], child["metadata"]["name"]) for child in given.children}


def test_status_of_an_older_generation_does_not_count() -> None:
    observed = running(spec(), set_status(generation=1))
    observed[0]["metadata"]["generation"] = 2
    assert ask(spec(), observed)[1]["Ready"]["reason"] == "RollingOut"


def test_new_spec_that_is_not_applied_yet_is_not_ready() -> None:
    found = ask(spec(envs=[{"name": "A", "value": "1"}]), running(spec(), set_status()))[1]
    assert (
        "RollingOut: wait for the new pods (Some LeaderWorkerSets are not ready: c-0: its new spec is being applied)"
        in found["Ready"]["message"]
    )


def test_status_without_generation_is_believed_only_after_a_while() -> None:
    changed = spec(envs=[{"name": "A", "value": "1"}])
    ready = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-01T11:00:00Z"}]}
    first, found = ask(changed, running(spec(), set_status(generation=None)), status=ready)
    assert (found["Ready"]["status"], first.resync_after_seconds) == ("False", 5)

    applied = running(changed, set_status(generation=None))
    second, found = ask(changed, applied, status=first.status, seconds=1)
    assert found["Ready"]["status"] == "False"
    assert "before version 0.9 does not report the generation of its status" in found["Ready"]["message"]
    assert second.resync_after_seconds == 9

    third, found = ask(changed, applied, status=second.status, seconds=10)
    assert (found["Ready"]["status"], third.resync_after_seconds) == ("True", 0)
    fourth, found = ask(changed, applied, status=third.status, seconds=11)
    assert (found["Ready"]["status"], fourth.resync_after_seconds) == ("True", 0)


@pytest.mark.parametrize(
    ("seconds", "truth", "resync"),
    [(-3, "False", 10), (-3600, "True", 0), (-86400, "True", 0)],
    ids=["another pod's clock", "set back an hour", "set back a day"],
)
def test_status_without_generation_is_not_waited_for_longer_by_another_clock(
    seconds: int, truth: str, resync: float
) -> None:
    applied = running(spec(), set_status(generation=None))
    first, _ = ask(spec(), applied)
    second, found = ask(spec(), applied, status=first.status, seconds=seconds)
    assert (found["Ready"]["status"], second.resync_after_seconds) == (truth, resync)


def test_status_without_generation_that_nobody_reported_on_is_looked_at_again() -> None:
    given, found = ask(spec(), running(spec(), set_status(generation=None)))
    assert (found["Ready"]["status"], given.resync_after_seconds) == ("False", 10)


@pytest.mark.parametrize("role", ["leaderTemplate", "workerTemplate"])
def test_reordered_init_containers_are_reported_for_both_roles(role: str) -> None:
    def fields(*names: str) -> dict[str, Any]:
        pod = {**spec()["extraPodSpec"], "initContainers": [{"name": name, "image": "i"} for name in names]}
        return spec(extraPodSpec=pod, resources={})

    observed = running(fields("new", "a"), set_status())
    live = observed[0]["spec"]["leaderWorkerTemplate"][role]["spec"]
    live["initContainers"] = [{"name": "a", "image": "i"}]
    message = ask(fields("new", "a"), observed)[1]["Ready"]["message"]
    assert "LeaderWorkerSet c-0 runs its init containers in the order a, new instead of new, a" in message


def test_component_that_cannot_be_rendered_still_counts_its_sets() -> None:
    observed = running(spec(replicas=2), set_status(), set_status())
    given, found = ask(spec(replicas=2, resources={"limits": {"gpu": "1.5"}}), observed)
    assert found["Ready"]["reason"] == "ValidationFailed"
    assert given.status is not None
    assert given.status["service"]["readyReplicas"] == 2


@pytest.mark.parametrize(
    ("generation", "ready", "truth"),
    [(None, False, "False"), (None, True, "True"), (1, False, "True")],
    ids=["before 0.9, a pod out of service", "before 0.9, all pods ready", "from 0.9 the set itself is believed"],
)
def test_pods_speak_for_a_set_that_would_not_notice(generation: int | None, ready: bool, truth: str) -> None:
    fields = spec()
    observed = running(fields, set_status(generation=generation))
    labels = {"leaderworkerset.sigs.k8s.io/name": "c-0"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "c-0-0-1", "namespace": make.NAMESPACE, "labels": labels},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }
    before, _ = ask(fields, observed)
    parent = make.component("c", "g", **fields, status=before.status)
    later = make.facts(make.NOW + timedelta(minutes=1))
    given = answer(parent, observed, related=[pod], installed=INSTALLED, facts=later)
    assert given.status is not None
    found = {condition["type"]: condition for condition in given.status["conditions"]}
    assert found["Ready"]["status"] == truth
    assert ("Pod c-0-0-1 is not ready" in found["Ready"]["message"]) is (truth == "False")
