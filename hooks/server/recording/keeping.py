"""The directory of recorded calls: a file for each call, for its owner alone; the oldest make room for new ones."""

import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import orjson

from hooks import __version__
from hooks.ground.errors import InvalidRequest
from hooks.ground.k8s.messages import one_line
from hooks.ground.settings import Settings
from hooks.server.recording.answering import Heard, record_call
from hooks.server.recording.calls import RecordedCall, read_call, write_call
from hooks.server.serving.logs import logger

MAX_CALLS = 1000
MAX_BYTES = 32 * 2**20
"""The chart's /tmp has 64 MiB."""
_END = ".call.json"


class Keeper:
    """Keeps calls in a directory; several processes may share it. What cannot be written is logged once."""

    def __init__(self, directory: Path, settings: Settings, clock: Callable[[], datetime]) -> None:
        self._directory = directory
        self._settings = settings
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._has_failed = False

    def keep(self, heard: Heard) -> None:
        """Keep a call, but for secrets. The same request again replaces the earlier one."""
        call = record_call(heard, now=self._clock(), settings=self._settings, key=self._key)
        try:
            self._write(call)
        except OSError as error:
            if not self._has_failed:
                fields = {"directory": str(self._directory), "reason": error.strerror or type(error).__name__}
                logger.warning("calls cannot be recorded", extra={"fields": fields})
            self._has_failed = True

    def _write(self, call: RecordedCall) -> None:
        text = write_call(call)
        if len(text) > MAX_BYTES:
            return
        name = hashlib.sha256(write_call(_without_time(call))).hexdigest()[:32]
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=self._directory, prefix=".")  # its mode is 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text)
            Path(temporary).replace(self._directory / f"{name}{_END}")
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        make_room(self._directory)


def make_room(directory: Path, max_calls: int = MAX_CALLS, max_bytes: int = MAX_BYTES) -> None:
    """Remove the oldest calls until so many, of so many bytes, are left."""
    kept = total = 0
    for path, size in sorted(_sizes(directory), key=lambda one: _age(one[0]), reverse=True):
        kept, total = kept + 1, total + size
        if kept > max_calls or total > max_bytes:
            path.unlink(missing_ok=True)


def read_calls(directory: Path) -> Iterator[tuple[Path, RecordedCall]]:
    """All calls of a directory, oldest first.

    Raises:
        InvalidRequest: a file holds no recorded call, or is no file.
    """
    for path in sorted(directory.glob(f"*{_END}"), key=_age):
        if not path.is_file():
            raise InvalidRequest(f"{path.name} is no file; take it out of the directory")
        text = path.read_bytes()
        try:
            call = read_call(text)
        except InvalidRequest as error:
            raise InvalidRequest(f"{path.name}: {error}{_name_version(text)}") from error
        yield path, call


def _name_version(text: bytes) -> str:
    """Which version recorded a file that cannot be read, as the end of a sentence; empty if the file does not say."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ""
    version = found.get("version") if isinstance(found, dict) else None
    if not isinstance(version, str) or version == __version__:
        return ""
    return f" of version {__version__}; version {one_line(version, 40)} recorded it, so replay it with that one"


def _without_time(call: RecordedCall) -> RecordedCall:
    return RecordedCall(
        version=call.version,
        path=call.path,
        now="",
        settings=call.settings,
        request={key: item for key, item in call.request.items() if key != "controller"},
        answered=call.answered,
    )


def _sizes(directory: Path) -> Iterator[tuple[Path, int]]:
    for path in directory.glob(f"*{_END}"):
        with suppress(FileNotFoundError):  # another process removed it
            yield path, path.stat().st_size


def _age(path: Path) -> tuple[int, str]:
    try:
        return path.stat().st_mtime_ns, path.name
    except FileNotFoundError:
        return 0, path.name
