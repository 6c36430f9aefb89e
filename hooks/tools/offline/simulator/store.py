"""The API server's storage: objects with versions, generations and finalizers, and a queue of changes.

It knows no controllers and refuses what an API server would refuse. Its callers must not change the objects that it
returns; `client` returns copies.

Source: Kubernetes API concepts (resource versions, finalizers, status subresource).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson

from hooks.ground.k8s.types import GroupVersionKind, Manifest, is_deleting
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.index import Index
from hooks.tools.offline.simulator.resources import Catalogue, Resource, UnknownKind

Propagation = Literal["Background", "Foreground", "Orphan"]
FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

Admit = Callable[[Resource, Manifest, Manifest | None], Manifest]
"""(resource, new object, old object or None) to the stored object; raises ApiError."""


Identify = Callable[["Ref", int], str]
"""(new object, its number among all objects created) to its uid."""


def number_uid(_ref: "Ref", serial: int) -> str:
    """A uid that only the number of the object decides."""
    return f"{serial:08x}-0000-4000-8000-{serial:012x}"


class ApiError(Exception):
    """The API server's refusal; `code` is the HTTP status, `reason` that of Kubernetes' Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class Ref(NamedTuple):
    """Identifies an object by kind without version, namespace (empty if cluster scoped) and name."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class StoreChange:
    """One watch event: `old` is None for an object added, `new` is None for one deleted."""

    ref: Ref
    old: Manifest | None
    new: Manifest | None

    @property
    def current(self) -> Manifest:
        """The object after the change; a deleted one as it was before."""
        found = self.new if self.new is not None else self.old
        assert found is not None  # noqa: S101  # one of the two is always there
        return found


def ref_of(obj: Mapping[str, Any]) -> Ref:
    """The reference of an object."""
    metadata = obj["metadata"]
    group = GroupVersionKind.of(obj["apiVersion"], obj["kind"]).group
    return Ref(group, obj["kind"], metadata.get("namespace", ""), metadata["name"])


def copy_json(obj: Manifest) -> Manifest:
    """Copy an object by writing and reading JSON."""
    copied: Manifest = orjson.loads(orjson.dumps(obj))
    return copied


class Store:
    """All objects of one cluster."""

    def __init__(self, catalogue: Catalogue, clock: Clock, admit: Admit, identify: Identify = number_uid) -> None:
        self.catalogue = catalogue
        self._identify = identify
        self._clock = clock
        self._admit = admit
        self._objects: dict[Ref, Manifest] = {}
        self._index = Index()
        self._changes: list[StoreChange] = []
        self._version = 0
        self._serial = 0

    def get(self, ref: Ref) -> Manifest | None:
        """The object, None if it does not exist."""
        return self._objects.get(ref)

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """All objects of a kind, in one namespace or (empty) in all, sorted by namespace and name."""
        return self._index.list_kind(kind, namespace)

    def list_controlled(self, kind: GroupVersionKind, namespace: str, uid: str) -> list[Manifest]:
        """The objects of a kind that an object controls, or (empty uid) that none controls, sorted likewise."""
        return self._index.list_controlled(kind, namespace, uid)

    def list_labelled(self, kind: GroupVersionKind, namespace: str, labels: Mapping[str, str]) -> list[Manifest]:
        """The objects of a kind with all of these labels, at least one; sorted likewise."""
        return self._index.list_labelled(kind, namespace, labels)

    def list_services(self, namespace: str, labels: Mapping[str, str]) -> list[Manifest]:
        """The Services of a namespace that select pods with these labels, sorted by name."""
        return self._index.list_services(namespace, labels)

    def everything(self) -> list[Manifest]:
        """All objects, sorted by kind, namespace and name."""
        return [self._objects[ref] for ref in sorted(self._objects)]

    def items(self) -> list[tuple[Ref, Manifest]]:
        """All objects with their references, in no particular order."""
        return list(self._objects.items())

    def drain(self) -> list[StoreChange]:
        """Take the changes since the last call."""
        changes, self._changes = self._changes, []
        return changes

    def create(self, obj: Manifest) -> Manifest:
        """Store a new object.

        Raises:
            ApiError: 404 the kind or namespace does not exist, 409 the name is taken, 422 the object is invalid.
        """
        resource = self.resource_of(obj)
        self._check_place(resource, obj)
        ref = ref_of(obj)
        if ref in self._objects:
            raise ApiError(409, "AlreadyExists", f'{resource.plural} "{ref.name}" already exists')
        self._serial += 1
        system = {
            "uid": self._identify(ref, self._serial),
            "creationTimestamp": self._clock.timestamp,
            **({"generation": 1} if resource.generation else {}),
        }
        fresh = _as_sent(obj)
        if resource.status:
            fresh.pop("status", None)
        stored = self._admit(resource, _with_metadata(fresh, system), None)
        return self._write(ref, None, stored)

    def restore(self, obj: Manifest) -> Manifest:
        """Store an object exactly as given: with its uid, generation and status, and without admission.

        Raises:
            ApiError: 404 the kind is not served.
        """
        self.resource_of(obj)
        ref = ref_of(obj)
        return self._write(ref, self._objects.get(ref), obj)

    def update(self, obj: Manifest) -> Manifest:
        """Replace all but the status and the server's metadata; resourceVersion, if set, must be current.

        Raises:
            ApiError: 404 it does not exist, 409 uid or resourceVersion differs, 422 the object is invalid.
        """
        resource, old = self._existing(obj)
        new = _with_metadata(_as_sent(obj), _system_metadata(old))
        if resource.status:
            new = _with_status(new, old)
        return self._commit(resource, old, self._admit(resource, new, old))

    def update_status(self, obj: Manifest) -> Manifest:
        """Replace the status only.

        Raises:
            ApiError: 404 it or its status subresource does not exist, 409 uid or resourceVersion differs, 422 invalid.
        """
        resource, old = self._existing(obj)
        if not resource.status:
            raise ApiError(404, "NotFound", f"{resource.plural} have no status subresource")
        new = _with_status(old, _as_sent({key: value for key, value in obj.items() if key == "status"}))
        return self._commit(resource, old, self._admit(resource, new, old))

    def delete(self, ref: Ref, propagation: Propagation = "Background", uid: str = "") -> None:
        """Delete an object, or mark it as being deleted while finalizers hold it.

        Raises:
            ApiError: 404 it does not exist, 409 it has another uid.
        """
        old = self._objects.get(ref)
        if old is None:
            raise ApiError(404, "NotFound", f'{ref.kind} "{ref.name}" not found')
        if uid and old["metadata"]["uid"] != uid:
            raise ApiError(409, "Conflict", f"{ref}: the uid is {old['metadata']['uid']}, not {uid}")
        held_by = [name for name in old["metadata"].get("finalizers", []) if name not in {FOREGROUND, ORPHAN}]
        held_by += {"Background": [], "Foreground": [FOREGROUND], "Orphan": [ORPHAN]}[propagation]
        if not held_by:
            self._remove(ref, old)
            return
        metadata = {**old["metadata"], "finalizers": held_by}
        if "deletionTimestamp" not in metadata:
            metadata["deletionTimestamp"] = self._clock.timestamp
            metadata["deletionGracePeriodSeconds"] = 0
            if "generation" in metadata:
                metadata["generation"] += 1
        self._write(ref, old, {**old, "metadata": metadata})

    def resource_of(self, obj: Mapping[str, Any]) -> Resource:
        """The served kind of a manifest.

        Raises:
            ApiError: 404 the kind is not served.
        """
        try:
            return self.catalogue.of(obj.get("apiVersion", ""), obj.get("kind", ""))
        except UnknownKind as unknown:
            raise ApiError(404, "NotFound", str(unknown)) from None

    def _check_place(self, resource: Resource, obj: Manifest) -> None:
        metadata = obj["metadata"]
        if not metadata.get("name"):
            raise ApiError(422, "Invalid", f"{obj['kind']}: metadata.name is required")
        namespace = metadata.get("namespace", "")
        if resource.namespaced != bool(namespace):
            wants = "needs a namespace" if resource.namespaced else "is cluster scoped; leave metadata.namespace out"
            raise ApiError(400, "BadRequest", f"{obj['kind']} {metadata['name']} {wants}")
        if namespace and Ref("", "Namespace", "", namespace) not in self._objects:
            raise ApiError(404, "NotFound", f'namespaces "{namespace}" not found')

    def _existing(self, obj: Manifest) -> tuple[Resource, Manifest]:
        resource = self.resource_of(obj)
        ref = ref_of(obj)
        old = self._objects.get(ref)
        if old is None:
            raise ApiError(404, "NotFound", f'{resource.plural} "{ref.name}" not found')
        for field in ("resourceVersion", "uid"):
            given = obj["metadata"].get(field)
            if given and given != old["metadata"][field]:
                raise ApiError(409, "Conflict", f"{ref}: {field} is {old['metadata'][field]}, not {given}")
        return resource, old

    def _commit(self, resource: Resource, old: Manifest, new: Manifest) -> Manifest:
        ref = ref_of(old)
        if is_deleting(new) and not new["metadata"].get("finalizers"):
            self._remove(ref, old)
            return new
        if new == old:
            return old
        if resource.generation and _versioned_part(resource, new) != _versioned_part(resource, old):
            metadata = {**new["metadata"], "generation": old["metadata"]["generation"] + 1}
            new = {**new, "metadata": metadata}
        return self._write(ref, old, new)

    def _write(self, ref: Ref, old: Manifest | None, new: Manifest) -> Manifest:
        self._version += 1
        stored = {**new, "metadata": {**new["metadata"], "resourceVersion": str(self._version)}}
        self._objects[ref] = stored
        self._index.put(ref, stored)
        self._changes.append(StoreChange(ref, old, stored))
        return stored

    def _remove(self, ref: Ref, old: Manifest) -> None:
        self._version += 1
        del self._objects[ref]
        self._index.drop(ref)
        self._changes.append(StoreChange(ref, old, None))


def _as_sent(value: Any) -> Any:
    """A copy as a Go client sends it: 3.0 as 3."""
    if isinstance(value, dict):
        return {key: _as_sent(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_sent(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_SYSTEM_FIELDS = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
)


def _system_metadata(obj: Manifest) -> dict[str, Any]:
    return {key: obj["metadata"][key] for key in _SYSTEM_FIELDS if key in obj["metadata"]}


def _with_metadata(obj: Manifest, system: Mapping[str, Any]) -> Manifest:
    own = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in _SYSTEM_FIELDS and value not in (None, {}, [])
    }
    return {**obj, "metadata": {**own, **system}}


def _with_status(obj: Manifest, source: Manifest) -> Manifest:
    kept = {key: value for key, value in obj.items() if key != "status"}
    return {**kept, "status": source["status"]} if "status" in source else kept


def _versioned_part(resource: Resource, obj: Manifest) -> Any:
    """The part whose changes increase the generation: the spec, of custom kinds all but metadata and status."""
    if not resource.custom:
        return obj.get("spec")
    skipped = {"metadata", "status"} if resource.status else {"metadata"}
    return {key: value for key, value in obj.items() if key not in skipped}
