"""A call's body as plain values; of objects that were seen lately, the values read then.

Metacontroller sends the whole object and all its children with every call, most of them as they were the last time.
An object is remembered by its text, which says all of it, so remembering changes no answer; Secrets are not kept.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from hooks.k8s import kinds

MAX_REMEMBERED_BYTES = 4 * 2**20
"""Text of the objects that a process remembers; as values they take some four times as much again."""

_MAX_OBJECT_BYTES = 2**18
_Groups = dict[str, dict[str, msgspec.Raw]]


class _Call(msgspec.Struct, gc=False):
    """What of a sync or finalize call is read, the objects as text; `object` and `attachments` are a decorator's."""

    parent: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    object: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    children: _Groups | msgspec.UnsetType = msgspec.UNSET
    attachments: _Groups | msgspec.UnsetType = msgspec.UNSET
    related: _Groups | msgspec.UnsetType = msgspec.UNSET
    finalizing: bool = False


_CALL = msgspec.json.Decoder(_Call)


class Memory:
    """JSON values by their text, those of the last `max_bytes` of text at most; what it returns must not be changed.

    Two halves: the newer one becomes the older when it is full. Threads that come at once may both read a text.
    """

    def __init__(self, max_bytes: int = MAX_REMEMBERED_BYTES) -> None:
        self._half = max_bytes // 2
        self._newer: dict[bytes, Any] = {}
        self._older: dict[bytes, Any] = {}
        self._newer_bytes = 0

    @property
    def kept_bytes(self) -> int:
        """Bytes of the texts that are remembered."""
        return sum(map(len, self._newer)) + sum(len(text) for text in self._older if text not in self._newer)

    def read(self, text: bytes) -> Any:
        """The value of a JSON text; raises orjson.JSONDecodeError."""
        value = self._newer.get(text)
        if value is None:
            value = self._older.get(text)
            if value is None:
                value = orjson.loads(text)
            self._keep(text, value)
        return value

    def _keep(self, text: bytes, value: Any) -> None:
        if len(text) > min(_MAX_OBJECT_BYTES, self._half):
            return
        if self._newer_bytes + len(text) > self._half:
            self._older, self._newer, self._newer_bytes = self._newer, {}, 0
        self._newer[text] = value
        self._newer_bytes += len(text)


_memory = Memory()


def read_call(body: bytes, memory: Memory = _memory) -> Any:
    """The values of a sync or finalize call, as far as hooks look at them; of any other body, all values.

    Raises:
        orjson.JSONDecodeError: it is not JSON.
    """
    try:
        call = _CALL.decode(body)
        return {key: _read(value, memory) for key in _CALL_KEYS if (value := getattr(call, key)) is not msgspec.UNSET}
    except (msgspec.MsgspecError, orjson.JSONDecodeError, RecursionError):
        return orjson.loads(body)  # says what is wrong, or is well-formed and wrong for who looks closer


_CALL_KEYS = _Call.__struct_fields__


def _read(value: Any, memory: Memory) -> Any:
    if isinstance(value, dict):
        return {kind: _read_group(kind, found, memory) for kind, found in value.items()}
    return memory.read(bytes(value)) if isinstance(value, msgspec.Raw) else value


def _read_group(kind: str, found: Mapping[str, msgspec.Raw], memory: Memory) -> dict[str, Any]:
    read = orjson.loads if kind == kinds.SECRET.key else memory.read
    return {name: read(bytes(text)) for name, text in found.items()}
