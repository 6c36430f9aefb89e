"""Simulations without settings share one hooks server, which remembers nothing between calls."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from hooks.offline.simulation import run
from hooks.offline.simulation.processes import Servers, run_servers


@pytest.fixture(scope="session")
def shared_servers() -> Iterator[Servers]:
    """A hooks server with the settings' defaults, which most simulations need."""
    with run_servers((), prober=False) as servers:
        yield servers


@pytest.fixture(autouse=True)
def share_servers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `simulate` find a server that runs, where it would start the same."""

    @contextmanager
    def find_or_run(settings: Sequence[str], *, prober: bool, heed: Callable[[], None]) -> Iterator[Servers]:
        if prober or settings:
            with run_servers(settings, prober=prober, heed=heed) as servers:
                yield servers
        else:
            yield request.getfixturevalue("shared_servers")

    monkeypatch.setattr(run, "run_servers", find_or_run)
