"""What Metacontroller sends to a sync hook and what it makes of the answer: status, errors, retries, resyncs."""

from typing import Any

from tests.contract.backend import GROUP_VERSION, Answer, Backend
from tests.contract.parts import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    SERVICES,
    WIDGETS,
    Script,
    begin,
    change,
    composite,
    config_map,
    names,
    paths,
    run,
    the_config_map,
    the_thing,
    there,
    thing,
    touch,
    widget,
)

_MORE_THAN_EVENTS_BRING = 6
"""Calls of a hook about a new Thing, where its own writes bring three at most."""


def a_request_has_every_declared_kind_under_its_v2_key(cluster: Backend) -> None:
    run(cluster, Script([config_map()]), composite(CONFIG_MAPS, DEPLOYMENTS, SERVICES, WIDGETS))
    first, last = cluster.hook_calls[0].request, cluster.hook_calls[-1].request
    assert set(first) == {"controller", "parent", "children", "related", "finalizing"}
    assert first["children"] == {
        "ConfigMap.v1": {},
        "Deployment.apps/v1": {},
        "Service.v1": {},
        "Widget.example.com/v1": {},
    }
    assert first["related"] == {}
    assert first["finalizing"] is False
    assert list(last["children"]["ConfigMap.v1"]) == [f"{cluster.namespace}/child"]
    assert last["parent"]["metadata"]["name"] == "one"
    assert last["controller"]["kind"] == "CompositeController"


def the_status_is_replaced_whole_and_gets_the_observed_generation(cluster: Backend) -> None:
    script = Script(status={"phase": "Busy", "detail": {"step": 1}})
    parent = run(cluster, script, composite(CONFIG_MAPS))
    assert parent["status"] == {"phase": "Busy", "detail": {"step": 1}, "observedGeneration": 1}
    script.status = {"phase": "Done"}
    touch(cluster)
    assert the_thing(cluster)["status"] == {"phase": "Done", "observedGeneration": 1}


def an_answer_without_status_wipes_the_status(cluster: Backend) -> None:
    script = Script(status={"phase": "Done"})
    run(cluster, script, composite(CONFIG_MAPS))
    script.answer = (200, {}, {"children": []})
    touch(cluster)
    assert the_thing(cluster)["status"] == {"observedGeneration": 1}


def the_observed_generation_follows_the_spec_and_not_the_labels(cluster: Backend) -> None:
    run(cluster, Script(), composite(CONFIG_MAPS))
    touch(cluster)
    assert the_thing(cluster)["status"]["observedGeneration"] == 1
    cluster.patch(GROUP_VERSION, "Thing", "one", {"spec": {"size": 2}})
    cluster.settle()
    assert the_thing(cluster)["metadata"]["generation"] == 2
    assert the_thing(cluster)["status"]["observedGeneration"] == 2


def a_float_in_the_status_is_written_at_every_sync(cluster: Backend) -> None:
    run(cluster, Script(status={"count": 3.0}), composite(CONFIG_MAPS))
    mark = cluster.mark()
    touch(cluster)
    assert [(write.verb, write.subresource) for write in cluster.writes_since(mark)] == [("update", "status")]


def an_error_changes_nothing_and_its_body_becomes_an_event(cluster: Backend) -> None:
    script = Script([config_map()], {"phase": "Good"})
    run(cluster, script, composite(CONFIG_MAPS))
    mark = cluster.mark()
    script.answer = (500, {}, b"the moon is in the wrong phase")
    touch(cluster)
    cluster.until(lambda: bool(cluster.events("Thing", "one")), "the event is recorded")
    event = cluster.events("Thing", "one")[0]
    assert (event["type"], event["reason"]) == ("Warning", "SyncError")
    assert "the moon is in the wrong phase" in event["message"]
    assert cluster.writes_since(mark) == []
    assert the_thing(cluster)["status"]["phase"] == "Good"
    assert names(cluster) == ["child"]


def after_an_error_the_hook_is_asked_again_until_it_answers(cluster: Backend) -> None:
    script = Script([config_map()])
    script.answer = (503, {}, b"not yet")
    run(cluster, script, composite(CONFIG_MAPS))
    cluster.until(lambda: len(cluster.hook_calls) >= 4, "the hook is asked four times")
    script.answer = None
    cluster.until(lambda: names(cluster) == ["child"], "the child is created")


