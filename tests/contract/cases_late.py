"""What a sync does for a parent whose deletion Metacontroller has not heard of yet, and what becomes of it."""

from typing import Any

from tests.contract.backend import GROUP_VERSION, Answer, Backend, Propagation
from tests.contract.parts import (
    CONFIG_MAPS,
    WIDGETS,
    Script,
    composite,
    config_map,
    names,
    run,
    the_config_map,
    there,
    thing,
    touch,
    widget,
)

HELD = "example.com/hold"


def children_collected_before_the_news_of_a_foreground_deletion_are_created_again(cluster: Backend) -> None:
    """They are created while the parent is being deleted, and go before it does."""
    run(cluster, Script([config_map(), widget(finalizers=[HELD])]), composite(CONFIG_MAPS, WIDGETS))
    with cluster.late_news_of_parents():
        _delete_until_a_child_is_created_again(cluster, "Foreground")
    cluster.settle()
    mark = cluster.mark()
    cluster.patch(GROUP_VERSION, "Widget", "child", {"metadata": {"annotations": {"touched": "yes"}}})
    touch(cluster)
    assert _created_since(cluster, mark) == [], "once it has heard of the deletion it creates nothing"
    cluster.patch(GROUP_VERSION, "Widget", "child", {"metadata": {"finalizers": None}})
    _nothing_is_left(cluster)


def children_collected_before_the_news_of_a_background_deletion_are_created_again(cluster: Backend) -> None:
    """They name an owner that is gone, so they are collected too."""
    run(cluster, Script([config_map()]), composite(CONFIG_MAPS))
    with cluster.late_news_of_parents():
        _delete_until_a_child_is_created_again(cluster, "Background")
        assert cluster.get(GROUP_VERSION, "Thing", "one") is None
    _nothing_is_left(cluster)


def a_finalize_hook_does_not_keep_children_from_being_created_again(cluster: Backend) -> None:
    """Before the news the sync hook is called, after it the finalize hook, which ends the deletion."""
    script = Script([config_map(), widget(finalizers=[HELD])])
    run(cluster, script, composite(CONFIG_MAPS, WIDGETS, stages=("sync", "finalize")))
    before = len(cluster.hook_calls)
    with cluster.late_news_of_parents():
        _delete_until_a_child_is_created_again(cluster, "Foreground")
        assert {call.path for call in list(cluster.hook_calls)[before:]} == {"/sync"}
    cluster.until(lambda: cluster.hook_calls[-1].path == "/finalize", "the finalize hook is called")
    cluster.patch(GROUP_VERSION, "Widget", "child", {"metadata": {"finalizers": None}})
    _nothing_is_left(cluster)


def a_sync_under_way_when_its_parent_is_deleted_creates_what_it_lacked(cluster: Backend) -> None:
    """The parent is not read again between the hook's answer and the writes."""
    wanted = [widget(finalizers=[HELD])]

    def hook(_path: str, request: dict[str, Any]) -> Answer:
        metadata = request["parent"]["metadata"]
        if "touched" in metadata.get("annotations", {}) and "deletionTimestamp" not in metadata:
            cluster.delete(GROUP_VERSION, "Thing", "one", propagation="Foreground")
            return 200, {}, {"status": {}, "children": [*wanted, config_map("late")]}
        return 200, {}, {"status": {}, "children": wanted}

    cluster.create(thing(cluster))
    cluster.start_controller(composite(CONFIG_MAPS, WIDGETS), hook)
    cluster.settle()
    mark = cluster.mark()
    cluster.patch(GROUP_VERSION, "Thing", "one", {"metadata": {"annotations": {"touched": "yes"}}})
    cluster.until(lambda: _created_since(cluster, mark) == ["late"], "the child is created")
    assert "deletionTimestamp" in there(cluster, GROUP_VERSION, "Thing", "one")["metadata"]
    cluster.patch(GROUP_VERSION, "Widget", "child", {"metadata": {"finalizers": None}})
    _nothing_is_left(cluster)


def orphans_of_a_parent_being_deleted_are_not_adopted_though_the_news_is_late(cluster: Backend) -> None:
    """The parent is read again before an adoption, so the sync fails and the children stay without owner."""
    run(cluster, Script([config_map()]), composite(CONFIG_MAPS))
    cluster.patch(GROUP_VERSION, "Thing", "one", {"metadata": {"finalizers": [HELD]}})
    cluster.settle()
    with cluster.late_news_of_parents():
        cluster.delete(GROUP_VERSION, "Thing", "one", propagation="Orphan")
        cluster.until(lambda: "can't adopt ConfigMap" in _failures(cluster), "the adoption is refused")
        assert "has just been deleted" in _failures(cluster)
        assert "ownerReferences" not in the_config_map(cluster)["metadata"]
    cluster.settle()
    cluster.patch(GROUP_VERSION, "Thing", "one", {"metadata": {"finalizers": None}})
    cluster.until(lambda: cluster.get(GROUP_VERSION, "Thing", "one") is None, "the parent is gone")
    cluster.settle()
    assert "ownerReferences" not in the_config_map(cluster)["metadata"]


def orphans_of_a_parent_that_is_gone_are_left_alone_though_the_news_is_late(cluster: Backend) -> None:
    """They are no children any more; what the hook wants has their names and is refused."""
    run(cluster, Script([config_map()]), composite(CONFIG_MAPS))
    uid, mark = the_config_map(cluster)["metadata"]["uid"], cluster.mark()
    with cluster.late_news_of_parents():
        cluster.delete(GROUP_VERSION, "Thing", "one", propagation="Orphan")
        cluster.until(lambda: cluster.get(GROUP_VERSION, "Thing", "one") is None, "the parent is gone")
        cluster.patch("v1", "ConfigMap", "child", {"metadata": {"annotations": {"touched": "yes"}}})
        cluster.until(
            lambda: any((w.verb, w.code) == ("create", 409) for w in cluster.writes_since(mark)), "a sync came late"
        )
    cluster.settle()
    left = the_config_map(cluster)["metadata"]
    assert (left["uid"], left.get("ownerReferences")) == (uid, None)


def _delete_until_a_child_is_created_again(cluster: Backend, propagation: Propagation) -> None:
    mark = cluster.mark()
    cluster.delete(GROUP_VERSION, "Thing", "one", propagation=propagation)
    cluster.until(lambda: "child" in _created_since(cluster, mark), "the child is created again")


def _created_since(cluster: Backend, mark: int) -> list[str]:
    writes = cluster.writes_since(mark)
    return [write.name for write in writes if (write.verb, write.resource, write.code) == ("create", "configmaps", 201)]


def _failures(cluster: Backend) -> str:
    return " ".join(event["message"] for event in cluster.events("Thing", "one") if event["reason"] == "SyncError")


def _nothing_is_left(cluster: Backend) -> None:
    cluster.until(lambda: cluster.get(GROUP_VERSION, "Thing", "one") is None, "the parent is gone")
    cluster.until(lambda: names(cluster) == [], "the children are gone")
    cluster.settle()
    assert names(cluster) == [] == names(cluster, "Widget", GROUP_VERSION)


LATE_CASES = (
    children_collected_before_the_news_of_a_foreground_deletion_are_created_again,
    children_collected_before_the_news_of_a_background_deletion_are_created_again,
    a_finalize_hook_does_not_keep_children_from_being_created_again,
    a_sync_under_way_when_its_parent_is_deleted_creates_what_it_lacked,
    orphans_of_a_parent_being_deleted_are_not_adopted_though_the_news_is_late,
    orphans_of_a_parent_that_is_gone_are_left_alone_though_the_news_is_late,
)
