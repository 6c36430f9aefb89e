"""The control plane for the session, a fresh namespace for each test, Metacontroller and the hooks as processes."""

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hooks.metacontroller import install_files
from tests.cluster import binaries, third_party
from tests.cluster.api_client import ApiClient
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane, control_plane
from tests.cluster.processes import Server, free_port, running
from tests.cluster.programs import find_metacontroller, hooks_server, metacontroller_server
from tests.contract.backend import CRDS

HERE = Path(__file__).parent
NO_METACONTROLLER = "no metacontroller on PATH or in $METACONTROLLER: only the in-memory cluster plays its part"
NO_SCHEMAS = "the third-party CRDs are not beside the project, so Metacontroller's own cannot be installed"

IN_NEED_OF_METACONTROLLER = {"metacontroller", "start_metacontroller"}
"""A test that uses one of these fixtures, however indirectly, gets the marker."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark this folder's tests; leave them out unless asked for; skip them where they cannot run, which CI may not."""
    ours = [item for item in items if HERE in item.path.parents]
    if not config.getoption("--cluster"):
        config.hook.pytest_deselected(items=ours)
        items[:] = [item for item in items if item not in ours]
        return
    for item in ours:
        item.add_marker("cluster")
        if IN_NEED_OF_METACONTROLLER.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("metacontroller")
    lacking = binaries.missing()
    if lacking and os.environ.get("CI") == "true":
        pytest.exit(lacking, returncode=1)
    _skip(config, ours, lacking)
    if not lacking:
        _skip(config, [item for item in ours if item.get_closest_marker("metacontroller")], _no_metacontroller())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once, in one line each, why tests were skipped."""
    for reason in terminalreporter.config.stash.get(REASONS, []):
        terminalreporter.write_line(f"skipped: {reason}")


REASONS = pytest.StashKey[list[str]]()


def _skip(config: pytest.Config, items: list[pytest.Item], reason: str | None) -> None:
    if reason and items:
        config.stash.setdefault(REASONS, []).append(reason)
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


def _no_metacontroller() -> str | None:
    if find_metacontroller() is None:
        return NO_METACONTROLLER
    return None if third_party.crds(third_party.METACONTROLLER) else NO_SCHEMAS


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> binaries.Binaries:
    """The control plane's programs; the first run builds them and says so on the terminal."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", flush=True)  # noqa: T201 - minutes without a sign of life look like a hang

    return binaries.build(say)


@pytest.fixture(scope="session")
def plane(programs: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The control plane, started once, with the CRDs of the contract's cases, of the project and of third parties."""
    crds = [*CRDS, *install_files.crds(), *third_party.crds()]
    with control_plane(programs, tmp_path_factory.mktemp("plane"), crds) as started:
        yield started


@pytest.fixture(scope="session")
def admin(plane: ControlPlane) -> ApiClient:
    """A client that may do everything."""
    return plane.client()


@pytest.fixture
def api(admin: ApiClient) -> Iterator[ApiClient]:
    """The same client in a namespace of the test's own, which goes with the test."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield admin.within(name)
    admin.delete("v1", "Namespace", name)


@pytest.fixture(scope="module")
def start_metacontroller(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Server]:
    """Gives a function that makes a Metacontroller, not yet started, which acts as the user it is given."""
    folder = tmp_path_factory.mktemp("metacontroller")
    return lambda user: metacontroller_server(plane, folder, user)


@pytest.fixture(scope="module")
def metacontroller(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real Metacontroller that may do everything."""
    with running(metacontroller_server(plane, tmp_path_factory.mktemp("metacontroller"))) as server:
        yield server


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The project's own hooks under gunicorn, as `dynamo-hooks serve` starts them."""
    with running(hooks_server(tmp_path_factory.mktemp("hooks"), free_port())) as server:
        yield server


@pytest.fixture
def audit(plane: ControlPlane) -> Audit:
    """What Metacontroller writes, from the API server's audit log."""
    return Audit(plane)
