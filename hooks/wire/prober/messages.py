"""How the messages between the hooks and the prober are written and read."""

from typing import TypeVar

import msgspec

_M = TypeVar("_M", bound=msgspec.Struct)


def write_message(message: msgspec.Struct) -> bytes:
    """The message as JSON, without fields that have their default."""
    return msgspec.json.encode(message)


def read_message(text: bytes, kind: type[_M]) -> _M:
    """The message in a body.

    Raises:
        msgspec.MsgspecError, ValueError: it is not one; the error's text names the field.
    """
    return msgspec.json.decode(text, type=kind)
