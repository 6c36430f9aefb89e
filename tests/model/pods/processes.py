"""Runs pods: in each the hooks and their prober, as processes on loopback."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import requests

from hooks.server.clients.api_server import ApiServer
from tests.loopback import serving
from tests.model.pods.pod import ACCOUNT, SERVER
from tests.played_api_server import PlayedApiServer
from tests.ports import free_port
from tests.waiting import PATIENCE, wait_for

POD_ADDRESS = "127.0.0.1"


@dataclass(slots=True)
class Pod:
    """One running pod; `drain_file` tells its hooks that the pod is about to end."""

    url: str
    hooks: "subprocess.Popen[bytes]"
    prober: "subprocess.Popen[bytes]"
    drain_file: Path

    def drain(self) -> None:
        """What a preStop hook does."""
        self.drain_file.touch()

    def kill(self) -> None:
        """End both processes at once, as with a node."""
        for process in (self.hooks, self.prober):
            process.kill()
            process.wait()


@dataclass(slots=True)
class Pods:
    """The pods that run, and the means to start one more; `leases` is the API server's memory."""

    settings: Sequence[str]
    folder: Path
    leases: PlayedApiServer
    server_url: str
    stack: ExitStack
    running: list[Pod] = field(default_factory=list)

    def start(self) -> Pod:
        """Start a pod, and return once both processes answer."""
        ports = [free_port(), free_port()]
        number = len(self.running)
        drain_file = self.folder / f"draining-{number}-{ports[0]}"
        settings = [*self.settings, f"prober_url=http://127.0.0.1:{ports[1]}"]
        options = ("--drain-file", str(drain_file), "--workers", "2", "--relay-token-file", str(self.folder / "relay"))
        hooks = self._run("serve", ports[0], settings, *options)
        prober = self._run("prober", ports[1], settings)
        for port in ports:
            _wait_until_healthy(f"http://127.0.0.1:{port}/healthz")
        pod = Pod(url=f"http://{POD_ADDRESS}:{ports[0]}", hooks=hooks, prober=prober, drain_file=drain_file)
        self.running.append(pod)
        return pod

    def stop(self, pod: Pod) -> None:
        """End a pod as Kubernetes does: drain, then SIGTERM."""
        self.running.remove(pod)
        pod.drain()
        time.sleep(3)  # the preStop hook's wait
        for process in (pod.hooks, pod.prober):
            process.terminate()
            process.wait(PATIENCE)

    def _run(self, command: str, port: int, settings: Sequence[str], *options: str) -> "subprocess.Popen[bytes]":
        arguments = [sys.executable, "-m", "tests.model.pods.pod", command, "--bind", f"127.0.0.1:{port}"]
        arguments += ["--end-with-stdin", *options, *(word for pair in settings for word in ("--set", pair))]
        environment = {**os.environ, ACCOUNT: str(self.folder), SERVER: self.server_url, "POD_IP": POD_ADDRESS}
        log = self.stack.enter_context((self.folder / f"{command}-{port}.log").open("wb"))
        process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment)
        self.stack.callback(_end, process)
        return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        process.stdin.close()
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_until_healthy(url: str) -> None:
    def is_healthy() -> bool:
        try:
            return requests.get(url, timeout=PATIENCE).ok
        except requests.RequestException:
            return False

    wait_for(is_healthy, f"{url} is healthy")


@contextmanager
def run_pods(count: int, *settings: str) -> Iterator[Pods]:
    """Run so many pods, which share an API server that knows Leases."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name, text in (("token", "secret"), ("ca.crt", ""), ("namespace", "dynamo-system"), ("relay", "shared")):
            (folder / name).write_text(text)
        played = PlayedApiServer(ApiServer(url="", token_file=folder / "token", ca_file=folder / "ca.crt"))
        url = stack.enter_context(_serve(played))
        chosen = (*settings, f"hook_replicas={count}", "resource_counts=off", *_NO_EFFECTS)
        pods = Pods(settings=chosen, folder=folder, leases=played, server_url=url, stack=stack)
        for _ in range(count):
            pods.start()
        yield pods


_NO_EFFECTS = ("effect_events=off", "effect_scale=off", "effect_write_back=off", "explain_pods=off", "serving=off")


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    url: str
    body: bytes


@contextmanager
def _serve(played: PlayedApiServer) -> Iterator[str]:
    """The played API server over HTTP."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self.answer
            raise AttributeError(name)

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with lock:
                asked: Any = _Asked(self.command, self.path, body)
                status, headers, text = played.answer(asked)
            self.send_response(status)
            for key, value in (*headers.items(), ("Content-Length", str(len(text)))):
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url
