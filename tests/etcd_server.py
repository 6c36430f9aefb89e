"""A real etcd of a test's own, its keys as text, and where there is none."""

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.cluster.programs import HttpServer
from tests.ports import free_port
from tests.waiting import PATIENCE


def encode(text: str) -> str:
    """Text as the HTTP gateway takes keys and values."""
    return base64.b64encode(text.encode()).decode()


def etcd_server(folder: Path) -> HttpServer:
    """An etcd, not yet started, with its data in the folder; skips the test where none is installed."""
    program = shutil.which("etcd")
    if program is None:
        pytest.skip("etcd is missing; install etcd-server")
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    options = {
        "name": "test",
        "data-dir": str(folder / "etcd"),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"test={peer}",
        "log-level": "error",
    }
    command = [program, *(part for name, value in options.items() for part in (f"--{name}", value))]
    return HttpServer("etcd", command, folder, url=client, health=f"{client}/health")


@contextmanager
def running_etcd(folder: Path) -> Iterator[str]:
    """Run an etcd and give its address, host:port; skips the test where none is installed."""
    server = etcd_server(folder)
    try:
        yield server.start().url.removeprefix("http://")
    finally:
        server.kill()
        shutil.rmtree(folder / "etcd", ignore_errors=True)


def put(address: str, *keys: str) -> None:
    """Store keys."""
    for key in keys:
        body = {"key": encode(key), "value": encode("v")}
        requests.post(f"http://{address}/v3/kv/put", json=body, timeout=PATIENCE).raise_for_status()


def keys_of(address: str) -> list[str]:
    """All keys, sorted."""
    everything = {"key": encode("\0"), "range_end": encode("\0"), "keys_only": True}
    found = requests.post(f"http://{address}/v3/kv/range", json=everything, timeout=PATIENCE).json()
    return sorted(base64.b64decode(entry["key"]).decode() for entry in found.get("kvs", []))
