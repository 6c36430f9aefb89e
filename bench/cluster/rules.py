"""`python -m bench.cluster.rules`: what a write of a graph costs the API server, and the CEL rules of our CRDs of that.

Each rule is measured alone by the API server's own code (tests/cluster/rule_costs); the whole write, with all rules and
without any, on a real API server, whose profile says where the time is spent. Both tables are in
bench/results/rules-<time>.json.
"""

import copy
import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table

from bench.cluster.processors import read_seconds
from bench.cluster.profiles import count_allocations, fetch_profile, read_parts
from bench.cluster.simulated import NAMESPACE, build_graph, read_ready
from bench.page import RESULTS, write_rule_costs, write_writes
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.language.cel.expressions import VALIDATIONS
from hooks.language.crds.definitions import build_crds
from tests.cluster import binaries
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane, control_plane, install_crds

WRITES = ("create", "update", "status")
KINDS = (contract.GRAPH.kind, contract.COMPONENT.kind)
_FIRST = 5
"""Graphs that are created before anything is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """A stored object, the same with another number of replicas, and with another status."""

    old: Manifest
    changed: Manifest
    status: Manifest


@click.command()
@click.option("--seconds", default=10, show_default=True, help="How long writes of each kind are made and profiled.")
def main(*, seconds: int) -> None:
    """Measure creates, updates and status writes of a graph of four services, and each rule alone."""
    binaries.build(click.echo)
    ready = read_ready_objects()
    costs = {kind: measure_rules(kind, ready[kind]) for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="bench-rules-") as folder:
        crds = [build_crd(name, with_rules=name == "all") for name in ("all", "none")]
        with control_plane(binaries.found(), Path(folder), []) as plane:
            api = plane.client()
            install_crds(api, crds)
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            status = ready[contract.GRAPH.kind].status["status"]
            writes = _measure_writes(plane, {"all": _group("all"), "none": _group("none")}, status, seconds)
    RESULTS.mkdir(exist_ok=True)
    result = {"rules": costs, "writes": writes}
    file = RESULTS / f"rules-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    file.write_text(json.dumps(result, indent=2) + "\n")
    _show(costs)
    click.echo(f"{write_rule_costs(costs)}\n{write_writes(writes)}\nwritten to {file}")


def measure_rules(kind: str, objects: Objects, *, each: bool = True) -> list[dict[str, Any]]:
    """The processor time and allocations of all rules of a kind together, then of each alone.

    Each row has `place`, `rule`, and for each kind of write `microseconds` and `allocations`.

    Raises:
        BuildFailed: the program that measures could not be built, or a rule does not hold.
    """
    (crd,) = (crd for crd in build_crds() if crd["spec"]["names"]["kind"] == kind)
    asked = {"definition": crd, "version": contract.VERSION, **asdict(objects)}
    command = ["go", "run", "-buildvcs=false", "./rule_costs", *(["-each"] if each else [])]
    done = subprocess.run(command, cwd=binaries.HERE, input=orjson.dumps(asked), capture_output=True, check=False)
    if done.returncode:
        raise binaries.BuildFailed(f"{' '.join(command)}\n{done.stderr.decode()[-4000:]}")
    rows: list[dict[str, Any]] = orjson.loads(done.stdout)
    return rows


def read_ready_objects() -> Mapping[str, Objects]:
    """A ready graph of four services and one of its components, by kind."""
    found: dict[str, Objects] = {}
    for obj in read_ready(1):
        if obj["kind"] in KINDS and obj["kind"] not in found:
            changed, status = copy.deepcopy(obj), copy.deepcopy(obj)
            services = changed["spec"].get("services", {"": changed["spec"]})
            list(services.values())[-1]["replicas"] = 3
            status["status"]["conditions"][0]["message"] = "Not ready: 1 of 2 replicas"
            found[obj["kind"]] = Objects(old=obj, changed=changed, status=status)
    return found


def build_crd(name: str, *, with_rules: bool) -> Manifest:
    """The graph's CRD in a group of its own, which begins with that name, with all rules or without any."""
    (crd,) = (crd for crd in build_crds() if crd["spec"]["names"]["kind"] == contract.GRAPH.kind)
    group, spec = _group(name), crd["spec"]
    names = {key: value for key, value in spec["names"].items() if key not in {"shortNames", "categories"}}
    found = {
        **crd,
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {**spec, "group": group, "names": names},
    }
    return found if with_rules else _without_rules(found)


