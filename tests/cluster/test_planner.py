"""The planner of Dynamo 1.6 on a real API server with both versions, under its graph's own account.

What runs is the planner's Kubernetes connector; its decisions are the test's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from hooks.ground import contract
from hooks.ground.k8s.types import labels_of
from hooks.wire.policy.identity import planner_account
from tests.cluster.acting_hooks import acting_hooks, effects_client, granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.binaries import Binaries
from tests.cluster.control_plane import ADMIN, ControlPlane
from tests.cluster.conversion import BETA, Converted, converted_plane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    ROOT,
    SCALING_ADAPTER,
    condition,
    is_ready,
    running_controllers,
    the_graph,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.contract.backend import Manifest
from tests.planner.planner import Planner, require_planner, running_planner
from tests.waiting import PATIENCE

IMAGE = "my-registry/vllm-runtime:1.6.1"
MODEL = "Qwen/Qwen3-0.6B"
NAMES = {"prefill": "PrefillWorker", "decode": "DecodeWorker"}
ROLE = "dynamo-hooks-planner"


@pytest.fixture(scope="module")
def converted(programs: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converted]:
    require_planner()
    with converted_plane(programs, tmp_path_factory.mktemp("plane")) as started:
        yield started


@pytest.fixture(scope="module")
def plane(converted: Converted) -> ControlPlane:
    """A control plane of this module's own: its CRDs would be in the way of other tests."""
    return converted.plane


@pytest.fixture(scope="module")
def admin(plane: ControlPlane) -> ApiClient:
    return plane.client()


