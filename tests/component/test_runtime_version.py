"""The release that a component runs, and the defaults that it chooses."""

from typing import Any

import pytest

from hooks.component.image.runtime_version import (
    RuntimeVersion,
    find_runtime_container,
    parse_image_version,
    parse_version,
    resolve_runtime_version,
)
from hooks.ground.k8s.types import Manifest
from hooks.language.api.component_spec import ComponentSpec
from hooks.wire.policy.rendering_mark import digest_component, mark, read_mark
from tests import make
from tests.component.render import answer, children, deployment, env, main, only, pod

V1_6_1 = RuntimeVersion(1, 6, 1)
IMAGES = {
    "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1": V1_6_1,
    "vllm-runtime:1.6.1": V1_6_1,
    "registry:5000/a/vllm-runtime:1.6.1": V1_6_1,
    "localhost:5000/vllm-runtime:v1.6.1": V1_6_1,
    "r/a:V1.6.1": V1_6_1,
    "r/a:1.6.1-cuda13": V1_6_1,
    "r/a:1.6.1-cuda13.0-arm64": V1_6_1,
    "r/a:1.6.1-rc.1": V1_6_1,
    " r/a:1.6.1 ": V1_6_1,
    "r/a:1.6.1@sha256:0123456789abcdef": V1_6_1,
    "r/a:0.9.1": RuntimeVersion(0, 9, 1),
    "r/vllm-runtime:10.20.30": RuntimeVersion(10, 20, 30),
    "r/a:1.9.0": RuntimeVersion(1, 9),
    "r/a:3.0.0": None,
    "r/a:0.28.0": None,
    "vllm/vllm-openai:v0.28.0": None,
    "nvcr.io/nim/meta/llama-3.1-8b-instruct:3.0.0": None,
    "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.5.0": None,
    "lmsysorg/sglang:v0.5.21": None,
    "r/a@sha256:0123456789abcdef": None,
    "registry:5000/a": None,
    "registry:1.6.1/a": None,
    "r/a": None,
    "r/a:latest": None,
    "r/a:1.6": None,
    "r/a:1": None,
    "r/a:1.6.1.2": None,
    "r/a:1.6.1rc1": None,
    "r/a:01.6.1": None,
    "r/a:vv1.6.1": None,
    "r/a:1.6.1_cuda": None,
    "r/a:x-1.6.1": None,
    "r/a:": None,
    ":1.6.1": None,
    "": None,
}


@pytest.mark.parametrize(("image", "version"), IMAGES.items(), ids=repr)
def test_version_is_read_from_the_tag_of_an_image(image: str, version: RuntimeVersion | None) -> None:
    assert parse_image_version(image) == version


def test_versions_are_ordered_by_their_numbers() -> None:
    texts = ["1.10.0", "0.9.1", "1.5.10", "1.5.9", "1.6.0-rc1"]
    ordered = sorted(version for text in texts if (version := parse_version(text)) is not None)
    assert [str(version) for version in ordered] == ["0.9.1", "1.5.9", "1.5.10", "1.6.0", "1.10.0"]


def spec_of(image: str, **fields: Any) -> dict[str, Any]:
    pod = {"mainContainer": {"image": image}, **fields.pop("pod", {})}
    return {"componentType": "worker", "extraPodSpec": pod, **fields}


def beside(image: str, **fields: Any) -> dict[str, Any]:
    """A pod with an init container `runtime` of that image."""
    return {"initContainers": [{"name": "a", "image": "a"}, {"name": "runtime", "image": image, **fields}]}


