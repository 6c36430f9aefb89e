"""Claims as a table, and the garbage collector."""

from typing import Any

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.store import Propagation
from hooks.wire.world.ownership import ClaimAction, decide_claim
from tests.tools.offline.simulator.worlds import WIDGET, config_map, owner, widget, world

OURS, THEIRS, NONE = "ours", "theirs", None


@pytest.mark.parametrize(
    ("controller", "selected", "child_deleting", "parent_deleting", "expected"),
    [
        (OURS, True, False, False, ClaimAction.KEEP),
        (OURS, True, True, False, ClaimAction.KEEP),
        (OURS, True, False, True, ClaimAction.KEEP),
        (OURS, False, False, False, ClaimAction.RELEASE),
        (OURS, False, False, True, ClaimAction.IGNORE),
        (THEIRS, True, False, False, ClaimAction.IGNORE),
        (THEIRS, False, False, False, ClaimAction.IGNORE),
        (NONE, True, False, False, ClaimAction.ADOPT),
        (NONE, True, True, False, ClaimAction.IGNORE),
        (NONE, True, False, True, ClaimAction.IGNORE),
        (NONE, False, False, False, ClaimAction.IGNORE),
    ],
)
def test_claim(
    controller: str | None, selected: bool, child_deleting: bool, parent_deleting: bool, expected: ClaimAction
) -> None:
    deleting: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    owners = [{"uid": controller, "controller": True}] if controller else []
    parent: Manifest = {"metadata": {"uid": OURS, **(deleting if parent_deleting else {})}}
    child: Manifest = {"metadata": {"ownerReferences": owners, **(deleting if child_deleting else {})}}
    assert decide_claim(parent, child, selected=selected) is expected


@pytest.mark.parametrize(
    ("propagation", "child_stays"),
    [("Background", False), ("Foreground", False), ("Orphan", True)],
    ids=["background", "foreground", "orphan"],
)
def test_dependents_of_a_deleted_owner(propagation: Propagation, child_stays: bool) -> None:
    cluster = world()
    parent = cluster.create(widget())
    cluster.create(config_map(ownerReferences=[owner(parent, controller=True, blockOwnerDeletion=True)]))
    cluster.delete(WIDGET, "w", "default", propagation)
    cluster.settle()
    assert cluster.get(WIDGET, "w", "default") is None
    child = cluster.get(kinds.CONFIG_MAP, "c", "default")
    assert (child is not None) is child_stays
    assert child is None or "ownerReferences" not in child["metadata"]


def test_grandchildren_go_too() -> None:
    cluster = world()
    top = cluster.create(widget("top"))
    middle = cluster.create(widget("middle", ownerReferences=[owner(top)]))
    cluster.create(config_map(ownerReferences=[owner(middle)]))
    cluster.delete(WIDGET, "top", "default")
    cluster.settle()
    assert cluster.list_kind(WIDGET) == []
    assert cluster.list_kind(kinds.CONFIG_MAP) == []


def test_foreground_deletion_waits_for_blocking_dependents_only() -> None:
    cluster = world()
    parent = cluster.create(widget())
    held = ["example.com/hold"]
    cluster.create(config_map("blocking", finalizers=held, ownerReferences=[owner(parent, blockOwnerDeletion=True)]))
    cluster.create(config_map("idle", finalizers=held, ownerReferences=[owner(parent)]))
    cluster.delete(WIDGET, "w", "default", "Foreground")
    cluster.settle()
    assert cluster.get(WIDGET, "w", "default") is not None
    cluster.patch(kinds.CONFIG_MAP, "blocking", {"metadata": {"finalizers": None}}, "default")
    cluster.settle()
    assert cluster.get(WIDGET, "w", "default") is None
    assert cluster.get(kinds.CONFIG_MAP, "idle", "default") is not None


def test_an_object_with_one_living_owner_only_loses_the_dead_reference() -> None:
    cluster = world()
    one, two = cluster.create(widget("one")), cluster.create(widget("two"))
    cluster.create(config_map(ownerReferences=[owner(one), owner(two)]))
    cluster.delete(WIDGET, "one", "default")
    cluster.settle()
    child = cluster.get(kinds.CONFIG_MAP, "c", "default")
    assert child is not None
    assert [reference["name"] for reference in child["metadata"]["ownerReferences"]] == ["two"]


@pytest.mark.parametrize(
    "wrong", [{"uid": "absent"}, {"name": "other"}, {"kind": "Thing"}], ids=["uid", "name", "kind"]
)
def test_a_reference_to_nobody_deletes_the_object(wrong: dict[str, str]) -> None:
    cluster = world()
    parent = cluster.create(widget())
    cluster.create(config_map(ownerReferences=[{**owner(parent), **wrong}]))
    cluster.settle()
    assert cluster.list_kind(kinds.CONFIG_MAP) == []


def test_an_owner_in_another_namespace_does_not_count() -> None:
    cluster = world(namespaces=("default", "other"))
    parent = cluster.create(widget(namespace="other"))
    cluster.create(config_map(ownerReferences=[owner(parent)]))
    cluster.settle()
    assert cluster.list_kind(kinds.CONFIG_MAP) == []
