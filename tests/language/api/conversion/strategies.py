"""Objects of both versions: tidy, partial, with fields of the other version, and with values of wrong types."""

import json
from collections.abc import Mapping

from hypothesis import strategies as st

from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest

_NAMES = st.sampled_from(("main", "a", "b", "sidecar-frontend", "models", ""))
_TEXTS = st.sampled_from(("", "0", "1", "16Gi", "0Gi", "x", "worker", "prefill", "main"))
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-1, 2), st.just(1.0), st.just(0.5), _TEXTS)
ODD: st.SearchStrategy[Json] = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2), max_leaves=4
)
"""Any JSON value."""

Documents = st.SearchStrategy[Manifest]


def fields(known: Mapping[str, st.SearchStrategy[Json]]) -> st.SearchStrategy[dict[str, Json]]:
    """An object with some of these fields; now and then one of another type, and a field of another name."""
    mixed = {name: st.one_of(value, value, value, ODD) for name, value in known.items()}
    extra = st.dictionaries(st.sampled_from(("unknown", "name", "enabled", "spec")), ODD, max_size=1)
    return st.builds(lambda one, two: {**two, **one}, st.fixed_dictionaries({}, optional=mixed), extra)


def _some(*values: Json) -> st.SearchStrategy[Json]:
    return st.sampled_from(values)


_VARIABLES = st.lists(fields({"name": _NAMES, "value": _TEXTS}), max_size=3)
_SOURCES = st.lists(fields({"secretRef": fields({"name": _NAMES})}), max_size=2)
_PROBE = fields({"httpGet": st.just({"path": "/live"}), "periodSeconds": st.integers(1, 3)})
_MOUNTS = st.lists(fields({"name": _NAMES, "mountPath": _some("/a", "/b"), "readOnly": st.booleans()}), max_size=3)
_AMOUNTS = st.dictionaries(
    _some("cpu", "memory", "nvidia.com/gpu", "amd.com/gpu", "rdma/ib"), st.one_of(_TEXTS, _SCALARS), max_size=3
)
_ITEM = fields({"cpu": _TEXTS, "gpu": _TEXTS, "gpuType": _some("amd.com/gpu", ""), "custom": _AMOUNTS})
_NATIVE_RESOURCES = fields({"limits": _AMOUNTS, "requests": _AMOUNTS, "claims": st.lists(ODD, max_size=1)})
_CONTAINER = {
    "name": _NAMES,
    "image": _TEXTS,
    "args": st.lists(_TEXTS, max_size=2),
    "env": _VARIABLES,
    "envFrom": _SOURCES,
    "resources": _NATIVE_RESOURCES,
    "volumeMounts": _MOUNTS,
    "livenessProbe": _PROBE,
    "startupProbe": _PROBE,
}
_CONTAINERS = st.lists(fields(_CONTAINER), max_size=3)
_POD = {"containers": _CONTAINERS, "volumes": st.lists(fields({"name": _NAMES}), max_size=2), "nodeSelector": ODD}
_METADATA = fields({"labels": st.just({"a": "b"}), "annotations": st.just({"c": "d"}), "name": _NAMES})
_COMMON = {
    "replicas": st.integers(0, 2),
    "multinode": st.just({"nodeCount": 2}),
    "scalingAdapter": fields({"enabled": st.booleans()}),
    "modelRef": st.just({"name": "m"}),
}
_FEATURE = fields({"enabled": st.booleans(), "mode": _some("intraPod", "InterPod", "x")})

