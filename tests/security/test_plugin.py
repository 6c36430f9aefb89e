"""What `kubectl dynamo` shows of a cluster has no value of a variable, of a header, of a record or of a Secret."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.tools.cli import live_comparison, live_graphs
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.kubectl import target
from hooks.tools.cli.kubectl.main import group
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.operating.cluster import Cluster
from tests import make
from tests.security.canaries import ENCODED, TEXT, find_canaries
from tests.tools.offline.picture.drawn import engine
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.operating.migration.played_cluster import play


def services(value: str) -> dict[str, Any]:
    """Services with the value in variables and in headers of probes."""
    variables = [{"name": "PASSWORD", "value": value}]
    probe = {"httpGet": {"path": "/", "port": 9, "httpHeaders": [{"name": "Authorization", "value": value}]}}
    main = {"image": "img:1", "env": variables, "livenessProbe": probe}
    return {
        "Frontend": make.service("frontend", envs=variables, readinessProbe=probe),
        "Worker": {**engine("m/1", envs=variables), "extraPodSpec": {"mainContainer": main}},
    }


def graph(value: str, **metadata: Any) -> Manifest:
    parent = make.graph(services(value))
    spec = {**parent["spec"], "envs": [{"name": "TOKEN", "value": value}]}
    return {**parent, "metadata": {"name": "llm", "namespace": "default", **metadata}, "spec": spec}


@pytest.fixture(scope="module")
def world() -> SimulatedCluster:
    """A ready graph with the canary in it, a Secret with the canary, and what kubectl recorded of both."""
    simulated = build_cluster()
    record = {"kubectl.kubernetes.io/last-applied-configuration": yaml.safe_dump(graph(TEXT))}
    simulated.apply(graph(TEXT, annotations=record))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hf-token-secret", "namespace": "default"}}
    simulated.create({**secret, "data": {"HF_TOKEN": ENCODED}, "type": "Opaque"})

    def is_up() -> bool:
        found = simulated.get(contract.GRAPH, "llm", "default")
        return found is not None and is_ready(found)

    assert simulated.run_until(is_up, 300)
    return simulated


@pytest.fixture(autouse=True)
def _connected(world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = play(world)

    @contextmanager
    def connect(_connection: Connection) -> Iterator[Cluster]:
        yield cluster

    for module in (target, live_comparison, live_graphs):
        monkeypatch.setattr(module, "connect", connect)


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("status", "llm"),
        ("status", "llm", "-o", "json"),
        ("graph", "llm"),
        ("graph", "llm", "-o", "dot"),
        ("scale", "llm", "Worker", "x"),
        ("scale", "llm", "Nobody", "2"),
        ("restart", "llm", "Nobody"),
    ],
    ids=" ".join,
)
def test_what_runs_is_shown_without_values(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(group, words)
    assert result.output
    assert find_canaries([(" ".join(words), result.output)]) == []


@pytest.mark.parametrize("output", ["text", "json", "markdown"])
@pytest.mark.parametrize("new", ["other-value", f"{TEXT}-2", ""], ids=["changed away", "changed", "emptied"])
def test_changed_values_are_not_shown(new: str, output: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.yaml"
    path.write_text(yaml.safe_dump(graph(new)))
    words = ["diff", str(path), *(["-o", output] if output != "text" else [])]
    result = CliRunner().invoke(group, words)
    assert "env" in result.output
    assert find_canaries([("diff", result.output)]) == []
    assert "other-value" not in result.output


def test_the_canary_is_in_the_cluster(world: SimulatedCluster) -> None:
    assert TEXT in str(world.everything())
    assert base64.b64decode(ENCODED).decode() == TEXT
