"""A graph of a Go operator of 1.5, taken over on a real API server that converts, under the real Metacontroller.

Objects are stored as v1beta1, workers have the names of their generation, and owners are named as v1beta1. Pods are
real objects, and the endpoints of Services are computed by the cluster. The command is the real process, killed at
places that a seed chooses.
"""

import random
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hooks.crds.owner_versions import find_foreign_owner
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.binaries import Binaries
from tests.cluster.conftest import GOGC
from tests.cluster.conversion import BETA, DEFINITION, NAMES, Converted, converted_plane
from tests.cluster.dynamo import (
    CHART,
    CHILD_KINDS,
    COMPONENT,
    DYNAMO,
    GRAPH,
    RELEASE,
    running_controllers,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.namespaces import own_namespace
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer, metacontroller_server
from tests.contract.backend import Manifest
from tests.operating.migration import left_behind, left_behind_1x
from tests.operating.migration.left_behind_1x import DIGITS, stand_in_1x

SEED = 33
NAME, WORKER, FRONTEND = "llm", f"llm-worker-{DIGITS}", "llm-frontend"
_WRITTEN = ("name", "labels", "annotations", "ownerReferences", "finalizers")


@pytest.fixture(scope="module")
def converted(programs: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converted]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOGC", GOGC)
        with converted_plane(programs, tmp_path_factory.mktemp("converted")) as found:
            yield found


@pytest.fixture(scope="module")
def metacontroller(converted: Converted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(metacontroller_server(converted.plane, tmp_path_factory.mktemp("metacontroller"))) as server:
        yield server


@pytest.fixture
def api(converted: Converted) -> Iterator[ApiClient]:
    """A namespace of a cluster whose CRDs store v1beta1; afterwards they are as before."""
    before = {name: spec_of(converted, name) for name in NAMES}
    for name, spec in before.items():
        versions = [{**one, "storage": one["name"] == "v1beta1"} for one in spec["versions"]]
        converted.admin.patch(*DEFINITION, name, {"spec": {"versions": versions}})
    with own_namespace(converted.admin) as client:
        yield client
    for name, spec in before.items():
        converted.admin.patch(*DEFINITION, name, {"spec": {key: spec[key] for key in ("versions", "conversion")}})


def spec_of(converted: Converted, name: str) -> Manifest:
    definition = converted.admin.get(*DEFINITION, name)
    assert definition is not None
    spec: Manifest = definition["spec"]
    return spec


def leave_behind(api: ApiClient) -> None:
    """Everything that the Go operator made for the graph, with all pods ready."""
    entry = left_behind.in_namespace(stand_in_1x(), api.namespace)
    graph = store(api, {**left_behind.graph_of(entry), "apiVersion": DYNAMO, "kind": GRAPH})
    stored: dict[str, Manifest] = {graph["metadata"]["name"]: graph}
    for manifest in left_behind_1x.components_of(entry, graph):
        owner = manifest["metadata"]["ownerReferences"][0]
        assert owner["apiVersion"] == BETA
        owner = {**owner, "uid": stored[owner["name"]]["metadata"]["uid"]}
        placed = {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}
        found = store(api, placed)
        if found["kind"] == COMPONENT:
            stored[found["metadata"]["name"]] = found
    wait_for(lambda: len(pods(api)) == 3 and all(map(has_endpoints, services(api).items())), "all pods serve", 60)


def store(api: ApiClient, manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key in _WRITTEN}
    stored = api.create({**manifest, "metadata": {**metadata, "namespace": api.namespace}})
    if manifest["kind"] == COMPONENT:
        change = {"status": manifest["status"]}
        stored = api.patch(manifest["apiVersion"], manifest["kind"], metadata["name"], change, sub="status")
    return stored


def pods(api: ApiClient) -> dict[str, str]:
    """The uids of the pods that are not being deleted, by name."""
    return {
        one["metadata"]["name"]: one["metadata"]["uid"]
        for one in api.list("v1", "Pod")
        if "deletionTimestamp" not in one["metadata"]
    }


def deployments(api: ApiClient) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in api.list("apps/v1", "Deployment")}


def services(api: ApiClient) -> dict[str, int]:
    """By Service the number of endpoints that the cluster finds by its selector."""
    found = {one["metadata"]["name"]: 0 for one in api.list("v1", "Service")}
    for one in api.list("discovery.k8s.io/v1", "EndpointSlice"):
        found[one["metadata"]["labels"]["kubernetes.io/service-name"]] += len(one.get("endpoints") or ())
    return found


def has_endpoints(service: tuple[str, int]) -> bool:
    return service[1] > 0


def foreign(api: ApiClient) -> list[str]:
    kinds = [kind for kind in CHILD_KINDS if kind[1] != "Pod"]
    found = (one for version, kind in kinds for one in api.list(version, kind))
    return [f"{one['kind']} {one['metadata']['name']}" for one in found if find_foreign_owner(one)]


def command(converted: Converted, *words: str) -> list[str]:
    return [sys.executable, "-m", "hooks", "migrate", f"--kubeconfig={converted.plane.kubeconfig()}", *words]


def run(converted: Converted, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(converted, *words), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def run_killed(converted: Converted, steps: int, *words: str) -> None:
    """Start the command, and kill it after that many steps."""
    line = command(converted, *words)
    with subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for _ in range(steps):
            assert process.stderr.readline()
        process.kill()


@contextmanager
def no_pod_more(api: ApiClient) -> Iterator[None]:
    """No pod is created, and no pod, Deployment or endpoint goes; the pods are watched at each look."""
    before = pods(api), deployments(api), services(api)
    seen: set[str] = set()
    yield
    for _ in range(20):
        seen |= set(pods(api).values())
        time.sleep(0.1)
    assert (pods(api), deployments(api), services(api)) == before
    assert seen == set(before[0].values())
    assert created_pods(api) == set(before[0])


def created_pods(api: ApiClient) -> set[str]:
    """The names of all pods that were ever created in the namespace, as Events of the ReplicaSets say it."""
    events = api.list("v1", "Event", fieldSelector="reason=SuccessfulCreate")
    return {str(one["message"]).rpartition(" ")[2] for one in events if one["involvedObject"]["kind"] == "ReplicaSet"}


def edit(api: ApiClient, service: str, change: dict[str, Any]) -> None:
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {service: change}}})


