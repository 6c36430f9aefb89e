"""ConversionReview v1: reads the API server's request, writes the response. Knows no field of an object.

The API server sends objects of one CRD and names the version that it wants. It takes all of them in that version and in
their order, or a failure with a sentence: one object that cannot be converted fails the review.

Source: Kubernetes API reference, apiextensions.k8s.io/v1; apiextensions-apiserver, pkg/apiserver/conversion/
webhook_converter.go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from hooks.ground.errors import HookError, InvalidRequest
from hooks.ground.k8s.messages import describe_type, one_line
from hooks.ground.k8s.nesting import may_nest_lists
from hooks.ground.k8s.types import ReadManifest
from hooks.language.versions import CONVERTIBLE_KINDS, GROUP_VERSIONS

MAX_MESSAGE_CHARACTERS = 1000
_MAX_NAME_CHARACTERS = 260
_REVIEW_VERSION, _REVIEW_KIND = "apiextensions.k8s.io/v1", "ConversionReview"
_KINDS, _SERVED = ", ".join(sorted(CONVERTIBLE_KINDS)), " and ".join(GROUP_VERSIONS)


class FailedReview(HookError):
    """The review with this uid gets the result Failure, in an answer with HTTP 200."""

    status = 200

    def __init__(self, uid: str, message: str) -> None:
        """Take the review's uid and the sentence of the result."""
        super().__init__(message)
        self.uid = uid


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionCall:
    """One question of the API server: these objects in this version (`v1beta1`).

    `may_be_too_deep`: some object may have lists in each other that cannot be written as JSON.
    """

    uid: str
    version: str
    objects: tuple[ReadManifest, ...]
    may_be_too_deep: bool = False


def parse_conversion_review(body: bytes) -> ConversionCall:
    """Read a review of objects that can be converted.

    Raises:
        InvalidRequest: no uid can be read, so no result can be given.
        FailedReview: something else is wrong; the message says what, and in which object.
    """
    review, request, uid = _read_uid(body)
    if review.get("apiVersion") != _REVIEW_VERSION or review.get("kind") != _REVIEW_KIND:
        found = f"{review.get('apiVersion')} {review.get('kind')}"
        raise FailedReview(uid, f"the review is a {found}, should be a {_REVIEW_VERSION} {_REVIEW_KIND}")
    wanted = request.get("desiredAPIVersion")
    if not isinstance(wanted, str) or wanted not in GROUP_VERSIONS:
        raise FailedReview(uid, f"the review's desiredAPIVersion is {_quote(wanted)}; served are {_SERVED}")
    objects = request.get("objects")
    if not isinstance(objects, list):
        raise FailedReview(uid, f"the review's objects are {describe_type(objects)}, should be an array")
    for place, found in enumerate(objects):
        if fault := _find_fault(found):
            raise FailedReview(uid, f"{describe_object(place, found)} {fault}")
    return ConversionCall(
        uid=uid,
        version=wanted.rpartition("/")[2],
        objects=tuple(objects),
        may_be_too_deep=may_nest_lists(body),
    )


def write_converted(uid: str, objects: Iterable[bytes]) -> bytes:
    """The response with all objects, each as JSON, in the order of the request."""
    converted = [orjson.Fragment(found) for found in objects]
    return _write({"uid": uid, "convertedObjects": converted, "result": {"status": "Success"}})


def write_failed(uid: str, message: str) -> bytes:
    """The response that no object was converted; the API server shows the message to its client."""
    result = {"status": "Failure", "message": one_line(message, MAX_MESSAGE_CHARACTERS)}
    return _write({"uid": uid, "convertedObjects": [], "result": result})


def describe_object(place: int, found: Any) -> str:
    """`objects[2] (DynamoGraphDeployment inference/llm)`; without what cannot be read."""
    manifest = found if isinstance(found, dict) else {}
    metadata = manifest.get("metadata")
    parts = metadata if isinstance(metadata, dict) else {}
    name = "/".join(one for key in ("namespace", "name") if isinstance(one := parts.get(key), str) and one)
    kind = manifest.get("kind")
    words = " ".join(word for word in (kind if isinstance(kind, str) else "", name) if word)
    return f"objects[{place}]" + (f" ({one_line(words, _MAX_NAME_CHARACTERS)})" if words else "")


def _read_uid(body: bytes) -> tuple[Mapping[str, Any], Mapping[str, Any], str]:
    """The review, its request and the uid.

    Raises:
        InvalidRequest: there is no uid.
    """
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not JSON: {error}") from error
    if not isinstance(review, dict):
        raise InvalidRequest(f"the body is {describe_type(review)}, should be a {_REVIEW_KIND} (an object)")
    request = review.get("request")
    if not isinstance(request, dict):
        raise InvalidRequest(f"the body has no request, should be a {_REVIEW_VERSION} {_REVIEW_KIND}")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise InvalidRequest("the review's request has no uid")
    return review, request, uid


def _find_fault(found: Any) -> str:
    """What keeps an object from being converted, as the end of a sentence; empty if nothing does."""
    if not isinstance(found, dict):
        return f"is {describe_type(found)}, should be an object"
    kind = found.get("kind")
    if not isinstance(kind, str) or kind not in CONVERTIBLE_KINDS:
        return f"has the kind {_quote(kind)}; the kinds with two versions are {_KINDS}"
    if found.get("apiVersion") not in GROUP_VERSIONS:
        return f"has the apiVersion {_quote(found.get('apiVersion'))}; served are {_SERVED}"
    return ""


def _quote(value: Any) -> str:
    """A value of a review for a sentence: its text, or its type if it is none."""
    return one_line(repr(value), 100) if isinstance(value, str) else describe_type(value)


def _write(response: Mapping[str, object]) -> bytes:
    return orjson.dumps({"apiVersion": _REVIEW_VERSION, "kind": _REVIEW_KIND, "response": response})
