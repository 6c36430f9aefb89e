"""Profiles of the API server: processor time by what it is spent on."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import requests

from tests.cluster.control_plane import ADMIN, ControlPlane

PARTS: Mapping[str, tuple[str, ...]] = {
    "garbage collection": ("runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge"),
    "CEL rules": ("schema/cel.(*Validator).Validate",),
    "schema": ("customresource.statusStrategy.Validate", "customresource.customResourceStrategy.Validate"),
    "managed fields": ("/managedfields", "managedFields"),
    "watch cache": ("etcd3.(*watchChan)", "cacher.(*Cacher)", "cacher.(*watchCache)", "cache.(*Reflector)"),
    "decode, default, prune": (").Decode", "unstructuredSchemaCoercer"),
    "encode": (").Encode",),
    "deep copies": ("DeepCopy",),
    "audit log": ("/audit",),
}
"""By name, parts of the names of functions; of a stack, the first that is in it counts."""
REST = "the rest"
_SAMPLE = re.compile(r"^\s*([\d.]+)ms\s+(\S.*)$")


def fetch_profile(plane: ControlPlane, seconds: int, file: Path) -> None:
    """Profile the API server for so many seconds and write the profile.

    Raises:
        requests.RequestException: the API server gives none.
    """
    file.write_bytes(_get(plane, f"/debug/pprof/profile?seconds={seconds}", timeout=seconds + 60))


def count_allocations(plane: ControlPlane) -> float:
    """How many objects the API server has allocated since its start.

    Raises:
        requests.RequestException: the API server does not answer.
        ValueError: it does not say.
    """
    for line in _get(plane, "/metrics").decode().splitlines():
        if line.startswith("go_memstats_mallocs_total "):
            return float(line.split()[1])
    raise ValueError("the API server's metrics lack go_memstats_mallocs_total")


def _get(plane: ControlPlane, path: str, timeout: float = 30) -> bytes:
    with requests.Session() as session:
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {plane.tokens[ADMIN]}"
        answer = session.get(f"{plane.server}{path}", verify=str(plane.certificate), timeout=timeout)
    answer.raise_for_status()
    return answer.content


def read_parts(file: Path) -> Mapping[str, float]:
    """Milliseconds of processor by part."""
    command = ["go", "tool", "pprof", "-traces", "-unit=ms", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return sum_parts(done.stdout.splitlines())


def sum_parts(lines: Iterable[str]) -> Mapping[str, float]:
    """Milliseconds by part, from what `go tool pprof -traces` prints: stacks between lines of dashes."""
    found = dict.fromkeys((*PARTS, REST), 0.0)
    value, stack = 0.0, ""
    for line in (*lines, "-----"):
        if line.startswith("-----"):
            found[_part_of(stack)] += value
            value, stack = 0.0, ""
        elif sample := _SAMPLE.match(line):
            value, stack = float(sample[1]), sample[2]
        else:
            stack += f"\n{line}"
    return found


def _part_of(stack: str) -> str:
    for part, functions in PARTS.items():
        if any(function in stack for function in functions):
            return part
    return REST
