"""Metrics that are read at each scrape: the processes of the server, the version, the end of the certificate."""

import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hooks import __version__

_PROC = Path("/proc")
_CPU_FIELDS = slice(11, 15)
"""utime, stime, cutime, cstime in /proc/PID/stat, counted from the state, which follows the name of the program."""
_START_FIELD = 19


class BuildInfo(Collector):
    """The version that runs, always 1; `server` is hooks, admission or prober."""

    def __init__(self, server: str) -> None:
        self._labels = {"version": __version__, "python": platform.python_version(), "server": server}

    def collect(self) -> Iterable[Metric]:
        """The one series."""
        info = GaugeMetricFamily("dynamo_hooks_build_info", "The version that runs, always 1.", labels=[*self._labels])
        info.add_metric([*self._labels.values()], 1)
        yield info


class ServerProcesses(Collector):
    """Processor and memory of all processes of a server together, under the names that every Prometheus client uses.

    `owner` is the process that starts the others. Nothing is shown where there is no `/proc`.
    """

    def __init__(self, owner: int, proc: Path = _PROC) -> None:
        self._owner, self._proc = owner, proc

    def collect(self) -> Iterable[Metric]:
        """Processor seconds, resident memory and the start of the owner."""
        with suppress(OSError):  # no /proc: another system than Linux
            owner = self._stat(self._owner)
            pids = [self._owner, *self._children()]
            yield CounterMetricFamily(
                "process_cpu_seconds", "Processor seconds of all processes of the server.", value=self._cpu(pids)
            )
            yield GaugeMetricFamily(
                "process_resident_memory_bytes",
                "Resident memory of all processes of the server; memory that they share counts once.",
                value=sum(self._memory(pids)),
            )
            started = self._boot_time() + int(owner[_START_FIELD]) / os.sysconf("SC_CLK_TCK")
            yield GaugeMetricFamily(
                "process_start_time_seconds", "When the server started, in Unix time.", value=started
            )

    def _cpu(self, pids: Iterable[int]) -> float:
        """Seconds of these processes and of their ended children, so that the sum never falls."""
        ticks = 0
        for pid in pids:
            with suppress(OSError):  # it has just ended
                ticks += sum(int(field) for field in self._stat(pid)[_CPU_FIELDS])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _memory(self, pids: Iterable[int]) -> Iterator[int]:
        for pid in pids:
            with suppress(OSError):  # it has just ended
                yield self._memory_of(pid)

    def _memory_of(self, pid: int) -> int:
        """The proportional set size; the resident set size where the kernel does not say it."""
        rollup = self._proc / str(pid) / "smaps_rollup"
        if rollup.exists():
            found = next((line for line in rollup.read_text().splitlines() if line.startswith("Pss:")), "")
            if found:
                return int(found.split()[1]) * 1024
        pages = int((self._proc / str(pid) / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _children(self) -> list[int]:
        listed = self._proc / str(self._owner) / "task" / str(self._owner) / "children"
        return [int(pid) for pid in listed.read_text().split()] if listed.exists() else []

    def _stat(self, pid: int) -> list[str]:
        """The fields after the program's name, which may hold spaces and brackets."""
        return (self._proc / str(pid) / "stat").read_text().rpartition(")")[2].split()

    def _boot_time(self) -> int:
        lines = (self._proc / "stat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("btime "))


class CertificateEnd(Collector):
    """When the served certificate ends. It is read at each scrape, because a renewal needs no restart."""

    def __init__(self, certificate: Path) -> None:
        self._certificate = certificate

    def collect(self) -> Iterable[Metric]:
        """The end in Unix time; nothing if the file cannot be read, as no connection works then either."""
        from cryptography import x509  # noqa: PLC0415 - large, and only a server with a certificate needs it

        with suppress(OSError, ValueError):
            found = x509.load_pem_x509_certificate(self._certificate.read_bytes())
            yield GaugeMetricFamily(
                "dynamo_hooks_certificate_end_timestamp_seconds",
                "When the served certificate ends, in Unix time.",
                value=found.not_valid_after_utc.timestamp(),
            )
