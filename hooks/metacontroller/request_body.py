"""Parses the body of a call, and caches the parsed values of objects.

Every call has the whole parent and all its children, and most of them are the same as in the last call. The cache's key
is an object's whole JSON text, so the cache does not change any answer. Secrets are not cached. A text that a call has
twice, as a child and as a related object, is parsed once.
"""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any

import msgspec
import orjson

from hooks.k8s import kinds

MAX_KEPT_BYTES = 4 * 2**20
"""Total JSON text that a process caches; its parsed values take about four times as much memory."""

_MAX_HASHES = 4096
_Groups = dict[str, dict[str, msgspec.Raw]]


class _Call(msgspec.Struct, gc=False):
    """The fields of a sync or finalize call that hooks read; `object` and `attachments` are a DecoratorController's."""

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
    """A cache of JSON text to parsed value; callers must not change the values.

    A text is cached when it is read for the second time, because many texts are read only once. The least recently used
    text is dropped first.
    """

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self.kept_bytes = 0
        self._max_bytes = max_bytes
        self._values: OrderedDict[bytes, Any] = OrderedDict()
        self._hashes: OrderedDict[int, None] = OrderedDict()
        self._lock = Lock()

    def read_call(self, body: bytes) -> Any:
        """The fields of a sync or finalize call that hooks read; all values of any other body.

        Raises:
            orjson.JSONDecodeError: it is not JSON.
        """
        try:
            call, once = _CALL.decode(body), dict[bytes, Any]()
            parts = {key: part for key in _KEYS if (part := getattr(call, key)) is not msgspec.UNSET}
            return {key: self._read_part(part, once) for key, part in parts.items()}
        except (msgspec.MsgspecError, orjson.JSONDecodeError, RecursionError):
            return orjson.loads(body)  # raises, or returns a value that the protocol refuses

    def read(self, text: bytes) -> Any:
        """The parsed value of a JSON text; raises orjson.JSONDecodeError."""
        with self._lock:
            if text in self._values:
                self._values.move_to_end(text)
                return self._values[text]
        value = orjson.loads(text)
        with self._lock:
            if self._came_before(text) and text not in self._values:
                self._keep(text, value)
        return value

    def _came_before(self, text: bytes) -> bool:
        """Whether the text was read before; this call records it. With equal hashes, a text is cached too early."""
        mark = hash(text)
        if mark in self._hashes:
            del self._hashes[mark]
            return True
        self._hashes[mark] = None
        if len(self._hashes) > _MAX_HASHES:
            self._hashes.popitem(last=False)
        return False

    def _keep(self, text: bytes, value: Any) -> None:
        self._values[text] = value
        self.kept_bytes += len(text)
        while self.kept_bytes > self._max_bytes:
            dropped, _ = self._values.popitem(last=False)
            self.kept_bytes -= len(dropped)

    def _read_part(self, part: Any, once: dict[bytes, Any]) -> Any:
        if isinstance(part, dict):
            return {kind: self._read_group(kind, found, once) for kind, found in part.items()}
        return self.read(bytes(part)) if isinstance(part, msgspec.Raw) else part

    def _read_group(self, kind: str, found: Mapping[str, msgspec.Raw], once: dict[bytes, Any]) -> dict[str, Any]:
        if kind == kinds.SECRET.key:
            return {name: orjson.loads(bytes(text)) for name, text in found.items()}
        return {name: self._read_once(bytes(text), once) for name, text in found.items()}

    def _read_once(self, text: bytes, once: dict[bytes, Any]) -> Any:
        """The parsed value; `once` are those of this call."""
        if text not in once:
            once[text] = self.read(text)
        return once[text]
