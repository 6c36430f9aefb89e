"""Who may call the hooks: the bearer token that Metacontroller reads from a Secret (`webhook.authorization`).

The kubelet writes a changed Secret into its file, and the file is read again. Metacontroller reads the Secret only when
a controller starts, so for some time it still sends the token before.
"""

import hmac
import threading
import time
from collections.abc import Callable
from pathlib import Path

from hooks.errors import InvalidSettings
from hooks.serving.logs import logger

RefuseCaller = Callable[[str], str]
"""Why a request with this Authorization header is not answered; empty if it is."""

OVERLAP_SECONDS = 3600.0
"""How long the token before a change is still accepted."""

NOT_SHOWN = (
    "no bearer token: the controller's webhooks need `authorization` with the Secret of the hooks' token "
    "(dynamo-hooks controllers --token-secret NAMESPACE/NAME writes it)"
)
NOT_ACCEPTED = (
    "the bearer token is not the hooks' own: Metacontroller reads a changed Secret only after a restart, "
    "and `authorization` must name the Secret that the hooks mount"
)

_SCHEME = "bearer "
_Stamp = tuple[int, int, int, int]


class CallerToken:
    """The token that callers must show, in a file that is read again when it changes."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the file; `clock` gives seconds.

        Raises:
            InvalidSettings: it cannot be read, or holds no token.
        """
        self._file, self._clock = file, clock
        self._lock = threading.Lock()
        self._stamp = self._look()
        self._token = self._read()
        self._before, self._before_ends = b"", 0.0

    @property
    def shown(self) -> str:
        """The token that callers show now."""
        with self._lock:
            self._renew()
            return self._token.decode()

    def refusal(self, authorization: str) -> str:
        """Why a request with this Authorization header is not answered; empty if it is."""
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            return NOT_SHOWN
        shown = authorization[len(_SCHEME) :].strip().encode()
        with self._lock:
            self._renew()
            accepted = [self._token, *([self._before] if self._clock() < self._before_ends else [])]
        matches = [hmac.compare_digest(shown, token) for token in accepted]
        return "" if any(matches) else NOT_ACCEPTED

    def _renew(self) -> None:
        """Take over a changed file; while it cannot be used, the last token stays."""
        try:
            stamp = self._look()
            if stamp == self._stamp:
                return
            self._stamp = stamp  # before reading, so that a change during the reading is noticed next time
            token = self._read()
        except InvalidSettings as error:
            logger.warning("the token of before stays: %s", error)
            return
        if token != self._token:
            self._before, self._before_ends = self._token, self._clock() + OVERLAP_SECONDS
            self._token = token
            logger.info("the callers' token has changed; the one before is accepted for %d s more", OVERLAP_SECONDS)

    def _look(self) -> _Stamp:
        """A value that differs after each change: the kubelet replaces a link, other programs write in place."""
        try:
            found = self._file.stat()
        except OSError:
            return (0, 0, 0, 0)
        return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)

    def _read(self) -> bytes:
        """The token without the whitespace around it, as Metacontroller sends it."""
        try:
            token = self._file.read_bytes().strip()
        except OSError as error:
            raise InvalidSettings(f"--token-file {self._file} cannot be read: {error.strerror}") from error
        if not token or not token.isascii() or not token.decode().isprintable():
            raise InvalidSettings(f"--token-file {self._file} holds no token; write one line of printable ASCII")
        return token