SERVICE = fields(
    {
        **_COMMON,
        "componentType": _some("worker", "frontend", "prefill", "epp", "main"),
        "subComponentType": _some("prefill", "decode", "x"),
        "serviceName": _NAMES,
        "dynamoNamespace": _NAMES,
        "annotations": st.just({"a": "b"}),
        "ingress": st.just({"enabled": False}),
        "sharedMemory": fields({"disabled": st.booleans(), "size": _TEXTS}),
        "envs": _VARIABLES,
        "envFromSecret": _NAMES,
        "resources": fields({"limits": _ITEM, "requests": _ITEM, "claims": st.lists(ODD, max_size=1)}),
        "livenessProbe": _PROBE,
        "volumeMounts": st.lists(
            fields({"name": _NAMES, "mountPoint": _some("/a", "/b"), "useAsCompilationCache": st.booleans()}),
            max_size=3,
        ),
        "frontendSidecar": fields({"image": _TEXTS, "envs": _VARIABLES, "envFromSecret": _NAMES}),
        "gpuMemoryService": _FEATURE,
        "failover": _FEATURE,
        "checkpoint": _FEATURE,
        "extraPodMetadata": _METADATA,
        "extraPodSpec": fields({**_POD, "mainContainer": fields(_CONTAINER)}),
        "podTemplate": ODD,
        "experimental": ODD,
    }
)
"""A service of v1alpha1."""

COMPONENT = fields(
    {
        **_COMMON,
        "type": _some("worker", "frontend", "prefill", "decode", "epp"),
        "sharedMemorySize": _TEXTS,
        "compilationCache": fields({"pvcName": _NAMES, "mountPath": _some("/a", "/b")}),
        "frontendSidecar": _NAMES,
        "podTemplate": fields({"metadata": _METADATA, "spec": fields(_POD)}),
        "experimental": fields(
            {"gpuMemoryService": _FEATURE, "failover": _FEATURE, "checkpoint": _FEATURE, "grove": ODD}
        ),
        "annotations": ODD,
        "envs": ODD,
        "extraPodSpec": ODD,
        "serviceName": ODD,
    }
)
"""A component of v1beta1, without its name."""

_SERVICE_NAMES = st.sampled_from(("Frontend", "decode", "prefill", "a", ""))
_ALPHA_REPLICAS = fields({"componentName": _NAMES, "componentNames": st.lists(_NAMES, max_size=2), "replicas": ODD})
_BETA_REPLICAS = fields({"componentNames": st.lists(_NAMES, max_size=2), "componentName": _NAMES, "replicas": ODD})
_ROLLING = fields({"updatedServices": ODD, "updatedComponents": ODD, "phase": _TEXTS})
_TOPOLOGY = fields({"topologyProfile": _TEXTS, "clusterTopologyName": _TEXTS, "packDomain": _TEXTS})
_GRAPH = {"restart": ODD, "experimental": ODD, "labels": ODD, "topologyConstraint": _TOPOLOGY, "backendFramework": ODD}
_ALPHA_GRAPH = {
    **_GRAPH,
    "services": st.dictionaries(_SERVICE_NAMES, SERVICE | SERVICE | ODD, max_size=3),
    "envs": _VARIABLES,
    "pvcs": ODD,
    "env": ODD,
    "components": ODD,
}
_NAMED = st.builds(lambda name, component: {**component, "name": name}, _SERVICE_NAMES, COMPONENT)
_BETA_GRAPH = {
    **_GRAPH,
    "components": st.lists(_NAMED | _NAMED | _NAMED | ODD, max_size=3),
    "env": _VARIABLES,
    "pvcs": ODD,
    "envs": ODD,
    "services": ODD,
}
_ANNOTATIONS = st.dictionaries(st.just("mine"), _TEXTS, max_size=1)


def _documents(version: str, kind: str, spec: st.SearchStrategy[Json], status: st.SearchStrategy[Json]) -> Documents:
    metadata = fields({"name": _NAMES, "annotations": _ANNOTATIONS | st.none()})
    return st.fixed_dictionaries(
        {"apiVersion": st.just(f"nvidia.com/{version}"), "kind": st.just(kind)},
        optional={"metadata": metadata, "spec": spec, "status": status, "unknown": ODD},
    )