def only_200_is_success(cluster: Backend) -> None:
    script = Script([config_map()])
    script.answer = (201, {}, {"status": {}, "children": [config_map()]})
    run(cluster, script, composite(CONFIG_MAPS))
    assert names(cluster) == []
    cluster.until(lambda: bool(cluster.events("Thing", "one")), "the event is recorded")


def a_body_that_is_no_json_is_an_error(cluster: Backend) -> None:
    script = Script()
    script.answer = (200, {}, b"<html>")
    run(cluster, script, composite(CONFIG_MAPS))
    cluster.until(lambda: bool(cluster.events("Thing", "one")), "the event is recorded")
    assert "status" not in the_thing(cluster)


def an_unknown_field_in_the_answer_is_an_error(cluster: Backend) -> None:
    script = Script([config_map()], extra={"Children": []})
    run(cluster, script, composite(CONFIG_MAPS))
    assert names(cluster) == []
    cluster.until(lambda: bool(cluster.events("Thing", "one")), "the event is recorded")
    assert "Children" in cluster.events("Thing", "one")[0]["message"]


def a_child_without_kind_is_an_error_before_anything_is_done(cluster: Backend) -> None:
    nameless = {"apiVersion": "v1", "metadata": {"name": "child"}}
    run(cluster, Script([config_map("other"), nameless]), composite(CONFIG_MAPS))
    assert names(cluster) == []
    assert "status" not in the_thing(cluster)


def a_label_that_is_no_string_is_an_error_before_anything_is_done(cluster: Backend) -> None:
    run(cluster, Script([config_map("other"), config_map(labels={"size": 1})]), composite(CONFIG_MAPS))
    assert names(cluster) == []
    assert "status" not in the_thing(cluster)


def another_parents_uid_label_on_a_child_stops_the_sync(cluster: Backend) -> None:
    script = Script([config_map("other"), config_map(labels={"controller-uid": "somebody"})])
    run(cluster, script, composite(CONFIG_MAPS))
    assert names(cluster) == []
    cluster.until(lambda: bool(cluster.events("Thing", "one")), "the event is recorded")
    assert "don't match parent selector" in cluster.events("Thing", "one")[0]["message"]


def a_429_with_retry_after_leaves_all_as_it_is_without_an_event(cluster: Backend) -> None:
    script = Script([config_map()], {"phase": "Good"})
    run(cluster, script, composite(CONFIG_MAPS))
    mark = cluster.mark()
    script.answer = (429, {"Retry-After": "1"}, b"not mine")
    calls = len(cluster.hook_calls)
    change(cluster)
    cluster.until(lambda: len(cluster.hook_calls) >= calls + 2, "the hook is asked again")
    assert cluster.writes_since(mark) == []
    assert cluster.events("Thing", "one") == []
    assert the_thing(cluster)["status"]["phase"] == "Good"


def resync_after_seconds_brings_one_more_sync(cluster: Backend) -> None:
    script = Script(extra={"resyncAfterSeconds": 1.5})
    begin(cluster, script, composite(CONFIG_MAPS))
    cluster.until(lambda: len(cluster.hook_calls) >= _MORE_THAN_EVENTS_BRING, "the hook is asked again and again")


def resync_period_seconds_brings_every_parent_again(cluster: Backend) -> None:
    begin(cluster, Script(), composite(CONFIG_MAPS, resyncPeriodSeconds=1))
    cluster.until(lambda: len(cluster.hook_calls) >= _MORE_THAN_EVENTS_BRING, "the hook is asked again and again")


def ignore_status_changes_lets_a_status_pass_unnoticed(cluster: Backend) -> None:
    run(cluster, Script(), composite(CONFIG_MAPS, parent={"ignoreStatusChanges": True}))
    calls = len(cluster.hook_calls)
    cluster.patch_status(GROUP_VERSION, "Thing", "one", {"status": {"foreign": "value"}})
    cluster.settle()
    assert len(cluster.hook_calls) == calls
    touch(cluster)
    assert len(cluster.hook_calls) > calls


def without_ignore_status_changes_a_foreign_status_is_put_right(cluster: Backend) -> None:
    run(cluster, Script(status={"phase": "Good"}), composite(CONFIG_MAPS))
    cluster.patch_status(GROUP_VERSION, "Thing", "one", {"status": {"phase": "Bad"}})
    cluster.settle()
    assert the_thing(cluster)["status"]["phase"] == "Good"


