"""Who may call the hooks: the bearer token that Metacontroller reads from a Secret (`webhook.authorization`).

Hooks pods have another token for what they ask of each other.

The kubelet writes a changed Secret into its file, and the file is read again. Metacontroller reads the Secret only when
a controller starts, so for some time it still sends the token before.
"""

import hmac
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hooks.ground.errors import InvalidSettings
from hooks.server.serving.logs import logger

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUse:
    """The option that names the token's file, and what is said to who shows no token, or a wrong one."""

    option: str
    not_shown: str
    not_accepted: str


OF_CALLERS = TokenUse(option="--token-file", not_shown=NOT_SHOWN, not_accepted=NOT_ACCEPTED)
OF_HOOKS_PODS = TokenUse(
    option="--relay-token-file",
    not_shown="no bearer token: this path is for other hooks pods, which show the token of --relay-token-file",
    not_accepted="the bearer token is not that of hooks pods: all need the same --relay-token-file; "
    "a changed Secret reaches them within about a minute",
)

_SCHEME = "bearer "
_Stamp = tuple[int, int, int, int]


class CallerToken:
    """The token that callers must show, in a file that is read again when it changes."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic, use: TokenUse = OF_CALLERS) -> None:
        """Read the file; `clock` gives seconds.

        Raises:
            InvalidSettings: it cannot be read, or holds no token.
        """
        self._file, self._clock, self._use = file, clock, use
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
            return self._use.not_shown
        shown = authorization[len(_SCHEME) :].strip().encode()
        with self._lock:
            self._renew()
            accepted = [self._token, *([self._before] if self._clock() < self._before_ends else [])]
        matches = [hmac.compare_digest(shown, token) for token in accepted]
        return "" if any(matches) else self._use.not_accepted

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
            option = self._use.option
            logger.info("the token of %s has changed; the one before counts for %d s more", option, OVERLAP_SECONDS)

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
            raise InvalidSettings(f"{self._use.option} {self._file} cannot be read: {error.strerror}") from error
        if not token or not token.isascii() or not token.decode().isprintable():
            raise InvalidSettings(f"{self._use.option} {self._file} holds no token; write one line of printable ASCII")
        return token
