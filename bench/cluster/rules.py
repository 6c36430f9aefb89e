"""`python -m bench.cluster.rules`: the API server's own processor time per write of a graph, by groups of CEL rules.

Each group is a CRD of its own: the graph's, with those of its rules and no others.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bench.cluster.processors import read_seconds
from bench.cluster.simulated import NAMESPACE, build_graph, simulate
from hooks import contract
from hooks.crds.cel import VALIDATIONS
from hooks.k8s.types import Manifest
from hooks.metacontroller import install_files
from tests.cluster import binaries
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import control_plane, install_crds

_PLURAL = f"dynamographdeployments.{contract.GROUP}"

Keep = Callable[[tuple[str, ...], Mapping[str, Any]], bool]
"""Whether a rule, at the place of its schema, is in a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Milliseconds of processor of the API server for one write of each kind."""

    create: float
    update: float
    status: float


def _is_transition(rule: Mapping[str, Any]) -> bool:
    return "oldSelf" in rule["rule"]


GROUPS: Mapping[str, Keep] = {
    "no rules": lambda _at, _rule: False,
    "of the object": lambda at, _rule: at == (),
    "of spec": lambda at, rule: at == ("spec",) and not _is_transition(rule),
    "of spec.services": lambda at, rule: at == ("spec", "services") and not _is_transition(rule),
    "of lists and services' fields": lambda at, _rule: len(at) > 1 and at != ("spec", "services"),
    "of changes": lambda at, rule: at != () and _is_transition(rule),
    "all rules": lambda _at, _rule: True,
}


@click.command()
@click.option("--writes", default=200, show_default=True, help="Writes of each kind, per group and round.")
@click.option("--rounds", default=3, show_default=True, help="Rounds over all groups; the least cost of them counts.")
def main(*, writes: int, rounds: int) -> None:
    """Measure creates, updates and status writes of a graph of four services."""
    binaries.build(click.echo)
    costs: dict[str, list[Cost]] = {}
    status = _status()
    with tempfile.TemporaryDirectory(prefix="bench-rules-") as folder:
        kinds = [*GROUPS, "no schema"]
        crds = [build_crd(number, GROUPS.get(name)) for number, name in enumerate(kinds)]
        with control_plane(binaries.found(), Path(folder), []) as plane:
            api = plane.client()
            install_crds(api, crds)
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            for turn in range(rounds + 1):
                for number, name in enumerate(kinds):
                    cost = _measure(
                        api.within(NAMESPACE), _group(number), _build_graphs(turn, writes if turn else 5), status
                    )
                    if turn:
                        costs.setdefault(name, []).append(cost)
    table = Table("rules", "create, ms", "update, ms", "status write, ms")
    for name, found in costs.items():
        least = (min(getattr(one, kind) for one in found) for kind in ("create", "update", "status"))
        table.add_row(name, *(f"{value:.2f}" for value in least))
    Console(width=100).print(table)


def build_crd(number: int, keep: Keep | None) -> Manifest:
    """The graph's CRD in a group of its own, with the rules to keep; with None without a schema."""
    (crd,) = (one for one in install_files.crds() if one["metadata"]["name"] == _PLURAL)
    group, spec = _group(number), crd["spec"]
    (version,) = (one for one in spec["versions"] if one["name"] == contract.VERSION)
    bare = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = _filter(version["schema"]["openAPIV3Schema"], keep) if keep else bare
    return {
        **crd,
        "metadata": {"name": f"{spec['names']['plural']}.{group}"},
        "spec": {
            **{key: value for key, value in spec.items() if key not in {"conversion", "versions"}},
            "group": group,
            "names": {key: value for key, value in spec["names"].items() if key not in {"shortNames", "categories"}},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _group(number: int) -> str:
    return f"group{number}.example.com"


def _filter(schema: Mapping[str, Any], keep: Keep, at: tuple[str, ...] = ()) -> dict[str, Any]:
    """The schema with the rules to keep; the place of list items and of values of a map ends with an empty text."""
    found = {key: value for key, value in schema.items() if key != VALIDATIONS}
    if rules := [rule for rule in schema.get(VALIDATIONS, ()) if keep(at, rule)]:
        found[VALIDATIONS] = rules
    if properties := schema.get("properties"):
        found["properties"] = {name: _filter(one, keep, (*at, name)) for name, one in properties.items()}
    for field in ("items", "additionalProperties"):
        if isinstance(schema.get(field), dict):
            found[field] = _filter(schema[field], keep, (*at, ""))
    return found


def _status() -> Mapping[str, Any]:
    """The status of a ready graph, as the hooks write it."""
    recorder, _ = simulate(1)
    (answer,) = (one for (path, _), one in recorder.last.items() if path == "/graph/sync")
    return {**answer["status"], "observedGeneration": 1}


def _build_graphs(turn: int, count: int) -> list[Manifest]:
    """Graphs with names that no other turn has."""
    return [build_graph(1000 * turn + number) for number in range(count)]


def _measure(api: ApiClient, group: str, graphs: list[Manifest], status: Mapping[str, Any]) -> Cost:
    version, kind, writes = f"{group}/{contract.VERSION}", contract.GRAPH.kind, len(graphs)

    def create() -> None:
        for graph in graphs:
            api.create({**graph, "apiVersion": version})

    def update() -> None:
        for graph in graphs:
            service = {"services": {"Worker01": {"replicas": 3}}}
            api.patch(version, kind, graph["metadata"]["name"], {"spec": service})

    def write_status() -> None:
        for graph in graphs:
            api.patch(version, kind, graph["metadata"]["name"], {"status": status}, sub="status")

    wait_for(lambda: api.list(version, kind) is not None, f"{version} is served")
    return Cost(create=_cost(create, writes), update=_cost(update, writes), status=_cost(write_status, writes))


def _cost(act: Callable[[], None], writes: int) -> float:
    before = read_seconds()["kube-apiserver"]
    act()
    return (read_seconds()["kube-apiserver"] - before) / writes * 1000


if __name__ == "__main__":
    main()
