"""The project's CRDs on a real API server: what they refuse, what they fill in, how kubectl shows them."""

import json
from typing import Any

import pytest

from hooks.wire.metacontroller import install_files
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import COMPONENT, DYNAMO, GRAPH, ROOT, load_example
from tests.contract.backend import ApiRefused, Manifest
from tests.kstatus import Kstatus, compute

CLIENT_SIDE_LIMIT = 262144
"""Bytes that all annotations of an object may have together; client-side apply puts the whole object into one.

Source: apimachinery, pkg/api/validation/objectmeta.go, TotalAnnotationSizeLimitB.
"""


def graph(**service: Any) -> Manifest:
    """A graph of one service `Worker` with these fields."""
    worker = {"componentType": "worker", **service}
    return {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": {"name": "g"}, "spec": {"services": {"Worker": worker}}}


@pytest.mark.parametrize("option", ["-k", "-f"])
def test_client_side_apply_takes_every_crd(option: str, plane: ControlPlane) -> None:
    out = plane.kubectl("apply", option, str(ROOT / "crds"))
    assert len(out.splitlines()) == len(install_files.crds())


@pytest.mark.parametrize("crd", install_files.crds(), ids=lambda crd: crd["spec"]["names"]["kind"])
def test_crd_is_stored_as_it_is_written(crd: Manifest, admin: ApiClient) -> None:
    name = crd["metadata"]["name"]
    assert len(json.dumps(crd, separators=(",", ":"))) < CLIENT_SIDE_LIMIT
    stored = admin.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
    assert stored is not None
    # No pruning, no normalisation: what is published in the repository is what the cluster enforces.
    assert stored["spec"]["versions"] == crd["spec"]["versions"]


@pytest.mark.parametrize("crd", install_files.crds(), ids=lambda crd: crd["spec"]["names"]["kind"])
def test_kubectl_knows_short_name_and_category(crd: Manifest, plane: ControlPlane) -> None:
    names = crd["spec"]["names"]
    for short in names["shortNames"]:
        plane.kubectl("get", short, "--all-namespaces")
    listed = plane.kubectl("api-resources", "--categories=dynamo", "-o", "name").split()
    assert crd["metadata"]["name"] in listed


def test_kubectl_prints_the_columns_of_a_graph(plane: ControlPlane, api: ApiClient) -> None:
    api.create(load_example("vllm-disagg"))
    header, row = plane.kubectl("get", "dgd", "-n", api.namespace).splitlines()
    assert header.split() == ["NAME", "READY", "SERVING", "REASON", "COMPONENTS", "GPUS", "AGE"]
    assert row.split()[0] == "vllm-disagg"


def test_graph_that_no_hook_has_seen_is_of_no_generation(api: ApiClient) -> None:
    api.create(load_example("vllm-disagg"))
    stored = api.get(DYNAMO, GRAPH, "vllm-disagg")
    assert stored is not None
    assert stored["status"] == {"observedGeneration": -1}
    assert compute(stored) is Kstatus.IN_PROGRESS


@pytest.mark.parametrize(
    ("service", "where"),
    [
        ({"extraPodSpec": {"mainContainer": {"imagee": "x"}}}, "extraPodSpec.mainContainer.imagee"),
        ({"extraPodSpec": {"tolerationss": []}}, "extraPodSpec.tolerationss"),
        ({"livenessProbe": {"httpGett": {}}}, "livenessProbe.httpGett"),
        ({"envs": [{"name": "A", "valueFromm": {}}]}, "envs[0].valueFromm"),
        ({"replica": 1}, "services.Worker.replica"),
    ],
    ids=["container", "pod", "probe", "env", "service"],
)
def test_typo_is_refused_under_strict_validation(service: dict[str, Any], where: str, api: ApiClient) -> None:
    with pytest.raises(ApiRefused, match="unknown field") as refused:
        api.create(graph(**service), strict=True)
    assert refused.value.code == 400
    assert where in refused.value.message


@pytest.mark.parametrize(
    ("service", "where"),
    [
        ({"replicas": -1}, "spec.services.Worker.replicas"),
        ({"replicas": "two"}, "spec.services.Worker.replicas"),
        ({"multinode": {"nodeCount": 1}}, "spec.services.Worker.multinode.nodeCount"),
        ({"extraPodSpec": {"mainContainer": {"ports": [{"name": "http"}]}}}, "ports[0].containerPort"),
        ({"envs": [{"value": "nameless"}]}, "spec.services.Worker.envs[0].name"),
    ],
    ids=["minimum", "type", "nodes", "required port", "required name"],
)
def test_wrong_value_is_refused_with_its_field(service: dict[str, Any], where: str, api: ApiClient) -> None:
    with pytest.raises(ApiRefused) as refused:
        api.create(graph(**service))
    assert refused.value.code == 422
    assert where in refused.value.message


def test_defaults_are_filled_in(api: ApiClient) -> None:
    stored = api.create(
        graph(multinode={}, scalingAdapter={}, volumeMounts=[{"name": "models", "mountPoint": "/models"}])
    )
    worker = stored["spec"]["services"]["Worker"]
    assert worker["multinode"] == {"nodeCount": 2}
    assert worker["scalingAdapter"] == {"enabled": False}
    assert worker["volumeMounts"] == [{"name": "models", "mountPoint": "/models", "useAsCompilationCache": False}]


def test_status_is_written_through_its_subresource_only(api: ApiClient) -> None:
    component = {"componentType": "worker", "serviceName": "Worker"}
    made = api.create({"apiVersion": DYNAMO, "kind": COMPONENT, "metadata": {"name": "c"}, "spec": component})
    with_status = {"status": {"observedGeneration": 7, "conditions": []}}
    assert api.patch(DYNAMO, COMPONENT, "c", with_status)["status"] == {"observedGeneration": -1, "conditions": []}
    changed = api.patch(DYNAMO, COMPONENT, "c", with_status, sub="status")
    assert changed["status"]["observedGeneration"] == 7
    assert changed["metadata"]["generation"] == made["metadata"]["generation"]


def test_scaling_adapter_is_scaled_by_kubectl(plane: ControlPlane, api: ApiClient) -> None:
    spec = {"replicas": 1, "dgdRef": {"name": "g", "serviceName": "Worker"}}
    kind = "DynamoGraphDeploymentScalingAdapter"
    api.create({"apiVersion": DYNAMO, "kind": kind, "metadata": {"name": "g-worker"}, "spec": spec})
    plane.kubectl("scale", "dgdsa/g-worker", "--replicas=3", "-n", api.namespace)
    scaled = api.get(DYNAMO, kind, "g-worker")
    assert scaled is not None
    assert scaled["spec"]["replicas"] == 3
