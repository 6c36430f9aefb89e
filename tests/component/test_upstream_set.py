"""The one LeaderWorkerSet of all replicas beside that of the Go operator 1.5, from the corpus where it is at hand."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import name_of
from hooks.language.versions import convert
from tests import make
from tests.component.groups import INSTALLED, SETS
from tests.component.render import answer, only

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "upstream-1.5-golden.json.gz"
IMAGE = "registry.example/dynamo-worker:1.5.0"

DIFFERENCES = {
    "spec/schedulerName": "without Volcano's scheduler the PodGroups count for nothing",
    "spec/serviceAccountName": "upstream makes an account for discovery of each component; ours only of each graph",
    "spec/terminationGracePeriodSeconds": "ours leaves an engine the time to drain",
    "metadata/annotations": "ours says how processes find each other at each pod of 1.x",
    "metadata/labels/nvidia.com/dynamo-graph-deployment-name": "ours is empty without a graph, as before 1.x",
    "metadata/labels/nvidia.com/dynamo-namespace": "upstream's depends on where it was recorded",
    "metadata/labels/nvidia.com/dynamo-component-type": "ours is the type of v1alpha1, in which objects are stored",
    "env/DYN_COMPONENT": "the same",
    "env/VLLM_NIXL_SIDE_CHANNEL_HOST": "ours is new, so it begins with the release of its image",
    "env/DYN_NAMESPACE": "upstream's depends on where it was recorded",
    "env/DYN_PARENT_DGD_K8S_NAME": "a component without a graph has none",
    "env/DYN_PARENT_DGD_K8S_NAMESPACE": "upstream's depends on where it was recorded",
    "env/DYN_HEALTH_CHECK_ENABLED": "ours follows the runtime's release 1.5, as docs/compatibility.md says",
    "livenessProbe/failureThreshold": "the same",
    "main/image": "that of the corpus says no version",
}
"""The end, or a part, of a path in a pod template, and why ours differs there."""

pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not in ../shared/corpus")


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each scalar with its path; items of lists go by their names."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from flatten(item, f"{path}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            name = item.get("name", index) if isinstance(item, dict) else index
            yield from flatten(item, f"{path}/{name}")
    else:
        yield path, value


def load() -> tuple[Any, Any]:
    """The component that upstream's operator was given, and the LeaderWorkerSet that it made."""
    cases = json.loads(gzip.decompress(CORPUS.read_bytes()))
    case = next(one for one in cases if (one["case"], one["kind"]) == ("lws", "dcd"))
    return case["input"][0], case["output"][0]


def test_set_is_upstreams_but_for_the_written_differences() -> None:
    given, theirs = load()
    given["spec"]["podTemplate"]["spec"]["containers"][0]["image"] = IMAGE
    spec = convert(given, contract.VERSION)["spec"]
    parent = make.component(given["metadata"]["name"], **spec)
    ours = only(answer(parent, installed=INSTALLED, facts=make.facts(make.NOW, lws_gangs="on")).children, SETS)
    assert name_of(ours) == theirs["metadata"]["name"]
    for field in ("replicas", "startupPolicy"):
        assert ours["spec"][field] == theirs["spec"][field]
    mine, other = (one["spec"]["leaderWorkerTemplate"] for one in (ours, theirs))
    assert mine["size"] == other["size"]
    known: set[str] = set()
    for template in ("leaderTemplate", "workerTemplate"):
        found, wanted = dict(flatten(mine[template])), dict(flatten(other[template]))
        differing = {path for path in found.keys() | wanted.keys() if found.get(path) != wanted.get(path)}
        assert {path for path in differing if not any(part in path for part in DIFFERENCES)} == set()
        known |= {part for part in DIFFERENCES if any(part in path for path in differing)}
    assert known == DIFFERENCES.keys()
