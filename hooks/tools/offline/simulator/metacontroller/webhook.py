"""One call of a hook as Metacontroller makes it: which answers it accepts, refuses, or would crash on.

Source: Metacontroller v4.17, pkg/hooks/webhook.go and the response types of its hook version v2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import orjson

from hooks.ground.k8s.types import Json
from hooks.tools.offline.simulator.clock import Clock

HookAnswer = tuple[int, Mapping[str, str], bytes]
Hook = Callable[[str, bytes], HookAnswer]
"""(path, body) to (status, headers, body): an HTTP call, or a test client's."""

Stage = Literal["sync", "finalize", "customize"]


class SyncFailed(Exception):
    """A sync failed; the message becomes the parent's SyncError event."""


class TooManyRequests(Exception):
    """The hook answered 429; Metacontroller calls again after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"retry after {seconds} s")
        self.seconds = seconds


class MetacontrollerWouldCrash(Exception):
    """The answer would crash Metacontroller, for every parent in the cluster, after each restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The fields of one kind of answer with their types; `objects` is the list whose items must not be null."""

    types: Mapping[str, type | tuple[type, ...]]
    objects: str


_NUMBER = (int, float)
_FIELDS: Mapping[tuple[str, str], Fields] = {
    ("CompositeController", "sync"): Fields(
        types={"status": dict, "children": list, "resyncAfterSeconds": _NUMBER, "finalized": bool}, objects="children"
    ),
    ("DecoratorController", "sync"): Fields(
        types={
            "labels": dict,
            "annotations": dict,
            "status": dict,
            "attachments": list,
            "resyncAfterSeconds": _NUMBER,
            "finalized": bool,
        },
        objects="attachments",
    ),
    ("", "customize"): Fields(types={"relatedResources": list}, objects="relatedResources"),
}
_RULE_FIELDS = frozenset({"apiVersion", "resource", "labelSelector", "namespaceSelector", "namespace", "names"})


class Webhook:
    """The hooks of one controller."""

    def __init__(self, hook: Hook, controller: Json, paths: Mapping[str, str], clock: Clock) -> None:
        self._hook = hook
        self._controller = controller
        self._paths = paths
        self._clock = clock

    def has(self, stage: Stage) -> bool:
        """Whether the controller declares this hook."""
        return stage in self._paths

    def call(self, stage: Stage, request: Mapping[str, Json]) -> dict[str, Any]:
        """Call the hook; the request also holds the controller's own object.

        Raises:
            SyncFailed: any answer that Metacontroller does not accept.
            TooManyRequests: 429.
            MetacontrollerWouldCrash: null where an object is expected.
        """
        body = orjson.dumps({"controller": self._controller, **request}, option=orjson.OPT_SORT_KEYS)
        code, headers, answer = self._hook(self._paths[stage], body)
        if code == 429:
            raise TooManyRequests(self._retry_after(headers))
        if code != 200:
            text = answer.decode(errors="replace")
            raise SyncFailed(f"{stage} hook failed: unsupported status code: {code} body: {text}")
        fields = _FIELDS["", "customize"] if stage == "customize" else _FIELDS[self._controller["kind"], "sync"]
        return _read_answer(stage, fields, answer)

    def _retry_after(self, headers: Mapping[str, str]) -> int:
        text = next((value for key, value in headers.items() if key.lower() == "retry-after"), "")
        try:
            return max(0, int(text))
        except ValueError:
            pass
        try:
            return max(0, round((parsedate_to_datetime(text) - self._clock.now).total_seconds()))
        except (TypeError, ValueError):
            return 0


def _read_answer(stage: Stage, fields: Fields, answer: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(answer)
    except orjson.JSONDecodeError as wrong:
        raise SyncFailed(f"{stage} hook failed: can't unmarshal webhookResponse: {wrong}") from None
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise SyncFailed(f"{stage} hook failed: can't unmarshal webhookResponse: not an object")
    _check_fields(stage, fields, body)
    objects = body.get(fields.objects) or []
    if any(item is None for item in objects):
        raise MetacontrollerWouldCrash(f"{stage} hook: null in {fields.objects}")
    for item in objects:
        _check_item(stage, fields, item)
    return {key: value for key, value in body.items() if value is not None}


def _check_fields(stage: Stage, fields: Fields, body: Mapping[str, Json]) -> None:
    for key, value in body.items():
        wanted = fields.types.get(key)
        if wanted is None:
            raise SyncFailed(
                f'{stage} hook failed: strict validation failed for v2 webhookResponse: unknown field "{key}"'
            )
        if value is not None and (not isinstance(value, wanted) or (wanted is _NUMBER and isinstance(value, bool))):
            raise SyncFailed(f"{stage} hook failed: can't unmarshal webhookResponse: {key} has the wrong type")


def _check_item(stage: Stage, fields: Fields, item: Json) -> None:
    if not isinstance(item, dict):
        raise SyncFailed(
            f"{stage} hook failed: can't unmarshal webhookResponse: an item of {fields.objects} is not an object"
        )
    if fields.objects == "relatedResources":
        unknown = sorted(set(item) - _RULE_FIELDS)
        if unknown:
            raise SyncFailed(
                f'{stage} hook failed: strict validation failed: unknown field "relatedResources.{unknown[0]}"'
            )
    elif not isinstance(item.get("kind"), str) or not item["kind"]:
        raise SyncFailed(f"{stage} hook failed: can't unmarshal webhookResponse: Object 'Kind' is missing")