_NUMBER = st.sampled_from((1, 20.0, 0.5, True, "1"))
_PLANNER = fields({"a": _TEXTS})
ALPHA_REQUEST = fields(
    {
        "model": _TEXTS,
        "backend": _some("vllm", "auto"),
        "useMocker": st.booleans(),
        "autoApply": st.booleans(),
        "enableGpuDiscovery": st.booleans(),
        "deploymentOverrides": fields({"name": _NAMES, "workersImage": _TEXTS}),
        "profilingConfig": fields(
            {
                "profilerImage": _TEXTS,
                "configMapRef": fields({"name": _NAMES}),
                "resources": _NATIVE_RESOURCES,
                "tolerations": st.lists(ODD, max_size=1),
                "nodeSelector": ODD,
                "config": fields(
                    {
                        "sla": fields(dict.fromkeys(("ttft", "itl", "isl", "osl", "optimizationType"), _NUMBER)),
                        "deployment": fields(
                            {
                                "modelCache": fields(
                                    dict.fromkeys(("pvcName", "modelPathInPvc", "pvcMountPath", "x"), _TEXTS)
                                ),
                                "model": _TEXTS,
                            }
                        ),
                        "planner": _PLANNER,
                        "sweep": ODD,
                    }
                ),
            }
        ),
        "hardware": ODD,
        "sla": ODD,
        "image": ODD,
    }
)
"""The spec of a request of v1alpha1."""

BETA_REQUEST = fields(
    {
        "model": _TEXTS,
        "backend": _some("vllm", "auto"),
        "image": _TEXTS,
        "autoApply": st.booleans(),
        "hardware": fields({"gpuSku": _TEXTS}),
        "searchStrategy": _some("rapid", "thorough"),
        "modelCache": fields(dict.fromkeys(("pvcName", "pvcModelPath", "pvcMountPath"), _TEXTS)),
        "workload": fields(dict.fromkeys(("isl", "osl", "concurrency"), _NUMBER)),
        "sla": fields({"ttft": _NUMBER, "itl": _NUMBER, "e2eLatency": _NUMBER, "optimizationType": _some("latency")}),
        "features": fields({"planner": _PLANNER, "mocker": fields({"enabled": st.booleans()})}),
        "overrides": fields(
            {
                "dgd": ODD,
                "profilingJob": fields(
                    {
                        "backoffLimit": ODD,
                        "template": fields(
                            {
                                "metadata": ODD,
                                "spec": fields(
                                    {
                                        "tolerations": st.lists(ODD, max_size=1),
                                        "nodeSelector": ODD,
                                        "containers": st.lists(
                                            fields(
                                                {
                                                    "name": _some("profiler", "a", ""),
                                                    "resources": _NATIVE_RESOURCES,
                                                    "env": _VARIABLES,
                                                }
                                            ),
                                            max_size=3,
                                        ),
                                    }
                                ),
                            }
                        ),
                    }
                ),
            }
        ),
        "profilingConfig": ODD,
        "useMocker": ODD,
    }
)
"""The spec of a request of v1beta1."""

_DEPLOYMENT = fields({"name": _NAMES, "state": _some("Deleted", "successful"), "created": st.booleans()})
_STATES = _some("", "Pending", "Profiling", "Deploying", "Ready", "Deployed", "DeploymentDeleted", "Failed")
_RESULT_GRAPHS = st.builds(
    lambda spec, version: {"apiVersion": f"nvidia.com/{version}", "kind": "DynamoGraphDeployment", "spec": spec},
    fields(_ALPHA_GRAPH),
    _some("v1alpha1", "v1beta1"),
)
_ALPHA_REQUEST_STATUS = fields(
    {
        "state": _STATES,
        "phase": ODD,
        "deployment": _DEPLOYMENT,
        "dgdName": ODD,
        "profilingResults": _TEXTS,
        "generatedDeployment": _RESULT_GRAPHS,
        "profilingPhase": _TEXTS,
    }
)
_BETA_REQUEST_STATUS = fields(
    {
        "phase": _STATES,
        "state": ODD,
        "deployment": _DEPLOYMENT,
        "dgdName": _NAMES,
        "profilingResults": fields({"selectedConfig": _RESULT_GRAPHS, "output": _TEXTS, "pareto": ODD}),
        "generatedDeployment": ODD,
    }
)
_ALPHA_PAYLOAD = fields(_ALPHA_GRAPH) | SERVICE | ALPHA_REQUEST | _ALPHA_REQUEST_STATUS | ODD
_BETA_PAYLOAD = fields(_BETA_GRAPH) | COMPONENT | BETA_REQUEST | _BETA_REQUEST_STATUS | ODD


