"""The page `/metrics` of a server: what anybody may ask for costs little, and no question breaks it."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from hooks.server.serving.metrics_page import OnceASecond
from tests.server.serving.servers import HOOKS, SYNC, Running, running


class Page:
    """Counts how often it was made."""

    def __init__(self) -> None:
        self.now, self.times = 100.0, 0
        self.may_end = Event()
        self.may_end.set()

    def make(self) -> int:
        self.may_end.wait(30)
        self.times += 1
        return self.times


def test_page_is_made_once_in_a_second() -> None:
    page = Page()
    once = OnceASecond(page.make, lambda: page.now)
    assert [once.get() for _ in range(50)] == [1] * 50
    page.now += 0.99
    assert once.get() == 1
    page.now += 0.02
    assert [once.get() for _ in range(50)] == [2] * 50


def test_who_asks_while_it_is_made_gets_the_same() -> None:
    page = Page()
    page.may_end.clear()
    once = OnceASecond(page.make, lambda: page.now)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(once.get) for _ in range(8)]
        page.may_end.set()
        assert [one.result(30) for one in asked] == [1] * 8


def test_failure_is_not_remembered() -> None:
    faults = [ValueError("once")]

    def make() -> str:
        if faults:
            raise faults.pop()
        return "made"

    once = OnceASecond(make)
    with pytest.raises(ValueError, match="once"):
        once.get()
    assert once.get() == "made"


# As a process


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("page")
    with running(folder, *HOOKS, "--workers", "1") as started:
        yield started


def ask(server: Running, path: str = "/metrics", accept: str = "") -> tuple[int, str, str]:
    connection = server.connect()
    connection.request("GET", path, headers={"Accept": accept} if accept else {})
    response = connection.getresponse()
    found = response.status, response.headers["Content-Type"], response.read().decode()
    connection.close()
    return found


OPEN = "application/openmetrics-text"


@pytest.mark.parametrize(
    "accept",
    [
        f"{OPEN}; version=abc",
        f"{OPEN}; version=1.0.0.0.7; escaping=values",
        f"{OPEN};version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.3",
        "text/plain; version=abc",
        "text/plain; version=1.0.0; escaping=dots",
        "",
    ],
)
def test_page_has_two_forms_whatever_is_asked_for(server: Running, accept: str) -> None:
    assert server.post(SYNC)[0] == 200
    status, content_type, text = ask(server, "/metrics?name[]=dynamo_hooks_calls_total&name[]=x", accept)
    assert status == 200
    kind = OPEN if OPEN in accept else "text/plain"
    assert content_type.startswith(f"{kind}; version={'1.0.0' if kind == OPEN else '0.0.4'}; ")
    assert re.search(r"^dynamo_hooks_build_info\{", text, re.MULTILINE)
    assert text.endswith("# EOF\n") == (kind == OPEN)


def test_file_without_content_is_no_fault(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics"
    with running(tmp_path, *HOOKS, "--workers", "1", PROMETHEUS_MULTIPROC_DIR=str(metrics)) as server:
        (metrics / "counter_99999.db").touch()
        (metrics / "histogram_99999.db").symlink_to(metrics / "gone")
        status, _, text = ask(server)
    assert status == 200
    assert "dynamo_hooks_build_info" in text
