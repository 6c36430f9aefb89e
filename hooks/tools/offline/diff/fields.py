"""In which fields two versions of an object differ, as paths with the old and the new value.

What only programs read is no difference: Metacontroller's and kubectl's records, marks of the hooks, the status. Values
of Secrets never get into a result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.differences import merge_key, name_part
from hooks.ground.k8s.pod_defaults import without_defaults
from hooks.ground.k8s.pod_sets import NATIVE
from hooks.ground.k8s.private_fields import SECRET_FIELDS
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of, gvk_of, labels_of
from hooks.ground.problems import HERE, FieldPath, Key

KUBECTLS_RECORD = "kubectl.kubernetes.io/last-applied-configuration"
_HIDDEN_ANNOTATIONS = frozenset(
    {
        contract.ANNOTATION_DISCOVERED,
        contract.ANNOTATION_IMMUTABLE_HASH,
        contract.ANNOTATION_LAST_APPLIED,
        contract.ANNOTATION_RENDERING,
        "deployment.kubernetes.io/revision",
        KUBECTLS_RECORD,
    }
)
_HIDDEN_LABELS = frozenset({contract.LABEL_CONTROLLER_UID})
_METADATA = frozenset({"labels", "annotations"})
"""What a person writes of the metadata, beside the name."""
_USERS_KEYS = frozenset(
    {"labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData"} | {"services", "custom"}
)
"""Maps whose keys are not names of fields."""
_NATIVE = frozenset({"DaemonSet", *(kind.kind for kind in NATIVE)})
"""Workloads whose pod template the API server itself fills in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A field with another value; None is absent, and then a default may hold. Of a secret field, no value is known.

    `is_variable` says that the values are left out because they are those of an environment variable.
    """

    path: FieldPath
    old: Json = None
    new: Json = None
    is_secret: bool = False
    is_variable: bool = False
    old_default: Json = None
    new_default: Json = None


def compare_objects(old: ReadManifest, new: ReadManifest) -> tuple[FieldChange, ...]:
    """The changed fields of an object, in the order of their paths."""
    if old == new:
        return ()
    before, after = visible(old), visible(new)
    changes = tuple(compare_values(before, after, HERE))
    if gvk_of(new) != kinds.SECRET:
        return changes
    return tuple(_hide(change) for change in changes)


def visible(manifest: ReadManifest) -> Manifest:
    """The part of an object that a diff compares; pod templates without the API server's defaults."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key in _METADATA}
    shown = {
        "labels": {key: value for key, value in labels_of(manifest).items() if key not in _HIDDEN_LABELS},
        "annotations": {
            key: value for key, value in annotations_of(manifest).items() if key not in _HIDDEN_ANNOTATIONS
        },
    }
    kept = {key: value for key, value in {**metadata, **shown}.items() if value}
    rest = {key: value for key, value in manifest.items() if key not in {"metadata", "status"}}
    return {**_normal(gvk_of(manifest).kind, rest), **({"metadata": kept} if kept else {})}


def compare_values(old: Json, new: Json, path: FieldPath) -> Iterator[FieldChange]:
    """The fields in which two values differ; null is absent, and the order of a list of named items does not count."""
    if old == new:
        return
    if path.parts and path.parts[-1] in _METADATA:  # an absent map is an empty one
        old, new = (value if isinstance(value, Mapping) else {} for value in (old, new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            one, other = old.get(key), new.get(key)
            if one != other:  # else the path is not needed, and making it costs more than the comparison
                yield from compare_values(one, other, path / name_part(path, key, _USERS_KEYS))
    elif _is_list_of_maps(old) and _is_list_of_maps(new):
        yield from _compare_lists(old, new, path)
    else:
        yield FieldChange(path=path, old=old, new=new)


def _compare_lists(old: Sequence[Json], new: Sequence[Json], path: FieldPath) -> Iterator[FieldChange]:
    key = _naming_key(old, new)
    if key is None:
        for index in range(max(len(old), len(new))):
            one, other = (items[index] if index < len(items) else None for items in (old, new))
            yield from compare_values(one, other, path / index)
        return
    before, after = ({str(item[key]): item for item in items} for items in (old, new))
    for name in dict.fromkeys([*before, *after]):
        yield from compare_values(before.get(name), after.get(name), path / Key(name))


def _naming_key(old: Sequence[Json], new: Sequence[Json]) -> str | None:
    """The key that names the items, each once, in both lists; Metacontroller merges such lists by it."""
    found = merge_key(old, new)
    if found is None or any(len({str(item[found]) for item in items}) < len(items) for items in (old, new)):
        return None
    return found


def _is_list_of_maps(value: Json) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _hide(change: FieldChange) -> FieldChange:
    """Without values if they are of a Secret's data."""
    if change.path.parts[0] not in SECRET_FIELDS:
        return change
    return FieldChange(path=change.path, is_secret=True)


def _normal(kind: str, fields: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a native workload without defaults in its template; other operators compare what is written."""
    spec = fields.get("spec")
    if kind not in _NATIVE or not isinstance(spec, Mapping) or not isinstance(spec.get("template"), Mapping):
        return dict(fields)
    return {**fields, "spec": {**spec, "template": _with_one_account(without_defaults(spec["template"]))}}


def _with_one_account(template: Json) -> Json:
    """The template without `serviceAccount`, which the API server always makes equal to `serviceAccountName`."""
    spec = template.get("spec")
    if not isinstance(spec, Mapping) or "serviceAccount" not in spec:
        return template
    kept = {key: value for key, value in spec.items() if key != "serviceAccount"}
    return {**template, "spec": {"serviceAccountName": spec["serviceAccount"], **kept}}