def _with_payloads(documents: Documents, payloads: st.SearchStrategy[Json]) -> Documents:
    """The objects with an annotation that some other conversion left."""

    def annotate(document: Manifest, payload: Json, *, is_wrapped: bool) -> Manifest:
        text = json.dumps({"version": 1, "spec": payload} if is_wrapped else payload)
        keys = (f"{contract.CONVERSION_PREFIXES[document['kind']]}{part}" for part in ("spec", "status"))
        metadata = document.get("metadata")
        name = {"name": metadata["name"]} if isinstance(metadata, dict) and "name" in metadata else {}
        return {**document, "metadata": {**name, "annotations": dict.fromkeys(keys, text)}}

    return st.builds(annotate, documents, payloads, is_wrapped=st.booleans())


ALPHA_DOCUMENTS: Documents = st.one_of(
    _documents(
        "v1alpha1",
        "DynamoGraphDeployment",
        fields(_ALPHA_GRAPH) | ODD,
        fields(
            {
                "services": st.dictionaries(_SERVICE_NAMES, _ALPHA_REPLICAS | ODD, max_size=2),
                "rollingUpdate": _ROLLING,
                "components": ODD,
            }
        ),
    ),
    _documents(
        "v1alpha1",
        "DynamoComponentDeployment",
        SERVICE,
        fields({"service": _ALPHA_REPLICAS, "podSelector": ODD, "component": ODD}),
    ),
    _documents(
        "v1alpha1",
        "DynamoGraphDeploymentScalingAdapter",
        fields({"replicas": ODD, "dgdRef": fields({"name": _NAMES, "serviceName": _NAMES, "componentName": ODD})}),
        ODD,
    ),
    _documents("v1alpha1", "DynamoGraphDeploymentRequest", ALPHA_REQUEST, _ALPHA_REQUEST_STATUS),
)
"""Objects of v1alpha1."""

BETA_DOCUMENTS: Documents = st.one_of(
    _documents(
        "v1beta1",
        "DynamoGraphDeployment",
        fields(_BETA_GRAPH) | ODD,
        fields(
            {
                "components": st.dictionaries(_SERVICE_NAMES, _BETA_REPLICAS | ODD, max_size=2),
                "rollingUpdate": _ROLLING,
                "services": ODD,
            }
        ),
    ),
    _documents(
        "v1beta1",
        "DynamoComponentDeployment",
        COMPONENT,
        fields({"component": _BETA_REPLICAS, "podSelector": ODD, "service": ODD}),
    ),
    _documents(
        "v1beta1",
        "DynamoGraphDeploymentScalingAdapter",
        fields({"replicas": ODD, "dgdRef": fields({"name": _NAMES, "serviceName": ODD, "componentName": _NAMES})}),
        ODD,
    ),
    _documents("v1beta1", "DynamoGraphDeploymentRequest", BETA_REQUEST, _BETA_REQUEST_STATUS),
)
"""Objects of v1beta1."""

ANNOTATED_ALPHA = _with_payloads(ALPHA_DOCUMENTS, _BETA_PAYLOAD)
"""Objects of v1alpha1 with an annotation of any content."""

ANNOTATED_BETA = _with_payloads(BETA_DOCUMENTS, _ALPHA_PAYLOAD)
"""Objects of v1beta1 with an annotation of any content."""