def _group(name: str) -> str:
    return f"{name}.example.com"


def _without_rules(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_rules(value) for key, value in node.items() if key != VALIDATIONS}
    return [_without_rules(item) for item in node] if isinstance(node, list) else node


def _measure_writes(
    plane: ControlPlane, groups: Mapping[str, str], status: Mapping[str, Any], seconds: int
) -> dict[str, dict[str, Any]]:
    """For each group, by its name, and each kind of write: how many were made, and what one of them costs.

    The groups take turns, because the machine's load changes.
    """
    api = plane.client().within(NAMESPACE)
    writers = {name: _Writer(api, f"{group}/{contract.VERSION}", status) for name, group in groups.items()}
    found: dict[str, dict[str, Any]] = {name: {} for name in groups}
    for writer in writers.values():
        for _ in range(_FIRST):
            writer.create()
    time.sleep(2)  # so that what the API server does about new kinds is not counted
    for kind in WRITES:
        for name, writer in writers.items():
            found[name][kind] = _measure(plane, getattr(writer, kind), seconds)
    return found


def _measure(plane: ControlPlane, write: Callable[[], None], seconds: int) -> dict[str, Any]:
    profile = plane.folder / "profile.pb.gz"
    fetching = threading.Thread(target=fetch_profile, args=(plane, seconds, profile))
    allocated, before, count = count_allocations(plane), read_seconds()["kube-apiserver"], 0
    fetching.start()
    while fetching.is_alive():
        write()
        count += 1
    spent = (read_seconds()["kube-apiserver"] - before) / count * 1000
    allocations = (count_allocations(plane) - allocated) / count
    parts = {name: value / count for name, value in read_parts(profile).items()}
    return {"writes": count, "milliseconds": spent, "allocations": allocations, "parts": parts}


class _Writer:
    """Creates graphs, and changes those that it created, one after the other."""

    def __init__(self, api: ApiClient, version: str, status: Mapping[str, Any]) -> None:
        self._api, self._version, self._status = api, version, status
        self._created = self._changed = 0
        wait_for(lambda: api.list(version, contract.GRAPH.kind) is not None, f"{version} is served")

    def create(self) -> None:
        self._api.create({**build_graph(self._created), "apiVersion": self._version})
        self._created += 1

    def update(self) -> None:
        self._patch({"spec": {"services": {"Worker01": {"replicas": 3 + self._changed // self._created}}}})

    def status(self) -> None:
        ready, *others = self._status["conditions"]
        conditions = [{**ready, "message": f"Not ready: {self._changed}"}, *others]
        self._patch({"status": {**self._status, "conditions": conditions}}, sub="status")

    def _patch(self, patch: Mapping[str, Any], sub: str = "") -> None:
        name = build_graph(self._changed % self._created)["metadata"]["name"]
        self._api.patch(self._version, contract.GRAPH.kind, name, dict(patch), sub=sub)
        self._changed += 1


def _show(costs: Mapping[str, list[dict[str, Any]]]) -> None:
    for kind, rows in costs.items():
        table = Table(
            "place", "rule", *(f"{write}, µs" for write in WRITES), "allocations of a status write", title=kind
        )
        for row in rows:
            times = (f"{row[write]['microseconds']:.0f}" for write in WRITES)
            table.add_row(row["place"] or ".", row["rule"], *times, str(row["status"]["allocations"]))
        Console(width=140).print(table)


if __name__ == "__main__":
    main()
