"""AdmissionReview v1: reads the API server's request, writes the response. Knows no rule.

Source: Kubernetes API reference, admission.k8s.io/v1; apiserver, pkg/endpoints/filters/warning.go (limits of warnings).
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from hooks.ground.errors import InvalidRequest
from hooks.ground.k8s.messages import describe_type, one_line
from hooks.ground.k8s.nesting import may_nest_lists, nests_lists
from hooks.ground.k8s.types import GroupVersionKind, Json, Manifest, ReadManifest, is_text_map
from hooks.language.validation.review import GENERATED_SUFFIX, Requester

MAX_WARNING_CHARACTERS = 256
MAX_WARNINGS_CHARACTERS = 4096
"""The API server cuts longer warnings. It drops the warnings after those that reach the second limit together."""

_REVIEW_VERSION, _REVIEW_KIND = "admission.k8s.io/v1", "AdmissionReview"


class Operation(StrEnum):
    """The operation on the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCall:
    """One question of the API server; `new` is None on deletion, `old` on creation.

    `version` is the one that the user wrote; the API server sends the object in the version of the webhook's rule.
    `new` always has `metadata.name` and `metadata.namespace`. A name that the API server is yet to generate is replaced
    by a placeholder of the same length. `is_too_deep`: the objects have lists in each other that cannot be written.
    """

    uid: str
    operation: Operation
    new: ReadManifest | None
    old: ReadManifest | None
    user: Requester | None
    namespace: str
    dry_run: bool
    version: str = ""
    is_too_deep: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether rules apply: on create, and on update unless the object is being deleted and only loses finalizers.

        A deletionTimestamp that a client sends on create means nothing; the API server drops it later.
        """
        if self.operation is Operation.CREATE:
            return True
        is_going = self.new is not None and bool(self.new["metadata"].get("deletionTimestamp"))
        return self.operation is Operation.UPDATE and not is_going


def parse_admission_review(body: bytes, kind: GroupVersionKind) -> AdmissionCall:
    """Read a review of an object of that kind.

    Raises:
        InvalidRequest: not JSON, no AdmissionReview of version v1, or about another kind.
    """
    request = _read_request(body)
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise InvalidRequest("the review's request has no uid")
    operation = _read_operation(request.get("operation"))
    name, namespace = (_read_text(request, key) for key in ("name", "namespace"))
    is_written = operation in {Operation.CREATE, Operation.UPDATE}
    old = _read_object(request, "oldObject", kind) if operation is Operation.UPDATE else None
    return AdmissionCall(
        uid=uid,
        operation=operation,
        new=_complete(_read_object(request, "object", kind), name, namespace) if is_written else None,
        old=None if old is None else _complete(old, name, namespace),
        user=_read_user(request.get("userInfo")),
        namespace=namespace,
        dry_run=request.get("dryRun") is True,
        version=_read_version(request.get("requestKind")),
        is_too_deep=may_nest_lists(body) and nests_lists(request),
    )


def write_allowed(uid: str, warnings: Iterable[str] = (), patch: Sequence[Mapping[str, Json]] = ()) -> bytes:
    """The response that allows the request, with warnings, and with a JSON patch if something changes."""
    response: dict[str, Json] = {"allowed": True, "uid": uid, **_write_warnings(warnings)}
    if patch:
        response["patch"] = base64.b64encode(orjson.dumps(patch)).decode()
        response["patchType"] = "JSONPatch"
    return _write(response)


def write_denied(uid: str, problems: Sequence[str], warnings: Iterable[str] = ()) -> bytes:
    """The response that refuses the request: 403 Forbidden, the problems joined by newlines.

    Source: controller-runtime, pkg/webhook/admission/response.go, ValidationResponse.
    """
    status = {"code": 403, "message": "\n".join(problems), "reason": "Forbidden", "status": "Failure"}
    return _write({"allowed": False, "status": status, "uid": uid, **_write_warnings(warnings)})


def fit_warnings(warnings: Iterable[str]) -> list[str]:
    """The warnings as one line each, within the API server's limits; the last says how many were left out."""
    lines = [one_line(warning, MAX_WARNING_CHARACTERS) for warning in warnings]
    lines = [line for line in lines if line]
    kept: list[str] = []
    room = MAX_WARNINGS_CHARACTERS
    for number, line in enumerate(lines):
        left = len(lines) - number
        rest = f"{left} more warnings were left out"
        needed = len(line) + (len(rest) if left > 1 else 0)
        if needed > room:
            return [*kept, rest]
        kept.append(line)
        room -= len(line)
    return kept


