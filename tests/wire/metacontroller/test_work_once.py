"""What is computed once for unchanged objects, and again as soon as any field of them changes."""

import json
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.same import ByIdentity
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.parent_key import make_parent_key, read_parent_key
from hooks.wire.policy import deviations
from hooks.wire.policy.deviations import Deviance, Deviation, Unmanaged, find_deviations
from hooks.wire.policy.new_defaults import find_held
from hooks.wire.policy.rendering_mark import mark
from tests import make

WANTED: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "default", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "main", "image": "i:1"}]}}},
}
FIXED = Unmanaged(fixed=frozenset({kinds.DEPLOYMENT}))


def copy(value: Mapping[str, Any]) -> Manifest:
    found: Manifest = json.loads(json.dumps(value))
    return found


def change(manifest: Manifest, path: str, value: Any) -> Manifest:
    """A new object in which one field differs; all other values are the same objects."""
    key, _, rest = path.partition("/")
    return {**manifest, key: change(manifest.get(key, {}), rest, value) if rest else value}


def compare(
    wanted: Children, live: Manifest, unmanaged: Unmanaged = deviations.UPDATED
) -> tuple[tuple[Deviance, str], ...]:
    request = make.sync_request(make.component("c"), [live])
    return tuple((one.state, _path(one)) for one in find_deviations(wanted, request, unmanaged))


def _path(deviation: Deviation) -> str:
    return str(deviation.difference.path) if deviation.difference else ""


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("spec/replicas", 3, (Deviance.CHANGED, "spec.replicas")),
        ("spec/template/spec/containers", [], (Deviance.CHANGED, "spec.template.spec.containers[main]")),
        ("metadata/labels/a", "x", (Deviance.CHANGED, "metadata.labels[a]")),
        ("metadata/annotations/c", "x", (Deviance.CHANGED, "metadata.annotations[c]")),
        ("metadata/deletionTimestamp", "2026-01-01T00:00:00Z", (Deviance.WITHHELD, "")),
        ("spec/paused", False, None),
        ("status", {"replicas": 1}, None),
        ("metadata/resourceVersion", "2", None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_changed_live_object_is_compared_again(path: str, value: Any, found: tuple[Deviance, str] | None) -> None:
    wanted, live = Children.of([WANTED]), make.observed(WANTED)
    changed = change(live, path, value)
    for _ in range(2):
        assert compare(wanted, live) == ()
        assert compare(wanted, changed) == ((found,) if found else ())
        assert compare(wanted, copy(changed)) == ((found,) if found else ())


def test_changed_last_applied_object_is_compared_again() -> None:
    wanted, live = Children.of([WANTED]), make.observed(WANTED)
    earlier = make.observed(change(WANTED, "spec/replicas", 1))
    annotation = earlier["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED]
    behind = {**live["metadata"]["annotations"], contract.ANNOTATION_LAST_APPLIED: annotation}
    for _ in range(2):
        assert compare(wanted, live) == ()
        assert compare(wanted, change(live, "metadata/annotations", behind)) == ((Deviance.BEING_APPLIED, ""),)


def test_changed_wanted_object_is_compared_again() -> None:
    live = make.observed(WANTED)
    for replicas in (2, 3, 2, 3):
        wanted = Children.of([change(WANTED, "spec/replicas", replicas)])
        found = () if replicas == 2 else ((Deviance.BEING_APPLIED, "spec.replicas"),)
        assert compare(wanted, live) == found


def test_object_that_is_never_updated_is_compared_again_when_it_changes() -> None:
    wanted, live = Children.of([WANTED]), make.observed(WANTED)
    for _ in range(2):
        assert compare(wanted, live, FIXED) == ()
        assert compare(wanted, change(live, "metadata/labels/a", "x"), FIXED) == ()
        assert compare(wanted, change(live, "spec/replicas", 3), FIXED) == ((Deviance.CHANGED, "spec.replicas"),)


def test_objects_of_the_same_content_and_another_name_are_told_apart() -> None:
    wanted = Children.of([WANTED, change(WANTED, "metadata/name", "e")])
    live = [make.observed(child) for child in wanted]
    moved = [live[0], change(live[1], "spec", change(live[1]["spec"], "replicas", 9))]
    for _ in range(2):
        found = find_deviations(wanted, make.sync_request(make.component("c"), moved))
        assert [(one.name, one.state) for one in found] == [("e", Deviance.CHANGED)]


def test_same_is_equal_to_itself_alone() -> None:
    one = {"a": 1}
    assert ByIdentity(one) == ByIdentity(one)
    assert hash(ByIdentity(one)) == hash(ByIdentity(one))
    assert ByIdentity(one) != ByIdentity(dict(one))
    assert ByIdentity(one) != one


def test_key_of_a_parent_has_every_field_that_hooks_read() -> None:
    parent = make.component("c", "g", replicas=1)
    key = make_parent_key(parent)
    assert make_parent_key(copy(parent)) == key
    assert read_parent_key(key)["spec"] == parent["spec"]
    changes = {
        "metadata/name": "other",
        "metadata/namespace": "other",
        "metadata/uid": "other",
        "metadata/generation": 7,
        "metadata/labels": {"a": "b"},
        "metadata/annotations": {"a": "b"},
        "metadata/ownerReferences": [],
        "metadata/deletionTimestamp": "2026-01-01T00:00:00Z",
        "spec": {**parent["spec"], "replicas": 2},
    }
    keys = {path: make_parent_key(change(parent, path, value)) for path, value in changes.items()}
    assert len({key, *keys.values()}) == 1 + len(changes)
    for path, value in changes.items():
        changed = change(parent, path, value)
        assert orjson.loads(keys[path]) == read_parent_key(make_parent_key(copy(changed))), path
    unread = change(change(parent, "status", {"a": 1}), "metadata/resourceVersion", "2")
    assert make_parent_key(unread) == key


def _marked(revision: int, digest: str, **spec: Any) -> Manifest:
    found = change(WANTED, "spec", {**WANTED["spec"], **spec})
    return mark(found, digest, revision)


def test_held_workload_is_chosen_again_when_anything_changes() -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "i:1", "tty": True}]}}
    wanted, before = _marked(2, "a", template=template), _marked(1, "a")
    cases = {
        "another template": (wanted, before, 2),
        "other replicas": (change(wanted, "spec/replicas", 5), before, 5),
        "same template": (_marked(2, "a"), before, None),
        "same revision": (wanted, _marked(2, "a"), None),
        "another spec": (_marked(2, "b", template=template), before, None),
        "no mark": (wanted, WANTED, None),
    }
    for _ in range(2):
        for name, (now, applied, replicas) in cases.items():
            held = find_held(now, make.observed(applied))
            assert (held["spec"]["replicas"] if held else None) == replicas, name
            assert held is None or held["spec"]["template"] == applied["spec"]["template"], name
    assert find_held(wanted, None) is None
