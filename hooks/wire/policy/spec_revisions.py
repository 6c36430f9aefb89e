"""What a ControllerRevision of a graph records: a spec as it was, packed; and which specs count as the same.

The data of a ControllerRevision never changes, and the name follows from the spec. A packed spec is read back by
`unpack`, within bounds, because everyone who may write such objects can write anything into it.
"""

import binascii
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from hooks.ground import contract
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.types import Json, ReadManifest, annotations_of, labels_of, name_of
from hooks.language.versions import V1BETA1

OF_SCALING = frozenset({"replicas", "autoscaling", "scalingAdapter"})
"""Fields of a service that say how many pods there are: a change of these alone is no other revision."""
KEPT_ANNOTATION = V1BETA1.keys(contract.GRAPH.kind).spec
"""The annotation with what a graph's spec has only in v1beta1."""
MOST_PACKED = 32 * 1024
"""Characters of a packed spec that are kept. Metacontroller stores each child twice, and sends all with each call."""
MOST_BYTES = 1024 * 1024
"""Bytes of a spec's JSON that are packed, or read back; the API server stores no larger object."""
_VERSION = 1
_GZIP = zlib.MAX_WBITS | 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a revision records: the packed text, or only the size of one that is too large."""

    packed: str
    size: int

    @property
    def data(self) -> dict[str, Json]:
        """The data of the ControllerRevision."""
        return {"version": _VERSION, "size": self.size, **({"spec": self.packed} if self.packed else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A ControllerRevision of a graph; `suffix` is the generation that its workers had, empty for none."""

    name: str
    number: int
    suffix: str
    recorded: Recorded


class UnreadableRevision(Exception):
    """A revision does not say which spec it records; the message is half a sentence."""


def comparable_text(graph: ReadManifest) -> str:
    """A text that is equal for two graphs whose specs are the same revision."""
    document = _document(graph)
    services = document["spec"].get("services") or {}
    fixed = {name: without_scaling(service) for name, service in services.items()}
    return canonical_json({**document, "spec": {**document["spec"], "services": fixed}})


def without_scaling(service: Json) -> Json:
    """The service without what says how many pods it has."""
    if not isinstance(service, Mapping):
        return service
    return {key: value for key, value in service.items() if key not in OF_SCALING}


def name_revision(graph: str, text: str) -> str:
    """The name of the ControllerRevision for a comparable text."""
    return f"{graph}-{short_hash(text, 10)}"


def pack(graph: ReadManifest) -> Recorded:
    """The spec of a graph with its replicas as they are, without its restart."""
    text = canonical_json(_document(graph)).encode()
    packed = ""
    if len(text) <= MOST_BYTES:
        compress = zlib.compressobj(9, wbits=_GZIP)
        packed = b64encode(compress.compress(text) + compress.flush()).decode()
    return Recorded(packed=packed if len(packed) <= MOST_PACKED else "", size=len(text))


def read_revision(found: ReadManifest) -> Revision | None:
    """The revision that a ControllerRevision is; None if no hook wrote it."""
    recorded, number = read_recorded(found.get("data")), found.get("revision")
    if recorded is None or type(number) is not int:
        return None
    suffix = labels_of(found).get(contract.LABEL_WORKER_HASH, "")
    return Revision(name=name_of(found), number=number, suffix=suffix, recorded=recorded)


def read_recorded(data: Json) -> Recorded | None:
    """What the data of a revision records, still packed; None if it is none of ours."""
    if (
        not isinstance(data, Mapping)
        or not data.keys() <= {"version", "size", "spec"}
        or data.get("version") != _VERSION
    ):
        return None
    packed, size = data.get("spec", ""), data.get("size")
    if not isinstance(packed, str) or len(packed) > MOST_PACKED or type(size) is not int or size < 0:
        return None
    return Recorded(packed=packed, size=size)


def unpack(recorded: Recorded) -> dict[str, Any]:
    """The graph of a revision: its `spec`, and `annotations` if it has any of v1beta1.

    Raises:
        UnreadableRevision: it records none, or something that no hook packed.
    """
    if not recorded.packed:
        raise UnreadableRevision(f"its spec of {recorded.size} bytes was too large to be kept")
    try:
        unpacker = zlib.decompressobj(_GZIP)
        text = unpacker.decompress(b64decode(recorded.packed, validate=True), MOST_BYTES + 1)
        document = orjson.loads(text) if unpacker.eof and len(text) <= MOST_BYTES else None
    except (binascii.Error, zlib.error, orjson.JSONDecodeError) as error:
        raise UnreadableRevision(f"its data cannot be read ({error})") from error
    if not isinstance(document, dict) or not _is_graph(document):
        raise UnreadableRevision("its data is no spec of a graph")
    return document


def _is_graph(document: Mapping[str, Any]) -> bool:
    spec, annotations = document.get("spec"), document.get("annotations", {})
    is_spec = isinstance(spec, dict) and isinstance(spec.get("services", {}), dict)
    return is_spec and isinstance(annotations, dict) and all(isinstance(one, str) for one in annotations.values())


def _document(graph: ReadManifest) -> dict[str, Any]:
    spec = {key: value for key, value in (graph.get("spec") or {}).items() if key != "restart"}
    kept = annotations_of(graph).get(KEPT_ANNOTATION)
    return {"spec": spec, **({"annotations": {KEPT_ANNOTATION: kept}} if kept else {})}