def is_rolled_out(api: ApiClient, name: str, replicas: int) -> bool:
    found = api.get("apps/v1", "Deployment", name)
    status = (found or {}).get("status") or {}
    counts = {status.get(key) for key in ("replicas", "updatedReplicas", "readyReplicas")}
    return (
        found is not None
        and status.get("observedGeneration") == found["metadata"]["generation"]
        and counts == {replicas}
    )


def check_life(converted: Converted, api: ApiClient) -> None:
    """The hooks look after the graph: edits reach the pods that run, and with it all goes."""
    wait_until_ready(api, NAME)
    before = pods(api)
    edit(api, "Worker", {"replicas": 3})
    wait_for(lambda: is_rolled_out(api, WORKER, 3), "the worker is scaled", 60)
    assert before.items() <= pods(api).items()
    before, uid = pods(api), deployments(api)[WORKER]
    edit(api, "Frontend", {"envs": [{"name": "A", "value": "1"}]})
    wait_for(lambda: FRONTEND in deployments(api) and changed_names(before, pods(api)), "the frontend is new", 60)
    wait_until_ready(api, NAME)
    assert all(name.startswith(FRONTEND) for name in changed_names(before, pods(api)))
    edit(api, "Worker", {"envs": [{"name": "A", "value": "1"}]})
    wait_for(lambda: not any(name in pods(api) for name in before), "the workers are new", 60)
    wait_until_ready(api, NAME)
    assert deployments(api) == {FRONTEND: deployments(api)[FRONTEND], WORKER: uid}
    assert len(pods(api)) == 4
    wait_for(lambda: all(map(has_endpoints, services(api).items())), "all Services have endpoints", 60)
    # The garbage collector learns only after a minute that a version is not served any more, so this comes first.
    api.delete(DYNAMO, GRAPH, NAME)
    wait_until_nothing_is_left(api)
    run(converted, "--drop-v1beta1", "--apply")


def changed_names(before: Iterable[str], after: Iterable[str]) -> set[str]:
    return set(before) ^ set(after)


def test_graph_is_taken_over_by_a_command_that_was_killed(
    converted: Converted, api: ApiClient, metacontroller: HttpServer, hooks: HttpServer
) -> None:
    leave_behind(api)
    where = ("-n", api.namespace)
    with no_pod_more(api):
        run(converted, "--store-v1alpha1", "--apply")
        assert foreign(api)
        with pytest.raises(AssertionError, match=r"names its owner as nvidia\.com/v1beta1"):
            render_chart(converted)
        plan = run(converted, *where)
        assert "llm: 2 workloads held, 2 Services adopted" in plan.stdout
        assert "No pod starts, stops or restarts." in plan.stdout
        for steps in random.Random(SEED).sample(range(1, 8), 3):
            run_killed(converted, steps, *where, "--apply")
        run(converted, *where, "--apply")
        assert foreign(api) == []
        render_chart(converted)
        assert "There is nothing to migrate." in run(converted, *where).stdout
        with running_controllers(converted.admin, hooks.url):
            wait_until_ready(api, NAME)
    with running_controllers(converted.admin, hooks.url):
        check_life(converted, api)


def test_graph_that_our_controllers_met_first_gets_no_second_workers(
    converted: Converted, api: ApiClient, metacontroller: HttpServer, hooks: HttpServer
) -> None:
    leave_behind(api)
    with no_pod_more(api), running_controllers(converted.admin, hooks.url):
        run(converted, "--store-v1alpha1", "--apply")
        wait_for(lambda: is_met(api), "Metacontroller has met the graph", 60)
        for steps in random.Random(SEED + 1).sample(range(1, 8), 2):
            run_killed(converted, steps, "-n", api.namespace, "--apply")
        run(converted, "-n", api.namespace, "--apply")
        wait_until_ready(api, NAME)
    with running_controllers(converted.admin, hooks.url):
        check_life(converted, api)


def render_chart(converted: Converted) -> None:
    """Render the chart in touch with the cluster, as an installation does."""
    converted.plane.helm("template", RELEASE, CHART, "--dry-run=server")


def is_met(api: ApiClient) -> bool:
    found = [*api.list("apps/v1", "Deployment"), *api.list(DYNAMO, COMPONENT)]
    return not any(one["metadata"].get("ownerReferences") for one in found)