def _write_warnings(warnings: Iterable[str]) -> dict[str, Json]:
    lines = fit_warnings(warnings)
    return {"warnings": lines} if lines else {}


def _write(response: dict[str, Json]) -> bytes:
    return orjson.dumps(
        {"apiVersion": _REVIEW_VERSION, "kind": _REVIEW_KIND, "response": response}, option=orjson.OPT_SORT_KEYS
    )


def _read_request(body: bytes) -> Mapping[str, Any]:
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not JSON: {error}") from error
    if not isinstance(review, dict):
        raise InvalidRequest(f"the body is {describe_type(review)}, should be an AdmissionReview (an object)")
    if review.get("apiVersion") != _REVIEW_VERSION or review.get("kind") != _REVIEW_KIND:
        found = f"{review.get('apiVersion')} {review.get('kind')}"
        raise InvalidRequest(f"the body is a {found}, should be an {_REVIEW_VERSION} {_REVIEW_KIND}")
    request = review.get("request")
    if not isinstance(request, dict):
        raise InvalidRequest("the review has no request")
    return request


def _read_version(kind: Any) -> str:
    """The version of `requestKind`; empty if it is not told."""
    version = kind.get("version") if isinstance(kind, dict) else None
    return version if isinstance(version, str) else ""


def _read_operation(value: Any) -> Operation:
    try:
        return Operation(value)
    except ValueError as error:
        words = ", ".join(operation.value for operation in Operation)
        raise InvalidRequest(f"the review's operation is {value!r}, should be one of {words}") from error


def _read_text(request: Mapping[str, Any], key: str) -> str:
    value = request.get(key) or ""
    if not isinstance(value, str):
        raise InvalidRequest(f"the review's {key} is {describe_type(value)}, should be a string")
    return value


def _read_object(request: Mapping[str, Any], key: str, kind: GroupVersionKind) -> Manifest:
    manifest = request.get(key)
    if not isinstance(manifest, dict):
        raise InvalidRequest(f"the review has no {key}, should be a {kind.kind}")
    if manifest.get("kind") != kind.kind or manifest.get("apiVersion") != kind.api_version:
        found = f"{manifest.get('apiVersion')} {manifest.get('kind')}"
        raise InvalidRequest(f"expected {kind.api_version} {kind.kind} but got {found} as the review's {key}")
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        raise InvalidRequest(f"the review's {key} has no metadata")
    if not isinstance(manifest.get("spec", {}), dict) or not isinstance(manifest.get("status", {}), (dict, type(None))):
        raise InvalidRequest(f"spec and status of the review's {key} should be objects")
    for part in ("name", "namespace", "generateName"):
        if not isinstance(metadata.get(part, ""), str):
            raise InvalidRequest(f"metadata.{part} of the review's {key} should be a string")
    for part in ("labels", "annotations"):
        if not is_text_map(metadata.get(part)):
            raise InvalidRequest(f"metadata.{part} of the review's {key} should be an object of strings")
    return manifest


def _complete(manifest: Manifest, name: str, namespace: str) -> ReadManifest:
    """The object with its name and namespace; a client may leave both to the API server."""
    metadata = manifest["metadata"]
    given = metadata.get("name") or name or f"{metadata.get('generateName', '')}{GENERATED_SUFFIX}"
    return {**manifest, "metadata": {**metadata, "name": given, "namespace": metadata.get("namespace") or namespace}}


def _read_user(info: Any) -> Requester | None:
    """The user of the request; None if the API server sends none."""
    if info is None:
        return None
    if not isinstance(info, dict):
        raise InvalidRequest("the review's userInfo should be an object")
    name, groups = info.get("username"), info.get("groups") or []
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        raise InvalidRequest("the review's userInfo.groups should be a list of strings")
    if not isinstance(name, str) or not name:
        return None
    uid = info.get("uid")
    return Requester(
        name=name, groups=tuple(groups), uid=uid if isinstance(uid, str) else "", extra=_read_extra(info.get("extra"))
    )


def _read_extra(value: Any) -> dict[str, tuple[str, ...]]:
    """What the authenticator adds about a user, such as the scopes of a token."""
    entries = value or {}
    if not isinstance(entries, dict) or not all(isinstance(words, list) for words in entries.values()):
        raise InvalidRequest("the review's userInfo.extra should be an object of lists")
    return {key: tuple(str(word) for word in words) for key, words in entries.items()}
