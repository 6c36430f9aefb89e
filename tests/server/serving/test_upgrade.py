"""An upgrade and a rollback as Kubernetes does them, under load: pods of two revisions take turns, nothing is lost."""

import http.client
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.server.serving.servers import HOOKS, Running, post_on, running
from tests.waiting import PATIENCE, wait_for

ENOUGH = 40
"""Answers by which a pod has shown that it takes part."""


@dataclass
class Service:
    """What clients see: `ready` are the pods that get new connections, `answers` and `lost` what came of requests."""

    ready: list[Running] = field(default_factory=list)
    answers: Counter[tuple[int, int]] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, pod: Running) -> int:
        with self.lock:
            return self.answers[pod.port, 200]

    def send(self, number: int) -> None:
        """Post until it is over. A client of an even number keeps its connection until the pod closes it."""
        connection: http.client.HTTPConnection | None = None
        turn = number
        while not self.over.is_set():
            try:
                if connection is None:
                    ready = list(self.ready)
                    pod = ready[turn % len(ready)]
                    connection, turn = pod.connect(), turn + 1
                status, _, closes = post_on(connection, *pod.call)
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(f"{number} at {pod.port}: {error!r}")
                return
            with self.lock:
                self.answers[pod.port, status] += 1
            if closes or number % 2:
                connection.close()
                connection = None
        if connection is not None:
            connection.close()


def wait_for_answers(service: Service, pod: Running) -> None:
    wanted = service.count(pod) + ENOUGH
    wait_for(lambda: service.count(pod) >= wanted, lambda: service.lost)


def start_pod(stack: ExitStack, service: Service, folder: Path, revision: str) -> tuple[Running, Path]:
    folder.mkdir()
    drain_file = folder / "draining"
    pod = stack.enter_context(running(folder, *HOOKS, "--revision", revision, "--drain-file", str(drain_file)))
    assert pod.get("/readyz")[0] == 200
    service.ready.append(pod)
    return pod, drain_file


def stop_pod(service: Service, pod: Running, drain_file: Path) -> None:
    """What the kubelet does: the preStop hook, while the pod leaves the Service, and then SIGTERM."""
    with subprocess.Popen(["sh", "-c", f"touch {drain_file} && exec sleep 1"]) as hook:
        time.sleep(0.3)  # the endpoints change some time after the deletion
        assert pod.get("/readyz")[0] == 503
        service.ready.remove(pod)
        assert hook.wait(timeout=PATIENCE) == 0
    pod.process.send_signal(signal.SIGTERM)
    assert pod.process.wait(timeout=PATIENCE) == 0


def test_upgrade_and_rollback_under_load_lose_no_request(tmp_path: Path) -> None:
    service = Service()
    with ExitStack() as stack:
        old, drain_file = start_pod(stack, service, tmp_path / "0", "old")
        clients = [threading.Thread(target=service.send, args=(number,), daemon=True) for number in range(8)]
        for client in clients:
            client.start()
        wait_for_answers(service, old)
        pods = [old]
        for number, revision in enumerate(("new", "old"), start=1):
            pod, next_file = start_pod(stack, service, tmp_path / str(number), revision)
            wait_for_answers(service, pod)
            stop_pod(service, pods[-1], drain_file)
            wait_for_answers(service, pod)
            pods.append(pod)
            drain_file = next_file
        service.over.set()
        for client in clients:
            client.join(timeout=PATIENCE)
        assert not any(client.is_alive() for client in clients)
    assert service.lost == []
    assert {status for _, status in service.answers} == {200}
    assert all(service.count(pod) >= ENOUGH for pod in pods)
