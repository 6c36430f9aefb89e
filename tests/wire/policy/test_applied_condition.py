"""Which children deviate, for how long that is normal, and what the condition Applied says then."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import merge_conditions
from hooks.ground.k8s.not_ready import NotReadyReason
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.effects import Event
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.applied_condition import APPLIED, Applied, build_applied_event, judge_deviations
from hooks.wire.policy.conditions import reference_of
from hooks.wire.policy.deviations import Deviance, Deviation, Unmanaged, find_deviations
from hooks.wire.policy.overriding import explain_override
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
    assert life.sync(MISSING, 20, is_coming_up=True).condition.message.startswith(
        "Service s: Progressing: wait (not found)"
    )


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


# Somebody else changes a child


CHANGE, APPLYING = [deviation(Deviance.CHANGED)], [deviation(Deviance.BEING_APPLIED)]


def test_change_that_is_set_back_is_remembered_for_thirty_seconds() -> None:
    life = Life()
    life.sync([], -100)
    assert life.said(CHANGE, 0) == ("Unknown", "Changed", 5)
    assert life.said([], 1) == ("Unknown", "Restored", 29)
    assert life.said([], 29.5) == ("Unknown", "Restored", 0.5)
    assert life.said([], 30) == ("True", "AsWanted", 0)


def test_change_that_is_made_again_is_an_override_until_it_stays_away_for_thirty_seconds() -> None:
    life = Life()
    life.sync([], -100)
    life.sync(CHANGE, 0)
    life.sync([], 1)
    for seconds in (15, 30, 45):
        assert life.said(CHANGE, seconds) == ("False", "Overridden", 5)
        assert life.said(CHANGE, seconds + 1)[:2] == ("False", "Overridden"), "a read of before is the same change"
        assert life.said([], seconds + 2) == ("Unknown", "Overridden", 30)
    assert life.said([], 76)[:2] == ("Unknown", "Overridden")
    assert life.said([], 77) == ("True", "AsWanted", 0)


def test_what_is_overridden_is_said_while_it_stands_as_wanted_too() -> None:
    life = Life()
    for seconds, found in ((0, CHANGE), (1, []), (2, CHANGE)):
        said = life.sync(found, seconds)
    between = life.sync([], 3)
    assert said.contested == ""
    assert between.contested == between.condition.message == said.condition.message
    assert between.judged == ()


def test_edit_of_the_spec_is_no_override_and_needs_no_thirty_seconds() -> None:
    life = Life()
    life.sync([], -100)
    for number in range(5):
        assert life.said(APPLYING, 10 * number, generation=2 + number) == ("Unknown", "Progressing", 5)
        assert life.said([], 10 * number + 1, generation=2 + number) == ("True", "AsWanted", 0)


def test_edit_of_the_spec_ends_what_was_said_of_an_override() -> None:
    life = Life()
    for seconds, found in ((0, CHANGE), (1, []), (2, CHANGE)):
        life.sync(found, seconds)
    after = life.sync(APPLYING, 3, generation=2)
    assert (after.condition.status, after.condition.reason, after.contested) == ("Unknown", "Restored", "")
    assert life.said([], 4, generation=2)[:2] == ("Unknown", "Restored")


def test_edit_beside_a_change_has_its_whole_time() -> None:
    """The time of the condition is that of the change."""
    life = Life()
    life.sync([], -100)
    life.sync(CHANGE, 0)
    life.sync([], 1)
    for seconds in (20, 25, 39):
        applied = life.sync(APPLYING, seconds, generation=2)
        assert (applied.condition.status, applied.judged[0].is_lasting) == ("Unknown", False)
    assert life.said(APPLYING, 40, generation=2) == ("False", "Differs", 5)


def test_change_that_lasts_differs_and_is_remembered_after_it() -> None:
    life = Life()
    life.sync([], -100)
    life.sync(CHANGE, 0)
    assert life.said(CHANGE, 10) == ("False", "Differs", 5)
    assert life.said(CHANGE, 20) == ("False", "Differs", 10)
    assert life.said([], 21) == ("Unknown", "Restored", 30)
    assert life.said(CHANGE, 40)[:2] == ("False", "Overridden")


def test_kind_that_is_never_updated_is_not_overridden() -> None:
    life, fixed = Life(), [deviation(Deviance.CHANGED, is_updated=False)]
    life.sync([], -100)
    assert life.said(fixed, 0) == ("Unknown", "Progressing", 5)
    assert life.said([], 1) == ("True", "AsWanted", 0)


def test_override_is_one_event_however_long_it_goes_on() -> None:
    life, about, events = Life(), reference_of(PARENT), list[Event]()
    for seconds, found in ((-100, []), (0, CHANGE), (1, []), (15, CHANGE), (16, []), (30, CHANGE), (31, []), (100, [])):
        before = {"conditions": life.conditions}
        life.sync(found, seconds)
        events += build_applied_event(about, before, {"conditions": life.conditions})
    assert [(event.type, event.reason) for event in events] == [("Warning", "Differs")]


def test_who_overrides_is_named_from_the_text_of_the_call() -> None:
    """Parsed objects have no managedFields."""
    live = {**make.observed(SCALED), "spec": {"replicas": 3}}
    fields = {"manager": "kube-controller-manager", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    recorded = {**live, "metadata": {**live["metadata"], "managedFields": [fields]}}
    whole = make.wire_request(PARENT, [recorded])
    request = replace(make.sync_request(PARENT, [live]), body=orjson.dumps(whole))
    (found,) = find_deviations([SCALED], request)
    assert str(explain_override(found, request)) == (
        "Differs: kube-controller-manager (subresource scale) writes spec.replicas again and again - "
        "let the autoscaler scale the DynamoGraphDeploymentScalingAdapter of the service instead "
        "(docs/autoscaling.md), or delete it: kubectl get hpa -n default"
    )
    nobody = make.sync_request(PARENT, [live])
    assert "something else writes spec.replicas again and again" in str(explain_override(found, nobody))


SCALED: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": make.NAMESPACE},
    "spec": {"replicas": 1},
}


DESCRIBE = "kubectl describe dynamocomponentdeployment c -n default"
GET = "kubectl get service s -n default -o yaml"
CHANGED = find_deviations([config()], make.sync_request(PARENT, [make.observed(config(), data={"key": "2"})]))
SAID: dict[str, tuple[Deviation, NotReadyReason, tuple[str, ...]]] = {
    "missing": (deviation(), NotReadyReason.MISSING, ("not found", DESCRIBE, "SyncError", GET)),
    "taken": (
        deviation(holder="Other o"),
        NotReadyReason.NAME_TAKEN,
        ("not found", "the Service s that exists belongs to Other o - rename one of the two (not found)"),
    ),
    "taken by an object of nobody": (
        deviation(holder="no owner"),
        NotReadyReason.NAME_TAKEN,
        ("the Service s that exists has no owner - rename one of the two, or delete that object if",),
    ),
    "refused": (
        deviation(Deviance.BEING_APPLIED),
        NotReadyReason.DIFFERS,
        ("not yet applied", "the change could not be written so far", DESCRIBE),
    ),
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
    assert not found.holder or "that exists" in early.what, "it is said at once whose it is"
    applied = life.sync([found], 10)
    assert applied.judged[0].explanation.reason is reason
    assert applied.condition.reason == reason
    assert applied.condition.message.startswith(f"{found.title}: ")
    for part in parts:
        assert part in applied.condition.message
