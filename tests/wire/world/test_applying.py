"""What a sync makes of a world, where the contract's cases do not reach: other people's objects, deletion, refusals."""

from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.wire.world.applying import apply
from hooks.wire.world.objects import ObjectId, World
from hooks.wire.world.ownership import controller_reference

PARENT: Manifest = {
    "apiVersion": contract.COMPONENT.api_version,
    "kind": contract.COMPONENT.kind,
    "metadata": {"name": "c", "namespace": "a", "uid": "u1"},
}


def service(ports: Any = (), **metadata: Any) -> Manifest:
    spec = {"ports": list(ports) if isinstance(ports, tuple) else ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", **metadata}, "spec": spec}


def owned(**metadata: Any) -> Manifest:
    references = [controller_reference(PARENT)]
    return service(namespace="a", uid="u2", ownerReferences=references, **metadata)


def found(world: World) -> Manifest | None:
    return world.find(ObjectId(namespace="a", kind="Service", name="s"))


def test_name_of_somebody_elses_object_stays_theirs() -> None:
    theirs = service(namespace="a", uid="u2")
    world = World.live([PARENT, theirs])
    assert found(apply([service([{"port": 1}])], PARENT, world)) == theirs


def test_parent_that_is_being_deleted_keeps_its_children() -> None:
    going = {**PARENT, "metadata": {**PARENT["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    world = World.live([going, owned()])
    assert apply([], going, world) == world
    assert found(apply([], PARENT, World.live([PARENT, owned()]))) is None


def test_child_that_cannot_be_merged_stays_as_it_is() -> None:
    world = World.live([PARENT, owned()])
    assert found(apply([service("none")], PARENT, world)) == owned()


def test_children_of_kinds_that_the_controller_does_not_declare_stay() -> None:
    other = {**owned(), "apiVersion": "v1", "kind": "ConfigMap"}
    world = World.live([PARENT, owned(), other])
    after = apply([], PARENT, world)
    assert [one.manifest["kind"] for one in after.objects.values()] == [contract.COMPONENT.kind, "ConfigMap"]


def test_child_of_a_parent_that_was_never_stored_has_no_label() -> None:
    new = {**PARENT, "metadata": {"name": "c", "namespace": "a"}}
    child = found(apply([service()], new, World.written([new])))
    assert child is not None
    assert "labels" not in child["metadata"]
    assert found(apply([service()], new, World.written([new]))) == child


def test_what_is_deleted_is_no_orphan_to_adopt() -> None:
    label = {contract.LABEL_CONTROLLER_UID: "u1"}
    orphan = service(namespace="a", uid="u2", labels=label)
    going = {**orphan, "metadata": {**orphan["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert World.live([PARENT, orphan]).children_of(PARENT) == (orphan,)
    assert World.live([PARENT, going]).children_of(PARENT) == ()
