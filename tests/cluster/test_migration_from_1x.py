"""A graph of a Go operator of 1.5, taken over on a real API server that converts, under the real Metacontroller.

Objects are stored as v1beta1, workers have the names of their generation, and owners are named as v1beta1. A request
has created the graph, adapters can be loaded into its worker, and beside it a graph runs under Grove. Pods are real
objects, and the endpoints of Services are computed by the cluster. The command is the real process, killed at places
that a seed chooses.
"""

import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.language.crds.owner_versions import find_foreign_owner
from hooks.wire.policy.identity import model_hash, model_service_name
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.conversion import BETA, Converted, storing_v1beta1
from tests.cluster.dynamo import (
    CHART,
    CHILD_KINDS,
    COMPONENT,
    DYNAMO,
    GRAPH,
    MODEL,
    RELEASE,
    REQUEST,
    model,
    running_controllers,
    the_graph,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.groves_kinds import GROVE, POD_CLIQUE, POD_CLIQUE_SET, installed_grove
from tests.cluster.namespaces import own_namespace
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer, hooks_server, metacontroller_server
from tests.cluster.watched import Happened, Watched
from tests.cluster.way_back import everything, go_back
from tests.contract.backend import Manifest
from tests.ports import free_port
from tests.tools.operating.migration import left_behind, left_behind_1x
from tests.tools.operating.migration.left_behind_1x import (
    BASE_MODEL,
    CUT,
    DIGITS,
    LONG,
    as_beta_owned,
    stand_in_1x,
    with_adapters,
    with_cut_name,
)
from tests.tools.operating.migration.test_requests import BY_REQUEST, request
from tests.waiting import PATIENCE

SEED = 33
NAME, WORKER, FRONTEND = "llm", f"llm-worker-{DIGITS}", "llm-frontend"
HASH = {"nvidia.com/current-worker-hash-v2": DIGITS, contract.ANNOTATION_ORIGIN_VERSION: "1.5.0"}
"""What the operator writes into a graph: the generation of its workers, and its own release."""
WORKLOADS = (("apps/v1", "Deployment"),)
"""What is watched with the pods. A watch of our own kinds ends when their CRD changes."""
_WRITTEN = ("name", "labels", "annotations", "ownerReferences", "finalizers")


@pytest.fixture(scope="module")
def metacontroller(converted: Converted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(metacontroller_server(converted.plane, tmp_path_factory.mktemp("metacontroller"))) as server:
        yield server


@pytest.fixture(scope="module")
def hooks(converted: Converted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Frontends are not asked: under Grove nobody plays pods here."""
    folder = tmp_path_factory.mktemp("hooks")
    with running(hooks_server(folder, free_port(), "serving=report", plane=converted.plane)) as server:
        yield server


@pytest.fixture
def api(converted: Converted) -> Iterator[ApiClient]:
    """A namespace of a cluster whose CRDs store v1beta1; afterwards they are as before."""
    with storing_v1beta1(converted.admin), own_namespace(converted.admin) as client:
        yield client


def leave_behind(api: ApiClient) -> None:
    """Everything that the Go operator made for the graph, with all pods ready."""
    entry = left_behind.in_namespace(with_adapters(stand_in_1x()), api.namespace)
    found = {**left_behind.graph_of(entry), "apiVersion": DYNAMO, "kind": GRAPH}
    labels = {**BY_REQUEST, "dgdr.nvidia.com/namespace": api.namespace}
    graph = store(api, {**found, "metadata": {**found["metadata"], "labels": labels, "annotations": HASH}})
    stored: dict[str, Manifest] = {graph["metadata"]["name"]: graph}
    for manifest in left_behind_1x.components_of(entry, graph):
        owner = manifest["metadata"]["ownerReferences"][0]
        assert owner["apiVersion"] == BETA
        owner = {**owner, "uid": stored[owner["name"]]["metadata"]["uid"]}
        placed = {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}
        found = store(api, placed)
        if found["kind"] == COMPONENT:
            stored[found["metadata"]["name"]] = found
    store(api, as_beta_owned(left_behind.model_service_of(stored[WORKER], BASE_MODEL)))
    store(api, {**model("lora"), "metadata": {"name": "lora", "finalizers": [contract.GO_FINALIZER]}})
    deployment = {"name": NAME, "namespace": api.namespace, "created": True, "state": "successful"}
    store(api, request(state="Ready", deployment=deployment))
    wait_for(lambda: sorted(services(api).values()) == [1, 2, 2], "all pods serve")


def leave_grove_behind(api: ApiClient) -> None:
    """A graph under Grove whose set has a cut name, and what Grove made of it."""
    entry = left_behind.in_namespace(with_cut_name(), api.namespace)
    graph = store(api, {**left_behind.graph_of(entry), "apiVersion": DYNAMO, "kind": GRAPH})
    for manifest in left_behind.grove_of(entry, graph):
        is_set = manifest["kind"] == POD_CLIQUE_SET
        named = {**manifest, "metadata": {**manifest["metadata"], "name": CUT}} if is_set else manifest
        store(api, as_beta_owned(named))
    for part in left_behind.parts_of(entry, {**graph, "metadata": {**graph["metadata"], "name": CUT}}):
        store(api, part)


def store(api: ApiClient, manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key in _WRITTEN}
    stored = api.create({**manifest, "metadata": {**metadata, "namespace": api.namespace}})
    if manifest["kind"] in {COMPONENT, REQUEST, POD_CLIQUE}:
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


def components(api: ApiClient) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in api.list(DYNAMO, COMPONENT)}


def services(api: ApiClient) -> dict[str, int]:
    """By Service the number of endpoints that the cluster finds by its selector; under Grove there are no pods."""
    found = {one["metadata"]["name"]: 0 for one in api.list("v1", "Service")}
    for one in api.list("discovery.k8s.io/v1", "EndpointSlice"):
        found[one["metadata"]["labels"]["kubernetes.io/service-name"]] += len(one.get("endpoints") or ())
    return {name: count for name, count in found.items() if not name.startswith(LONG)}


def serves(api: ApiClient) -> bool:
    return len(pods(api)) == 4 and all(map(has_endpoints, services(api).items()))


def has_endpoints(service: tuple[str, int]) -> bool:
    return service[1] > 0


def foreign(api: ApiClient) -> list[str]:
    kinds = [kind for kind in CHILD_KINDS if kind[1] != "Pod"]
    found = (one for version, kind in kinds for one in api.list(version, kind))
    return [f"{one['kind']} {one['metadata']['name']}" for one in found if find_foreign_owner(one)]


def command(converted: Converted, *words: str) -> list[str]:
    return [sys.executable, "-m", "hooks", "migrate", f"--kubeconfig={converted.plane.kubeconfig()}", *words]


def run(converted: Converted, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(converted, *words), capture_output=True, text=True, check=False, timeout=PATIENCE)
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
def nothing_happens(api: ApiClient) -> Iterator[None]:
    """At no moment a pod more, no workload is created or deleted, and no Service loses an endpoint."""
    watched, before = Watched(api=api, workloads=WORKLOADS), (pods(api), components(api), services(api))
    yield
    happened = watched.look()
    count = len(before[0])
    assert happened == Happened(before=count, most=count, created=frozenset(), gone=frozenset())
    assert (pods(api), components(api)) == before[:2]
    assert {name: count for name, count in services(api).items() if name in before[2]} == before[2]


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


def check_life(api: ApiClient) -> None:
    """The hooks look after the graph: edits reach the pods that run, never with more pods than a rollout may add."""
    wait_until_ready(api, NAME)
    watched = Watched(api=api, workloads=WORKLOADS)
    before = pods(api)
    edit(api, "Worker", {"replicas": 3})
    wait_for(lambda: is_rolled_out(api, WORKER, 3), "the worker is scaled")
    assert before.items() <= pods(api).items()
    before, uids = pods(api), deployments(api)
    edit(api, "Frontend", {"envs": [{"name": "A", "value": "1"}]})
    wait_for(lambda: FRONTEND in deployments(api) and changed_names(before, pods(api)), "the frontend is new")
    wait_until_ready(api, NAME)
    assert all(name.startswith(FRONTEND) for name in changed_names(before, pods(api)))
    edit(api, "Worker", {"envs": [{"name": "A", "value": "1"}]})
    wait_for(lambda: not any(name in pods(api) for name in before), "the workers are new")
    wait_until_ready(api, NAME)
    assert deployments(api) == uids
    wait_for(lambda: serves(api), "all pods serve")
    happened = watched.look()
    assert (happened.before, happened.most) == (3, 5), "one replica more, and one more in each rollout"
    assert not {one for one in (*happened.created, *happened.gone) if "/" in one}, "no workload comes or goes"


def check_others(api: ApiClient) -> None:
    """Model and request are ours too, and the request says what it said."""
    for kind, name in ((MODEL, "lora"), (REQUEST, "sla")):
        found = api.get(DYNAMO, kind, name)
        assert found is not None
        assert contract.GO_FINALIZER not in found["metadata"].get("finalizers", ())
    assert (api.get(DYNAMO, REQUEST, "sla") or {})["status"]["state"] == "Ready"


def delete_all(api: ApiClient) -> None:
    """With the graph goes all that it had; its request and its model go when they are deleted."""
    api.delete(DYNAMO, GRAPH, NAME)
    wait_until_nothing_is_left(api)
    api.delete(DYNAMO, MODEL, "lora")
    api.delete(DYNAMO, REQUEST, "sla")
    wait_for(lambda: not [*api.list(DYNAMO, MODEL), *api.list(DYNAMO, REQUEST)], "model and request are gone")


def changed_names(before: Iterable[str], after: Iterable[str]) -> set[str]:
    return set(before) ^ set(after)


def test_graph_is_taken_over_by_a_command_that_was_killed(
    converted: Converted, api: ApiClient, metacontroller: HttpServer, hooks: HttpServer, tmp_path: Path
) -> None:
    leave_behind(api)
    where = ("-n", api.namespace)
    with installed_grove(converted.admin):
        leave_grove_behind(api)
        with nothing_happens(api):
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
            with running_controllers(converted.admin, hooks.url, ["grove"]):
                wait_until_ready(api, NAME)
                check_grove(api)
                check_others(api)
        with running_controllers(converted.admin, hooks.url, ["grove"]):
            check_life(api)
            api.delete(DYNAMO, GRAPH, LONG)
            wait_for(lambda: api.get(DYNAMO, GRAPH, LONG) is None, "the graph under Grove is gone")
        with nothing_happens(api):
            go_back(converted.plane, api, tmp_path, "1.5.0")
        check_given_back(api)
        # The garbage collector learns only after a minute that a version is not served, so this comes first.
        delete_all(api)
        run(converted, "--drop-v1beta1", "--apply")


def check_given_back(api: ApiClient) -> None:
    """The Go operator finds its components under the names that it gave, and no other one."""
    assert [one["metadata"]["name"] for one in api.list(DYNAMO, COMPONENT)] == [FRONTEND, WORKER]
    assert the_graph(api, NAME)["metadata"]["annotations"].items() >= HASH.items()
    for title, one in everything(api).items():
        owners = {owner["apiVersion"] for owner in one["metadata"]["ownerReferences"] or ()}
        assert owners <= {BETA, "apps/v1"}, title
        assert contract.LABEL_CONTROLLER_UID not in one["metadata"]["labels"], title
        assert contract.ANNOTATION_LAST_APPLIED not in one["metadata"]["annotations"], title


def check_grove(api: ApiClient) -> None:
    """The graph under Grove is Ready with its set, whose pods stay as they are."""
    assert wait_until_ready(api, LONG)["status"]["podCliqueSet"] == CUT
    (found,) = api.list(GROVE, POD_CLIQUE_SET)
    assert found["metadata"]["name"] == CUT
    assert found["metadata"]["generation"] == 1
    assert found["metadata"]["ownerReferences"][0]["uid"] == the_graph(api, LONG)["metadata"]["uid"]


def test_graph_that_our_controllers_met_first_gets_no_second_workers(
    converted: Converted, api: ApiClient, metacontroller: HttpServer, hooks: HttpServer, tmp_path: Path
) -> None:
    leave_behind(api)
    before = everything(api)
    with nothing_happens(api):
        with running_controllers(converted.admin, hooks.url):
            run(converted, "--store-v1alpha1", "--apply")
            wait_for(lambda: is_met(api), "Metacontroller has met the graph")
            for steps in random.Random(SEED + 1).sample(range(1, 8), 2):
                run_killed(converted, steps, "-n", api.namespace, "--apply")
            run(converted, "-n", api.namespace, "--apply")
            wait_until_ready(api, NAME)
            check_others(api)
        go_back(converted.plane, api, tmp_path, "1.5.0")
    after = everything(api)
    assert set(after) - set(before) == {f"Service {model_service_name(NAME, BASE_MODEL)}"}
    shared = before.pop(f"Service dynamo-model-{model_hash(BASE_MODEL)}")
    assert {title: after.get(title) for title in before} == before
    # Metacontroller has taken its owner away, and nothing on it says which component made it first.
    found = after[f"Service dynamo-model-{model_hash(BASE_MODEL)}"]
    assert found["spec"] == shared["spec"]
    assert [(one["apiVersion"], one["name"]) for one in found["metadata"]["ownerReferences"]] == [(BETA, NAME)]


def render_chart(converted: Converted) -> None:
    """Render the chart in touch with the cluster, as an installation does."""
    converted.plane.helm("template", RELEASE, CHART, "--dry-run=server")


def is_met(api: ApiClient) -> bool:
    found = [*api.list("apps/v1", "Deployment"), *api.list(DYNAMO, COMPONENT)]
    return not any(one["metadata"].get("ownerReferences") for one in found)
