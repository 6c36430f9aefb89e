"""What cannot be rendered is refused, all of it at once, with the field's path."""

from typing import Any

import pytest

from hooks.component.rules.fragments import validate_fragments
from hooks.component.rules.validate import validate_spec
from hooks.ground.problems import SPEC, Key, texts_of
from hooks.language.api.component_spec import ComponentSpec
from tests import make
from tests.component.api_server_cases import ACCEPTED, main, mounts, pod
from tests.component.api_server_cases import REFUSED as REFUSED_BY_API_SERVER
from tests.component.render import VLLM, answer, problems

SGLANG = ["python3", "-m", "dynamo.sglang"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "negative replicas": ({"replicas": -1}, "spec.replicas must be non-negative"),
    "service name": ({"serviceName": "a b"}, "spec.serviceName: 'a b' is not a label value"),
    "long service name": ({"serviceName": "s" * 64}, "spec.serviceName: 'ssss"),
    "type": ({"componentType": "my/type"}, "spec.componentType: 'my/type' is not a label value"),
    "mount without name": (
        mounts({"name": "", "mountPoint": "/a"}),
        "spec.volumeMounts[0].name: volumeMount.name is required when volumeMounts is set",
    ),
    "mount of no claim": (
        mounts({"name": "A/b", "mountPoint": "/a"}),
        "spec.volumeMounts[0].name: 'A/b' is not a valid name",
    ),
    "mount without place": (
        mounts({"name": "a"}),
        "spec.volumeMounts[0].mountPoint is required when useAsCompilationCache is false",
    ),
    "cache of sglang without place": (
        mounts({"name": "a", "useAsCompilationCache": True}, **main(command=SGLANG)),
        (
            "volumeMount with useAsCompilationCache=true requires an explicit mountPoint for backend framework sglang "
            "(no default available)"
        ),
    ),
    "cache of no engine without place": (
        mounts({"name": "a", "useAsCompilationCache": True}),
        "requires an explicit mountPoint for backend framework noop",
    ),
    "two mounts at one place": (
        mounts({"name": "a", "mountPoint": "/a"}, {"name": "b", "mountPoint": "/a"}),
        "spec.volumeMounts[1].mountPoint: spec.volumeMounts[0] is already mounted at '/a'",
    ),
    "mount at the place of a container's": (
        {
            **mounts({"name": "a", "mountPoint": "/a"}),
            **pod(mainContainer={"volumeMounts": [{"name": "x", "mountPath": "/a"}]}, volumes=[{"name": "x"}]),
        },
        "spec.volumeMounts[0].mountPoint: spec.extraPodSpec.mainContainer.volumeMounts[0] is already mounted at '/a'",
    ),
    "cpu": (
        {"resources": {"limits": {"cpu": "many"}}},
        "spec.resources.limits.cpu: failed to get resources config: parse limits cpu quantity: 'many'",
    ),
    "custom resource": (
        {"resources": {"requests": {"custom": {"x.io/y": "no"}}}},
        "failed to get resources config: parse requests x.io/y quantity",
    ),
    "shared memory": ({"sharedMemory": {"size": "big"}}, "spec.sharedMemory.size: 'big'"),
    "gpu as a number": ({"resources": {"limits": {"gpu": 1}}}, "spec.resources.limits.gpu: "),
    "ingress without host": (
        {"ingress": {"enabled": True}},
        "spec.ingress.host is required when ingress is enabled",
    ),
    "ingress of no host": (
        {"ingress": {"enabled": True, "host": "A b"}},
        "spec.ingress.host: 'A b.local' is not a host name",
    ),
    "surge": (
        {"annotations": {"nvidia.com/deployment-rolling-update-max-surge": "lots"}},
        "spec.annotations[nvidia.com/deployment-rolling-update-max-surge]: 'lots' is not a number of pods",
    ),
    "no pod could be replaced": (
        {
            "annotations": {
                "nvidia.com/deployment-rolling-update-max-surge": "0",
                "nvidia.com/deployment-rolling-update-max-unavailable": "0%",
            }
        },
        "max-surge]: no pod can be replaced, because spec.annotations[nvidia.com/deployment-rolling-update-max-unav",
    ),
    "one port under two protocols": (
        main(ports=[{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]),
        "ports[1].containerPort: spec.extraPodSpec.mainContainer.ports[0] has the number 53 too; Metacontroller merges",
    ),
    "checkpoint": (
        {"checkpoint": {"enabled": True, "checkpointRef": "c"}},
        "spec.checkpoint.enabled: checkpoints are not supported, because they need the Snapshot operator; remove",
    ),
    "picker without configuration": (
        {"componentType": "epp"},
        (
            "spec.eppConfig is required for EPP components of releases before 1.5.0; if the image is of a later "
            "release, say so in its tag or in runtimeVersionOverride"
        ),
    ),
    "native picker with a configuration": (
        {"componentType": "epp", "runtimeVersionOverride": "1.6.0", "eppConfig": {"config": {}}},
        "spec.eppConfig must be omitted for native Rust EPP images with runtime version 1.5.0 or later",
    ),
    "picker with two": (
        {"componentType": "epp", "eppConfig": {"config": {}, "configMapRef": {"name": "a"}}},
        "spec.eppConfig: configMapRef and config are mutually exclusive, only one can be specified",
    ),
    "picker with a nameless map": (
        {"componentType": "epp", "eppConfig": {"configMapRef": {"key": "a"}}},
        "spec.eppConfig.configMapRef.name is required",
    ),
    "picker with a number as the name of a map": (
        {"componentType": "epp", "eppConfig": {"configMapRef": {"name": 7, "key": "a"}}},
        "spec.eppConfig.configMapRef.name: is the integer 7, should be a string",
    ),
    "picker with a list as the key of a map": (
        {"componentType": "epp", "eppConfig": {"configMapRef": {"name": "a", "key": ["k"]}}},
        "spec.eppConfig.configMapRef.key: is an array, should be a string",
    ),
    "resources of a pod that are a list": (
        pod(resources=["cpu"]),
        "spec.extraPodSpec.resources",
    ),
    "picker with a text as a map": (
        {"componentType": "epp", "eppConfig": {"configMapRef": "a"}},
        "spec.eppConfig: configMapRef and config must be objects",
    ),
    "mismatch of engines": (
        {"componentType": "worker", "backendFramework": "sglang", **main(command=VLLM)},
        'backend framework mismatch: detected "vllm" from command but explicitly configured as "sglang"',
    ),
    "quantity of a container": (
        main(resources={"limits": {"cpu": "x"}}),
        "spec.extraPodSpec.mainContainer.resources.limits[cpu]: 'x' is not a quantity",
    ),
    "fraction": (pod(priority=0.5), "spec.extraPodSpec.priority: 0.5 is not a whole number"),
    "container named main": (
        pod(containers=[{"name": "main", "image": "i"}]),
        "spec.extraPodSpec.containers[0].name: 'main' is already the name of spec.extraPodSpec.mainContainer",
    ),
    "two containers of one name": (
        pod(containers=[{"name": "a", "image": "i"}], initContainers=[{"name": "a", "image": "i"}]),
        "spec.extraPodSpec.initContainers[0].name: 'a' is already the name of spec.extraPodSpec.containers[0]",
    ),
    "container's name": (pod(containers=[{"name": "A_b", "image": "i"}]), "'A_b' is not a container name"),
    "nameless container": (pod(containers=[{"image": "a"}]), "spec.extraPodSpec.containers[0].name is required"),
    "two volumes of one name": (
        pod(volumes=[{"name": "a"}, {"name": "a"}]),
        "spec.extraPodSpec.volumes[1].name: 'a' is already the name of spec.extraPodSpec.volumes[0]",
    ),
    "containers of a wrong type": (pod(containers={}), "spec.extraPodSpec.containers: must be an array"),
    "null among containers": (pod(containers=[None]), "spec.extraPodSpec.containers[0]: must be an object"),
    "main container of a wrong type": (pod(mainContainer=[]), "spec.extraPodSpec.mainContainer: must be an object"),
    "command as text": (
        main(command="python3"),
        "spec.extraPodSpec.mainContainer.command: must be an array of strings",
    ),
    "variable as a number": ({"envs": [{"name": "A", "value": 1}]}, "spec.envs[0].value: must be a string"),
    "nameless variable": (main(env=[{"value": "1"}]), "spec.extraPodSpec.mainContainer.env[0].name is required"),
    "probe without handler": (
        {"livenessProbe": {"periodSeconds": 5}},
        "spec.livenessProbe: must have one of exec, grpc, httpGet, tcpSocket",
    ),
}


REFUSED |= REFUSED_BY_API_SERVER


@pytest.mark.parametrize(("spec", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_spec_is_refused_with_the_reason(spec: dict[str, Any], expected: str) -> None:
    found = problems(spec)
    assert len(found) == 1, found
    assert expected in found[0]
    assert "\n" not in found[0]


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_spec_that_the_api_server_takes_passes(spec: dict[str, Any]) -> None:
    assert problems(spec) == ()


def test_each_repeated_name_is_one_problem_at_the_repeated_entry() -> None:
    volumes: list[dict[str, Any]] = [{"name": name, "emptyDir": {}} for name in ("a", "b", "a", "a")]
    given = answer(make.component("c", "g", **pod(volumes=volumes)))
    assert [str(problem.path) for problem in given.problems] == [
        "spec.extraPodSpec.volumes[2].name",
        "spec.extraPodSpec.volumes[3].name",
    ]


def test_number_that_json_cannot_hold_is_judged_like_any_other() -> None:
    spec = ComponentSpec.model_validate(pod(priority=2**64, hostNetwork=0.5))
    assert texts_of(validate_fragments(spec)) == (
        "spec.extraPodSpec.hostNetwork: must be a boolean",
        "spec.extraPodSpec.mainContainer.image: is required; nothing else gives the container an image",
    )


def test_problems_of_a_service_of_a_graph_name_its_fields() -> None:
    path = SPEC / "services" / Key("a.b")
    spec = ComponentSpec.model_validate({"replicas": -1, **pod(volumes=[{"name": "a"}, {"name": "a"}])})
    assert texts_of(validate_spec(spec, path, framework=""))[:2] == (
        "spec.services[a.b].replicas must be non-negative",
        (
            "spec.services[a.b].extraPodSpec.volumes[1].name: 'a' is already the name of "
            "spec.services[a.b].extraPodSpec.volumes[0]; use another name"
        ),
    )


def test_engine_that_is_unknown_is_a_problem_of_the_object_and_not_of_one_service() -> None:
    spec = ComponentSpec.model_validate({"componentType": "worker", **main(image="i")})
    (problem,) = validate_spec(spec, SPEC / "services" / Key("a"), framework="tgi")
    assert problem.path == SPEC / "backendFramework"


def test_all_problems_are_said_at_once() -> None:
    assert len(problems({"replicas": -1, "serviceName": "a b", "ingress": {"enabled": True}})) == 3


def test_name_past_the_limit_is_refused_with_the_limit() -> None:
    (found,) = problems({}, name="c" * 64)
    assert "metadata.name" in found
    assert "at most 63" in found


def test_longest_name_is_fine() -> None:
    assert problems({}, name="c" * 63) == ()


def test_name_that_no_service_may_have_is_refused_where_there_is_one() -> None:
    assert "must begin with a letter" in problems({"componentType": "frontend"}, name="1c")[0]


def test_unknown_framework_is_refused() -> None:
    assert problems({"componentType": "worker", "backendFramework": "tgi"}) == (
        "spec.backendFramework: unsupported backend framework: tgi",
    )


def test_inline_configuration_of_a_picker_needs_a_graph() -> None:
    spec = {"componentType": "epp", "eppConfig": {"config": {}}}
    assert problems(spec) == ()
    assert "configMapRef" in problems(spec, graph="")[0]
