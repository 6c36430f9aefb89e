"""Graphs that run in a simulated cluster, as files that kubectl would write; and this version with other defaults."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.server.commands.main import main
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.wire.policy import rendering_mark
from tests.sequences.calls import forget
from tests.tools.offline.diff.compared import example
from tests.tools.offline.simulator.hooked import build_cluster

SETTLED = 240.0
ROADS = {"components": (), "grove": ("grove",), "lws": ("lws", "volcano")}


def run_graphs(*names: str, road: str = "components", **changed: Any) -> SimulatedCluster:
    """A cluster in which these examples are ready; `changed` are fields of the specs of all their services."""
    cluster = build_cluster(ROADS[road])
    for name in names:
        for document in example(name):
            for service in (document["spec"].get("services") or {}).values():
                service.update(changed)
            cluster.create({**document, "metadata": {"namespace": "default", **document["metadata"]}})
    cluster.run_for(SETTLED)
    return cluster


def write_dump(path: Path, objects: Iterable[Manifest]) -> Path:
    """The file that `kubectl get … -o json` writes."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return path


def plan(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["upgrade-plan", *map(str, arguments)])


def plan_json(*arguments: str | Path) -> dict[str, Any]:
    result = plan("-o", "json", *arguments)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def change_defaults(monkeypatch: pytest.MonkeyPatch, *, revision: int) -> None:
    """Give pods another group; with a raised revision that default waits."""
    monkeypatch.setattr(contract, "DEFAULT_FS_GROUP", contract.DEFAULT_FS_GROUP + 1)
    monkeypatch.setattr(rendering_mark, "RENDERING_REVISION", rendering_mark.RENDERING_REVISION + revision)
    forget()
