"""A call's body as plain values; of objects that come again and again, the values that were read before.

Metacontroller sends the whole object and all its children with every call, most of them as they were the last time.
An object is remembered by its text, which says all of it, so remembering changes no answer; Secrets are not kept.
"""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any

import msgspec
import orjson

from hooks.k8s import kinds

MAX_KEPT_BYTES = 4 * 2**20
"""Text of the objects that a process remembers; as values they take some four times as much again."""

_MAX_SIGHTED = 4096
_Groups = dict[str, dict[str, msgspec.Raw]]


class _Call(msgspec.Struct, gc=False):
    """What of a sync or finalize call is read, the objects as text; `object` and `attachments` are a decorator's."""

    controller: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    parent: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    object: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    children: _Groups | msgspec.UnsetType = msgspec.UNSET
    attachments: _Groups | msgspec.UnsetType = msgspec.UNSET
    related: _Groups | msgspec.UnsetType = msgspec.UNSET
    finalizing: bool = False


_CALL = msgspec.json.Decoder(_Call)
_KEYS = _Call.__struct_fields__


class JsonCache:
    """JSON values by their text; what it returns must not be changed.

    A text is kept when it comes the second time, as many never do, and the one not asked for the longest goes first.
    """

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self.kept_bytes = 0
        self._max_bytes = max_bytes
        self._values: OrderedDict[bytes, Any] = OrderedDict()
        self._sighted: OrderedDict[int, None] = OrderedDict()
        self._lock = Lock()

    def read_call(self, body: bytes) -> Any:
        """The values of a sync or finalize call, as far as hooks look at them; of any other body, all values.

        Raises:
            orjson.JSONDecodeError: it is not JSON.
        """
        try:
            call = _CALL.decode(body)
            return {key: self._read_part(part) for key in _KEYS if (part := getattr(call, key)) is not msgspec.UNSET}
        except (msgspec.MsgspecError, orjson.JSONDecodeError, RecursionError):
            return orjson.loads(body)  # says what is wrong, or is well-formed and wrong for who looks closer

    def read(self, text: bytes) -> Any:
        """The value of a JSON text; raises orjson.JSONDecodeError."""
        with self._lock:
            if text in self._values:
                self._values.move_to_end(text)
                return self._values[text]
        value = orjson.loads(text)
        with self._lock:
            if self._is_sighted(text) and text not in self._values:
                self._keep(text, value)
        return value

    def _is_sighted(self, text: bytes) -> bool:
        """Whether the text was seen before, which it then was; one taken for another does no harm."""
        mark = hash(text)
        if mark in self._sighted:
            del self._sighted[mark]
            return True
        self._sighted[mark] = None
        if len(self._sighted) > _MAX_SIGHTED:
            self._sighted.popitem(last=False)
        return False

    def _keep(self, text: bytes, value: Any) -> None:
        self._values[text] = value
        self.kept_bytes += len(text)
        while self.kept_bytes > self._max_bytes:
            dropped, _ = self._values.popitem(last=False)
            self.kept_bytes -= len(dropped)

    def _read_part(self, part: Any) -> Any:
        if isinstance(part, dict):
            return {kind: self._read_group(kind, found) for kind, found in part.items()}
        return self.read(bytes(part)) if isinstance(part, msgspec.Raw) else part

    def _read_group(self, kind: str, found: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
        read = orjson.loads if kind == kinds.SECRET.key else self.read
        return {name: read(bytes(text)) for name, text in found.items()}