ALWAYS = {"restartPolicy": "Always"}
RESOLVED: dict[str, tuple[dict[str, Any], RuntimeVersion | None, int | None]] = {
    "image": (spec_of("r:1.6.1"), V1_6_1, None),
    "override": (spec_of("r:0.9.1", runtimeVersionOverride="1.6.1"), V1_6_1, None),
    "override of no tag": (spec_of("r", runtimeVersionOverride="1.6.1"), V1_6_1, None),
    "override that is no version": (spec_of("r:1.6.1", runtimeVersionOverride="new"), None, None),
    "runtime beside the engine": (spec_of("engine:0.1.0", pod=beside("r:1.6.1", **ALWAYS)), V1_6_1, 1),
    "runtime beside the engine by override": (
        spec_of("e", pod=beside("r", **ALWAYS), runtimeVersionOverride="1.6.1"),
        V1_6_1,
        1,
    ),
    "runtime that ends": (spec_of("r:1.4.0", pod=beside("r:1.6.1")), RuntimeVersion(1, 4, 0), None),
    "older runtime": (spec_of("r:1.4.0", pod=beside("r:1.5.0", **ALWAYS)), RuntimeVersion(1, 4, 0), None),
    "runtime of unknown release": (spec_of("r:1.6.1", pod=beside("r:mine", **ALWAYS)), V1_6_1, None),
    "no image": ({"componentType": "worker"}, None, None),
    "wrong types": (
        {"extraPodSpec": {"mainContainer": "x", "initContainers": [1, {"name": "runtime"}, None]}},
        None,
        None,
    ),
    "image that is no text": (spec_of(5), None, None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("spec", "version", "index"), RESOLVED.values(), ids=RESOLVED)
def test_override_counts_before_the_image(
    spec: dict[str, Any], version: RuntimeVersion | None, index: int | None
) -> None:
    parsed = ComponentSpec.model_validate(spec)
    assert (resolve_runtime_version(parsed), find_runtime_container(parsed)) == (version, index)


TAGS = ("latest", "0.9.1", "1.0.0", "1.4.9", "1.5.0", "1.5.3-cuda13", "1.6.0-rc1", "1.6.1", "1.9.0")
UNCHANGED = ("latest", "0.9.1")
BEFORE_1_5 = (*UNCHANGED, "1.0.0", "1.4.9")


def of_type(kind: str, tag: str, **fields: Any) -> dict[str, Any]:
    return {**spec_of(f"registry:5000/r:{tag}", **fields), "componentType": kind}


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("kind", ["worker", "prefill", "decode"])
def test_worker_is_checked_by_canaries_from_release_1_5_on(kind: str, tag: str) -> None:
    is_new = tag not in BEFORE_1_5
    spec = of_type(kind, tag)
    assert main(spec)["livenessProbe"]["failureThreshold"] == (3 if is_new else 1)
    assert env(spec)["DYN_HEALTH_CHECK_ENABLED"] == ("true" if is_new else "false")


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("kind", ["worker", "prefill", "decode"])
def test_worker_reports_its_forward_passes_from_release_1_0_on(kind: str, tag: str) -> None:
    port = None if tag in UNCHANGED else "20380"
    assert env(of_type(kind, tag)).get("DYN_FORWARDPASS_METRIC_PORT") == port
    assert "DYN_FORWARDPASS_METRIC_PORT" not in env(of_type("frontend", tag))


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("kind", ["worker", "prefill", "decode", "frontend", "planner"])
def test_worker_has_time_to_drain_from_release_1_0_on(kind: str, tag: str) -> None:
    is_long = kind in {"worker", "prefill", "decode"} and tag not in UNCHANGED
    assert pod(of_type(kind, tag))["terminationGracePeriodSeconds"] == (100 if is_long else 60)
    mine = of_type(kind, tag, pod={"terminationGracePeriodSeconds": 7})
    assert pod(mine)["terminationGracePeriodSeconds"] == 7


def test_engine_beside_the_runtime_has_time_to_drain() -> None:
    spec = of_type("worker", "0.1.0", pod=beside("r:1.6.1", **ALWAYS))
    assert pod(spec)["terminationGracePeriodSeconds"] == 100


@pytest.mark.parametrize("tag", TAGS)
def test_worker_has_a_port_for_nixl_from_release_1_0_on(tag: str) -> None:
    spec, is_new = of_type("worker", tag), tag not in UNCHANGED
    ports = {port["name"]: port["containerPort"] for port in main(spec)["ports"]}
    assert ports == {"system": 9090, **({"nixl": 19090} if is_new else {})}
    found = {name: value for name, value in env(spec).items() if name.startswith("NIXL_")}
    expected = {
        "NIXL_TELEMETRY_ENABLE": "n",
        "NIXL_TELEMETRY_EXPORTER": "prometheus",
        "NIXL_TELEMETRY_PROMETHEUS_PORT": "19090",
    }
    assert found == (expected if is_new else {})


ORIGIN = {"nvidia.com/dynamo-operator-origin-version": "1.5.0", "nvidia.com/dynamo-kube-discovery-mode": "container"}


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("kind", ["frontend", "worker", "planner", "default"])
def test_pods_say_how_they_discover_each_other_from_release_1_0_on(kind: str, tag: str) -> None:
    spec = of_type(kind, tag, annotations=ORIGIN, extraPodMetadata={"annotations": {"a": "b"}})
    found = deployment(spec)["spec"]["template"]["metadata"]["annotations"]
    described = {**ORIGIN, "nvidia.com/dynamo-discovery-backend": "kubernetes"}
    assert found == {"a": "b", **({} if tag in UNCHANGED else described)}


KEPT = {"nvidia.com/dynamo-hooks-namespace-prefix": "true"}
PREFIX = {"DYN_NAMESPACE_PREFIX": "default-g"}
STRICT = {**PREFIX, "DYN_NAMESPACE_PREFIX_STRICT": "true"}
PREFIXES: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "no release": ("latest", {}, {}),
    "no release, whose frontend saw a generation before": ("latest", KEPT, PREFIX),
    "0.9": ("0.9.1", KEPT, {}),
    "1.0.1": ("1.0.1", KEPT, {}),
    "1.0.2": ("1.0.2", KEPT, PREFIX),
    "1.0.2 beside another graph": ("1.0.2", {}, {}),
    "1.6.0": ("1.6.0", KEPT, PREFIX),
    "1.6.0 beside another graph": ("1.6.0", {}, {}),
    "1.6.1": ("1.6.1", {}, STRICT),
}


