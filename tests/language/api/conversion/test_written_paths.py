"""The paths of problems in the v1beta1 object that was written."""

import pytest
import yaml

from hooks.ground.k8s.types import Json, Manifest
from hooks.ground.problems import HERE, METADATA, SPEC, FieldPath, Key
from hooks.language.versions import convert, written_path
from tests.language.api.conversion.both_versions import AGGREGATED, COMPONENT, DISAGGREGATED
from tests.language.api.conversion.graphs import BETA, alpha, graph

GRAPH = yaml.safe_load(AGGREGATED[1])
WORKER, FRONTEND = SPEC / "services" / Key("Worker"), SPEC / "services" / Key("Frontend")
MAIN = "spec.components[0].podTemplate.spec.containers[1]"

PATHS: dict[FieldPath, str] = {
    SPEC / "services": "spec.components",
    SPEC / "envs" / 0 / "name": "spec.env[0].name",
    SPEC / "topologyConstraint.topologyProfile": "spec.topologyConstraint.clusterTopologyName",
    SPEC / "backendFramework": "spec.backendFramework",
    METADATA / "name": "metadata.name",
    HERE: "",
    HERE / "status" / "services" / Key("Worker"): "status.components[Worker]",
    WORKER: "spec.components[0]",
    SPEC / "services" / Key("other"): "spec.components",
    WORKER / "componentType": "spec.components[0].type",
    WORKER / "subComponentType": "spec.components[0].type",
    WORKER / "replicas": "spec.components[0].replicas",
    WORKER / "scalingAdapter.enabled": "spec.components[0].scalingAdapter",
    WORKER / "sharedMemory.size": "spec.components[0].sharedMemorySize",
    WORKER / "multinode.nodeCount": "spec.components[0].multinode.nodeCount",
    WORKER / "envs" / 0 / "value": f"{MAIN}.env[0].value",
    WORKER / "resources.limits.gpu": f"{MAIN}.resources.limits[nvidia.com/gpu]",
    WORKER / "resources.limits.gpuType": f"{MAIN}.resources.limits[nvidia.com/gpu]",
    WORKER / "resources.limits.memory": f"{MAIN}.resources.limits[memory]",
    WORKER / "resources.requests.custom" / Key("ephemeral-storage"): f"{MAIN}.resources.requests[ephemeral-storage]",
    WORKER / "resources": f"{MAIN}.resources",
    WORKER / "volumeMounts" / 0 / "name": "spec.components[0].compilationCache.pvcName",
    WORKER / "volumeMounts" / 1 / "mountPoint": f"{MAIN}.volumeMounts[0].mountPath",
    WORKER / "extraPodMetadata.labels" / Key("team"): "spec.components[0].podTemplate.metadata.labels[team]",
    WORKER / "extraPodSpec.tolerations" / 0: "spec.components[0].podTemplate.spec.tolerations[0]",
    WORKER / "extraPodSpec.containers" / 0 / "image": "spec.components[0].podTemplate.spec.containers[0].image",
    WORKER / "extraPodSpec.mainContainer.image": f"{MAIN}.image",
    WORKER / "extraPodSpec.mainContainer.startupProbe.failureThreshold": f"{MAIN}.startupProbe.failureThreshold",
    WORKER / "extraPodSpec": "spec.components[0].podTemplate.spec",
    WORKER / "gpuMemoryService.mode": "spec.components[0].experimental.gpuMemoryService.mode",
    WORKER / "failover.enabled": "spec.components[0].experimental.failover",
    WORKER / "checkpoint.enabled": "spec.components[0].experimental.checkpoint.enabled",
    FRONTEND / "envFromSecret": "spec.components[1].podTemplate.spec.containers[0].envFrom[0].secretRef.name",
    FRONTEND / "livenessProbe.httpGet": "spec.components[1].podTemplate.spec.containers[0].livenessProbe.httpGet",
}


@pytest.mark.parametrize(("path", "written"), PATHS.items(), ids=map(str, PATHS))
def test_a_path_names_the_field_that_was_written(path: FieldPath, written: str) -> None:
    assert str(written_path(path, GRAPH)) == written


