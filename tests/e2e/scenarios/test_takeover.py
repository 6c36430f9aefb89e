"""A graph that a Go operator left, with its pods running, is taken over: it answers all the time, and no pod restarts.

The objects are those that the Go operator makes of the same graph: named, owned, marked and finalized as by its
releases 0.9 (components by service) and 1.5 (workers by generation, owners named as v1beta1, all stored as v1beta1).
"""

import copy
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import Settings
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.conversion import DEFINITION, storing_v1beta1
from tests.cluster.dynamo import COMPONENT, DYNAMO, GRAPH, the_graph, wait_until_nothing_is_left
from tests.e2e.bench import Bench, stopped_hooks
from tests.e2e.examples import render
from tests.e2e.graphs import explained, load_graph, touch, wait_for_answer, wait_until_ready
from tests.e2e.trickle import trickling
from tests.tools.operating.migration.left_behind import component_status, own
from tests.tools.operating.migration.left_behind_1x import DIGITS, SUFFIX, as_beta_owned

NAME, WORKER = "mocker-agg", "mocker-agg-mockerworker"
HASH = {"nvidia.com/current-worker-hash-v2": DIGITS, contract.ANNOTATION_ORIGIN_VERSION: "1.5.0"}


def made_by_operator(graph: Manifest, namespace: str, folder: Path, *, by_generation: bool) -> list[Manifest]:
    """What a Go operator makes of a graph, a component before its parts."""
    text = yaml.safe_dump({**graph, "metadata": {**graph["metadata"], "namespace": namespace}})
    found = []
    for child in render(text, folder, Settings()):
        metadata = child["metadata"]
        kept = {key: value for key, value in metadata.get("annotations", {}).items() if "dynamo-hooks" not in key}
        kept.pop("nvidia.com/discovered-for-pods", None)
        plain = without_generation({**child, "metadata": {**metadata, "annotations": kept}})
        found.append(of_generation(plain) if by_generation and metadata["name"] == WORKER else plain)
    return found


def without_generation(value: Any) -> Any:
    """A part of an object without the generation that our hooks gave it: a variable and labels."""
    if isinstance(value, list):
        return [without_generation(one) for one in value if not (isinstance(one, dict) and one.get("name") == SUFFIX)]
    if isinstance(value, dict):
        return {key: without_generation(one) for key, one in value.items() if key != contract.LABEL_WORKER_HASH}
    return value


def of_generation(child: Manifest) -> Manifest:
    """A worker's object as the Go operator names it by its generation from 1.2 on."""
    changed = copy.deepcopy(child)
    name = f"{WORKER}-{DIGITS}"
    changed["metadata"]["name"] = name
    changed["metadata"]["labels"][contract.LABEL_WORKER_HASH] = DIGITS
    if changed["kind"] == COMPONENT:
        changed["spec"].setdefault("labels", {})[contract.LABEL_WORKER_HASH] = DIGITS
    if changed["kind"] == "Deployment":
        spec = changed["spec"]
        labels = {contract.LABEL_SELECTOR: name, contract.LABEL_WORKER_HASH: DIGITS}
        spec["template"]["metadata"]["labels"] |= labels
        spec["selector"]["matchLabels"][contract.LABEL_SELECTOR] = name
        spec["template"]["spec"]["containers"][0]["env"].append({"name": SUFFIX, "value": DIGITS})
    return changed


def leave_behind(api: ApiClient, graph: Manifest, folder: Path, *, by_generation: bool) -> None:
    """Store the graph and all that the Go operator made of it."""
    annotations = HASH if by_generation else {}
    metadata = {**graph["metadata"], "finalizers": [contract.GO_FINALIZER], "annotations": annotations}
    stored = api.create({**graph, "metadata": metadata})
    component: Manifest = {}
    for child in made_by_operator(graph, api.namespace, folder, by_generation=by_generation):
        is_part = child["metadata"]["name"] == component.get("metadata", {}).get("name")
        owner = component if is_part else stored
        owned = own(child, owner)
        owned = as_beta_owned(owned) if by_generation else owned
        for field in ("uid", "resourceVersion", "generation"):
            del owned["metadata"][field]
        if child["kind"] == COMPONENT:
            owned["metadata"]["finalizers"] = [contract.GO_FINALIZER]
        created = api.create(owned)
        if child["kind"] == COMPONENT:
            change = {"status": component_status(ready=True)}
            component = api.patch(DYNAMO, COMPONENT, created["metadata"]["name"], change, sub="status")


def pods(api: ApiClient) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in api.list("v1", "Pod")}


def migrate(bench: Bench, *options: str) -> None:
    where = f"--kubeconfig={bench.plane.kubeconfig()}"
    command = [sys.executable, "-m", "hooks", "migrate", where, *options, "--apply"]
    done = subprocess.run(["timeout", "60", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"migrate ended with {done.returncode}:\n{done.stdout}{done.stderr}"


def stored_versions(bench: Bench) -> set[str]:
    """The versions in which graphs may be stored."""
    definition = bench.admin.get(*DEFINITION, f"dynamographdeployments.{contract.GROUP}")
    assert definition is not None
    return set(definition["status"]["storedVersions"])


@pytest.mark.parametrize("by_generation", [False, True], ids=["0.9", "1.5"])
def test_graph_answers_through_the_move(
    bench: Bench, api: ApiClient, newest: str, tmp_path: Path, report: Callable[[str], None], by_generation: bool
) -> None:
    graph = load_graph(NAME, newest, MockerWorker=1)
    with stopped_hooks(bench), storing_v1beta1(bench.admin) if by_generation else nullcontext():
        leave_behind(api, graph, tmp_path, by_generation=by_generation)
        wait_for_answer(bench, api, NAME)
        before = pods(api)
        with trickling(api, NAME) as found:
            if by_generation:
                assert stored_versions(bench) == {"v1alpha1", "v1beta1"}
                migrate(bench, "--store-v1alpha1")
                assert stored_versions(bench) == {"v1alpha1"}
            migrate(bench, "-n", api.namespace)
            bench.hooks.start()
            touch(api, "moved")
            wait_until_ready(bench, api, NAME)
    report(f"taken over from {'1.5' if by_generation else '0.9'}: {found.describe()}")
    assert not found.failures
    assert found.answered
    assert pods(api) == before
    assert contract.GO_FINALIZER not in the_graph(api, NAME)["metadata"].get("finalizers", ())
    for one in api.list(DYNAMO, COMPONENT):
        assert one["metadata"]["ownerReferences"][0]["apiVersion"] == DYNAMO
        assert contract.GO_FINALIZER not in one["metadata"].get("finalizers", ())
    api.delete(DYNAMO, GRAPH, NAME)
    with explained(bench, api):
        wait_for(lambda: api.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone", 120)
    wait_until_nothing_is_left(api)
