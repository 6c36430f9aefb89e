"""What stays beside a held workload; whose mark a workload keeps while two versions of the hooks answer in turn."""

import orjson
import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.wire.metacontroller.controllers import CHILD_KINDS
from hooks.wire.policy.new_defaults import FOLLOWING, find_unwanted, index_children, keep_following, keep_live_mark
from hooks.wire.policy.rendering_mark import FOREIGN_REVISION, RENDERING_REVISION, RenderingMark, mark, read_mark

OLDER, NEWER = RENDERING_REVISION - 1, RENDERING_REVISION + 1


def component(image: str = "img:0") -> Manifest:
    spec = {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": image}}}
    return {
        "apiVersion": contract.COMPONENT.api_version,
        "kind": contract.COMPONENT.kind,
        "metadata": {"name": "c"},
        "spec": spec,
    }


def applied(workload: Manifest) -> Manifest:
    """The workload as Metacontroller stored it."""
    annotations = workload["metadata"]["annotations"]
    record = {contract.ANNOTATION_LAST_APPLIED: orjson.dumps(workload).decode()}
    return {**workload, "metadata": {**workload["metadata"], "annotations": {**annotations, **record}}}


@pytest.mark.parametrize(
    ("live", "kept"),
    [
        (mark(component(), "abc", NEWER), NEWER),
        (mark(component(), "abc", OLDER), OLDER),
        (mark(component(), "abc", FOREIGN_REVISION), RENDERING_REVISION),
        (mark(component(), "def", NEWER), RENDERING_REVISION),
        (mark(component("img:1"), "abc", NEWER), RENDERING_REVISION),
    ],
    ids=["of newer hooks", "of older hooks", "of the Go operator", "of another spec", "of another rendering"],
)
def test_mark_of_other_hooks_stays_where_both_render_the_same(live: Manifest, kept: int) -> None:
    assert read_mark(keep_live_mark(mark(component(), "abc"), applied(live))) == RenderingMark(kept, "abc")


def test_new_workload_and_one_without_a_mark_get_ours() -> None:
    wanted = mark(component(), "abc")
    assert keep_live_mark(wanted, None) is wanted
    assert keep_live_mark(wanted, {**component(), "metadata": {}}) is wanted


def placed(kind: GroupVersionKind, version: str) -> Manifest:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}, "data": version}


@pytest.mark.parametrize("kind", CHILD_KINDS, ids=lambda kind: kind.kind)
def test_child_beside_a_held_workload_stays_as_it_was_applied_if_it_belongs_to_the_pods(kind: GroupVersionKind) -> None:
    old, new = placed(kind, "old"), placed(kind, "new")
    metadata = {"name": "x", "annotations": {contract.ANNOTATION_LAST_APPLIED: orjson.dumps(old).decode()}}
    live = index_children([{**old, "metadata": metadata}])
    assert keep_following([new], live) == [old if kind in FOLLOWING else new]
    # Of a PodGroup there is one for each replica, so one that is not returned is not wanted any more.
    assert find_unwanted([], live) == ([old] if kind in FOLLOWING - {kinds.POD_GROUP} else [])