@pytest.fixture(scope="module", autouse=True)
def controllers(
    plane: ControlPlane, admin: ApiClient, metacontroller: HttpServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The hooks with their effects, as a planner looks for the replicas of an adapter in its graph."""
    documents = yaml.safe_load_all((ROOT / "metacontroller" / "rbac.yaml").read_text())
    admin.create(next(found for found in documents if found["metadata"]["name"] == ROLE), strict=True)
    client = effects_client(plane, tmp_path_factory.mktemp("account"))
    with granted_effects(admin), acting_hooks(client) as url, running_controllers(admin, url):
        yield


@pytest.fixture
def planner(api: ApiClient, plane: ControlPlane, tmp_path: Path) -> Iterator[Planner]:
    """The planner of the graph `g`; its kubeconfig is written when the graph has made its account."""
    with running_planner(tmp_path, tmp_path / "kubeconfig") as started:
        yield started


def write_kubeconfig(plane: ControlPlane, api: ApiClient, path: Path) -> None:
    """The kubeconfig of the planner's account, with a token as the kubelet gets one for its pod."""
    account = planner_account("g")
    wait_for(lambda: api.get("v1", "ServiceAccount", account), "the planner has its account")
    answer = requests.post(
        f"{plane.server}/api/v1/namespaces/{api.namespace}/serviceaccounts/{account}/token",
        json={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        headers={"Authorization": f"Bearer {plane.tokens[ADMIN]}"},
        verify=str(plane.certificate),
        timeout=PATIENCE,
    )
    answer.raise_for_status()
    cluster = {"server": plane.server, "certificate-authority": str(plane.certificate)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": account, "user": {"token": answer.json()["status"]["token"]}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": account}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)


def engine(part: str) -> dict[str, Any]:
    args = ["--model", MODEL, "--disaggregation-mode", part, "--endpoint", f"dyn://ns.{part}-engine.generate"]
    return {"image": IMAGE, "command": ["python3", "-m", "dynamo.vllm"], "args": args}


def alpha_graph() -> Manifest:
    """A graph without adapters, so the planner writes replicas into the graph itself."""
    main = {"extraPodSpec": {"mainContainer": {"image": IMAGE}}}
    workers = {
        name: {
            "componentType": "worker",
            "subComponentType": part,
            "resources": {"limits": {"gpu": "2"}},
            "extraPodSpec": {"mainContainer": engine(part)},
        }
        for part, name in NAMES.items()
    }
    services = {"Frontend": {"componentType": "frontend", **main}, "Planner": {"componentType": "planner", **main}}
    spec = {"services": {**services, **workers}}
    return {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": {"name": "g"}, "spec": spec}


def beta_graph() -> Manifest:
    """The same graph as users of 1.x write it, with an adapter for each worker."""
    gpus = {"resources": {"limits": {"nvidia.com/gpu": "2"}}}
    plain = [
        {
            "name": name,
            "type": name.lower(),
            "podTemplate": {"spec": {"containers": [{"name": "main", "image": IMAGE}]}},
        }
        for name in ("Frontend", "Planner")
    ]
    workers = [
        {
            "name": name,
            "type": part,
            "scalingAdapter": {},
            "podTemplate": {"spec": {"containers": [{"name": "main", **engine(part), **gpus}]}},
        }
        for part, name in NAMES.items()
    ]
    spec = {"components": [*plain, *workers]}
    return {"apiVersion": BETA, "kind": GRAPH, "metadata": {"name": "g"}, "spec": spec}


def ready_replicas(api: ApiClient) -> dict[str, int]:
    """Ready replicas of each worker's Deployment, by part."""
    found = {one["metadata"]["name"]: one for one in api.list("apps/v1", "Deployment")}
    return {
        part: found.get(f"g-{name.lower()}", {}).get("status", {}).get("readyReplicas", 0)
        for part, name in NAMES.items()
    }


def generation_of_workers(api: ApiClient) -> str:
    """The one generation of all workers, in whose Dynamo namespace a planner looks for them."""
    found = {labels_of(one).get(contract.LABEL_WORKER_HASH, "") for one in api.list(DYNAMO, COMPONENT)} - {""}
    (suffix,) = found
    return suffix


def scale(planner: Planner, api: ApiClient, **replicas: int) -> None:
    """Let the planner scale, and wait until it counts these workers and calls them stable."""
    assert planner.ask("scale", "g", namespace=api.namespace, replicas=replicas) == {}
    wait_for(lambda: replicas.items() <= ready_replicas(api).items(), f"{replicas} are ready")

    def is_settled() -> bool:
        counts = planner.ask("count", "g", namespace=api.namespace, names=NAMES)["counts"]
        return {part: counts[f"expected_num_{part}"] for part in replicas} == replicas and is_ready(api, "g")

    wait_for(is_settled, f"the planner counts {replicas} and the graph is ready")


@pytest.mark.parametrize("written", [alpha_graph(), beta_graph()], ids=["v1alpha1", "v1beta1 with adapters"])
def test_planner_reads_and_scales_a_graph_of_either_version(
    api: ApiClient, converted: Converted, planner: Planner, tmp_path: Path, written: Manifest
) -> None:
    api.create(written, strict=True)
    wait_until_ready(api, "g")
    write_kubeconfig(converted.plane, api, tmp_path / "kubeconfig")

    shape = {"gpus_per_engine": 2, "gpus_per_replica": 2}
    assert planner.ask("read", "g", namespace=api.namespace) == {
        "model": MODEL,
        "shapes": {"prefill": shape, "decode": shape},
        "namespace": f"{api.namespace}-g-{generation_of_workers(api)}",
        "components": {"prefill": "prefill-engine", "decode": "decode-engine"},
        "workloads": ["g-decodeworker", "g-frontend", "g-planner", "g-prefillworker"],
        "stable": True,
        "unstable": [],
        "ready": True,
    }

    scale(planner, api, prefill=3, decode=2)
    scale(planner, api, prefill=1, decode=2)
    asked = planner.ask("target", "g", namespace=api.namespace, names=list(NAMES.values()))
    assert asked == {"PrefillWorker": 1, "DecodeWorker": 2}
    has_adapters = bool(api.list(BETA, SCALING_ADAPTER))
    assert has_adapters is (written["apiVersion"] == BETA)

    converted.server.kill()
    try:
        services = the_graph(api, "g")["spec"]["services"]
        assert {part: services[name]["replicas"] for part, name in NAMES.items()} == {"prefill": 1, "decode": 2}
        assert ready_replicas(api) == {"prefill": 1, "decode": 2}
    finally:
        converted.server.start()
    wait_for(converted.is_converting, "objects are converted again")
    api.delete(BETA, GRAPH, "g")
    wait_until_nothing_is_left(api)


def test_planner_takes_back_a_scaling_that_has_begun(
    api: ApiClient, converted: Converted, planner: Planner, tmp_path: Path
) -> None:
    graph = beta_graph()
    api.create(graph, strict=True)
    wait_until_ready(api, "g")
    write_kubeconfig(converted.plane, api, tmp_path / "kubeconfig")
    with no_further_pods(api):
        assert planner.ask("scale", "g", namespace=api.namespace, replicas={"prefill": 1, "decode": 3}) == {}
        wait_for(lambda: pending(planner, api) == 2, "the planner sees that two workers start")
        assert planner.ask("scale", "g", namespace=api.namespace, replicas={"prefill": 1, "decode": 1}) == {}
        wait_for(lambda: pending(planner, api) == 0, "nothing starts any more")
    wait_until_ready(api, "g")
    assert ready_replicas(api) == {"prefill": 1, "decode": 1}
    api.delete(BETA, GRAPH, "g")
    wait_until_nothing_is_left(api)


def test_planner_waits_through_a_rollout_and_goes_on(
    api: ApiClient, converted: Converted, planner: Planner, tmp_path: Path
) -> None:
    """It looks for workers where the old ones are, scales nothing, and then finds the new ones."""
    api.create(beta_graph(), strict=True)
    wait_until_ready(api, "g")
    write_kubeconfig(converted.plane, api, tmp_path / "kubeconfig")
    names = list(NAMES.values())

    def found_in() -> str:
        return str(planner.ask("read", "g", namespace=api.namespace)["namespace"])

    old = found_in()
    with no_further_pods(api):
        envs = [{"name": "CHANGED", "value": "1"}]
        api.patch(DYNAMO, GRAPH, "g", {"spec": {"services": {"DecodeWorker": {"envs": envs}}}})
        wait_for(lambda: "rollingUpdate" in the_graph(api, "g")["status"], "the rollout has begun")
        wait_for(lambda: generation_of_workers(api) not in old, "all workers have the next generation")
        said = condition(the_graph(api, "g"), "Ready")["message"]
        assert said.startswith("new generation: 0 of 2 ready; old: 2; ")
        assert found_in() == old
        assert planner.ask("scale", "g", namespace=api.namespace, replicas={"prefill": 2, "decode": 3}) == {}
        assert planner.ask("target", "g", namespace=api.namespace, names=names) == dict.fromkeys(names, 1)
    wait_until_ready(api, "g")
    wait_for(lambda: "rollingUpdate" not in the_graph(api, "g")["status"], "the rollout is over")
    assert found_in() == f"{api.namespace}-g-{generation_of_workers(api)}" != old
    scale(planner, api, prefill=1, decode=2)
    api.delete(BETA, GRAPH, "g")
    wait_until_nothing_is_left(api)


@contextmanager
def no_further_pods(api: ApiClient) -> Iterator[None]:
    """A quota that the present pods use up, so that further replicas stay unready."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"}}
    api.create({**quota, "spec": {"hard": {"pods": str(len(api.list("v1", "Pod")))}}})

    def is_enforced() -> bool:
        found = api.get("v1", "ResourceQuota", "full") or {}
        return bool(found.get("status", {}).get("used"))

    wait_for(is_enforced, "the quota is enforced")
    yield
    api.delete("v1", "ResourceQuota", "full")


def pending(planner: Planner, api: ApiClient) -> int:
    """Workers of which the planner knows that they start."""
    counts = planner.ask("count", "g", namespace=api.namespace, names=NAMES)["counts"]
    found: int = counts["pending_num_decode"]
    return found
