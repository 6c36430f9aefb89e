"""When a probe is asked, and what follows from its answers; asking itself is `asking`.

Source: Kubernetes, pkg/kubelet/prober (worker.go): a startup probe holds up the others, a liveness probe passes until
it has failed often enough, the other two fail until they have passed often enough.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STARTUP, LIVENESS, READINESS = "startupProbe", "livenessProbe", "readinessProbe"
NAMES = (STARTUP, LIVENESS, READINESS)


@dataclass(slots=True)
class Probe:
    """A probe of one run of a container; times are seconds since that run began.

    `passes` is the verdict: what the kubelet takes for true until enough answers say otherwise.
    """

    name: str
    spec: Mapping[str, Any]
    passes: bool = False
    said: str = ""
    _asked_at: float | None = None
    _in_row: int = 0
    _last: bool | None = None

    def __post_init__(self) -> None:
        self.passes = self.name == LIVENESS

    @property
    def timeout(self) -> float:
        """Seconds for an answer."""
        return float(self.spec.get("timeoutSeconds") or 1)

    @property
    def is_exhausted(self) -> bool:
        """Whether it failed so often that its container is to be restarted."""
        return self.name != READINESS and self._last is False and self._in_row >= self._threshold("failure", 3)

    def is_due(self, seconds: float) -> bool:
        """Whether it is to be asked now."""
        if seconds < (self.spec.get("initialDelaySeconds") or 0):
            return False
        if self._asked_at is None:
            return True
        return not self.is_done and seconds - self._asked_at >= (self.spec.get("periodSeconds") or 10)

    @property
    def is_done(self) -> bool:
        """Whether it is never asked again: a startup probe that has passed."""
        return self.name == STARTUP and self.passes

    def ask_at(self, seconds: float) -> None:
        """Remember that it is asked now."""
        self._asked_at = seconds

    def record(self, fault: str) -> None:
        """Take an answer: empty where it passed, else what was wrong."""
        passed = not fault
        self._in_row = self._in_row + 1 if passed is self._last else 1
        self._last, self.said = passed, fault
        if self._in_row >= self._threshold("success" if passed else "failure", 1 if passed else 3):
            self.passes = passed

    def _threshold(self, what: str, default: int) -> int:
        return int(self.spec.get(f"{what}Threshold") or default)


def probes_of(container: Mapping[str, Any]) -> list[Probe]:
    """The probes that a container has, for a run of it that begins."""
    return [Probe(name, container[name]) for name in NAMES if container.get(name)]


def find_due(probes: list[Probe], seconds: float) -> list[Probe]:
    """The probes to ask now."""
    if not has_started(probes):
        probes = [probe for probe in probes if probe.name == STARTUP]
    return [probe for probe in probes if probe.is_due(seconds)]


def has_started(probes: list[Probe]) -> bool:
    """Whether no startup probe holds up the container any more."""
    return all(probe.passes for probe in probes if probe.name == STARTUP)


def is_ready(probes: list[Probe]) -> bool:
    """Whether the container takes part in its pod's readiness."""
    return has_started(probes) and all(probe.passes for probe in probes if probe.name == READINESS)


def find_exhausted(probes: list[Probe]) -> Probe | None:
    """The probe for which the container is to be restarted, if there is one."""
    return next((probe for probe in probes if probe.is_exhausted), None)


def port_of(handler: Mapping[str, Any], container: Mapping[str, Any]) -> int:
    """The number of the port that an HTTP, TCP or gRPC probe names; ValueError where the container has no such name."""
    port = handler["port"]
    if isinstance(port, int) or str(port).isdigit():
        return int(port)
    for found in container.get("ports") or ():
        if found.get("name") == port:
            return int(found["containerPort"])
    raise ValueError(f"the container has no port {port}")
