"""One container as a process: started, polled, stopped, started again after a while."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.e2e.kubelet.pod_status import Role, Seen, State, waiting
from tests.e2e.kubelet.probes import Probe, has_started, is_ready, probes_of

FIRST_BACKOFF, LAST_BACKOFF, CALM_SECONDS = 10.0, 300.0, 600.0
"""Seconds before the second restart, the most before any, and after how long a run is no crash of the ones before."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is started: words, environment, working directory, and where the paths of its mounts are."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    mounts: Mapping[str, str] = field(default_factory=dict)


def timestamp() -> str:
    """The time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_backoff(crashes: int) -> float:
    """Seconds between an end and the next start, after so many restarts without a calm run: 0, 10, 20, … 300."""
    return 0.0 if crashes == 0 else min(FIRST_BACKOFF * 2.0 ** (crashes - 1), LAST_BACKOFF)


@dataclass(slots=True)
class Container:
    """A container of a pod; times are those of a clock that only goes forward."""

    spec: Mapping[str, Any]
    role: Role
    log: Path
    restarts_after: tuple[bool, bool]
    """Whether it is started again after success, after failure."""
    state: State = field(default_factory=lambda: waiting("ContainerCreating"))
    last_state: State = field(default_factory=dict)
    restarts: int = 0
    probes: list[Probe] = field(default_factory=list)
    answers: dict[str, Future[str]] = field(default_factory=dict)
    launch: Launch | None = None
    process: subprocess.Popen[bytes] | None = None
    kill_at: float | None = None
    retry_at: float = 0.0
    _started_at: float = 0.0
    _crashes: int = 0

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def is_running(self) -> bool:
        return self.process is not None

    @property
    def is_over(self) -> bool:
        """Whether it has ended and is not started again."""
        ended = self.state.get("terminated")
        return ended is not None and not self.restarts_after[0 if ended["exitCode"] == 0 else 1]

    def seen(self) -> Seen:
        """What the pod's status says of it."""
        started = self.is_running and has_started(self.probes)
        return Seen(
            name=self.name,
            image=self.spec["image"],
            role=self.role,
            state=self.state,
            last_state=self.last_state,
            restarts=self.restarts,
            started=started,
            ready=started and self.kill_at is None and is_ready(self.probes),
            is_over=self.is_over,
        )

    def start(self, launch: Launch, now: float) -> None:
        """Start it; a command that cannot be started ends at once, with exit code 128."""
        if "terminated" in self.state or self.last_state:
            self.restarts += 1
            self.last_state = self.state if "terminated" in self.state else self.last_state
        self.launch, self.kill_at, self._started_at = launch, None, now
        self.probes, self.answers = probes_of(self.spec), {}
        try:
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(
                    launch.words,
                    cwd=launch.folder,
                    env=dict(launch.environment),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            self._end(128, "StartError", now, f"exec {launch.words[0]}: {error.strerror}")
            return
        self.state = {"running": {"startedAt": timestamp()}}

    def poll(self, now: float) -> None:
        """Notice its end, and kill it where its time is over."""
        if self.process is None:
            return
        code = self.process.poll()
        if code is None and self.kill_at is not None and now >= self.kill_at:
            self.signal(signal.SIGKILL)
            code = self.process.wait()
        if code is not None:
            self.signal(signal.SIGKILL)  # what it started and left
            exit_code = code if code >= 0 else 128 - code
            self.process = None
            self._end(exit_code, "Error" if exit_code else "Completed", now, self.last_words() if exit_code else "")

    def stop(self, now: float, grace: float) -> None:
        """Ask it to end, and let `poll` kill it after the grace."""
        if self.process is not None and self.kill_at is None:
            self.kill_at = now + grace
            self.process.send_signal(signal.SIGTERM)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process and all of the same group."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def wait_for_restart(self, now: float) -> bool:
        """Whether it may be started again now; until then its state says why it waits."""
        if now >= self.retry_at:
            return True
        if "terminated" in self.state:
            self.last_state = self.state
            seconds = self.retry_at - now
            message = f"back-off {seconds:.0f}s restarting failed container={self.name}"
            self.state = waiting("CrashLoopBackOff", message)
        return False

    def cannot_start(self, reason: str, message: str, now: float, retry: float) -> None:
        """Say why it is not started, and until when."""
        if "terminated" in self.state:
            self.last_state = self.state
        self.state, self.retry_at = waiting(reason, message), now + retry

    def seconds(self, now: float) -> float:
        """How long this run of it has lasted."""
        return now - self._started_at

    def last_words(self, lines: int = 3) -> str:
        """The last lines of its log, without colours, each of bounded length."""
        text = _COLOUR.sub("", self.log.read_text(errors="replace")) if self.log.exists() else ""
        return "\n".join([line[:_SHOWN] for line in text.splitlines() if line.strip()][-lines:])

    def _end(self, code: int, reason: str, now: float, message: str) -> None:
        began = self.state.get("running", {}).get("startedAt") or timestamp()
        ended = {"exitCode": code, "reason": reason, "startedAt": began, "finishedAt": timestamp()}
        self.state = {"terminated": {**ended, **({"message": message} if message else {})}}
        if now - self._started_at >= CALM_SECONDS:
            self._crashes = 0
        self.retry_at = now + find_backoff(self._crashes)
        self._crashes += 1
        self.probes, self.answers, self.kill_at = [], {}, None