def a_childs_status_change_brings_a_sync_that_shows_it(cluster: Backend) -> None:
    run(cluster, Script([widget()]), composite(WIDGETS))
    cluster.patch_status(GROUP_VERSION, "Widget", "child", {"status": {"phase": "Up"}})
    cluster.settle()
    seen = cluster.hook_calls[-1].request["children"]["Widget.example.com/v1"][f"{cluster.namespace}/child"]
    assert seen["status"] == {"phase": "Up"}


def a_drifted_child_is_released_and_stays(cluster: Backend) -> None:
    released: list[str] = []

    def hook(_path: str, request: dict[str, Any]) -> Answer:
        """Want the child until it was released, and then nothing: a sync that comes late must not delete it."""
        observed = list(request["children"]["ConfigMap.v1"])
        wanted = [config_map()] if observed or not released else []
        return 200, {}, {"status": {}, "children": wanted}

    cluster.create(thing(cluster))
    cluster.start_controller(composite(CONFIG_MAPS), hook)
    cluster.settle()
    released.append("child")
    cluster.patch("v1", "ConfigMap", "child", {"metadata": {"labels": {"controller-uid": None}}})
    cluster.settle()
    assert "ownerReferences" not in the_config_map(cluster)["metadata"]
    assert cluster.hook_calls[-1].request["children"] == {"ConfigMap.v1": {}}


def an_orphan_with_the_parents_uid_label_is_adopted(cluster: Backend) -> None:
    parent = run(cluster, Script([config_map("found", data={"colour": "red"})]), composite(CONFIG_MAPS))
    cluster.delete("v1", "ConfigMap", "found", propagation="Background")
    cluster.settle()
    labels = {"controller-uid": parent["metadata"]["uid"]}
    cluster.create(config_map("orphan", labels=labels, namespace=cluster.namespace))
    cluster.settle()
    assert names(cluster) == ["found"], "an adopted child that is not wanted is deleted"


def an_adopted_orphan_that_is_wanted_becomes_a_child(cluster: Backend) -> None:
    script = Script()
    parent = run(cluster, script, composite(CONFIG_MAPS))
    script.children = [config_map()]
    labels = {"controller-uid": parent["metadata"]["uid"]}
    before = cluster.create(config_map(data={"extra": "kept"}, labels=labels, namespace=cluster.namespace))
    cluster.settle()
    child = the_config_map(cluster)
    assert child["metadata"]["uid"] == before["metadata"]["uid"]
    assert child["metadata"]["ownerReferences"][0]["uid"] == parent["metadata"]["uid"]
    assert child["data"] == {"extra": "kept", "colour": "red"}


def a_parent_outside_of_the_label_selector_is_ignored(cluster: Backend) -> None:
    run(
        cluster,
        Script([config_map()]),
        composite(CONFIG_MAPS, parent={"labelSelector": {"matchLabels": {"mine": "yes"}}}),
    )
    assert paths(cluster) == []
    cluster.patch(GROUP_VERSION, "Thing", "one", {"metadata": {"labels": {"mine": "yes"}}})
    cluster.settle()
    assert there(cluster, "v1", "ConfigMap", "child")


CASES = (
    a_request_has_every_declared_kind_under_its_v2_key,
    the_status_is_replaced_whole_and_gets_the_observed_generation,
    an_answer_without_status_wipes_the_status,
    the_observed_generation_follows_the_spec_and_not_the_labels,
    a_float_in_the_status_is_written_at_every_sync,
    an_error_changes_nothing_and_its_body_becomes_an_event,
    after_an_error_the_hook_is_asked_again_until_it_answers,
    only_200_is_success,
    a_body_that_is_no_json_is_an_error,
    an_unknown_field_in_the_answer_is_an_error,
    a_child_without_kind_is_an_error_before_anything_is_done,
    a_label_that_is_no_string_is_an_error_before_anything_is_done,
    another_parents_uid_label_on_a_child_stops_the_sync,
    a_429_with_retry_after_leaves_all_as_it_is_without_an_event,
    resync_after_seconds_brings_one_more_sync,
    resync_period_seconds_brings_every_parent_again,
    ignore_status_changes_lets_a_status_pass_unnoticed,
    without_ignore_status_changes_a_foreign_status_is_put_right,
    a_childs_status_change_brings_a_sync_that_shows_it,
    a_drifted_child_is_released_and_stays,
    an_orphan_with_the_parents_uid_label_is_adopted,
    an_adopted_orphan_that_is_wanted_becomes_a_child,
    a_parent_outside_of_the_label_selector_is_ignored,
)
