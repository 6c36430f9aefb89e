"""What a scenario runs on: a control plane, the hooks, a Metacontroller, and the node whose pods are processes."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hooks.wire.metacontroller import install_files
from tests.cluster import binaries
from tests.cluster.acting_hooks import acting_hooks, effects_client, granted_effects
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import METACONTROLLER, ControlPlane
from tests.cluster.conversion import converted_plane
from tests.cluster.dynamo import running_controllers
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer, find_metacontroller, hooks_server, metacontroller_server
from tests.e2e.kubelet.kubelet import Kubelet, bind_pods, running_kubelet
from tests.e2e.model import write_model
from tests.e2e.releases import Release
from tests.e2e.simulated_controller import running_simulated
from tests.nats_server import running_nats
from tests.ports import free_port

PREFIX = "e2e-"
"""How the names of namespaces begin whose pods run as processes."""

GIVEN = {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8"}
"""Variables that an image of these tests would have."""

REAL = "a real Metacontroller"
SIMULATED = "the simulator's Metacontroller on the real API server (no metacontroller on PATH or in $METACONTROLLER)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """All that runs; `controller` is what plays Metacontroller's part."""

    plane: ControlPlane
    admin: ApiClient
    kubelet: Kubelet
    hooks: HttpServer
    controller: str


@contextmanager
def running_bench(folder: Path, releases: Mapping[str, Release]) -> Iterator[Bench]:
    """Start it in a folder, with the releases by tag, and stop all of it at the end."""
    work = folder / "image"
    write_model(work)
    with ExitStack() as stack:
        plane = stack.enter_context(converted_plane(binaries.found(), folder)).plane
        admin = plane.client()
        programs = {tag: release.programs for tag, release in releases.items()}
        kubelet = stack.enter_context(running_kubelet(plane, folder / "pods", work, programs, GIVEN))
        bind_pods(admin, PREFIX)
        hooks = stack.enter_context(running(hooks_server(folder, free_port(), plane=plane)))
        controller = stack.enter_context(_running_controllers(plane, folder, hooks.url))
        yield Bench(plane=plane, admin=admin, kubelet=kubelet, hooks=hooks, controller=controller)


def name_controller() -> str:
    """What plays Metacontroller's part on this machine."""
    return REAL if find_metacontroller() is not None else SIMULATED


@contextmanager
def _running_controllers(plane: ControlPlane, folder: Path, url: str) -> Iterator[str]:
    """Metacontroller where there is one, else the simulator's; gives which it is."""
    if name_controller() == REAL:
        with (
            running(metacontroller_server(plane, folder)),
            running_controllers(plane.client(), url, etcd_finalize=True),
        ):
            yield REAL
    else:
        api = plane.client(METACONTROLLER, "simulated-metacontroller")
        with running_simulated(url, install_files.controllers(url, etcd_finalize=True), install_files.crds(), api):
            yield SIMULATED


@contextmanager
def stopped_hooks(bench: Bench) -> Iterator[int]:
    """Stop the bench's hooks and give their port, on which others may listen until the end of the block."""
    bench.hooks.stop()
    try:
        yield int(bench.hooks.url.rpartition(":")[2])
    finally:
        if not bench.hooks.is_running():
            bench.hooks.start()


@contextmanager
def replaced_hooks(
    bench: Bench, folder: Path, settings: Mapping[str, str], source: Path | None = None
) -> Iterator[HttpServer]:
    """Hooks with other settings, or of another source tree, in place of the bench's."""
    with stopped_hooks(bench) as port:
        given = (f"{name}={value}" for name, value in settings.items())
        server = hooks_server(folder, port, *given, plane=bench.plane)
        if source is not None:
            server.command = ("env", f"--chdir={source}", f"PYTHONPATH={source}", *server.command)
        with running(server):
            yield server


@contextmanager
def acting(bench: Bench, folder: Path, **settings: str) -> Iterator[None]:
    """Hooks that carry out effects with the rights of the plain manifests, in place of the bench's."""
    client = effects_client(bench.plane, folder, **settings)
    with granted_effects(bench.admin), stopped_hooks(bench) as port, acting_hooks(client, port, **settings):
        yield


@contextmanager
def messages(tag: str, folder: Path) -> Iterator[dict[str, str]]:
    """The settings that a release needs to have messages sent: NATS before 1.3, and nothing from then on."""
    if tuple(int(part) for part in tag.split(".")[:2]) >= (1, 3):
        yield {}
    else:
        with running_nats(folder) as address:
            yield {"nats_address": address}
