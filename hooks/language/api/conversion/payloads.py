"""The annotations with what one version cannot say: taken out of an object, and written into it.

The annotation of the spec is `{"version": 1, "spec": …}`, a spec of the other version with only the fields that were
kept. `was` is ours: the metadata, as far as they had to be made for the annotation. A spec without this envelope is
read too, and that is how a status is written. What cannot be read counts as absent.

Source: Dynamo operator, api/v1alpha1/preserved_spec_conversion.go.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s.nesting import may_nest_lists, nests_lists
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.language.api.conversion.retired_annotations import RETIRED, read_retired
from hooks.language.api.conversion.versions import Version, spec_annotation, status_annotation, version_of

_ENVELOPE = 1
_EMPTY: Mapping[str, Json] = {}


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


def take_saved(document: ReadManifest, kind: str) -> Saved:
    """Read the conversion's annotations of an object that can have annotations, and take them away."""
    metadata = document.get("metadata") or _EMPTY
    annotations = metadata.get("annotations") or _EMPTY
    keys = (spec_annotation(kind), status_annotation(kind))
    is_request = kind == contract.GRAPH_REQUEST.kind and version_of(document) is Version.BETA
    retired = RETIRED.intersection(annotations) if is_request else frozenset[str]()
    if not retired and not any(key in annotations for key in keys):
        return Saved(spec=_EMPTY, status=_EMPTY, document=document)
    envelope, status = (_read(annotations.get(key)) for key in keys)
    spec = envelope.get("spec") if "spec" in envelope else envelope
    if retired and not spec:
        spec = read_retired(annotations, _read)
    left = {key: value for key, value in annotations.items() if key not in {*keys, *retired}}
    return Saved(
        spec=spec if isinstance(spec, dict) else _EMPTY,
        status=status,
        document=_with_annotations(document, left, envelope.get("was") if "spec" in envelope else None),
    )


def save(document: ReadManifest, kind: str, spec: Mapping[str, Json], status: Mapping[str, Json]) -> dict[str, Json]:
    """The object with the kept fields of its spec and status in annotations; unchanged if there are none."""
    if not spec and not status:
        return dict(document)
    metadata = document.get("metadata") or _EMPTY
    annotations = metadata.get("annotations") or _EMPTY
    was = _made_of(document)
    texts: dict[str, str] = {}
    if spec or was is not None:
        made = {"was": was} if was is not None else {}
        texts[spec_annotation(kind)] = _write({"version": _ENVELOPE, "spec": spec, **made})
    if status:
        texts[status_annotation(kind)] = _write(status)
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
