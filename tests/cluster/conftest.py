"""The control plane for the session, a fresh namespace for each test, Metacontroller and the hooks as processes."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hooks.server.clients.api_server import ApiServer
from hooks.wire.metacontroller import install_files
from tests import third_party
from tests.cluster import binaries
from tests.cluster.acting_hooks import acting_hooks, effects_client, grant_reads, granted_effects
from tests.cluster.api_client import ApiClient
from tests.cluster.audit import Audit
from tests.cluster.binaries import Binaries
from tests.cluster.control_plane import CHART_ACCOUNT, AsAccount, ControlPlane, control_plane
from tests.cluster.conversion import Converted, converted_plane
from tests.cluster.dynamo import RELEASE, light_chart
from tests.cluster.namespaces import own_namespace
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer, find_metacontroller, hooks_server, metacontroller_server
from tests.cluster.scheduling import running_scheduler, scheduled_namespace
from tests.collected import items_below, leave_out
from tests.contract.backend import CRDS
from tests.ports import free_port

HERE = Path(__file__).parent
NO_METACONTROLLER = "no metacontroller on PATH or in $METACONTROLLER: only the in-memory cluster plays its part"

GOGC = "400"
"""Garbage that Go programs let gather, in percent of what lives; by default (100) a fifth of their time goes to it."""

IN_NEED_OF_METACONTROLLER = {"metacontroller", "start_metacontroller", "late_news"}
"""A test that uses one of these fixtures, however indirectly, gets the marker."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark this folder's tests; leave them out unless asked for; skip them where they cannot run."""
    ours = items_below(HERE, items)
    if not config.getoption("--cluster"):
        leave_out(config, items, ours)
        return
    for item in ours:
        item.add_marker("cluster")
        if IN_NEED_OF_METACONTROLLER.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("metacontroller")
    lacking = binaries.missing()
    _skip(ours, lacking)
    if not lacking and find_metacontroller() is None:
        _skip([item for item in ours if item.get_closest_marker("metacontroller")], NO_METACONTROLLER)


def _skip(items: list[pytest.Item], reason: str | None) -> None:
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def programs() -> binaries.Binaries:
    """The control plane's programs; the session's start has built them."""
    return binaries.found()


@pytest.fixture(scope="session")
def plane(programs: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The control plane, started once, with the CRDs of the contract's cases, of the project and of third parties."""
    crds = [*CRDS, *install_files.crds(), *third_party.crds()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOGC", GOGC)
        with control_plane(programs, tmp_path_factory.mktemp("plane"), crds) as started:
            grant_reads(started.client())
            yield started


@pytest.fixture(scope="session")
def admin(plane: ControlPlane) -> ApiClient:
    """A client that may do everything."""
    return plane.client()


@pytest.fixture
def system_namespace(plane: ControlPlane) -> str:
    """The name of the plain manifests' namespace, which is empty; what an earlier test left there is gone."""
    name = "dynamo-system"
    plane.kubectl("delete", "namespace", name, "--ignore-not-found")
    plane.kubectl("create", "namespace", name)
    return name


@pytest.fixture
def api(admin: ApiClient) -> Iterator[ApiClient]:
    """The same client in a namespace of the test's own."""
    with own_namespace(admin) as client:
        yield client


@pytest.fixture
def as_account(plane: ControlPlane, api: ApiClient, tmp_path: Path) -> AsAccount:
    """Gives a function that asks for a service account's token, as the kubelet does, and acts with it."""

    def act(name: str) -> ApiServer:
        token = tmp_path / f"{name}.token"
        token.write_text(plane.token_of(api.namespace, name))
        return ApiServer(url=plane.server, token_file=token, ca_file=plane.certificate)

    return act


@pytest.fixture(scope="module")
def start_metacontroller(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], HttpServer]:
    """Gives a function that makes a Metacontroller, not yet started, which acts as the user it is given."""
    folder = tmp_path_factory.mktemp("metacontroller")
    return lambda user: metacontroller_server(plane, folder, user)


@pytest.fixture(scope="module")
def metacontroller(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real Metacontroller that may do everything."""
    with running(metacontroller_server(plane, tmp_path_factory.mktemp("metacontroller"))) as server:
        yield server


@pytest.fixture(scope="module")
def hooks(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The project's own hooks under gunicorn, as `dynamo-hooks serve` starts them in a pod."""
    with running(hooks_server(tmp_path_factory.mktemp("hooks"), free_port(), plane=plane)) as server:
        yield server


@pytest.fixture(scope="module")
def scheduler(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The real scheduler."""
    with running_scheduler(plane, tmp_path_factory.mktemp("scheduler")) as server:
        yield server


@pytest.fixture
def scheduled(admin: ApiClient, scheduler: Server) -> Iterator[ApiClient]:
    """The client in a namespace of the test's own whose pods are scheduled."""
    assert scheduler
    with scheduled_namespace(admin) as client:
        yield client


@pytest.fixture
def release(plane: ControlPlane, admin: ApiClient) -> Iterator[str]:
    """The chart without its controllers, which the tests aim at their own hooks; gives its namespace."""
    namespace, account = f"release-{uuid.uuid4().hex[:8]}", CHART_ACCOUNT.rpartition(":")[2]
    values = f"--set=controllers.install=false,crds.install=false,metacontroller.serviceAccount={account}"
    plane.helm_release("install", RELEASE, light_chart(plane), f"--namespace={namespace}", "--create-namespace", values)
    yield namespace
    plane.helm("uninstall", RELEASE, f"--namespace={namespace}")
    admin.delete("v1", "Namespace", namespace)


@pytest.fixture
def audit(plane: ControlPlane) -> Audit:
    """What Metacontroller writes, from the API server's audit log."""
    return Audit(plane)


@pytest.fixture(scope="module")
def acting_url(admin: ApiClient, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of hooks that carry out effects, with an account that has the rights for them."""
    client = effects_client(plane, tmp_path_factory.mktemp("account"))
    with granted_effects(admin), acting_hooks(client) as url:
        yield url


@pytest.fixture(scope="module")
def converted(programs: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converted]:
    """A control plane of its own, whose CRDs are converted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOGC", GOGC)
        with converted_plane(programs, tmp_path_factory.mktemp("converted")) as found:
            yield found