@pytest.mark.parametrize(("tag", "annotations", "expected"), PREFIXES.values(), ids=PREFIXES)
def test_frontend_sees_workers_of_all_generations(tag: str, annotations: Any, expected: dict[str, str]) -> None:
    def prefixes(variables: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in variables.items() if name.startswith("DYN_NAMESPACE_")}

    spec = of_type("frontend", tag, annotations=annotations)
    assert prefixes(env(spec)) == expected
    assert prefixes(env(spec, graph="")) == {}
    shared = env({**spec, "globalDynamoNamespace": True})
    assert prefixes(shared) == ({**STRICT, "DYN_NAMESPACE_PREFIX": "dynamo"} if expected == STRICT else {})
    beside = of_type(
        "worker",
        tag if tag == "latest" else "1.6.1",
        annotations=annotations,
        frontendSidecar={"image": f"f:{tag}"},
    )
    sidecar = next(one for one in pod(beside)["containers"] if one["name"] == "sidecar-frontend")
    assert prefixes({one["name"]: one.get("value") for one in sidecar["env"]}) == expected
    assert prefixes(env(beside)) == {}


@pytest.mark.parametrize("tag", ["1.5.0", "1.6.0", "1.6.1"])
def test_picker_sees_no_workers_of_other_graphs_from_release_1_6_1_on(tag: str) -> None:
    spec = of_type("epp", tag)
    found = {name: value for name, value in env(spec).items() if name.startswith("DYN_NAMESPACE_")}
    assert found == (STRICT if tag == "1.6.1" else PREFIX)
    assert main(spec)["startupProbe"]["grpc"] == {"port": 9003, "service": "inference-extension"}


@pytest.mark.parametrize("tag", TAGS)
def test_frontend_has_time_to_start_from_release_1_6_on(tag: str) -> None:
    expected = {
        "httpGet": {"path": "/live", "port": "http"},
        "periodSeconds": 10,
        "timeoutSeconds": 1,
        "failureThreshold": 30,
    }
    is_new = tag not in {*BEFORE_1_5, "1.5.0", "1.5.3-cuda13"}
    assert main(of_type("frontend", tag)).get("startupProbe") == (expected if is_new else None)


@pytest.mark.parametrize("tag", TAGS)
def test_planner_is_probed_from_release_1_6_on(tag: str) -> None:
    container, variables = main(of_type("planner", tag)), env(of_type("planner", tag))
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    if tag in {*BEFORE_1_5, "1.5.0", "1.5.3-cuda13"}:
        assert ports == {"metrics": 9085}
        assert not {"livenessProbe", "readinessProbe", "startupProbe"} & container.keys()
        assert "DYN_SYSTEM_PORT" not in variables
    else:
        assert ports == {"metrics": 9085, "system": 9090}
        assert container["livenessProbe"]["httpGet"] == {"path": "/live", "port": 9090}
        assert container["readinessProbe"]["httpGet"] == {"path": "/health", "port": 9090}
        startup = container["startupProbe"]
        assert startup["periodSeconds"] * startup["failureThreshold"] == 7200
        assert variables["DYN_SYSTEM_PORT"] == "9090"


