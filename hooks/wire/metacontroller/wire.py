"""Reads Metacontroller's requests, and checks and writes the answers.

A wrong answer can stop the whole Metacontroller or delete all children. So an answer that breaks the protocol never
leaves; it becomes a 500 with one line.

Source: Metacontroller v4.17, pkg/controller/common/api/v2, composite/api/v2, decorator/api/v2, customize/api/v2.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from hooks.ground.errors import InvalidAnswer, InvalidRequest
from hooks.ground.k8s.messages import describe_type
from hooks.ground.k8s.types import GroupVersionKind, Json, ReadManifest, plural_of
from hooks.wire.metacontroller.calling_controller import check_versions, read_controller, read_declared
from hooks.wire.metacontroller.children import Children, find_fault, write_values
from hooks.wire.metacontroller.controllers import OPTIONAL_CHILD_KINDS
from hooks.wire.metacontroller.protocol import CustomizeRequest, Objects, RelatedRule, SyncAnswer, SyncRequest
from hooks.wire.metacontroller.request_body import read_whole

Read = Callable[[bytes], Any]
"""Parses a JSON text; raises orjson.JSONDecodeError, and InvalidSpec where an object cannot be written again."""

Expected = Callable[[], Sequence[str]]
"""The keys of the kinds that a controller should declare as children; asked only for the message of an error."""


def parse_sync_request(
    body: bytes,
    parent_kind: GroupVersionKind,
    *,
    decorator: bool = False,
    read: Read = read_whole,
    expected: Expected = tuple,
) -> SyncRequest:
    """Read a sync or finalize call about a parent of this kind.

    Raises:
        InvalidRequest: the body is not a sync or finalize call, its parent has another kind, or the hook has version
            v1.
        InvalidSpec: an object in a sync call has lists in each other that cannot be written.
    """
    call = _parse_body(body, read)
    parent_key, children_key = ("object", "attachments") if decorator else ("parent", "children")
    _check_keys(call, parent_key, children_key, expected)
    check_versions(read_controller(call))
    parent = _read_parent(call, parent_key, parent_kind)
    return SyncRequest(
        parent=parent,
        children=_read_objects(call, children_key),
        related=_read_objects(call, "related"),
        finalizing=bool(call.get("finalizing", False)),
        body=body,
    )


def parse_customize_request(body: bytes, parent_kind: GroupVersionKind) -> CustomizeRequest:
    """Read a customize call; the child kinds are those that the calling controller declares.

    Raises:
        InvalidRequest: the body is not a customize call, its parent has another kind, or the hook has version v1.
    """
    call = _parse_body(body, orjson.loads)
    controller = read_controller(call)
    check_versions(controller)
    declared = read_declared(controller)
    return CustomizeRequest(
        parent=_read_parent(call, "parent", parent_kind),
        child_kinds=frozenset(kind for kind in OPTIONAL_CHILD_KINDS if (kind.api_version, plural_of(kind)) in declared),
    )


def write_sync_answer(
    answer: SyncAnswer, declared: Objects, *, decorator: bool = False, expected: Expected = tuple
) -> bytes:
    """Check an answer and write it; keys are sorted, so equal answers are equal bytes.

    `declared` are the request's children: its keys are the kinds that the controller declares.

    Raises:
        UndeclaredKinds: the controller does not declare the kind of a child.
        InvalidAnswer: the answer breaks the protocol; the message has the child and the fault.
    """
    children = Children.of(answer.children)
    children.check(declared, expected)
    document: dict[str, Json] = {}
    if answer.status is not None:
        document["status"] = orjson.Fragment(_write_status(answer.status))
    elif not decorator:
        raise InvalidAnswer("the answer has no status; Metacontroller would wipe the parent's")
    if answer.resync_after_seconds:
        document["resyncAfterSeconds"] = _round_up(answer.resync_after_seconds)
    if answer.finalized:
        document["finalized"] = True
    rest = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)[1:]
    key = b"attachments" if decorator else b"children"
    return b'{"%s":%s%s%s' % (key, children.text, b"" if rest == b"}" else b",", rest)


def _round_up(seconds: float) -> float:
    """Tenths of a second; never 0, which Metacontroller takes for "no resync", and never before the time asked for."""
    return seconds if isinstance(seconds, int) else max(1, math.ceil(round(seconds * 10, 6))) / 10


def write_customize_answer(rules: Sequence[RelatedRule]) -> bytes:
    """Write the answer to a customize call, with the rules in a fixed order.

    Raises:
        InvalidAnswer: Metacontroller would refuse a rule.
    """
    for rule in rules:
        if rule.names and (rule.match_labels or rule.without_label):
            raise InvalidAnswer(
                f"the rule for {rule.resource} has names and labels; Metacontroller refuses both at once"
            )
    documents = sorted((rule.to_json() for rule in rules), key=orjson.dumps)
    return orjson.dumps({"relatedResources": documents}, option=orjson.OPT_SORT_KEYS)


def _parse_body(body: bytes, read: Read) -> Mapping[str, Any]:
    try:
        call = read(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not JSON: {error}") from error
    if not isinstance(call, dict):
        raise InvalidRequest(f"the body is {describe_type(call)}, should be a hook request (an object)")
    return call


def _check_keys(call: Mapping[str, Any], parent_key: str, children_key: str, expected: Expected) -> None:
    """Check that the keys that Metacontroller always sends are there."""
    missing = [key for key in (parent_key, children_key) if call.get(key) is None]
    parent = call.get(parent_key)
    metadata = parent.get("metadata", {}) if isinstance(parent, dict) else None
    if isinstance(metadata, dict):
        missing[:0] = [f"{parent_key}.metadata.{name}" for name in ("name", "namespace") if not metadata.get(name)]
    if children_key in missing:
        missing += [f"{children_key}[{key}]" for key in expected()]
    if missing:
        raise InvalidRequest(
            f"the request has no {', '.join(missing)}; Metacontroller sends them all, with {{}} for a kind without "
            "objects; in a unit test let hooks.testing fill them",
            missing=missing,
        )


def _read_parent(call: Mapping[str, Any], key: str, kind: GroupVersionKind) -> ReadManifest:
    parent = call.get(key)
    if not isinstance(parent, dict):
        raise InvalidRequest(f"the request has no {key}, should be a Metacontroller hook request with the {kind.kind}")
    if parent.get("kind") != kind.kind or parent.get("apiVersion") != kind.api_version:
        found = f"{parent.get('apiVersion')} {parent.get('kind')}"
        raise InvalidRequest(f"the request's {key} is a {found}, this hook answers for {kind.api_version} {kind.kind}")
    metadata = parent.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name") or not metadata.get("namespace"):
        raise InvalidRequest(f"the request's {key} has no metadata.name and metadata.namespace")
    _check_metadata(key, metadata)
    if not isinstance(parent.get("spec", {}), dict) or not isinstance(parent.get("status", {}), (dict, type(None))):
        raise InvalidRequest(f"spec and status of the request's {key} should be objects")
    return parent


def _check_metadata(key: str, metadata: Mapping[str, Any]) -> None:
    for name in ("name", "namespace", "uid"):
        if not isinstance(metadata.get(name, ""), str):
            found = describe_type(metadata[name])
            raise InvalidRequest(f"metadata.{name} of the request's {key} is {found}, should be a string")
    if type(generation := metadata.get("generation", 0)) is not int:
        found = "not an integer" if isinstance(generation, float) else describe_type(generation)
        raise InvalidRequest(f"metadata.generation of the request's {key} is {found}, should be an integer")


def _read_objects(call: Mapping[str, Any], key: str) -> Objects:
    groups = call.get(key)
    if groups is None and key == "related":
        groups = {}
    if not isinstance(groups, dict):
        raise InvalidRequest(f"{key} is {describe_type(groups)}, should be an object by kind, as Metacontroller sends")
    for kind, found in groups.items():
        for name, manifest in _entries(key, kind, found).items():
            _check_observed(key, kind, name, manifest)
    return Objects(groups)


def _entries(key: str, kind: str, found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InvalidRequest(f"{key}[{kind}] is {describe_type(found)}, should be an object by namespace/name")
    return found


def _check_observed(key: str, kind: str, name: str, manifest: Any) -> None:
    metadata = manifest.get("metadata") if isinstance(manifest, dict) else None
    if (
        not isinstance(metadata, dict)
        or "name" not in metadata
        or "kind" not in manifest
        or "apiVersion" not in manifest
    ):
        raise InvalidRequest(f"{key}[{kind}][{name}] is not a Kubernetes object")
    if "namespace" in metadata and "/" not in name:
        raise InvalidRequest(f"{key}[{kind}] has the key {name}, which is that of hook version v1; declare version v2")
    if (found := f"{manifest['kind']}.{manifest['apiVersion']}") != kind:
        raise InvalidRequest(f"{key}[{kind}][{name}] is a {found}")


def _write_status(status: Any) -> bytes:
    """The checked status as JSON."""
    if not isinstance(status, dict):
        raise InvalidAnswer(f"the status is {describe_type(status)}, must be an object")
    try:
        text = write_values(status)
    except TypeError as error:
        raise InvalidAnswer(f"the status is not JSON: {error}") from error
    _check_status_text(text)
    return text


def _check_status_text(text: bytes) -> None:
    if fault := find_fault(orjson.loads(text)):
        raise InvalidAnswer(f"status: {fault}")
