"""How parents go: garbage collection, finalize hooks, children that survive."""

from typing import Any

from tests.contract.backend import GROUP_VERSION, Answer, Backend
from tests.contract.parts import (
    COMPOSITE_FINALIZER,
    CONFIG_MAPS,
    CONTROLLER,
    WIDGETS,
    Script,
    composite,
    config_map,
    names,
    paths,
    run,
    the_config_map,
    the_thing,
    there,
    touch,
    widget,
)

BOTH = ("sync", "finalize")


def children_of_a_parent_deleted_in_the_background_are_collected(cluster: Backend) -> None:
    run(cluster, Script([config_map("a"), config_map("b")]), composite(CONFIG_MAPS))
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.until(lambda: names(cluster) == [], "the children are gone")
    assert cluster.get(GROUP_VERSION, "Thing", "one") is None


def a_parent_deleted_in_the_foreground_goes_after_its_children(cluster: Backend) -> None:
    run(cluster, Script([widget(finalizers=["example.com/hold"])]), composite(WIDGETS))
    cluster.delete(GROUP_VERSION, "Thing", "one", propagation="Foreground")
    cluster.until(
        lambda: "deletionTimestamp" in there(cluster, GROUP_VERSION, "Widget", "child")["metadata"],
        "the child is being deleted",
    )
    assert "deletionTimestamp" in the_thing(cluster)["metadata"]
    cluster.patch(GROUP_VERSION, "Widget", "child", {"metadata": {"finalizers": None}})
    cluster.until(lambda: cluster.get(GROUP_VERSION, "Thing", "one") is None, "the parent is gone")
    assert names(cluster, "Widget", GROUP_VERSION) == []


def children_of_an_orphaning_deletion_stay_without_owner(cluster: Backend) -> None:
    run(cluster, Script([config_map()]), composite(CONFIG_MAPS))
    cluster.delete(GROUP_VERSION, "Thing", "one", propagation="Orphan")
    cluster.until(lambda: cluster.get(GROUP_VERSION, "Thing", "one") is None, "the parent is gone")
    cluster.settle()
    assert "ownerReferences" not in the_config_map(cluster)["metadata"]


def a_finalizer_is_set_only_where_a_finalize_hook_is_declared(cluster: Backend) -> None:
    parent = run(cluster, Script(), composite(CONFIG_MAPS, stages=BOTH))
    assert parent["metadata"]["finalizers"] == [COMPOSITE_FINALIZER]
    assert COMPOSITE_FINALIZER in cluster.hook_calls[0].request["parent"]["metadata"]["finalizers"]
    cluster.stop_controller(CONTROLLER)
    cluster.start_controller(composite(CONFIG_MAPS), Script())
    cluster.settle()
    assert "finalizers" not in the_thing(cluster)["metadata"]


def finalize_is_called_instead_of_sync_and_its_children_are_managed(cluster: Backend) -> None:
    script = Script([config_map("a"), config_map("b")], finalized=False)
    run(cluster, script, composite(CONFIG_MAPS, stages=BOTH))
    script.children = [config_map("b")]
    before = len(cluster.hook_calls)
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.until(lambda: names(cluster) == ["b"], "the first child is gone")
    cluster.settle()
    late = list(cluster.hook_calls)[before:]
    assert late
    assert {(call.path, call.request["finalizing"]) for call in late} == {("/finalize", True)}
    assert the_thing(cluster)["metadata"]["finalizers"] == [COMPOSITE_FINALIZER]
    script.children, script.finalized = [], True
    touch(cluster)
    assert cluster.get(GROUP_VERSION, "Thing", "one") is None


def finalize_can_take_children_down_in_order(cluster: Backend) -> None:
    gone: list[str] = []

    def hook(path: str, request: dict[str, Any]) -> Answer:
        if path == "/sync":
            return 200, {}, {"status": {}, "children": [config_map("a"), config_map("b")]}
        observed = sorted(key.partition("/")[2] for key in request["children"]["ConfigMap.v1"])
        gone.append(",".join(observed))
        return (
            200,
            {},
            {"status": {}, "children": [config_map(name) for name in observed[1:]], "finalized": not observed},
        )

    cluster.create(
        {"apiVersion": GROUP_VERSION, "kind": "Thing", "metadata": {"name": "one", "namespace": cluster.namespace}}
    )
    cluster.start_controller(composite(CONFIG_MAPS, stages=BOTH), hook)
    cluster.settle()
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.until(lambda: cluster.get(GROUP_VERSION, "Thing", "one") is None, "the parent is gone")
    assert [*dict.fromkeys(gone)] == ["a,b", "b", ""]


def children_of_the_answer_that_says_finalized_are_ignored(cluster: Backend) -> None:
    script = Script([config_map()], finalized=True)
    run(cluster, script, composite(CONFIG_MAPS, stages=BOTH))
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.until(lambda: names(cluster) == [], "the child is collected though finalize returned it")


