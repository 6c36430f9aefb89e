"""Pods of every form, on the real API server: what their processes see, and what is told of them."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.contract.backend import Manifest
from tests.e2e.bench import Bench
from tests.e2e.graphs import explained

IMAGE = "registry.local/of-this-machine:here"
NAME = "all-of-it"
STAYS = "trap 'exit 0' TERM; while true; do sleep 0.1; done"


@pytest.fixture(autouse=True)
def image(bench: Bench) -> None:
    """An image whose programs are those of this machine."""
    bench.kubelet.programs["here"] = Path(sys.executable).parent


def container(name: str, script: str, **more: Any) -> Manifest:
    return {"name": name, "image": IMAGE, "command": ["sh", "-c"], "args": [script], **more}


def create(api: ApiClient, name: str, **spec: Any) -> None:
    api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}, strict=True)


def status(api: ApiClient, name: str) -> dict[str, Any]:
    found = api.get("v1", "Pod", name)
    assert found is not None, f"pod {name} does not exist"
    return dict(found.get("status", {}))


def is_ready(api: ApiClient, name: str) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status(api, name).get("conditions", ()))


def restarts(api: ApiClient, name: str) -> int:
    return sum(one["restartCount"] for one in status(api, name).get("containerStatuses", ()))


def exec_probe(file: str) -> Manifest:
    return {"exec": {"command": ["test", "-f", file]}, "periodSeconds": 1}


def test_pod_with_everything_comes_up_in_order_and_goes(bench: Bench, api: ApiClient) -> None:
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"WORD": "from a map"}})
    api.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "from a secret"}}
    )
    mounts = [{"name": "shared", "mountPath": "/shared"}, {"name": "map", "mountPath": "/map"}]
    volumes: list[Manifest] = [{"name": "shared", "emptyDir": {}}, {"name": "map", "configMap": {"name": "c"}}]
    env: list[Manifest] = [
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "BOTH", "value": "$(POD) $(SECRET)"},
    ]
    sidecar = container(
        "sidecar",
        f"cat /shared/init > /shared/sidecar; {STAYS}",
        restartPolicy="Always",
        startupProbe=exec_probe("/shared/sidecar"),
        volumeMounts=mounts,
    )
    script = f"cat /shared/sidecar /map/WORD; echo; echo $BOTH, $WORD; touch /shared/main; {STAYS}"
    main = container(
        "main",
        script,
        env=env,
        envFrom=[{"configMapRef": {"name": "c"}}],
        readinessProbe=exec_probe("/shared/main"),
        lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "echo before the end >> /shared/main"]}}},
        volumeMounts=mounts,
    )
    first = container("init", "echo from init > /shared/init", volumeMounts=mounts)
    create(api, NAME, containers=[main], initContainers=[first, sidecar], volumes=volumes)
    with explained(bench, api):
        wait_for(lambda: is_ready(api, NAME), "the pod is ready")
    worker = bench.kubelet.worker_of(api.namespace, NAME)
    words = worker.containers[-1].last_words(9)
    assert words.splitlines() == ["from init", "from a map", f"{NAME} from a secret, from a map"]
    found = status(api, NAME)
    assert [one["name"] for one in found["initContainerStatuses"]] == ["init", "sidecar"]
    assert found["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert found["podIP"].startswith("10.0.")
    api.delete("v1", "Pod", NAME)
    wait_for(lambda: api.get("v1", "Pod", NAME) is None, "the pod is gone")
    shared = worker.place.folder / "volumes" / "shared"
    assert "before the end" in (shared / "main").read_text()
    assert not any(one.is_running for one in worker.containers)


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (3, "Failed")])
def test_pod_that_runs_once_says_how_it_ended(bench: Bench, api: ApiClient, code: int, phase: str) -> None:
    sidecar = container("sidecar", STAYS, restartPolicy="Always")
    main = container("main", f"echo done; exit {code}")
    create(api, "once", containers=[main], initContainers=[sidecar], restartPolicy="Never")
    with explained(bench, api):
        wait_for(lambda: status(api, "once").get("phase") == phase, f"the pod has {phase}")
    (entry,) = status(api, "once")["containerStatuses"]
    assert entry["state"]["terminated"]["exitCode"] == code
    assert entry["restartCount"] == 0
    worker = bench.kubelet.worker_of(api.namespace, "once")
    wait_for(lambda: not any(one.is_running for one in worker.containers), "the sidecar ends with it")


def test_failed_liveness_probe_restarts_the_container(bench: Bench, api: ApiClient) -> None:
    probe = {**exec_probe("/nowhere/to/be/found"), "failureThreshold": 1}
    create(api, "dies", containers=[container("main", STAYS, livenessProbe=probe)], terminationGracePeriodSeconds=5)
    with explained(bench, api):
        wait_for(lambda: restarts(api, "dies") >= 1, "it is started again")


def test_missing_secret_is_waited_for(bench: Bench, api: ApiClient) -> None:
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "late", "key": "key"}}}]
    create(api, "waits", containers=[container("main", STAYS, env=env)])

    def reason() -> str:
        (entry,) = status(api, "waits").get("containerStatuses") or [{"state": {}}]
        return str(entry["state"].get("waiting", {}).get("reason"))

    wait_for(lambda: reason() == "CreateContainerConfigError", "the pod says what it waits for")
    api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late"}, "stringData": {"key": "v"}})
    with explained(bench, api):
        wait_for(lambda: is_ready(api, "waits"), "the pod starts when it is there")


def test_token_is_of_the_pods_account_and_has_its_rights_alone(bench: Bench, api: ApiClient) -> None:
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader"}})
    kubectl = bench.plane.binaries.kubectl
    script = f"{kubectl} auth whoami -o name; {kubectl} get pods 2>&1; {STAYS}"
    create(api, "asks", containers=[container("main", script)], serviceAccountName="reader")
    user = f"system:serviceaccount:{api.namespace}:reader"
    worker = wait_for(lambda: _worker(bench, api, "asks"), "the pod has a worker")
    wait_for(lambda: f'User "{user}" cannot list resource "pods"' in worker.containers[0].last_words(), "it is refused")


def _worker(bench: Bench, api: ApiClient, name: str) -> Any:
    try:
        return bench.kubelet.worker_of(api.namespace, name)
    except LookupError:
        return None
