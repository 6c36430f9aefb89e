"""A server under attack by slow peers answers as one that nobody attacks, for hooks and for admission.

Bounded: each case lasts some seconds, on loopback. Threads alone do not pass: there are more peers than threads.
"""

import http.client
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest

from tests.server.serving.servers import HOOKS, Running, running, running_admission
from tests.server.serving.strangers import PARTS
from tests.waiting import PATIENCE

PROBE_SECONDS, CALL_SECONDS = 1.0, 5.0
"""How long a health probe and a good call wait for their answer."""

ATTEMPTS, FEWEST = 40, 10
MOST_SECONDS = 20.0
"""How long a case asks if it has asked `FEWEST` times; it waits three times as long for an answer."""

SHARE = 0.95
"""Of the attacked server's answers, those that come in time."""

SLOWER = 3
"""An answer is in time too if the unattacked server's slowest one took a third of it: the machine is busy."""

TOKEN = "right-token"


@dataclass
class Pair:
    """An attacked server and one beside it."""

    attacked: Running
    calm: Running
    headers: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module", params=["hooks", "admission"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with ExitStack() as stack:
        servers: list[Running] = []
        for name in ("attacked", "calm"):
            folder = tmp_path_factory.mktemp(f"{request.param}-{name}")
            if request.param == "admission":
                servers.append(stack.enter_context(running_admission(folder)))
            else:
                file = folder / "token"
                file.write_text(TOKEN)
                servers.append(stack.enter_context(running(folder, *HOOKS, "--token-file", str(file))))
        headers = {} if request.param == "admission" else {"Authorization": f"Bearer {TOKEN}"}
        attacked, calm = servers
        yield Pair(attacked, calm, headers)


@contextmanager
def attacking(server: Running, part: str, count: int, seconds: float) -> Iterator[None]:
    tls = "tls" if server.trusted else "plain"
    words = (str(server.port), server.call[0], part, str(count), str(seconds), tls)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.server.serving.strangers", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "attacking\n"
            yield
        finally:
            process.kill()


def ask(server: Running, headers: dict[str, str], call: tuple[str, bytes] | None) -> float:
    """The seconds until the server gives the right answer, on a connection of its own; infinite if it never does."""
    begun = time.monotonic()
    try:
        connection = server.connect(timeout=3 * MOST_SECONDS)
        if call is None:
            connection.request("GET", "/healthz")
        else:
            connection.request("POST", *call, headers)
        response = connection.getresponse()
        response.read()
        connection.close()
    except (OSError, http.client.HTTPException):
        return math.inf
    return time.monotonic() - begun if response.status == 200 else math.inf


def measure_answers(pair: Pair, asking: Callable[[Running], float]) -> tuple[list[float], list[float]]:
    """The seconds of the calm server's answers, and of the attacked one's, asked in turn."""
    calm: list[float] = []
    attacked: list[float] = []
    ends = time.monotonic() + MOST_SECONDS
    while len(calm) < ATTEMPTS and (len(calm) < FEWEST or time.monotonic() < ends):
        calm.append(asking(pair.calm))
        attacked.append(asking(pair.attacked))
    return calm, attacked


@pytest.mark.sampled
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("count", [64, 136, 200, 400])
def test_strangers_keep_probes_and_calls_from_no_answer(pair: Pair, part: str, count: int) -> None:
    found: dict[str, tuple[list[float], list[float]]] = {}

    def measure(name: str, asking: Callable[[Running], float]) -> None:
        found[name] = measure_answers(pair, asking)

    with attacking(pair.attacked, part, count, seconds=PATIENCE):
        threads = [
            threading.Thread(target=measure, args=("probes", lambda server: ask(server, {}, None)), daemon=True),
            threading.Thread(
                target=measure, args=("calls", lambda server: ask(server, pair.headers, server.call)), daemon=True
            ),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=PATIENCE)
    for name, limit in {"probes": PROBE_SECONDS, "calls": CALL_SECONDS}.items():
        calm, attacked = found[name]
        assert max(calm) < math.inf, f"{name} of the server that nobody attacks failed: {calm}"
        late = [seconds for seconds in attacked if seconds > max(limit, SLOWER * max(calm))]
        assert len(late) <= (1 - SHARE) * len(attacked), f"{name} under attack took {late}, without at most {max(calm)}"
