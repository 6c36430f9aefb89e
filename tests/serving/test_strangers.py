"""A server under attack by slow peers answers as one that nobody attacks, for hooks and for admission.

Bounded: each case lasts some seconds, on loopback. Threads alone do not pass: there are more peers than threads.
"""

import http.client
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest

from tests.serving.servers import HOOKS, Running, running, running_admission
from tests.serving.strangers import PARTS

PROBE_SECONDS, CALL_SECONDS = 1.0, 5.0
"""How long a health probe and a good call wait for their answer."""

ATTEMPTS = 40
MOST_SECONDS = 20.0
"""How long a case asks: a server that gives no answer in time would otherwise be asked for minutes."""

SHARE = 0.95
"""Of the answers that the unattacked server gives in time, those that the attacked one gives in time."""

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
        [sys.executable, "-m", "tests.serving.strangers", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "attacking\n"
            yield
        finally:
            process.kill()


def ask(server: Running, headers: dict[str, str], seconds: float, call: tuple[str, bytes] | None) -> bool:
    """Whether the server gives the right answer in time, on a connection of its own."""
    try:
        connection = server.connect(timeout=seconds)
        if call is None:
            connection.request("GET", "/healthz")
        else:
            connection.request("POST", *call, headers)
        response = connection.getresponse()
        response.read()
        connection.close()
    except (OSError, http.client.HTTPException):
        return False
    return response.status == 200


def count_answers(pair: Pair, asking: Callable[[Running], bool]) -> tuple[int, int]:
    """How many attempts the calm server answers in time, and how many of these the attacked one does too."""
    calm = attacked = 0
    ends = time.monotonic() + MOST_SECONDS
    for _ in range(ATTEMPTS):
        if time.monotonic() > ends:
            break
        if asking(pair.calm):
            calm += 1
            attacked += asking(pair.attacked)
    return calm, attacked


@pytest.mark.sampled
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("count", [64, 136, 200, 400])
def test_strangers_keep_probes_and_calls_from_no_answer(pair: Pair, part: str, count: int) -> None:
    found: dict[str, tuple[int, int]] = {}

    def measure(name: str, asking: Callable[[Running], bool]) -> None:
        found[name] = count_answers(pair, asking)

    with attacking(pair.attacked, part, count, seconds=3 * MOST_SECONDS):
        threads = [
            threading.Thread(
                target=measure, args=("probes", lambda server: ask(server, {}, PROBE_SECONDS, None)), daemon=True
            ),
            threading.Thread(
                target=measure,
                args=("calls", lambda server: ask(server, pair.headers, CALL_SECONDS, server.call)),
                daemon=True,
            ),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=300)
    for name, (calm, attacked) in found.items():
        assert calm >= 4, f"the machine is too busy: {calm} {name} answered without attack"
        assert attacked >= SHARE * calm, f"{attacked} of {calm} {name} answered in time under attack"
    assert len(found) == 2
