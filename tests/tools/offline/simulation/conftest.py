"""Simulations without settings share one hooks server, which remembers nothing between calls."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from hooks.tools.offline.simulation import run
from hooks.tools.offline.simulation.processes import Servers, run_servers
from hooks.tools.offline.simulation.run import serve_objects
from hooks.tools.offline.simulator.loopback_http import Request, Response
from hooks.tools.offline.simulator.queries import ClusterReader


class CurrentReader(ClusterReader):
    """The objects of the simulation that runs."""

    now: ClusterReader

    def answer(self, request: Request) -> Response:
        return self.now.answer(request)


@dataclass
class SharedServers:
    """A hooks server, and from where it reads objects."""

    servers: Servers
    reader: CurrentReader
    url: str


@pytest.fixture(scope="session")
def shared_servers() -> Iterator[SharedServers]:
    """A hooks server with the settings' defaults, which most simulations need."""
    reader = CurrentReader()
    with serve_objects(reader) as url, run_servers((), prober=False, objects_url=url) as servers:
        yield SharedServers(servers, reader, url)


@pytest.fixture(autouse=True)
def share_servers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `simulate` find a server that runs, where it would start the same."""

    @contextmanager
    def find_or_serve(reader: ClusterReader) -> Iterator[str]:
        shared: SharedServers = request.getfixturevalue("shared_servers")
        shared.reader.now = reader
        yield shared.url

    @contextmanager
    def find_or_run(
        settings: Sequence[str],
        *,
        prober: bool,
        objects_url: str,
        heed: Callable[[], None],
        say: Callable[[str], None],
    ) -> Iterator[Servers]:
        if prober or settings:
            with run_servers(settings, prober=prober, objects_url=objects_url, heed=heed, say=say) as servers:
                yield servers
        else:
            yield request.getfixturevalue("shared_servers").servers

    monkeypatch.setattr(run, "run_servers", find_or_run)
    monkeypatch.setattr(run, "serve_objects", find_or_serve)