@pytest.mark.parametrize("tag", UNCHANGED)
@pytest.mark.parametrize("kind", ["frontend", "worker", "planner", "default"])
def test_image_of_an_old_or_unknown_release_gets_the_pod_of_an_image_without_tag(kind: str, tag: str) -> None:
    def template(image: str) -> Any:
        spec = {"componentType": kind, "extraPodSpec": {"mainContainer": {"image": image}}}
        found = deployment(spec)["spec"]["template"]
        found["spec"]["containers"][-1]["image"] = ""
        return found

    assert template(f"r:{tag}") == template("r")


def test_override_chooses_defaults_and_leaves_the_image() -> None:
    container = main(of_type("worker", "latest", runtimeVersionOverride="1.5.0"))
    assert (container["image"], container["livenessProbe"]["failureThreshold"]) == ("registry:5000/r:latest", 3)


def test_users_values_win_over_those_of_a_release() -> None:
    spec = of_type("worker", "1.6.0", livenessProbe={"tcpSocket": {"port": 1}})
    spec["envs"] = [{"name": "DYN_HEALTH_CHECK_ENABLED", "value": "false"}]
    assert main(spec)["livenessProbe"] == {"tcpSocket": {"port": 1}}
    assert env(spec)["DYN_HEALTH_CHECK_ENABLED"] == "false"


def test_numbers_of_a_user_change_the_startup_probe_of_a_release() -> None:
    spec = of_type("frontend", "1.6.0")
    spec["extraPodSpec"]["mainContainer"]["startupProbe"] = {"failureThreshold": 90}
    probe = main(spec)["startupProbe"]
    assert (probe["failureThreshold"], probe["periodSeconds"]) == (90, 10)


def test_running_worker_of_a_newer_release_waits_with_its_new_defaults() -> None:
    parent = make.component("c", **of_type("worker", "1.6.1"))
    given = answer(parent, [make.observed(child, status=make.deployment_status()) for child in _of_revision_1(parent)])
    container = only(given.children, "Deployment")["spec"]["template"]["spec"]["containers"][-1]
    assert container["livenessProbe"]["failureThreshold"] == 1
    assert given.status is not None
    assert [one["message"] for one in given.status["conditions"] if one["type"] == "Held"]


def _of_revision_1(parent: Manifest) -> list[Manifest]:
    """The children as they were before releases chose defaults: with the pod of an image of unknown release."""
    image = parent["spec"]["extraPodSpec"]["mainContainer"]["image"]
    old = {**parent, "spec": {**parent["spec"], "extraPodSpec": {"mainContainer": {"image": "unknown"}}}}
    found = answer(old).children
    return [_with_image(child, image, digest_component(parent["spec"])) for child in found]


def _with_image(child: Manifest, image: str, digest: str) -> Manifest:
    if child["kind"] != "Deployment":
        return child
    template = child["spec"]["template"]
    container = {**template["spec"]["containers"][-1], "image": image}
    pods = {**template, "spec": {**template["spec"], "containers": [container]}}
    return mark({**child, "spec": {**child["spec"], "template": pods}}, digest, 1)


def test_running_worker_of_an_older_release_is_not_held() -> None:
    parent = make.component("c", **of_type("worker", "0.9.1"))
    given = answer(parent, [make.observed(child, status=make.deployment_status()) for child in _of_revision_1(parent)])
    assert given.status is not None
    assert not [one for one in given.status["conditions"] if one["type"] == "Held"]
    assert mark_of(only(given.children, "Deployment")) == 1, "a Deployment that changes nothing is not written"


def mark_of(workload: Manifest) -> int:
    found = read_mark(workload)
    assert found is not None
    return found.revision


def test_service_of_a_planner_keeps_its_port() -> None:
    service = only(children(of_type("planner", "1.6.0")), "Service")
    assert [port["name"] for port in service["spec"]["ports"]] == ["metrics"]
