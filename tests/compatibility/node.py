"""Runs pods as processes: starts them, asks their probes, ends them by SIGTERM."""

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.compatibility.pods import Pod, Probe

LIMIT_SECONDS = 90.0
"""The longest wait for a probe, even where it may fail for longer."""
PAUSE_SECONDS = 0.2


@dataclass(slots=True)
class RunningPod:
    """A pod's process; `passed` are the probes that passed at least once."""

    pod: Pod
    process: subprocess.Popen[bytes]
    log: Path
    passed: set[str] = field(default_factory=set)

    @property
    def is_ready(self) -> bool:
        """Whether all its probes passed."""
        return {probe.name for probe in self.pod.probes} <= self.passed

    def ask_probes(self) -> None:
        """Ask the probes that did not pass yet; the others only when the startup probe has passed."""
        for probe in self.pod.probes:
            if probe.name not in self.passed and not ask(self.pod, probe):
                self.passed.add(probe.name)
            if probe.name == "startupProbe" and probe.name not in self.passed:
                return

    def explain(self) -> str:
        """Why it is not ready; empty if it is."""
        if self.process.poll() is not None:
            return f"ended with {self.process.returncode}: {last_words(self.log)}"
        return "; ".join(fault for probe in self.pod.probes if (fault := ask(self.pod, probe)))


@dataclass(frozen=True, slots=True)
class End:
    """How a pod ended after SIGTERM: exit code, or None if it had to be killed, and after how long."""

    code: int | None
    seconds: float


def ask(pod: Pod, probe: Probe) -> str:
    """What is wrong with the answer to a probe; empty if it passes, as the kubelet sees it."""
    try:
        url = f"http://{pod.address}:{probe.port}{probe.path}"
        answer = requests.get(url, timeout=probe.timeout_seconds, allow_redirects=False)
    except requests.RequestException as error:
        return f"{probe.name} {probe.path}: {type(error).__name__}"
    return "" if 200 <= answer.status_code < 400 else f"{probe.name} {probe.path}: {answer.status_code}"


@contextmanager
def running_pods(
    pods: Sequence[Pod], programs: Path, folder: Path, given: Mapping[str, str]
) -> Iterator[list[RunningPod]]:
    """Start the pods in the folder with their rendered environment; none of them outlives the block."""
    running: list[RunningPod] = []
    try:
        running.extend(_start(pod, programs, folder, given) for pod in pods)
        yield running
    finally:
        for one in running:
            one.process.kill()
            one.process.wait()


def wait_until_ready(running: Sequence[RunningPod]) -> Iterator[RunningPod]:
    """Each pod when it becomes ready; ends when all are, one has ended, or the time of its probes is over."""
    since, waiting = time.monotonic(), list(running)
    while waiting and all(one.process.poll() is None for one in waiting):
        for one in waiting:
            one.ask_probes()
        yield from (one for one in waiting if one.is_ready)
        waiting = [one for one in waiting if not one.is_ready]
        allowed = (probe.allowed_seconds for one in waiting for probe in one.pod.probes)
        if time.monotonic() - since > min(LIMIT_SECONDS, max(allowed, default=0)):
            return
        time.sleep(PAUSE_SECONDS)


def end_all(running: Sequence[RunningPod]) -> dict[str, End]:
    """Send SIGTERM to all pods at once and wait as long as each may take; by pod, how it ended."""
    since = time.monotonic()
    for one in running:
        one.process.send_signal(signal.SIGTERM)
    return {one.pod.name: _wait(one, since) for one in running}


def last_words(log: Path) -> str:
    """The last line of a log."""
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing was logged")


def _start(pod: Pod, programs: Path, folder: Path, given: Mapping[str, str]) -> RunningPod:
    log = folder / f"{pod.name}.log"
    addresses = dict.fromkeys(("DYN_TCP_RPC_HOST", "DYN_SYSTEM_HOST", "DYN_HTTP_HOST"), pod.address)
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), **given, **addresses, **pod.env}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(programs / pod.command[0]), *pod.command[1:]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    return RunningPod(pod, process, log)


def _wait(one: RunningPod, since: float) -> End:
    try:
        code = one.process.wait(max(0.0, since + one.pod.grace_seconds - time.monotonic()))
    except subprocess.TimeoutExpired:
        return End(None, one.pod.grace_seconds)
    return End(code, time.monotonic() - since)
