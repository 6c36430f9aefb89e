"""A thorough search on a real API server under a real Metacontroller: the profiler makes graphs through v1beta1.

The profiler is played with the account of its Job, and the right that the plain manifests give it.
"""

from collections.abc import Iterator

import pytest

from hooks.ground import contract
from hooks.request.spec.names import account_name, job_name
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.conversion import BETA, Converted
from tests.cluster.dynamo import GRAPH, REQUEST, condition, running_controllers, wait_until_nothing_is_left
from tests.cluster.namespaces import own_namespace
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer, hooks_server, metacontroller_server
from tests.contract.backend import ApiRefused, Manifest, Propagation
from tests.installation import named, plain
from tests.ports import free_port
from tests.request import jobs
from tests.request.test_profiler_spec import beta
from tests.request.trial_graphs import COMPONENTS, NAME, selectors, trial_graph

OTHER = "vllm-agg-77777777-1111"


@pytest.fixture(scope="module")
def metacontroller(converted: Converted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(metacontroller_server(converted.plane, tmp_path_factory.mktemp("metacontroller"))) as server:
        yield server


@pytest.fixture(scope="module")
def hooks(converted: Converted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    setting, folder = f"hooks_image={jobs.HOOKS_IMAGE}", tmp_path_factory.mktemp("hooks")
    with running(hooks_server(folder, free_port(), setting, plane=converted.plane)) as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def controllers(converted: Converted, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    converted.admin.create(named(plain("rbac.yaml"), "ClusterRole", "dynamo-hooks-profiling"))
    with running_controllers(converted.admin, hooks.url):
        yield


@pytest.fixture
def api(converted: Converted) -> Iterator[ApiClient]:
    with own_namespace(converted.admin) as client:
        yield client


@pytest.fixture
def searching(api: ApiClient) -> Manifest:
    """A request whose thorough search runs."""
    metadata = {"name": "qwen", "namespace": api.namespace}
    api.create({**beta(searchStrategy="thorough"), "metadata": metadata}, strict=True)
    wait_for(lambda: phase(api) == "Profiling", "the profiler runs")
    return the_request(api)


@pytest.fixture
def profiler(converted: Converted, api: ApiClient, searching: Manifest) -> ApiClient:
    """What the profiler's pod can do."""
    plane = converted.plane
    token = plane.token_of(api.namespace, account_name(searching["metadata"]["name"]))
    return ApiClient(plane.server, token, plane.certificate).within(api.namespace)


def the_request(api: ApiClient) -> Manifest:
    found = api.get(BETA, REQUEST, "qwen")
    assert found is not None
    return found


def phase(api: ApiClient) -> str:
    return str(the_request(api).get("status", {}).get("phase"))


def is_ready(profiler: ApiClient, name: str) -> bool:
    """What the profiler waits for."""
    found = profiler.get(BETA, GRAPH, name)
    assert found is not None
    return condition(found, "Ready").get("status") == "True" and found["status"]["state"] == "successful"


def try_out(profiler: ApiClient, request: Manifest, name: str) -> None:
    profiler.create(trial_graph(request, name))
    wait_for(lambda: is_ready(profiler, name), f"trial graph {name} is ready")


def test_profiler_makes_measures_and_deletes_graphs(profiler: ApiClient, searching: Manifest, api: ApiClient) -> None:
    for name in (NAME, OTHER):
        try_out(profiler, searching, name)
        for component in COMPONENTS:
            for selector in selectors(component, name):
                text = ",".join(f"{key}={value}" for key, value in selector.items())
                assert len(profiler.list("v1", "Pod", labelSelector=text)) == 1, text
        assert api.get("v1", "Service", f"{name}-frontend") is not None
        assert phase(api) == "Profiling"
        profiler.delete(BETA, GRAPH, name)
        wait_for(lambda: not api.list(BETA, GRAPH), f"trial graph {name} is gone")
    assert "dgdName" not in the_request(api)["status"]


def test_profiler_reads_logs_and_changes_no_graph(
    converted: Converted, profiler: ApiClient, searching: Manifest
) -> None:
    assert searching
    account = f"system:serviceaccount:{profiler.namespace}:{account_name('qwen')}"
    rules = converted.plane.kubectl("auth", "can-i", "get", "pods/log", f"--as={account}", "-n", profiler.namespace)
    assert rules.strip() == "yes"
    with pytest.raises(ApiRefused, match="cannot patch resource"):
        profiler.patch(BETA, GRAPH, NAME, {"spec": {"components": []}})


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_trial_graph_of_a_killed_profiler_ends_with_the_request(
    propagation: Propagation, profiler: ApiClient, searching: Manifest, api: ApiClient
) -> None:
    try_out(profiler, searching, NAME)
    owners = api.get(BETA, GRAPH, NAME)
    assert owners is not None
    assert [one["kind"] for one in owners["metadata"]["ownerReferences"]] == [REQUEST], "nobody adopted it"
    assert contract.LABEL_CONTROLLER_UID not in owners["metadata"].get("labels", {})
    api.delete(BETA, REQUEST, "qwen", propagation=propagation)
    wait_for(lambda: api.get(BETA, REQUEST, "qwen") is None, "the request is gone")
    wait_for(lambda: api.get(BETA, GRAPH, NAME) is None, "the trial graph is gone")
    wait_for(lambda: api.get("batch/v1", "Job", job_name("qwen")) is None, "the Job is gone")
    wait_until_nothing_is_left(api)