def a_failing_finalize_keeps_the_parent_and_its_children(cluster: Backend) -> None:
    script = Script([config_map()])
    run(cluster, script, composite(CONFIG_MAPS, stages=BOTH))
    script.answer = (500, {}, b"engine unreachable")
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.settle()
    assert "deletionTimestamp" in the_thing(cluster)["metadata"]
    assert names(cluster) == ["child"]
    script.answer = None
    cluster.until(lambda: cluster.get(GROUP_VERSION, "Thing", "one") is None, "the parent is gone")


def finalize_under_foreground_deletion_does_not_manage_children(cluster: Backend) -> None:
    held = widget(finalizers=["example.com/hold"])
    script = Script([held], finalized=False, finalize_children=[held, widget("late")])
    run(cluster, script, composite(WIDGETS, stages=BOTH))
    cluster.delete(GROUP_VERSION, "Thing", "one", propagation="Foreground")
    cluster.until(lambda: "/finalize" in paths(cluster), "the finalize hook is called")
    cluster.settle()
    assert names(cluster, "Widget", GROUP_VERSION) == ["child"]


def without_a_finalize_hook_children_of_a_deleted_parent_are_not_managed(cluster: Backend) -> None:
    script = Script([config_map()])
    run(cluster, script, composite(CONFIG_MAPS))
    cluster.patch(GROUP_VERSION, "Thing", "one", {"metadata": {"finalizers": ["example.com/hold"]}})
    cluster.settle()
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.settle()
    script.children = []
    touch(cluster)
    assert names(cluster) == ["child"]


def a_deletion_bumps_the_generation(cluster: Backend) -> None:
    run(cluster, Script(finalized=False), composite(CONFIG_MAPS, stages=BOTH))
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.settle()
    assert the_thing(cluster)["metadata"]["generation"] == 2


def leaving_the_label_selector_calls_finalize_and_frees_the_parent(cluster: Backend) -> None:
    script = Script([config_map()])
    cluster.create(
        {
            "apiVersion": GROUP_VERSION,
            "kind": "Thing",
            "metadata": {"name": "one", "namespace": cluster.namespace, "labels": {"mine": "yes"}},
        }
    )
    selector = {"labelSelector": {"matchLabels": {"mine": "yes"}}}
    cluster.start_controller(composite(CONFIG_MAPS, stages=BOTH, parent=selector), script)
    cluster.settle()
    script.children = []
    cluster.patch(GROUP_VERSION, "Thing", "one", {"metadata": {"labels": {"mine": None}}})
    cluster.settle()
    assert names(cluster) == []
    assert "finalizers" not in the_thing(cluster)["metadata"]
    assert paths(cluster)[-1] == "/finalize"


def a_child_anchored_to_its_namespace_survives_background_deletion(cluster: Backend) -> None:
    _survives(cluster, "Background")


def a_child_anchored_to_its_namespace_survives_foreground_deletion(cluster: Backend) -> None:
    _survives(cluster, "Foreground")


def _survives(cluster: Backend, propagation: Any) -> None:
    namespace = there(cluster, "v1", "Namespace", cluster.namespace)
    anchor = {"apiVersion": "v1", "kind": "Namespace", "name": cluster.namespace, "uid": namespace["metadata"]["uid"]}
    script = Script([widget(ownerReferences=[anchor])])
    run(cluster, script, composite(("example.com/v1", "widgets", "OnDelete")))
    owners = there(cluster, GROUP_VERSION, "Widget", "child")["metadata"]["ownerReferences"]
    assert [owner["kind"] for owner in owners] == ["Namespace", "Thing"]
    cluster.delete(GROUP_VERSION, "Thing", "one", propagation=propagation)
    cluster.until(lambda: cluster.get(GROUP_VERSION, "Thing", "one") is None, "the parent is gone")
    cluster.until(
        lambda: len(there(cluster, GROUP_VERSION, "Widget", "child")["metadata"]["ownerReferences"]) == 1,
        "only the namespace owns the child",
    )
    assert there(cluster, GROUP_VERSION, "Widget", "child")["metadata"]["ownerReferences"] == [anchor]


CASES = (
    children_of_a_parent_deleted_in_the_background_are_collected,
    a_parent_deleted_in_the_foreground_goes_after_its_children,
    children_of_an_orphaning_deletion_stay_without_owner,
    a_finalizer_is_set_only_where_a_finalize_hook_is_declared,
    finalize_is_called_instead_of_sync_and_its_children_are_managed,
    finalize_can_take_children_down_in_order,
    children_of_the_answer_that_says_finalized_are_ignored,
    a_failing_finalize_keeps_the_parent_and_its_children,
    finalize_under_foreground_deletion_does_not_manage_children,
    without_a_finalize_hook_children_of_a_deleted_parent_are_not_managed,
    a_deletion_bumps_the_generation,
    leaving_the_label_selector_calls_finalize_and_frees_the_parent,
    a_child_anchored_to_its_namespace_survives_background_deletion,
    a_child_anchored_to_its_namespace_survives_foreground_deletion,
)
