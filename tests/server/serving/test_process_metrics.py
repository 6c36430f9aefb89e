"""What is read at each scrape: processes of a real server, files of a made one, the end of a certificate."""

import os
import re
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest
from prometheus_client.core import Metric

from hooks import __version__
from hooks.server.serving.process_metrics import CertificateEnd, ServerProcesses
from tests.server.serving.servers import HOOKS, SYNC, Running, issue_now, running, running_admission

SECONDS_OF_AN_HOUR = 3600


def values_of(found: Iterable[Metric]) -> dict[str, float]:
    return {sample.name: sample.value for family in found for sample in family.samples}


def shown(server: Running, name: str) -> float:
    found = re.search(rf"^{name}(?:\{{.*\}})? (\S+)$", server.get("/metrics")[1], re.MULTILINE)
    assert found, f"{name} is not on the page"
    return float(found[1])


def write_process(proc: Path, pid: int, *, ticks: str, pss: int, children: str = "") -> None:
    """The files of a process whose name holds a space and a bracket; `ticks` are its four processor times."""
    folder = proc / str(pid)
    (folder / "task" / str(pid)).mkdir(parents=True)
    (folder / "stat").write_text(f"{pid} (a) b) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 20 0 1 0 500 0 0\n")
    (folder / "smaps_rollup").write_text(f"header\nRss: 9 kB\nPss: {pss} kB\n")
    (folder / "task" / str(pid) / "children").write_text(children)


def test_processes_of_a_server_are_added_up(tmp_path: Path) -> None:
    write_process(tmp_path, 10, ticks="100 20 3 4", pss=8, children="11 12 13")
    write_process(tmp_path, 11, ticks="10 0 0 0", pss=4)
    write_process(tmp_path, 12, ticks="20 0 0 0", pss=4)
    (tmp_path / "stat").write_text("cpu 1 2\nbtime 1000\n")
    hertz = os.sysconf("SC_CLK_TCK")
    assert values_of(ServerProcesses(10, tmp_path).collect()) == {
        "process_cpu_seconds_total": 157 / hertz,
        "process_resident_memory_bytes": 16 * 1024,
        "process_start_time_seconds": 1000 + 500 / hertz,
    }


def test_nothing_is_shown_without_proc(tmp_path: Path) -> None:
    assert values_of(ServerProcesses(10, tmp_path / "none").collect()) == {}


def test_memory_is_the_resident_set_where_the_kernel_says_nothing_else(tmp_path: Path) -> None:
    write_process(tmp_path, 10, ticks="1 1 0 0", pss=8)
    (tmp_path / "10" / "smaps_rollup").unlink()
    (tmp_path / "10" / "statm").write_text("100 7 3 1 0 9 0\n")
    (tmp_path / "stat").write_text("btime 1\n")
    found = values_of(ServerProcesses(10, tmp_path).collect())
    assert found["process_resident_memory_bytes"] == 7 * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc")
def test_server_shows_version_and_processes_and_its_processor_time_survives_a_worker(tmp_path: Path) -> None:
    with running(tmp_path, *HOOKS, "--workers", "2") as server:
        info = f'version="{__version__}"'
        assert info in server.get("/metrics")[1]
        assert 20 * 2**20 < shown(server, "process_resident_memory_bytes") < 2**30
        for _ in range(50):
            server.post(SYNC)
        before = shown(server, "process_cpu_seconds_total")
        os.kill(server.worker_ids()[0], signal.SIGKILL)
        while len(server.worker_ids()) < 3:
            server.get("/healthz")
        assert shown(server, "process_cpu_seconds_total") >= before > 0


def test_certificate_is_read_at_each_scrape(tmp_path: Path) -> None:
    file = tmp_path / "tls.crt"
    collector = CertificateEnd(file)
    assert values_of(collector.collect()) == {}, "there is no file yet"
    file.write_text(issue_now().certificate)
    assert values_of(collector.collect())["dynamo_hooks_certificate_end_timestamp_seconds"] > 0
    file.write_text("no certificate")
    assert values_of(collector.collect()) == {}


def test_admission_shows_the_end_of_its_certificate(tmp_path: Path) -> None:
    with running_admission(tmp_path, "--workers", "1") as server:
        left = shown(server, "dynamo_hooks_certificate_end_timestamp_seconds") - shown(
            server, "process_start_time_seconds"
        )
    assert SECONDS_OF_AN_HOUR - 60 < left < SECONDS_OF_AN_HOUR + 60
