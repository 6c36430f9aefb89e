"""Four hundred peers that pipeline, ask for metrics again and again, or stall keep no good caller from its answer.

No time is judged: how long an answer takes depends on the machine, see `python -m bench.sieges`. Where the peers get
answers too, it counts how many of these come before a good one.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import Thread

import pytest

from bench.siege_clients import Count, Siege
from tests.server.serving.servers import HOOKS, Running, running, running_admission

PEERS = 400
TIMES = 12
TOKEN = "right-token"
MOST = dict.fromkeys((Siege.PIPELINED, Siege.METRICS), 2 * PEERS)
"""Answers that all peers together get, in the median, before that to a probe; in other sieges they get none."""
PATIENT = 120.0
"""Seconds after which an answer counts as none."""


CASES = [
    (name, siege) for name in ("hooks", "admission") for siege in Siege if (name, siege) != ("hooks", Siege.HANDSHAKE)
]
"""Plain HTTP has no handshake."""


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "admission":
        with running_admission(folder, "--workers", "1") as started:
            yield started
        return
    (folder / "token").write_text(TOKEN)
    with running(folder, *HOOKS, "--workers", "1", "--token-file", str(folder / "token")) as started:
        yield started


@contextmanager
def besieging(server: Running, siege: Siege, folder: Path) -> Iterator[Count]:
    answers = Count.create(folder / "answers")
    tls = "tls" if server.trusted else "plain"
    words = (str(server.port), server.call[0], siege.name, str(PEERS), str(PATIENT), tls, str(folder / "answers"))
    with subprocess.Popen(
        [sys.executable, "-m", "bench.siege_clients", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "attacking\n"
            yield answers
        finally:
            process.kill()


def status_of(server: Running, *, is_probe: bool) -> int:
    """The status of the answer to a probe, or to a good call, on a connection of its own."""
    connection = server.connect(timeout=PATIENT)
    if is_probe:
        connection.request("GET", "/healthz")
    else:
        connection.request("POST", *server.call, {"Authorization": f"Bearer {TOKEN}"})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


@pytest.mark.parametrize(("server", "siege"), CASES, indirect=["server"])
def test_besieged_server_answers_four_good_callers_and_its_probes(
    siege: Siege, server: Running, tmp_path: Path
) -> None:
    statuses: list[int] = []
    before_probes: list[int] = []

    def call() -> None:
        statuses.extend(status_of(server, is_probe=False) for _ in range(TIMES))

    with besieging(server, siege, tmp_path) as answers:
        callers = [Thread(target=call, daemon=True) for _ in range(4)]
        for caller in callers:
            caller.start()
        for _ in range(TIMES):
            before = answers.value
            assert status_of(server, is_probe=True) == 200
            before_probes.append(answers.value - before)
        for caller in callers:
            caller.join(PATIENT)
    assert statuses == [200] * 4 * TIMES
    assert median(before_probes) <= MOST.get(siege, 0), before_probes
    assert (answers.value > 0) == (siege in MOST), "the peers were not there"


HELD = """
import threading, time
from hooks.server.serving.logs import set_up_logging
from hooks.server.serving.server import ServerOptions, run_server
from hooks.server.serving.web import BY_ITSELF, create_bare_app

inside, most, lock = 0, 0, threading.Lock()

def hold():
    global inside, most
    with lock:
        inside += 1
        most = max(most, inside)
    time.sleep(0.5)
    with lock:
        inside -= 1
    return "held"

def load(_is_draining):
    app = create_bare_app("held", "", 2**20, BY_ITSELF)
    app.add_url_rule("/held", "held", hold)
    app.add_url_rule("/most", "most", lambda: str(most))
    return app

set_up_logging("info")
run_server(ServerOptions(bind="127.0.0.1:0", workers=1), load)
"""


def test_four_requests_of_strangers_are_in_work_at_a_time(tmp_path: Path) -> None:
    with running(tmp_path, "-c", HELD) as server:
        threads = [Thread(target=server.get, args=("/held",), daemon=True) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENT)
        assert server.get("/most") == (200, "4")
