"""The annotations with what one version cannot say: taken out of an object, and written into it.

The annotation of the spec is `{"version": 1, "spec": …}`, a spec of the other version with only the fields that were
kept. `was` is ours: the metadata, as far as they had to be made for the annotation. A spec without this envelope is
read too, and that is how a status is written. What cannot be read counts as absent.

Source: Dynamo operator, api/v1alpha1/preserved_spec_conversion.go.
"""

import json
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from hooks.ground.k8s.nesting import may_nest_lists, nests_lists
from hooks.ground.k8s.types import Json, ReadManifest

_ENVELOPE = 1
_EMPTY: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The annotations for what a spec and a status have only in the other version."""

    spec: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerKeys:
    """Annotations in which former releases kept single fields, and the kept spec that they say.

    `read` gets the annotations, and what gives a text's object, {} if it has none.
    """

    names: Set[str]
    read: Callable[[Mapping[str, Json], Callable[[Json], Mapping[str, Json]]], Mapping[str, Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What an earlier conversion kept, and the object without its annotations."""

    spec: Mapping[str, Json]
    status: Mapping[str, Json]
    document: ReadManifest


def can_save(document: ReadManifest) -> bool:
    """Whether the object can have annotations: its metadata is no other kind of value."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return metadata is None
    return isinstance(metadata.get("annotations"), dict | None)


def take_saved(document: ReadManifest, keys: Keys, former: FormerKeys | None = None) -> Saved:
    """Read the conversion's annotations of an object that can have annotations, and take them away."""
    metadata = document.get("metadata") or _EMPTY
    annotations = metadata.get("annotations") or _EMPTY
    own = (keys.spec, keys.status)
    retired = former.names & annotations.keys() if former else frozenset[str]()
    if not retired and not any(key in annotations for key in own):
        return Saved(spec=_EMPTY, status=_EMPTY, document=document)
    envelope, status = (_read(annotations.get(key)) for key in own)
    spec = envelope.get("spec") if "spec" in envelope else envelope
    if former and retired and not spec:
        spec = former.read(annotations, _read)
    left = {key: value for key, value in annotations.items() if key not in {*own, *retired}}
    return Saved(
        spec=spec if isinstance(spec, dict) else _EMPTY,
        status=status,
        document=_with_annotations(document, left, envelope.get("was") if "spec" in envelope else None),
    )


def save(document: ReadManifest, keys: Keys, spec: Mapping[str, Json], status: Mapping[str, Json]) -> dict[str, Json]:
    """The object with the kept fields of its spec and status in annotations; unchanged if there are none."""
    if not spec and not status:
        return dict(document)
    metadata = document.get("metadata") or _EMPTY
    annotations = metadata.get("annotations") or _EMPTY
    was = _made_of(document)
    texts: dict[str, str] = {}
    if spec or was is not None:
        made = {"was": was} if was is not None else {}
        texts[keys.spec] = _write({"version": _ENVELOPE, "spec": spec, **made})
    if status:
        texts[keys.status] = _write(status)
    return {**document, "metadata": {**metadata, "annotations": {**annotations, **texts}}}


def _made_of(document: ReadManifest) -> dict[str, Json] | None:
    """What stood in place of metadata or annotations; None if reading the result says it."""
    if not isinstance(document.get("metadata"), dict):
        return {"metadata": None} if "metadata" in document else {}
    metadata = document["metadata"]
    if metadata.get("annotations") or "annotations" not in metadata:
        return None
    return {"metadata": {"annotations": metadata["annotations"]}}


def _with_annotations(document: ReadManifest, annotations: Mapping[str, Json], was: Json) -> ReadManifest:
    """The object with these annotations; without any, its metadata are as they were."""
    metadata = document["metadata"]
    if annotations:
        return {**document, "metadata": {**metadata, "annotations": annotations}}
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    if not isinstance(was, dict):
        return {**document, "metadata": rest}
    former = was.get("metadata")
    if isinstance(former, dict) and former.keys() == {"annotations"}:
        return {**document, "metadata": {**rest, **former}}
    if rest:
        return {**document, "metadata": rest}
    others = {key: value for key, value in document.items() if key != "metadata"}
    return {**others, **({"metadata": None} if "metadata" in was else {})}


def _read(text: Json) -> Mapping[str, Json]:
    if not isinstance(text, str):
        return _EMPTY
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _EMPTY
    if not isinstance(value, dict) or (may_nest_lists(text.encode(errors="replace")) and nests_lists(value)):
        return _EMPTY
    return value


def _write(value: Mapping[str, Json]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
