"""Which children deviate, for how long that is normal, and what the condition Applied says then."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from hooks.k8s import kinds
from hooks.k8s.conditions import merge_conditions
from hooks.k8s.not_ready import NotReadyReason
from hooks.k8s.types import Manifest
from hooks.metacontroller.protocol import SyncRequest
from hooks.policy.applied_condition import APPLIED, Applied, judge_deviations
from hooks.policy.deviations import Deviance, Deviation, Unmanaged, find_deviations
from tests import make

PARENT = make.component("c")


def config(name: str = "a", **data: str) -> Manifest:
    metadata = {"name": name, "namespace": make.NAMESPACE, "labels": {"app": "a"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"key": "1"}}


def states(wanted: Manifest, *live: Manifest, related: Iterable[Manifest] = ()) -> list[tuple[str, Deviance, str]]:
    found = find_deviations([wanted], make.sync_request(PARENT, live, related))
    return [(one.title, one.state, str(one.difference or one.why or one.holder)) for one in found]


def test_child_as_wanted_does_not_deviate() -> None:
    assert states(config(), make.observed(config())) == []


def test_missing_child() -> None:
    assert states(config()) == [("ConfigMap a", Deviance.MISSING, "")]


def test_child_on_its_way_out_is_waited_for() -> None:
    going = make.observed(config())
    going["metadata"]["deletionTimestamp"] = "2026-03-01T11:00:00Z"
    assert states(config(), going) == [("ConfigMap a", Deviance.WITHHELD, "it is being deleted")]


def test_child_of_an_older_answer_is_being_applied() -> None:
    found = states(config(key="2"), make.observed(config(key="1")))
    assert found == [("ConfigMap a", Deviance.BEING_APPLIED, 'data[key] is "1", wanted "2"')]


def test_field_that_is_no_longer_wanted_is_being_removed() -> None:
    found = states(config(key="1"), make.observed(config(key="1", old="1")))
    assert found == [("ConfigMap a", Deviance.BEING_APPLIED, "")]


def test_child_that_somebody_changed_is_found_by_its_content() -> None:
    edited = make.observed(config(), data={"key": "by hand", "more": "1"})
    assert states(config(), edited) == [("ConfigMap a", Deviance.CHANGED, 'data[key] is "by hand", wanted "1"')]


def test_child_without_history_is_compared_too() -> None:
    edited = {**config(key="2"), "metadata": config()["metadata"]}
    assert states(config(), edited) == [("ConfigMap a", Deviance.CHANGED, 'data[key] is "2", wanted "1"')]


OWNER = {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "u-o", "controller": True}


@pytest.mark.parametrize(
    ("owners", "holder"),
    [([], "no owner"), ([OWNER], "Other o"), ([{**OWNER, "uid": PARENT["metadata"]["uid"]}], "")],
    ids=["nobody", "somebody else", "the parent"],
)
def test_object_that_has_the_name_of_a_missing_child_is_named(owners: list[dict[str, Any]], holder: str) -> None:
    rival = config()
    rival["metadata"]["ownerReferences"] = owners
    assert states(config(), related=[rival]) == [("ConfigMap a", Deviance.MISSING, holder)]


def test_of_kinds_that_are_never_updated_only_content_or_existence_counts() -> None:
    live = {**config(key="2"), "metadata": {"name": "a", "namespace": make.NAMESPACE}}
    request = make.sync_request(PARENT, [live])
    exists = find_deviations([config()], request, Unmanaged(existing=frozenset({kinds.CONFIG_MAP})))
    (content,) = find_deviations([config()], request, Unmanaged(fixed=frozenset({kinds.CONFIG_MAP})))
    assert exists == ()
    assert (content.state, content.is_updated) == (Deviance.CHANGED, False)


# The condition


def deviation(state: Deviance = Deviance.MISSING, **fields: Any) -> Deviation:
    return Deviation(kind=kinds.SERVICE, name="s", state=state, **fields)


MISSING, WAITING = [deviation()], [deviation(Deviance.WITHHELD, why="it is being deleted")]


class Life:
    """Syncs of one parent, each with the status that the one before answered."""

    def __init__(self) -> None:
        self.conditions: list[dict[str, Any]] = []

    def sync(
        self, deviations: list[Deviation], seconds: float, generation: int = 1, *, is_coming_up: bool = False
    ) -> Applied:
        now = make.NOW + timedelta(seconds=seconds)
        metadata = {**PARENT["metadata"], "generation": generation}
        request: SyncRequest = make.sync_request(
            {**PARENT, "metadata": metadata, "status": {"conditions": self.conditions}}
        )
        applied = judge_deviations(request, deviations, now, is_coming_up=is_coming_up)
        self.conditions = merge_conditions(self.conditions, [applied.condition], now=now, generation=generation)
        return applied

    def said(self, deviations: list[Deviation], seconds: float, generation: int = 1) -> tuple[str, str, float]:
        applied = self.sync(deviations, seconds, generation)
        return applied.condition.status, applied.condition.reason, applied.resync_after_seconds


def test_while_pods_are_to_come_it_is_one_status_for_ten_seconds() -> None:
    life, found = Life(), []
    for seconds, deviations in ((0, MISSING), (1, []), (9, [])):
        found.append(life.sync(deviations, seconds, is_coming_up=True))
    assert {(one.condition.status, one.condition.message) for one in found} == {
        ("Unknown", "The objects are being applied")
    }
    assert [one.resync_after_seconds for one in found] == [5, 9, 1]
    assert found[1].judged == ()
    assert life.sync([], 10, is_coming_up=True).condition.status == "True"


def test_pods_that_are_there_end_the_first_status_at_once() -> None:
    life = Life()
    life.sync(MISSING, 0, is_coming_up=True)
    assert life.said([], 1) == ("True", "AsWanted", 0)


def test_missing_child_is_told_after_ten_seconds_also_without_pods() -> None:
    life = Life()
    life.sync(MISSING, 0, is_coming_up=True)
    after = life.sync(MISSING, 10, is_coming_up=True)
    assert (after.condition.status, after.condition.reason) == ("False", "Missing")


def test_pods_that_are_gone_later_do_not_hide_what_is_missing() -> None:
    life = Life()
    life.sync([], 0)
    assert life.sync(MISSING, 20, is_coming_up=True).condition.message.startswith("Service s: not found")


def test_deviation_is_normal_for_a_moment_and_then_has_a_reason() -> None:
    life = Life()
    assert life.said(MISSING, 0) == ("Unknown", "Progressing", 5)
    assert life.said(MISSING, 7) == ("Unknown", "Progressing", 3)
    assert life.said(MISSING, 10) == ("False", "Missing", 5)
    assert life.said([], 11) == ("True", "AsWanted", 0)
    assert life.said(MISSING, 12) == ("Unknown", "Progressing", 5)


def test_next_sync_comes_later_the_longer_a_deviation_lasts() -> None:
    life = Life()
    life.sync(MISSING, 0)
    life.sync(MISSING, 10)
    assert [life.said(MISSING, 10 + after)[2] for after in (1, 5, 10, 200, 4000)] == [5, 5, 10, 200, 300]


def test_new_generation_is_new_patience() -> None:
    life = Life()
    life.sync(MISSING, 0)
    life.sync(MISSING, 10)
    assert life.said(MISSING, 60, generation=2) == ("Unknown", "Progressing", 5)
    assert life.said(MISSING, 65, generation=2) == ("Unknown", "Progressing", 5)
    assert life.said(MISSING, 70, generation=2) == ("False", "Missing", 5)


def test_what_waits_for_a_deletion_waits_as_long_as_it_takes() -> None:
    life = Life()
    assert life.said(WAITING, 0) == ("False", "Waiting", 5)
    assert life.said(WAITING, 100) == ("False", "Waiting", 100)
    assert life.said(MISSING, 101) == ("Unknown", "Progressing", 5), "what was deleted is not there at once"
    assert life.said([*WAITING, *MISSING], 111) == ("False", "Missing", 5)


def test_invalid_spec_leaves_no_impatience() -> None:
    life = Life()
    life.conditions = [
        {
            "type": APPLIED,
            "status": "False",
            "reason": "ValidationFailed",
            "lastTransitionTime": "2026-03-01T09:00:00Z",
            "observedGeneration": 1,
        }
    ]
    assert life.said(MISSING, 0) == ("Unknown", "Progressing", 5)


DESCRIBE = "kubectl describe dynamocomponentdeployment c -n default"
GET = "kubectl get service s -n default -o yaml"
CHANGED = find_deviations([config()], make.sync_request(PARENT, [make.observed(config(), data={"key": "2"})]))
SAID: dict[str, tuple[Deviation, NotReadyReason, tuple[str, ...]]] = {
    "missing": (deviation(), NotReadyReason.MISSING, ("not found", DESCRIBE, "SyncError", GET)),
    "taken": (
        deviation(holder="Other o"),
        NotReadyReason.NAME_TAKEN,
        ("not found", "the Service s that exists belongs to Other o - rename one of the two)"),
    ),
    "taken by an object of nobody": (
        deviation(holder="no owner"),
        NotReadyReason.NAME_TAKEN,
        ("the Service s that exists has no owner - rename one of the two, or delete that object if",),
    ),
    "refused": (deviation(Deviance.BEING_APPLIED), NotReadyReason.DIFFERS, ("not yet applied", DESCRIBE)),
    "overridden": (
        CHANGED[0],
        NotReadyReason.DIFFERS,
        ('data[key] is "2", wanted "1"', "something refuses or overrides", DESCRIBE, "--show-managed-fields"),
    ),
    "never updated": (
        deviation(Deviance.CHANGED, is_updated=False),
        NotReadyReason.DIFFERS,
        ("it is never updated", "delete it"),
    ),
}


@pytest.mark.parametrize(("found", "reason", "parts"), SAID.values(), ids=SAID.keys())
def test_lasting_deviation_says_what_it_is_and_how_to_see_more(
    found: Deviation, reason: NotReadyReason, parts: tuple[str, ...]
) -> None:
    life = Life()
    early = life.sync([found], 0).judged[0]
    assert (early.explanation.reason, early.is_lasting) == (NotReadyReason.PROGRESSING, False)
    applied = life.sync([found], 10)
    assert applied.judged[0].explanation.reason is reason
    assert applied.condition.reason == reason
    assert applied.condition.message.startswith(f"{found.title}: ")
    for part in parts:
        assert part in applied.condition.message
