"""One pod: its containers in their order, its probes, its status; a thread that ends with the pod."""

import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import requests

from tests.cluster.api_client import ApiClient
from tests.contract.backend import ApiRefused, Manifest
from tests.e2e.kubelet import probes
from tests.e2e.kubelet.asking import ask, run_command
from tests.e2e.kubelet.container import Container, Launch, timestamp
from tests.e2e.kubelet.environment import Data, MissingReference, build_command, build_environment
from tests.e2e.kubelet.images import UnknownImage, find_programs
from tests.e2e.kubelet.pod_status import Role, build_status, waiting
from tests.e2e.kubelet.volumes import find_mounts, replace_paths, write_volumes

TICK_SECONDS = 0.1
RETRY_SECONDS, IMAGE_RETRY_SECONDS = 2.0, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a node gives a pod: an address that Kubernetes knows, and where its processes listen instead of it.

    `given` are variables that an image has. `token` gives the path of a kubeconfig, and a token, of the pod's account.
    """

    address: str
    listens: str
    node_address: str
    folder: Path
    work: Path
    claims: Path
    certificate: Path
    programs: Mapping[str, Path]
    given: Mapping[str, str]
    data: Data
    account: Callable[[Manifest, Path], tuple[Path, str]]


class PodWorker:
    """Runs a pod until it is deleted. `update` takes a newer version of the object, `None` when it is gone."""

    def __init__(self, pod: Manifest, place: Place, api: ApiClient, pool: ThreadPoolExecutor) -> None:
        self.pod, self.place = pod, place
        self.name, self.uid = str(pod["metadata"]["name"]), str(pod["metadata"]["uid"])
        self._api, self._pool = api.within(pod["metadata"]["namespace"]), pool
        self._gone = self._halted = False
        self._lost: signal.Signals | None = None
        self.ending_seconds = 0.0
        """How long its containers took to end, once they were asked to."""
        self._written: dict[str, Any] = pod.get("status", {})
        self._volumes: dict[str, Path] | None = None
        self._kubeconfig = Path()
        place.folder.mkdir(parents=True, exist_ok=True)
        self.containers = self._build_containers()
        self._thread = threading.Thread(target=self._run, name=f"pod {self.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def update(self, pod: Manifest | None) -> None:
        """Take what the API server says now."""
        if pod is None:
            self._gone = True
        else:
            self.pod = pod

    def halt(self) -> None:
        """End its processes at once and say nothing more to the API server."""
        self._halted = True
        if self._thread.ident is not None:
            self._thread.join()
        for container in self.containers:  # what `vanish` left as it was
            container.kill_at = 0.0
            container.poll(time.monotonic())

    def vanish(self, number: signal.Signals) -> None:
        """Send its processes that signal, leave them as they are then, and say nothing more to the API server."""
        self._lost, self._halted = number, True
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left."""
        return not self._thread.is_alive() and self._thread.ident is not None

    def _build_containers(self) -> list[Container]:
        spec = self.pod["spec"]
        policy = spec.get("restartPolicy", "Always")
        of_pod = (policy == "Always", policy != "Never")
        found = []
        for one in spec.get("initContainers") or ():
            is_sidecar = one.get("restartPolicy") == "Always"
            role = Role.SIDECAR if is_sidecar else Role.INIT
            found.append(Container(one, role, self._log(one), (is_sidecar, is_sidecar or of_pod[1])))
        found += [Container(one, Role.MAIN, self._log(one), of_pod) for one in spec["containers"]]
        first = found[0].role is not Role.MAIN
        for container in found[1:] if first else ():
            container.state = waiting("PodInitializing")
        return found

    def _log(self, container: Mapping[str, Any]) -> Path:
        return self.place.folder / f"{container['name']}.log"

    def _run(self) -> None:
        while not (self._halted or self._gone or "deletionTimestamp" in self.pod["metadata"]):
            self._step(time.monotonic())
            self._tell()
            time.sleep(TICK_SECONDS)
        if self._lost is None:
            self._end()
        else:
            for container in self.containers:
                container.signal(self._lost)

    def _step(self, now: float) -> None:
        for container in self.containers:
            container.poll(now)
        self._ask_probes(now)
        mains = [one for one in self.containers if one.role is Role.MAIN]
        if all(one.is_over for one in mains):
            for container in self.containers:
                container.stop(now, 30.0)
            return
        for container in self.containers:
            if not container.is_running and not container.is_over and container.wait_for_restart(now):
                self._start(container, now)
            if not container.seen().is_initialized:
                return

    def _start(self, container: Container, now: float) -> None:
        try:
            programs = find_programs(container.spec["image"], self.place.programs)
            launch = self._build_launch(container, programs)
        except UnknownImage as error:
            container.cannot_start("ErrImagePull", str(error), now, IMAGE_RETRY_SECONDS)
        except MissingReference as error:
            reason = "ContainerCreating" if self._volumes is None else "CreateContainerConfigError"
            container.cannot_start(reason, str(error), now, RETRY_SECONDS)
        else:
            container.start(launch, now)

    def _build_launch(self, container: Container, programs: Path) -> Launch:
        if self._volumes is None:
            self._volumes = self._mount()
        mounts = find_mounts(container.spec, self._volumes)
        own = build_environment(container.spec, self.pod, self.place.listens, self.place.data)
        words = [replace_paths(word, mounts) for word in build_command(container.spec, own)]
        if not words:
            raise MissingReference("no command: what the image would start is not known here")
        listens = dict.fromkeys(("DYN_TCP_RPC_HOST", "DYN_SYSTEM_HOST", "DYN_HTTP_HOST"), self.place.listens)
        environment = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(self.place.folder),
            "HOSTNAME": self.name,
            "KUBECONFIG": str(self._kubeconfig),
            **listens,
            **{name: replace_paths(value, mounts) for name, value in own.items()},
            **self.place.given,
        }
        # A folder of the image is not here: what is run finds the model in the node's own.
        folder = container.spec.get("workingDir", "")
        placed = replace_paths(folder, mounts)
        work = Path(placed) if placed != folder else self.place.work
        found = next((one / words[0] for one in (programs,) if (one / words[0]).exists()), words[0])
        return Launch(words=(str(found), *words[1:]), environment=environment, folder=work, mounts=mounts)

    def _mount(self) -> dict[str, Path]:
        self._kubeconfig, token = self.place.account(self.pod, self.place.folder)
        return write_volumes(
            self.pod,
            self.place.folder / "volumes",
            self.place.claims,
            data=self.place.data,
            token=lambda: token,
            certificate=self.place.certificate,
            address=self.place.listens,
        )

    def _ask_probes(self, now: float) -> None:
        for container in self.containers:
            if not container.is_running or container.kill_at is not None:
                continue
            for probe in container.probes:
                answer = container.answers.get(probe.name)
                if answer is not None and answer.done():
                    probe.record(answer.result())
                    del container.answers[probe.name]
            if exhausted := probes.find_exhausted(container.probes):
                grace = exhausted.spec.get("terminationGracePeriodSeconds") or self._grace()
                container.stop(now, grace)
                continue
            for probe in probes.find_due(container.probes, container.seconds(now)):
                if probe.name not in container.answers:
                    probe.ask_at(container.seconds(now))
                    container.answers[probe.name] = self._pool.submit(self._ask, probe, container)

    def _ask(self, probe: probes.Probe, container: Container) -> str:
        launch = container.launch
        assert launch is not None, "a container that runs was launched"

        return ask(probe, container.spec, self.place.listens, partial(_run_in, launch))

    def _grace(self) -> float:
        metadata, spec = self.pod["metadata"], self.pod["spec"]
        return float(metadata.get("deletionGracePeriodSeconds", spec.get("terminationGracePeriodSeconds", 30)))

    def _end(self) -> None:
        """End all containers, the sidecars after the others and the last first; then the object itself."""
        began = time.monotonic()
        deadline = began + (0.0 if self._halted else self._grace())
        rounds = [[one for one in self.containers if one.role is not Role.SIDECAR]]
        rounds += [[one] for one in reversed(self.containers) if one.role is Role.SIDECAR]
        for containers in rounds:
            now = time.monotonic()
            for container in containers:
                self._before_stop(container)
                container.stop(now, max(0.0, deadline - now))
            while any(one.is_running for one in containers):
                for container in containers:
                    if self._halted:
                        container.kill_at = 0.0
                    container.poll(time.monotonic())
                self._tell()
                time.sleep(TICK_SECONDS / 2)
        self.ending_seconds = time.monotonic() - began
        if not (self._halted or self._gone):
            self._tell()
            self._delete()

    def _before_stop(self, container: Container) -> None:
        handler = (container.spec.get("lifecycle") or {}).get("preStop") or {}
        if container.is_running and container.launch and "exec" in handler and not self._halted:
            _run_in(container.launch, list(handler["exec"]["command"]), self._grace())

    def _tell(self) -> None:
        """Write the status where it differs from what was written last."""
        if self._halted or self._gone:
            return
        status = build_status(
            [one.seen() for one in self.containers],
            self._written,
            now=timestamp(),
            address=self.place.address,
            node_address=self.place.node_address,
        )
        if status == self._written:
            return
        change = {"metadata": {"uid": self.uid}, "status": status}
        try:
            self._api.patch("v1", "Pod", self.name, change, sub="status")
            self._written = status
        except ApiRefused as error:
            self._gone |= error.code in {404, 409}
        except requests.RequestException:
            pass  # the API server is away: the next look tries again

    def _delete(self) -> None:
        """Let the object go, as all of it has ended; while the API server is away it is asked again."""
        while not (self._gone or self._halted):
            try:
                self._api.delete_now("v1", "Pod", self.name, self.uid)
            except requests.RequestException:
                time.sleep(TICK_SECONDS)
                continue
            except ApiRefused:  # it is gone, or another has its name
                pass
            return


def _run_in(launch: Launch, words: list[str], seconds: float) -> str:
    """Run a command in a container; what was wrong."""
    placed = [replace_paths(word, launch.mounts) for word in words]
    return run_command(placed, launch.environment, str(launch.folder), seconds)
