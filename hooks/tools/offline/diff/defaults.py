"""What holds for a field that an object leaves out: the API server's default, that of our schemas, or ours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_defaults import default_of
from hooks.ground.k8s.types import GroupVersionKind, Json, ReadManifest, gvk_of
from hooks.ground.problems import FieldPath, Key
from hooks.language.crds import apply_defaults
from hooks.tools.offline.diff.fields import FieldChange
from hooks.wire.metacontroller.controllers import OUR_KINDS

_REPLICAS = "replicas"
_IN_PODS = frozenset({"template", "podSpec", "leaderTemplate", "workerTemplate"})
"""Fields below which a pod is described."""
_OF_KIND: Mapping[GroupVersionKind, Mapping[tuple[str | int, ...], Json]] = {
    kinds.DEPLOYMENT: {
        ("spec", "minReadySeconds"): 0,
        ("spec", "progressDeadlineSeconds"): 600,
        ("spec", "revisionHistoryLimit"): 10,
        ("spec", "strategy"): {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
    },
    kinds.SERVICE: {("spec", "type"): "ClusterIP", ("spec", "sessionAffinity"): "None"},
}


def with_defaults(changes: Iterable[FieldChange], old: ReadManifest, new: ReadManifest) -> Iterator[FieldChange]:
    """The changes, each with the default of the side on which the field is absent."""
    for change in changes:
        if change.is_secret or (change.old is not None and change.new is not None):
            yield change
        elif change.old is None:
            yield replace(change, old_default=find_default(old, change.path))
        else:
            yield replace(change, new_default=find_default(new, change.path))


def with_rendered(changes: Iterable[FieldChange], below: Iterable[FieldChange]) -> Iterator[FieldChange]:
    """The changes of a user's object, with what the hooks write instead of an absent field, where a child shows it.

    `below` are the changes of its children: one of the same name that has the value of the other side.
    """
    there = [*below]
    for change in changes:
        if (
            (change.old is None) is (change.new is None)
            or change.old_default is not None
            or change.new_default is not None
        ):
            yield change
            continue
        twins = [one for one in there if one.path.parts[-1] == change.path.parts[-1]]
        if change.new is None:
            shown = [one.new_default if one.new is None else one.new for one in twins if one.old == change.old]
            yield replace(change, new_default=_same(shown))
        else:
            shown = [one.old_default if one.old is None else one.old for one in twins if one.new == change.new]
            yield replace(change, old_default=_same(shown))


def _same(values: Sequence[Json]) -> Json:
    """The value that all are; None if they differ, or there is none."""
    return values[0] if values and all(one == values[0] for one in values) else None


def find_default(manifest: ReadManifest, path: FieldPath) -> Json:
    """The default of a field that the object does not have; None if it has none, or if it depends on much else."""
    *above, last = path.parts
    if isinstance(last, int | Key):
        return None
    kind = gvk_of(manifest) if "kind" in manifest else None
    of_kind = _OF_KIND.get(kind, {}) if kind is not None else {}
    if (found := of_kind.get(path.parts)) is not None:
        return found
    if kind is not None and _is_ours(kind) and (found := _walk(apply_defaults(manifest), path.parts)) is not None:
        return found
    if last == _REPLICAS:
        return 1
    if kind is None or (not _is_ours(kind) and _IN_PODS & {*above}):
        among = _walk(manifest, above)
        return default_of(last, among if isinstance(among, Mapping) else {})
    return None


def _is_ours(kind: GroupVersionKind) -> bool:
    return any((kind.group, kind.kind) == (one.group, one.kind) for one in OUR_KINDS)


def _walk(value: Json, parts: Iterable[str | int]) -> Json:
    """What is at a path; None if it is absent. Items of a list are found by their name."""
    for part in parts:
        if isinstance(value, Mapping):
            value = value.get(str(part))
        elif isinstance(value, list | tuple):
            items = enumerate(value)
            named = (one for at, one in items if at == part or (isinstance(one, Mapping) and part in one.values()))
            value = next(named, None)
        else:
            return None
    return value
