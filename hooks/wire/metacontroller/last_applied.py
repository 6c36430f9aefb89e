"""Children as they were last applied: read from the annotation in which Metacontroller records them.

They are also the answer for an invalid spec, which must not change running workloads.

Source: Metacontroller, dynamic/apply/apply.go: the annotation holds the complete desired object of the last apply.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of, is_deleting, name_of
from hooks.ground.problems import HERE, Problem
from hooks.language.rules.reading import NO_LAST_APPLIED
from hooks.wire.metacontroller.plan_cache import cached_by_parent


def last_applied_children(observed: Iterable[ReadManifest], problems: tuple[Problem, ...]) -> list[Manifest]:
    """The wanted children of the last good sync, from the observed children; [] if there are none yet.

    Raises:
        InvalidSpec: a child has no last-applied annotation (server-side apply), so no safe answer is possible.
    """
    return [_last_applied(child, problems) for child in observed if not is_deleting(child)]


def read_last_applied(child: ReadManifest) -> ReadManifest | None:
    """The child as a hook last returned it, without Metacontroller's label; None if that is not recorded.

    Users may have edited the annotation, or copied it from another object: one that is not the JSON of an object
    with the child's kind, name and namespace records nothing.
    """
    text = annotations_of(child).get(contract.ANNOTATION_LAST_APPLIED)
    if text is None:
        return None
    # A cache must not hold Secrets.
    applied = _read(text) if child["kind"] == kinds.SECRET.kind else _read_cached(text)
    return applied if applied is not None and _is_of(child, applied["metadata"], applied["kind"]) else None


def _is_of(child: ReadManifest, metadata: Mapping[str, Json], kind: str) -> bool:
    """Whether what was applied is of this child; a hook may leave the namespace out."""
    if kind != child["kind"] or metadata["name"] != child["metadata"].get("name"):
        return False
    namespace = metadata.get("namespace")
    return not namespace or namespace == child["metadata"].get("namespace")


def read_applied_spec(child: ReadManifest) -> Mapping[str, Json] | None:
    """The spec as it was last applied; None if that is not recorded, as under server-side apply."""
    spec = (read_last_applied(child) or {}).get("spec")
    return spec if isinstance(spec, Mapping) else None


def read_applied_annotations(child: ReadManifest) -> Mapping[str, str]:
    """Our annotations of a child as they were last applied, without changes that others made since."""
    applied = read_last_applied(child)
    return {} if applied is None else annotations_of({"metadata": {}, **applied})


def _last_applied(child: ReadManifest, problems: tuple[Problem, ...]) -> Manifest:
    applied = read_last_applied(child)
    if applied is None:
        hint = NO_LAST_APPLIED.at(HERE, kind=child["kind"], name=name_of(child))
        raise InvalidSpec((*problems, hint))
    return dict(applied)


@cached_by_parent(times=4)
def _read_cached(text: str) -> Manifest | None:
    return _read(text)


def _read(text: str) -> Manifest | None:
    try:
        applied: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(applied, dict) or not isinstance(applied.get("metadata"), dict):
        return None
    metadata = dict(applied["metadata"])
    if not all(
        isinstance(name, str) for name in (applied.get("apiVersion"), applied.get("kind"), metadata.get("name"))
    ):
        return None
    given = metadata.pop("labels", None) or {}
    if not isinstance(given, dict):
        return None
    labels = {k: v for k, v in given.items() if k != contract.LABEL_CONTROLLER_UID}
    return {**applied, "metadata": {**metadata, **({"labels": labels} if labels else {})}}
