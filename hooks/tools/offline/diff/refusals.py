"""What does not happen although the manifests say it, because the API server never changes the field.

Source: Kubernetes, pkg/apis/*/validation; Metacontroller, which changes no existing object under OnDelete.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Json, ReadManifest
from hooks.ground.problems import FieldPath
from hooks.tools.offline.diff.fields import compare_objects
from hooks.tools.world.settling import Settled
from hooks.wire.world.objects import ObjectId


class _Fixed(NamedTuple):
    """A field that an existing object keeps; `free` are the fields below it that may change."""

    path: tuple[str, ...]
    free: tuple[str, ...] = ()


_FIXED: Mapping[GroupVersionKind, tuple[_Fixed, ...]] = {
    kinds.DEPLOYMENT: (_Fixed(("spec", "selector")),),
    kinds.STATEFUL_SET: (
        *(_Fixed(("spec", field)) for field in ("selector", "serviceName", "podManagementPolicy")),
        _Fixed(("spec", "volumeClaimTemplates")),
    ),
    kinds.JOB: tuple(_Fixed(("spec", field)) for field in ("template", "selector", "completions", "podFailurePolicy")),
    kinds.PERSISTENT_VOLUME_CLAIM: (_Fixed(("spec",), ("resources", "volumeAttributesClassName")),),
    kinds.ROLE_BINDING: (_Fixed(("roleRef",)),),
    kinds.SECRET: (_Fixed(("type",)),),
    kinds.SERVICE: (_Fixed(("spec", "clusterIP")), _Fixed(("spec", "clusterIPs"))),
}


def find_refusals(before: Settled, after: Settled) -> Iterator[tuple[ObjectId, str]]:
    """Objects with a sentence about what is refused."""
    for key, owned in after.world.objects.items():
        old, fixed = before.world.find(key), _find_fixed(key)
        if old is None or not fixed or key in after.recreated:
            continue
        if all(_read(old, one.path) == _read(owned.manifest, one.path) for one in fixed):
            continue
        for change in compare_objects(old, owned.manifest):
            if _is_fixed(change.path, fixed):
                yield (
                    key,
                    f"{change.path} is immutable, so the API server refuses the change; only a new object can have it",
                )


def _find_fixed(key: ObjectId) -> tuple[_Fixed, ...]:
    return next((found for kind, found in _FIXED.items() if key.is_a(kind)), ())


def _read(manifest: ReadManifest, path: Iterable[str]) -> Json:
    """The value of a field; None if it or an object around it is absent."""
    found: Json = manifest
    for part in path:
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _is_fixed(path: FieldPath, fixed: Iterable[_Fixed]) -> bool:
    parts = tuple(map(str, path.parts))
    for one in fixed:
        below = parts[len(one.path) :]
        if parts[: len(one.path)] == one.path and not (below and below[0] in one.free):
            return True
    return False
