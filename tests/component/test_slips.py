"""Slips of a component are warned about, each at its field, and a right spec is not."""

from typing import Any

import pytest

from hooks.component.rules.slips import find_slips
from hooks.component.rules.validate import review_component
from hooks.ground.problems import SPEC, texts_of
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.validation.review import Review
from tests import make
from tests.component import render
from tests.component.api_server_cases import main, pod

VLLM = {"command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
TWO_NODES = {"componentType": "worker", "multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "8"}}}


def warnings(spec: dict[str, Any], **settings: str) -> tuple[str, ...]:
    """What is said of a component without a graph that is about to be written."""
    facts = make.facts(make.NOW, **settings)
    component = make.component("c", "", **spec)
    verdict = review_component(Review(new=component, old=None, user=None, settings=facts.settings, installed=None))
    assert verdict.problems == ()
    return texts_of(make.without_release(verdict.warnings))


SLIPS: dict[str, tuple[dict[str, Any], str]] = {
    "type in capitals": (
        {"componentType": "Worker"},
        "spec.componentType: 'Worker' is none of the types with defaults",
    ),
    "misspelt type": ({"componentType": "wroker"}, "so it gets no probes and no ports; did you mean worker?"),
    "discovery": (
        {"annotations": {"nvidia.com/dynamo-discovery-backend": "k8s"}},
        (
            "spec.annotations[nvidia.com/dynamo-discovery-backend]: 'k8s' is none of "
            "kubernetes, etcd, so processes do not "
            "find each other; did you mean kubernetes?"
        ),
    ),
    "discovery mode": (
        {"annotations": {"nvidia.com/dynamo-kube-discovery-mode": "Container"}},
        "'Container' is none of pod, container and has no effect; did you mean container?",
    ),
    "metrics": (
        {"annotations": {"nvidia.com/enable-metrics": "no"}},
        "spec.annotations[nvidia.com/enable-metrics]: 'no' is none of true, false and has no effect",
    ),
    "strategy": (
        {"annotations": {"nvidia.com/deployment-strategy": "recreate"}},
        (
            "'recreate' is none of RollingUpdate, Recreate, RampedSlowRollout, BestEffortControlledRollout and has no "
            "effect; did you mean Recreate?"
        ),
    ),
    "ingress that makes nothing": (
        {"ingress": {"enabled": True, "host": "h"}},
        "spec.ingress: is enabled and makes nothing; set spec.ingress.ingressControllerClassName, or",
    ),
    "virtual service without a gateway": (
        {"ingress": {"enabled": True, "host": "h", "useVirtualService": True}},
        "spec.ingress: is enabled and makes nothing",
    ),
    "ports without that of the probes": (
        {"componentType": "worker", **main(ports=[{"name": "metrics", "containerPort": 8081}])},
        "spec.extraPodSpec.mainContainer.ports: no port is named 'system', at which",
    ),
    "probe at a port that is not there": (
        {"componentType": "frontend", **main(startupProbe={"httpGet": {"path": "/", "port": "web"}})},
        "spec.extraPodSpec.mainContainer.startupProbe: no port is named 'web', at which",
    ),
    "vLLM on each node by itself": (
        {**TWO_NODES, **main(**VLLM)},
        "spec.multinode: vLLM does not span the 2 nodes, because",
    ),
    "planner of 1.0 with the arguments of an older one": (
        {
            "componentType": "planner",
            **main(image="p:1.6.1", command=["python3", "-m", "dynamo.planner"], args=["--environment=k"]),
        },
        (
            "spec.extraPodSpec.mainContainer.args: a planner of Dynamo 1.6.1 takes --config alone, with JSON or the "
            "path of a file, and ends without it; run python3 -m dynamo.planner --config"
        ),
    ),
    "launch by a script": (
        {**TWO_NODES, "backendFramework": "sglang", **main(command=["sh", "-c"], args=["/launch.sh"])},
        "spec.extraPodSpec.mainContainer.command: no Python that runs sglang is found in 'sh -c /launch.sh'",
    ),
}


@pytest.mark.parametrize(("spec", "expected"), SLIPS.values(), ids=SLIPS.keys())
def test_slip_is_warned_about_at_its_field(spec: dict[str, Any], expected: str) -> None:
    found = warnings(spec)
    assert len(found) == 1, found
    assert expected in found[0]


RIGHT: dict[str, dict[str, Any]] = {
    "every type": {"componentType": "decode"},
    "no type": {},
    "type without defaults": {"componentType": "default"},
    "known values": {
        "annotations": {
            "nvidia.com/dynamo-discovery-backend": "etcd",
            "nvidia.com/dynamo-kube-discovery-mode": "container",
            "nvidia.com/enable-metrics": "false",
            "nvidia.com/deployment-strategy": "Recreate",
        }
    },
    "ingress of a class": {"ingress": {"enabled": True, "host": "h", "ingressControllerClassName": "nginx"}},
    "ingress that is off": {"ingress": {"enabled": False}},
    "ports with that of the probes": {
        "componentType": "worker",
        **main(ports=[{"name": "system", "containerPort": 9090}, {"name": "m", "containerPort": 1}]),
    },
    "probes at numbers": {
        "componentType": "frontend",
        "livenessProbe": {"tcpSocket": {"port": 1}},
        "readinessProbe": {"tcpSocket": {"port": "80"}},
        **main(ports=[{"containerPort": 1}]),
    },
    "planner of 1.6": {
        "componentType": "planner",
        **main(image="p:1.6.1", command=["python3", "-m", "dynamo.planner"], args=["--config", "{}"]),
    },
    "planner of 1.6 with ports of its own": {
        "componentType": "planner",
        **main(image="p:1.6.1", ports=[{"name": "metrics", "containerPort": 9085}]),
    },
    "planner of 0.9": {
        "componentType": "planner",
        **main(image="p:0.9.1", command=["python3", "-m", "dynamo.planner.planner_sla"], args=["--environment=k"]),
    },
    "planner of another program": {"componentType": "planner", **main(image="p:1.6.1", command=["plan"])},
    "vLLM over two nodes": {**TWO_NODES, **main(**{**VLLM, "args": ["--tensor-parallel-size", "16"]})},
    "side container of any ports": pod(containers=[{"name": "a", "image": "i", "ports": [{"containerPort": 1}]}]),
}


@pytest.mark.parametrize("spec", RIGHT.values(), ids=RIGHT.keys())
def test_right_spec_is_not_warned_about(spec: dict[str, Any]) -> None:
    assert warnings(spec) == ()


def test_components_that_name_one_dynamo_namespace_share_it() -> None:
    assert warnings({"dynamoNamespace": "shared"}) == ()


def test_dynamo_namespace_of_a_component_in_the_global_one_is_ignored_with_a_warning() -> None:
    (warning,) = warnings({"dynamoNamespace": "shared", "globalDynamoNamespace": True})
    assert "Value 'shared' will be replaced with 'dynamo'" in warning


@pytest.mark.parametrize("nodes", [0, 2**63])
def test_too_many_nodes_are_a_problem_and_no_failure_of_the_warnings(nodes: int) -> None:
    settings = make.facts(make.NOW).settings
    component = make.component("c", "", **{**TWO_NODES, "multinode": {"nodeCount": nodes}})
    verdict = review_component(Review(new=component, old=None, user=None, settings=settings, installed=None))
    assert any(f"spec.multinode.nodeCount: is {nodes}" in text for text in texts_of(verdict.problems))


POWER_LIMIT = "dynamo.nvidia.com/gpu-power-limit"


@pytest.mark.parametrize(("value", "is_right"), [("400", True), ("0", False), ("400W", False), ("", False)])
def test_power_limit_that_nothing_applies_is_warned_about(value: str, is_right: bool) -> None:
    metadata = {"annotations": {POWER_LIMIT: value}}
    path = f"spec.extraPodMetadata.annotations[{POWER_LIMIT}]"
    text = f"{path}: {value!r} is no whole number of watts above 0, so no power agent and no planner applies it"
    spec = ComponentSpec.model_validate({"componentType": "worker", "extraPodMetadata": metadata})
    assert [one.text for one in find_slips(spec, SPEC, "", {})] == ([] if is_right else [text])


RELEASES = {
    "latest": ({"image": "i:latest"}, {}, True),
    "digest": ({"image": "i@sha256:0"}, {}, True),
    "number": ({"image": "i:1"}, {}, True),
    "release": ({"image": "i:1.5.0-cuda13"}, {}, False),
    "release beside it": ({"image": "i:latest"}, {"runtimeVersionOverride": "1.5.0"}, False),
}


@pytest.mark.parametrize(("container", "more", "is_warned"), RELEASES.values(), ids=RELEASES)
def test_image_that_names_no_release_is_warned_of(container: Any, more: Any, *, is_warned: bool) -> None:
    component = make.component("c", "", **pod(mainContainer=container), **more)
    review = Review(new=component, old=None, user=None, settings=make.facts().settings, installed=None)
    text = (
        f"spec.extraPodSpec.mainContainer.image: the tag of {container['image']!r} names no release of Dynamo, so a "
        "new component gets the defaults of 0.9, and a running one keeps its release; write the release into "
        "spec.runtimeVersionOverride, such as 1.5.0"
    )
    assert texts_of(review_component(review).warnings) == (text,) * is_warned


TWICE: Any = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
REPEATED: dict[str, tuple[dict[str, Any], str]] = {
    "envs": ({"envs": TWICE}, "spec.envs"),
    "main container": (
        pod(mainContainer={"image": "img:1", "env": TWICE}),
        "spec.extraPodSpec.mainContainer.env",
    ),
    "container beside it": (
        pod(containers=[{"name": "s", "image": "s:1", "env": TWICE}]),
        "spec.extraPodSpec.containers[0].env",
    ),
    "init container": (
        pod(initContainers=[{"name": "s", "image": "s:1", "env": TWICE}]),
        "spec.extraPodSpec.initContainers[0].env",
    ),
    "frontend beside it": ({"frontendSidecar": {"image": "f:1", "envs": TWICE}}, "spec.frontendSidecar.envs"),
}


@pytest.mark.parametrize(("spec", "path"), REPEATED.values(), ids=REPEATED)
def test_variable_that_a_list_has_twice_is_warned_of_with_both_places(spec: dict[str, Any], path: str) -> None:
    said = [text for text in warnings(spec) if "the variable" in text]
    assert said == [
        (
            f"{path}[2]: the variable A stands at {path}[0] too, where it has no effect, because the last of equal "
            "names counts; remove one of them"
        )
    ]


@pytest.mark.parametrize(("spec", "path"), REPEATED.values(), ids=REPEATED)
def test_pods_have_the_last_of_variables_with_one_name(spec: dict[str, Any], path: str) -> None:
    template = render.pod(make.with_image(spec))
    containers = [*template["containers"], *template.get("initContainers", ())]
    found = [
        [entry["value"] for entry in one.get("env", ()) if entry["name"] == "A"]
        for one in containers
        if any(entry["name"] == "B" for entry in one.get("env", ()))
    ]
    assert found == [["3"]]
