"""What happens to graphs under Grove's real operator in time: autoscalers, broken gangs, an operator away.

Grove's authorizer is on, which keeps everybody else from what Grove has made, and a gang ends after a short time.
"""

from collections.abc import Iterator
from functools import partial

import pytest

from hooks.ground.k8s import kinds
from tests import make
from tests.cluster.api_client import ApiClient, stays, wait_for
from tests.cluster.control_plane import METACONTROLLER, ControlPlane
from tests.cluster.dynamo import DYNAMO, QUIET_SECONDS, SCALING_ADAPTER, is_ready, wait_until_ready
from tests.cluster.grove_graphs import change, crash, create, image, message, pods, ready_of, running_hooks, says
from tests.cluster.grove_operator import SECONDS, needs_operator
from tests.cluster.groves_kinds import GROVE, POD_CLIQUE, POD_CLIQUE_SET
from tests.cluster.processes import Server
from tests.cluster.programs import HttpServer
from tests.cluster.scheduling import add_node
from tests.contract.backend import ApiRefused

pytestmark = needs_operator
DELAY = "20s"
RELEASE = "1.5.1"


@pytest.fixture(scope="module")
def operator(
    admin: ApiClient, plane: ControlPlane, metacontroller: HttpServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    assert metacontroller
    folder = tmp_path_factory.mktemp("grove")
    with running_hooks(
        plane, admin, folder, "inference-pool", authorizer=True, grove_termination_delay=DELAY
    ) as server:
        yield server


@pytest.fixture
def api(admin: ApiClient, scheduled: ApiClient, operator: Server) -> ApiClient:
    assert operator.is_running()
    add_node(admin, scheduled.namespace, 10)
    return scheduled


def test_autoscaler_scales_through_the_adapter_where_others_may_not(api: ApiClient, plane: ControlPlane) -> None:
    worker = make.service(scalingAdapter={"enabled": True})
    create(api, "h", {"Frontend": make.service("frontend"), "Worker": worker})
    wait_until_ready(api, "h")
    other = plane.client(METACONTROLLER).within(api.namespace)
    with pytest.raises(ApiRefused, match="not allowed"):
        other.patch(GROVE, POD_CLIQUE, "h-0-worker", {"metadata": {"labels": {"mine": "yes"}}})
    for wanted in (3, 1, 0, 2):
        api.patch(DYNAMO, SCALING_ADAPTER, "h-worker", {"spec": {"replicas": wanted}}, None, "scale")
        wait_for(partial(has_pods, api, wanted), lambda: message(api, "h"), SECONDS)
        ready_of(api, "h")
    wait_for(lambda: scale_of(api, "h-worker") == (2, 2), lambda: scale_of(api, "h-worker"), SECONDS)


def has_pods(api: ApiClient, wanted: int) -> bool:
    return len(pods(api, "h-0-worker")) == wanted


def scale_of(api: ApiClient, adapter: str) -> tuple[int, int]:
    """The replicas that an autoscaler reads: wanted and there."""
    found = api.get(DYNAMO, SCALING_ADAPTER, adapter) or {}
    return int(found["spec"]["replicas"]), int((found.get("status") or {}).get("replicas") or 0)


def test_broken_gang_is_made_anew_and_told_until_it_runs(api: ApiClient) -> None:
    create(api, "b", {"Frontend": make.service("frontend"), "Worker": make.service()})
    wait_until_ready(api, "b")
    before = {pod["metadata"]["uid"] for name in ("b-0-frontend", "b-0-worker") for pod in pods(api, name)}
    (worker,) = pods(api, "b-0-worker")
    crash(api, worker)
    says(api, "b", "CrashLoop: pod b-0-worker")

    def is_new() -> bool:
        now = {pod["metadata"]["uid"] for name in ("b-0-frontend", "b-0-worker") for pod in pods(api, name)}
        assert not (is_ready(api, "b") and now & before), "never ready before all is new"
        return len(now) == 2 and not now & before

    wait_for(is_new, lambda: message(api, "b"), SECONDS)
    ready_of(api, "b")


def test_operator_that_is_away_is_told_and_all_goes_on_when_it_is_back(api: ApiClient, operator: Server) -> None:
    create(api, "w", {"Frontend": make.service("frontend"), "Worker": make.service()})
    wait_until_ready(api, "w")
    operator.stop()
    try:
        change(api, "w", "Worker", extraPodSpec=image("2"))
        says(api, "w", "the change could not be written so far")
        create(api, "n", {"Frontend": make.service("frontend")})
        says(api, "n", "podcliqueset/n")
        stays(lambda: not is_ready(api, "w"), lambda: message(api, "w"), QUIET_SECONDS)
        (old,) = pods(api, "w-0-worker")
        assert old["spec"]["containers"][0]["image"] != "img:2"
    finally:
        operator.start()
    ready_of(api, "w")
    (new,) = pods(api, "w-0-worker")
    assert new["spec"]["containers"][0]["image"] == "img:2"
    ready_of(api, "n")


def test_picker_finds_the_workers_of_its_graph(api: ApiClient) -> None:
    picker = make.service("epp", image=f"registry.example/dynamo-frontend:{RELEASE}")
    worker = make.service(image=f"registry.example/vllm-runtime:{RELEASE}", replicas=2)
    create(api, "e", {"Picker": picker, "Worker": worker, "Frontend": make.service("frontend")})
    wait_until_ready(api, "e")
    pool = api.get(kinds.INFERENCE_POOL.api_version, kinds.INFERENCE_POOL.kind, "e-pool")
    assert pool is not None
    found = ",".join(f"{key}={value}" for key, value in pool["spec"]["selector"]["matchLabels"].items())
    chosen = {pod["metadata"]["name"] for pod in api.list("v1", "Pod", labelSelector=found)}
    assert chosen == {pod["metadata"]["name"] for pod in pods(api, "e-0-worker")}


def test_namespace_goes_with_its_graph(api: ApiClient, admin: ApiClient) -> None:
    create(api, "g", {"Frontend": make.service("frontend"), "Worker": make.service()})
    wait_until_ready(api, "g")
    admin.delete("v1", "Namespace", api.namespace)
    wait_for(lambda: admin.get("v1", "Namespace", api.namespace) is None, "the namespace is gone", SECONDS)
    assert not admin.list(GROVE, POD_CLIQUE_SET, api.namespace)
