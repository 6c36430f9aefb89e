"""One bench for the session, a namespace for each test, and the releases that `--e2e` names."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster import binaries
from tests.cluster.api_client import ApiClient
from tests.cluster.namespaces import own_namespace
from tests.collected import items_below, leave_out
from tests.e2e.bench import PREFIX, Bench, running_bench
from tests.e2e.releases import NotInstalled, Release, install, releases_folder, tag_of

REPORT = pytest.StashKey[list[str]]()
HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out this folder's tests unless asked for."""
    if not config.getoption("--e2e"):
        leave_out(config, items, items_below(HERE, items))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for a `tag` on each release that was asked for."""
    if "tag" in metafunc.fixturenames:
        names = _names(metafunc.config)
        metafunc.parametrize("tag", [tag_of(name) for name in names], scope="session")


def _names(config: pytest.Config) -> list[str]:
    return [name for name in str(config.getoption("--e2e")).split(",") if name]


@pytest.fixture(scope="session")
def releases(pytestconfig: pytest.Config) -> dict[str, Release]:
    """The releases that were asked for, by tag; skips all where one cannot be installed."""
    try:
        found = [install(name, releases_folder()) for name in _names(pytestconfig)]
    except NotInstalled as error:
        pytest.skip(f"the runtime cannot be installed here: {error}")
    return {release.tag: release for release in found}


@pytest.fixture(scope="session")
def bench(
    pytestconfig: pytest.Config, releases: dict[str, Release], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """All that a scenario runs on."""
    if lacking := binaries.missing():
        pytest.skip(lacking)
    with running_bench(tmp_path_factory.mktemp("bench"), releases) as found:
        pytestconfig.stash.setdefault(REPORT, []).append(f"controllers: {found.controller}")
        yield found


@pytest.fixture
def api(bench: Bench) -> Iterator[ApiClient]:
    """A client in a namespace of the test's own, whose pods run as processes."""
    with own_namespace(bench.admin, PREFIX.rstrip("-")) as client:
        yield client


@pytest.fixture
def newest(pytestconfig: pytest.Config) -> str:
    """The tag of the last release that was asked for."""
    return tag_of(_names(pytestconfig)[-1])


@pytest.fixture
def report(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Writes a line that the end of the run shows."""
    lines = pytestconfig.stash.setdefault(REPORT, [])
    return lines.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show what the scenarios counted."""
    for line in config.stash.get(REPORT, []):
        terminalreporter.write_line(line)