def test_a_path_of_v1alpha1_stays() -> None:
    for path in PATHS:
        assert written_path(path, yaml.safe_load(AGGREGATED[0])) == path


def test_a_component_has_its_fields_in_its_spec() -> None:
    component = yaml.safe_load(COMPONENT[1])
    assert str(written_path(SPEC / "serviceName", component)) == "spec.name"
    written = written_path(SPEC / "extraPodSpec.mainContainer.command" / 0, component)
    assert str(written) == "spec.podTemplate.spec.containers[0].command[0]"
    service = FieldPath(("status", "service", "replicas"))
    assert str(written_path(service, component)) == "status.component.replicas"


def test_a_scaling_adapter_names_a_component() -> None:
    adapter = {"apiVersion": BETA, "kind": "DynamoGraphDeploymentScalingAdapter", "spec": {}}
    assert str(written_path(SPEC / "dgdRef.serviceName", adapter)) == "spec.dgdRef.componentName"


def test_a_mount_that_says_more_is_found_in_the_main_container() -> None:
    path = SPEC / "services" / Key("prefill") / "extraPodSpec.mainContainer.volumeMounts" / 0 / "mountPath"
    written = written_path(path, yaml.safe_load(DISAGGREGATED[1]))
    assert str(written) == "spec.components[0].podTemplate.spec.containers[0].volumeMounts[0].mountPath"


def with_main(**fields: Json) -> Manifest:
    containers = [{"name": "sidecar-frontend", "image": "i"}, {"name": "main", **fields}]
    pod = {"podTemplate": {"spec": {"containers": containers}}, "frontendSidecar": "sidecar-frontend"}
    return graph(BETA, {"components": [{"name": "w", **pod}]})


def test_the_sidecar_is_a_container() -> None:
    service = SPEC / "services" / Key("w")
    containers = "spec.components[0].podTemplate.spec.containers"
    assert str(written_path(service / "frontendSidecar.image", with_main())) == f"{containers}[0].image"
    assert str(written_path(service / "frontendSidecar.envs" / 0, with_main())) == f"{containers}[0].env[0]"
    assert str(written_path(service / "frontendSidecar", with_main())) == "spec.components[0].frontendSidecar"


def test_a_missing_main_container_has_the_path_of_the_containers() -> None:
    document = graph(BETA, {"components": [{"name": "w"}]})
    path = SPEC / "services" / Key("w") / "extraPodSpec.mainContainer.image"
    assert str(written_path(path, document)) == "spec.components[0].podTemplate.spec.containers"


def test_what_is_only_in_the_annotation_has_its_path() -> None:
    document = convert(alpha(ingress={"enabled": True}, serviceName="x"), "v1beta1")
    for path in (SPEC / "services" / Key("w") / "ingress.host", SPEC / "pvcs" / 0, SPEC / "services" / Key("nothing")):
        assert str(written_path(path, document)) == "metadata.annotations[nvidia.com/dgd-spec]"


def test_a_variable_is_found_by_its_name() -> None:
    service = {"envs": [{"name": "B"}], "extraPodSpec": {"mainContainer": {"env": [{"name": "A"}]}}}
    document = convert(alpha(**service), "v1beta1")
    main = "spec.components[0].podTemplate.spec.containers[0]"
    at = SPEC / "services" / Key("w")
    assert str(written_path(at / "envs" / 0, document)) == f"{main}.env[1]"
    assert str(written_path(at / "extraPodSpec.mainContainer.env" / 0, document)) == f"{main}.env[0]"


def test_the_field_that_switches_an_adapter_is_named_where_it_is_written() -> None:
    component = {**GRAPH["spec"]["components"][0], "scalingAdapter": {"enabled": False}}
    graph = {**GRAPH, "spec": {**GRAPH["spec"], "components": [component]}}
    written = written_path(WORKER / "scalingAdapter.enabled", graph)
    assert str(written) == "spec.components[0].scalingAdapter.enabled"
