"""The autoscalers of docs/autoscaling.md: a real API server takes them, and they scale what the example has."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from hooks.ground.k8s.types import name_of
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import install_crds
from tests.cluster.dynamo import SCALING_ADAPTER, load_example
from tests.contract.backend import ApiRefused, Manifest
from tests.docs.markdown import read_blocks
from tests.docs.test_commands import ROOT
from tests.third_party import FOLDER, NOT_AT_HAND, read_crds

KEDA = "keda/v2.20.1"
SCALED_OBJECT = "ScaledObject"


def _read_manifests() -> Iterator[Manifest]:
    for block in read_blocks(ROOT / "docs" / "autoscaling.md"):
        if block.language == "yaml":
            yield from (found for found in yaml.safe_load_all(block.text) if "kind" in found)


MANIFESTS = list(_read_manifests())
each_scaled_object = pytest.mark.parametrize(
    "manifest", [one for one in MANIFESTS if one["kind"] == SCALED_OBJECT], ids=name_of
)


@pytest.fixture(scope="module")
def keda(admin: ApiClient) -> Iterator[None]:
    """The kinds of KEDA, with their real schema; skips where it is not at hand."""
    if not FOLDER.is_dir():
        pytest.skip(NOT_AT_HAND)
    crds = read_crds(KEDA)
    install_crds(admin, crds)
    yield
    for crd in crds:
        admin.delete(crd["apiVersion"], crd["kind"], name_of(crd))
    wait_for(lambda: not any(admin.get(c["apiVersion"], c["kind"], name_of(c)) for c in crds), "KEDA is gone")


def dry_run(api: ApiClient, manifest: Manifest) -> None:
    """Create the object in the test's namespace, but for storing it; fields that the schema lacks are refused."""
    api.create(
        {**manifest, "metadata": {**manifest["metadata"], "namespace": api.namespace}}, strict=True, dry_run=True
    )


def test_page_has_an_hpa_and_scales_prefill_and_decode_by_keda() -> None:
    assert [one["kind"] for one in MANIFESTS] == ["HorizontalPodAutoscaler", SCALED_OBJECT, SCALED_OBJECT]
    queries = {name_of(one): one["spec"]["triggers"][0]["metadata"]["query"] for one in MANIFESTS[1:]}
    assert "time_to_first_token" in queries["vllm-planner-vllmprefillworker"]
    assert "inter_token_latency" in queries["vllm-planner-vllmdecodeworker"]


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: f"{one['kind']} {name_of(one)}")
def test_api_server_takes_every_manifest_of_the_page(
    manifest: Manifest, api: ApiClient, request: pytest.FixtureRequest
) -> None:
    if manifest["kind"] == SCALED_OBJECT:
        request.getfixturevalue("keda")
    dry_run(api, manifest)


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: f"{one['kind']} {name_of(one)}")
def test_misspelt_field_of_a_manifest_is_refused(
    manifest: Manifest, api: ApiClient, request: pytest.FixtureRequest
) -> None:
    if manifest["kind"] == SCALED_OBJECT:
        request.getfixturevalue("keda")
    with pytest.raises(ApiRefused, match="unknown field"):
        dry_run(api, {**manifest, "spec": {**manifest["spec"], "maximumReplicas": 8}})


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: f"{one['kind']} {name_of(one)}")
def test_target_is_an_adapter_of_the_example(manifest: Manifest) -> None:
    graph = load_example("vllm-disagg-planner")
    adapters = {
        f"{name_of(graph)}-{service.lower()}"
        for service, spec in graph["spec"]["services"].items()
        if (spec.get("scalingAdapter") or {}).get("enabled")
    }
    target = manifest["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"] in adapters) == (SCALING_ADAPTER, True)


def wanted_by_hpa(trigger: Manifest, *, replicas: int, value: float) -> float:
    """What the HPA wants for one external metric, before it rounds and limits.

    Source: Kubernetes, "Horizontal Pod Autoscaling", algorithm details.
    """
    threshold = float(trigger["metadata"]["threshold"])
    shared: dict[str, Any] = {"Value": replicas * value / threshold, "AverageValue": value / threshold}
    return float(shared[trigger.get("metricType", "AverageValue")])


@each_scaled_object
def test_workers_that_are_too_slow_get_more(manifest: Manifest) -> None:
    (trigger,) = manifest["spec"]["triggers"]
    slow = 2 * float(trigger["metadata"]["threshold"])
    assert wanted_by_hpa(trigger, replicas=6, value=slow) == pytest.approx(12)
    assert wanted_by_hpa({**trigger, "metricType": "AverageValue"}, replicas=6, value=slow) == pytest.approx(2)
