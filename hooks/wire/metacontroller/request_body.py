"""Parses the body of a call, and caches the parsed values of objects.

Every call has the whole parent and all its children, and most of them are the same as in the last call. The cache's key
is an object's whole JSON text, so the cache does not change any answer. Secrets are not cached. A text that a call has
twice, as a child and as a related object, is parsed once.

A changed object is parsed field by field, and its unchanged fields are the values of before: mostly only the status and
a part of the metadata change. `metadata.managedFields`, a third of an object's text, is left out, as no hook reads it.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any

import msgspec
import orjson

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.nesting import may_nest_lists, nests_lists
from hooks.ground.problems import HERE
from hooks.language.rules import reading

MAX_REMEMBERED_BYTES = 2 * 2**20
"""Total JSON text that a process caches, of objects and again of their fields; the values take as much again and half
of that."""

_MAX_HASHES = 4096
_MIN_FIELD_BYTES = 256
"""The shortest field with an entry of its own: a shorter one is parsed faster than it is found."""
_NOT_READ = "managedFields"
_ABSENT = object()
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
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_KEYS = _Call.__struct_fields__


def read_whole(body: bytes) -> Any:
    """All values of a call's body.

    Raises:
        orjson.JSONDecodeError: it is not JSON.
        InvalidSpec: an object of a sync call has lists in each other that cannot be written; it can be finalized.
    """
    call = orjson.loads(body)
    is_finalizing = isinstance(call, dict) and call.get("finalizing")
    if not is_finalizing and may_nest_lists(body) and nests_lists(call):
        raise InvalidSpec(reading.DEPTH.at(HERE))
    return call


class JsonCache:
    """A cache of JSON text to parsed value; callers must not change the values.

    A text is cached when it is read for the second time, because many texts are read only once. The least recently used
    text is dropped first.
    """

    def __init__(self, max_bytes: int = MAX_REMEMBERED_BYTES) -> None:
        self.kept_bytes = 0
        self._max_bytes = max_bytes
        self._values: OrderedDict[bytes, Any] = OrderedDict()
        self._hashes: OrderedDict[int, None] = OrderedDict()
        self._lock = Lock()

    def read_call(self, body: bytes) -> Any:
        """The fields of a sync or finalize call that hooks read; all values of any other body.

        Raises:
            orjson.JSONDecodeError, InvalidSpec: as `read_whole`.
        """
        try:
            call, once = _CALL.decode(body), dict[bytes, Any]()
            parts = {key: part for key in _KEYS if (part := getattr(call, key)) is not msgspec.UNSET}
            return {key: self._read_part(part, once) for key, part in parts.items()}
        except (msgspec.MsgspecError, ValueError, RecursionError):  # both libraries have errors that are ValueErrors
            return read_whole(body)  # raises, or returns a value that the protocol refuses or that is not cached

    def read(self, text: bytes) -> Any:
        """The object of a JSON text, without `metadata.managedFields`.

        Raises:
            msgspec.MsgspecError, ValueError: it is not the JSON of an object, or may have too many lists in each other.
        """
        return self._recall(text, self._parse_object)

    def _recall(self, text: bytes, parse: Callable[[bytes], Any]) -> Any:
        if found := self._find([text]):
            return found[text]
        value = parse(text)
        with self._lock:
            if self._came_before(text) and text not in self._values:
                self._remember(text, value)
        return value

    def _find(self, texts: Iterable[bytes]) -> dict[bytes, Any]:
        """The values of those texts that are cached."""
        found: dict[bytes, Any] = {}
        with self._lock:
            for text in texts:
                if (value := self._values.get(text, _ABSENT)) is not _ABSENT:
                    self._values.move_to_end(text)
                    found[text] = value
        return found

    def _parse_object(self, text: bytes) -> dict[str, Any]:
        _refuse_nested_lists(text)
        fields = _FIELDS.decode(text)
        return {
            key: self._parse_metadata(bytes(part)) if key == "metadata" else self._read_field(bytes(part))
            for key, part in fields.items()
        }

    def _parse_metadata(self, text: bytes) -> dict[str, Any]:
        fields = _FIELDS.decode(text)
        return {key: self._read_field(bytes(part)) for key, part in fields.items() if key != _NOT_READ}

    def _read_field(self, text: bytes) -> Any:
        return orjson.loads(text) if len(text) < _MIN_FIELD_BYTES else self._recall(text, orjson.loads)

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

    def _remember(self, text: bytes, value: Any) -> None:
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
        """The parsed objects of a kind; `once` are the parsed values of this call that are not cached."""
        texts = {name: bytes(text) for name, text in found.items()}
        if kind == kinds.SECRET.key:
            return {name: _read_secret(text) for name, text in texts.items()}
        values = self._find(texts.values())
        for text in texts.values():
            if text not in values:
                if text not in once:
                    once[text] = self.read(text)
                values[text] = once[text]
        return {name: values[text] for name, text in texts.items()}


def _read_secret(text: bytes) -> Any:
    _refuse_nested_lists(text)
    return orjson.loads(text)


def _refuse_nested_lists(text: bytes) -> None:
    """Leave a suspicious object to `read_whole`: cached ones are harmless, and need not be looked at again."""
    if may_nest_lists(text):
        raise ValueError("lists may be nested too deeply")
