"""Waits until a profiler ends, then applies its files as a ConfigMap; or says why it cannot.

`hooks/request/seen/profiler_output.py` decides; this module has the clock, the folder and the API server. Every wait
ends at the deadline, or at once if the API server refuses a request for good.
"""

import errno
import os
import random
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of
from hooks.request.seen.profiler_output import (
    MAX_CONFIG_MAP_BYTES,
    READ_FILES,
    CopyTask,
    NoOutput,
    NotEnded,
    OutputFile,
    plan_copy,
)
from hooks.server.clients.api_server import APPLY_PATCH, ApiServer, Conversation, Refused

FIELD_MANAGER = "dynamo-hooks-copy-output"
POLL_SECONDS = 5.0
SAY_SECONDS = 300.0
REQUEST_SECONDS = 30.0
MAX_BACK_OFF_SECONDS = 30.0
DENIED_SECONDS = 300.0
"""How long 401 and 403 are retried, because the RoleBinding may be created after the Job."""

_DENIED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})

_NO_FILE = "it is no regular file, or a link leads to it"
_LINKS = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENXIO})
"""What opening a link, a file below one, or a socket fails with."""

T = TypeVar("T")


class CopyFailed(Exception):
    """Nothing was copied; the message is the container's termination message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How to sleep, in seconds, and a random number from 0 to 1."""

    sleep: Callable[[float], None] = field(default=time.sleep)
    jitter: Callable[[], float] = field(default=random.random)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCopier:
    """One task and its deadline in seconds; `say` prints a line of progress."""

    task: CopyTask
    folder: Path
    server: ApiServer
    deadline_seconds: float
    say: Callable[[str], None]
    pace: Pace = field(default_factory=Pace)

    def run(self) -> None:
        """Wait until the profiler ends, then copy its files.

        Raises:
            CopyFailed: the profiler failed, wrote no usable output or ran too long, or the API server refused.
        """
        caller = _Caller(
            server=self.server, until=self.server.clock() + self.deadline_seconds, pace=self.pace, say=self.say
        )
        config_map = self._wait(caller)
        caller.apply(config_map)
        self.say(f"ConfigMap {name_of(config_map)} holds {', '.join(config_map['data'])}")

    def _wait(self, caller: "_Caller") -> Manifest:
        begin, said = self.server.clock(), -SAY_SECONDS
        relayed: Manifest | None = None
        while True:
            pod = caller.read_pod(self.task.namespace, self.task.pod)
            decision = plan_copy(self.task, pod, read_files(self.folder))
            if isinstance(decision, NoOutput):
                if decision.report is not None:
                    self._relay(caller, decision.report)
                raise CopyFailed(decision.reason)
            if not isinstance(decision, NotEnded):
                return decision.config_map
            if decision.progress not in (None, relayed):
                relayed = decision.progress
                self._relay(caller, decision.progress)
            passed = self.server.clock() - begin
            if passed - said >= SAY_SECONDS:
                self.say(f"the profiler is {decision.state}, {passed:.0f} s so far")
                said = passed
            left = self.deadline_seconds - passed
            if left <= 0:
                raise CopyFailed(f"gave up after {self.deadline_seconds:g} s: the profiler is {decision.state}")
            self.pace.sleep(min(POLL_SECONDS, left))

    def _relay(self, caller: "_Caller", report: Manifest | None) -> None:
        """Say how far the profiler is, or that it failed; if it cannot be said, the work goes on."""
        try:
            caller.apply(report or {})
        except CopyFailed as failure:
            self.say(str(failure))


def read_files(folder: Path) -> dict[str, OutputFile]:
    """The profiler's files that exist; of a large file only slightly more than fits into a ConfigMap.

    The profiler chooses what stands there, and this process has an account's token: a link would lead to that, and a
    pipe would make it wait.

    Raises:
        CopyFailed: one is no regular file, is a link or below one, or cannot be read.
    """
    found = {}
    for name in READ_FILES:
        try:
            found[name] = _read_file(folder / name)
        except FileNotFoundError:
            continue
        except OSError as error:
            why = _NO_FILE if error.errno in _LINKS else error.strerror
            raise CopyFailed(f"{folder / name} cannot be read: {why}") from error
    return found


def _read_file(path: Path) -> OutputFile:
    with ExitStack() as stack:
        place: int | None = None
        for part in path.parent.parts:
            place = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
            stack.callback(os.close, place)
        number = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
        stack.callback(os.close, number)
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.ENXIO, _NO_FILE)
        with open(number, "rb", closefd=False) as file:
            content = file.read(MAX_CONFIG_MAP_BYTES + 1)
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    return OutputFile(content=content, size=max(status.st_size, len(content)), modified=modified)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Caller:
    """Calls the API server, and repeats calls that may succeed later, until a moment of its clock."""

    server: ApiServer
    until: float
    pace: Pace
    say: Callable[[str], None]

    def read_pod(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The pod, None if it does not exist; raises CopyFailed."""

        def read(conversation: Conversation) -> Mapping[str, Any] | None:
            return conversation.find(f"/api/v1/namespaces/{namespace}/pods/{name}", kinds.POD)

        return self._retry(f"read pod {name}", read)

    def apply(self, obj: Manifest) -> None:
        """Apply a ConfigMap server-side, which removes keys that an earlier attempt wrote; raises CopyFailed."""
        path = f"/api/v1/namespaces/{obj['metadata']['namespace']}/configmaps/{name_of(obj)}"
        query = f"?fieldManager={FIELD_MANAGER}&force=true"
        self._retry(
            f"apply ConfigMap {name_of(obj)}",
            lambda conversation: conversation.ask("PATCH", path + query, obj, form=APPLY_PATCH),
        )

    def _retry(self, what: str, call: Callable[[Conversation], T]) -> T:
        """Repeat a call with back-off until it succeeds.

        Raises:
            CopyFailed: the call cannot succeed, was denied for too long, or the deadline has passed.
        """
        back_off, denied_since = 1.0, self.server.clock()
        while True:
            try:
                with self.server.converse(REQUEST_SECONDS) as conversation:
                    return call(conversation)
            except Refused as error:
                now = self.server.clock()
                if error.status not in _DENIED:
                    denied_since = now
                elif now - denied_since >= DENIED_SECONDS:
                    raise CopyFailed(f"could not {what}: {error}") from error
                if not _may_pass(error.status):
                    raise CopyFailed(f"could not {what}: {error}") from error
                if now >= self.until:
                    raise CopyFailed(f"could not {what} before the deadline: {error}") from error
                self.say(f"could not {what}, trying again: {error}")
                self.pace.sleep(min(back_off * (0.5 + self.pace.jitter() / 2), self.until - now))
                back_off = min(2 * back_off, MAX_BACK_OFF_SECONDS)


def _may_pass(status: int) -> bool:
    """Whether the same call may succeed later; status 0 means that there was no answer."""
    return status == 0 or status in _DENIED | _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR
