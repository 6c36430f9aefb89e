"""Objects of v1beta1 that break a rule of the API server's, each with the sentence; and objects that break none."""

from dataclasses import dataclass
from typing import Any

Json = Any
GRAPH, COMPONENT = "DynamoGraphDeployment", "DynamoComponentDeployment"
ADAPTER, REQUEST = "DynamoGraphDeploymentScalingAdapter", "DynamoGraphDeploymentRequest"
LONG = "g" * 64


@dataclass(frozen=True, kw_only=True)
class BetaCase:
    """A write of `spec`, over `old` if it is given; `said` is empty if the API server takes it."""

    id: str
    kind: str
    spec: Json
    said: str = ""
    old: Json = None
    name: str = "example"


def pod(image: str = "example.com/runtime:1.6.1", *more: Json) -> Json:
    """A pod template with a main container of that image, and further containers."""
    return {"spec": {"containers": [{"name": "main", "image": image}, *more]}}


def one(name: str, **fields: Json) -> Json:
    """A component with a main container; a field of None is left out."""
    component = {"name": name, "podTemplate": pod(), **fields}
    return {key: value for key, value in component.items() if value is not None}


def of(*components: Json, **fields: Json) -> Json:
    """A graph's spec."""
    return {"components": list(components), **fields}


A, B = one("a"), one("B")


def picker(config: Json) -> Json:
    """The fields of an endpoint picker of the last release that takes a configuration."""
    return {"type": "epp", "runtimeVersionOverride": "1.4.2", "eppConfig": config}


EPP = picker({"config": {"plugins": []}})
FIXED = (
    "is immutable and cannot be added, removed, or changed after creation; delete and recreate the "
    "DynamoGraphDeployment to change topology constraints"
)
NO_MAIN = "no container is named main; name the container that runs Dynamo main, and give it an image"
NO_IMAGE = "is required; nothing else gives the container an image"


def restart(*order: str, **strategy: Json) -> Json:
    return {"id": "1", "strategy": {"order": list(order), **strategy}}


def rack(domain: str = "rack") -> Json:
    return {"topologyConstraint": {"packDomain": domain}}


def bound(**fields: Json) -> Json:
    return {"topologyConstraint": {"clusterTopologyName": "t", **fields}}


def broken(case: str, spec: Json, said: str, **more: Json) -> BetaCase:
    return BetaCase(id=case, kind=GRAPH, spec=spec, said=said, **more)


def fine(case: str, spec: Json, **more: Json) -> BetaCase:
    return BetaCase(id=case, kind=GRAPH, spec=spec, **more)


COMPONENTS = (
    broken("no-spec", None, "spec.components must have at least one component"),
    broken("no-components", {}, "spec.components must have at least one component"),
    broken("empty-components", of(), "spec.components must have at least one component"),
    broken("spec-taken-away", None, "spec.components must have at least one component", old=of(A)),
    broken("same-name", of(A, A), "Duplicate value"),
    broken("dot-in-name", of(one("a.b")), "spec.components[0]: the name example-a.b is not possible"),
    broken(
        "names-that-differ-in-case",
        of(one("Worker"), B, one("worker")),
        "spec.components[2]: its objects would be named example-worker, as those of spec.components[0]; rename one",
    ),
    broken(
        "long-graph", of(A), "metadata.name: has 64 characters, must have at most 63: it becomes a label", name=LONG
    ),
    broken(
        "long-name",
        of(A, one("w" * 56)),
        f"spec.components[1]: the name example-{'w' * 56} has 64 characters, at most 63 are possible; shorten the "
        "DynamoGraphDeployment name (length 7) or the component name (length 56)",
    ),
    broken(
        "two-pickers",
        of(A, one("p", **EPP), one("q", **EPP)),
        "spec.components[2].type: spec.components[1] is an endpoint picker too; a graph has at most one component of "
        "type epp",
    ),
    fine("added-and-removed", of(A, one("c")), old=of(A, B)),
    fine("added", of(A, B, one("c")), old=of(A)),
    fine("order-changed", of(B, A), old=of(A, B)),
    fine("without-replicas-then-with", of(one("a", replicas=3)), old=of(A)),
)

RESTARTS = (
    broken("order-of-some", of(A, B, restart=restart("a")), "must have the same number of unique components"),
    broken("order-of-others", of(A, restart=restart("c")), "order contains unknown component: c"),
    broken("order-twice", of(A, B, restart=restart("a", "a")), "spec.restart.strategy.order must be unique"),
    broken(
        "order-in-parallel",
        of(A, restart=restart("a", type="Parallel")),
        "spec.restart.strategy.order cannot be specified when strategy is parallel",
    ),
    fine("order-of-all", of(A, B, restart=restart("B", "a"))),
)

PODS = (
    broken("no-pod", of(A, one("b", podTemplate=None)), f"spec.components[1].podTemplate.spec.containers: {NO_MAIN}"),
    broken(
        "no-main",
        of(one("a", podTemplate={"spec": {"containers": [{"name": "b", "image": "i"}]}})),
        f"spec.components[0].podTemplate.spec.containers: {NO_MAIN}",
    ),
    broken(
        "no-image",
        of(one("a", podTemplate={"spec": {"containers": [{"name": "b", "image": "i"}, {"name": "main"}]}})),
        f"spec.components[0].podTemplate.spec.containers[1].image: {NO_IMAGE}",
    ),
    broken("empty-image", of(one("a", podTemplate=pod(""))), f"containers[0].image: {NO_IMAGE}"),
    broken(
        "sidecar-of-another-name",
        of(A, one("b", frontendSidecar="side")),
        "spec.components[1].frontendSidecar: no container of the podTemplate is named 'side'; write the name of one of "
        "its containers",
    ),
    fine("sidecar", of(one("a", frontendSidecar="side", podTemplate=pod("i", {"name": "side", "image": "i"})))),
    fine("nulls-of-go", of(one("a", podTemplate={"metadata": {"creationTimestamp": None}, **pod()}))),
)

EPPS = (
    broken("picker-twice", of(A, one("p", replicas=2, **EPP)), "spec.components[1]: EPP component must have exactly 1"),
    broken("picker-on-nodes", of(one("p", multinode={}, **EPP)), "spec.components[0]: EPP component cannot be multi"),
    broken("picker-of-nothing", of(one("p", **picker({}))), "eppConfig: either configMapRef or config"),
    broken(
        "picker-of-both",
        of(one("p", **picker({"config": {}, "configMapRef": {"name": "n", "key": "k"}}))),
        "spec.components[0].eppConfig: configMapRef and config are mutually exclusive",
    ),
    broken(
        "picker-of-nameless",
        of(one("p", **picker({"configMapRef": {"key": "k"}}))),
        "spec.components[0].eppConfig.configMapRef.name is required",
    ),
)

TOPOLOGIES = (
    broken(
        "topology-of-component-alone",
        of(one("a", **rack())),
        "spec.topologyConstraint with clusterTopologyName is required when any topology constraint is set",
    ),
    broken("topology-without-name", of(A, topologyConstraint={"packDomain": "rack"}), "clusterTopologyName"),
    fine("topology-of-some", of(one("a", **rack()), B, **bound())),
    broken(
        "topology-of-none",
        of(A, B, **bound()),
        "spec.topologyConstraint.packDomain is required, as no component has a topologyConstraint",
    ),
    broken("topology-without-domain", of(one("a", **rack("")), **bound()), "topologyConstraint.packDomain is required"),
    fine("topology", of(one("a", **rack()), B, **bound(packDomain="zone"))),
    broken(
        "topology-added",
        of(A, **bound(packDomain="rack")),
        f"spec.topologyConstraint {FIXED}",
        old=of(A),
    ),
    broken(
        "topology-changed",
        of(B, one("a", **rack("host")), **bound(packDomain="zone")),
        f"spec.components[1].topologyConstraint {FIXED}",
        old=of(one("a", **rack()), B, **bound(packDomain="zone")),
    ),
)

CHANGES = (
    broken(
        "type-changed",
        of(A, one("b", type="decode")),
        "spec.components[1].type: type is immutable after it is set",
        old=of(one("b", type="worker"), A),
    ),
    broken(
        "least-above-replicas",
        of(A, one("b", minAvailable=3, replicas=2)),
        "spec.components[1]: minAvailable must be less than or equal to replicas unless replicas is 0",
    ),
    fine("least-of-none", of(one("a", minAvailable=3, replicas=0))),
    broken(
        "least-changed",
        of(A, one("b", minAvailable=2, replicas=2)),
        "spec.components[1].minAvailable",
        old=of(A, one("b", minAvailable=1, replicas=2)),
    ),
    fine("type-set", of(one("a", type="worker")), old=of(A)),
    broken(
        "nodes-changed",
        of(A, one("b", multinode={"nodeCount": 2})),
        "spec.components[1] cannot change node topology (between single-node and multi-node) after creation",
        old=of(A, one("b")),
    ),
    fine("more-nodes", of(one("a", multinode={"nodeCount": 3})), old=of(one("a", multinode={"nodeCount": 2}))),
    broken(
        "engine-changed",
        of(A, backendFramework="vllm"),
        "spec.backendFramework is immutable and cannot be changed after creation",
        old=of(A, backendFramework="sglang"),
    ),
)

SINGLES = (
    BetaCase(id="component", kind=COMPONENT, spec={"podTemplate": pod()}),
    BetaCase(id="component-with-name", kind=COMPONENT, spec=one("Worker", backendFramework="vllm")),
    BetaCase(
        id="component-of-long-name",
        kind=COMPONENT,
        spec=A,
        name=LONG,
        said="has 64 characters, must have at most 63: pods are selected by it",
    ),
    BetaCase(id="component-with-least", kind=COMPONENT, spec=one("a", minAvailable=1), said="spec.minAvailable"),
    BetaCase(id="component-without-main", kind=COMPONENT, spec={}, said=f"spec.podTemplate.spec.containers: {NO_MAIN}"),
    BetaCase(
        id="component-without-image",
        kind=COMPONENT,
        spec={"podTemplate": {"spec": {"containers": [{"name": "main"}]}}},
        said=f"spec.podTemplate.spec.containers[0].image: {NO_IMAGE}",
    ),
    BetaCase(
        id="component-with-topology",
        kind=COMPONENT,
        spec=one("a", **rack()),
        said="spec.topologyConstraint: needs Grove, under which only components of a graph can run",
    ),
    BetaCase(
        id="component-of-another-type",
        kind=COMPONENT,
        spec=one("a", type="decode"),
        old=one("a", type="prefill"),
        said="spec.type: type is immutable after it is set",
    ),
    BetaCase(
        id="component-without-type",
        kind=COMPONENT,
        spec=A,
        old=one("a", type="prefill"),
        said="spec.type: type is immutable after it is set",
    ),
    BetaCase(id="adapter", kind=ADAPTER, spec={"replicas": 0, "dgdRef": {"name": "g", "componentName": "C"}}),
    BetaCase(
        id="adapter-of-nothing",
        kind=ADAPTER,
        spec={"replicas": 1, "dgdRef": {"name": "", "componentName": ""}},
        said="spec.dgdRef.componentName is required",
    ),
    BetaCase(
        id="adapter-in-the-words-of-v1alpha1",
        kind=ADAPTER,
        spec={"replicas": 1, "dgdRef": {"name": "g", "componentName": "C", "serviceName": "C"}},
        said='unknown field "spec.dgdRef.serviceName"',
    ),
)

UNKNOWN = (
    broken("services", of(A, services={}), 'unknown field "spec.services"'),
    fine("adapter-switched-off", of(one("a", scalingAdapter={"enabled": False}))),
    broken("adapter-neither-on-nor-off", of(one("a", scalingAdapter={"enabled": "no"})), "scalingAdapter.enabled"),
    broken("envs", of(one("a", envs=[])), 'unknown field "spec.components[0].envs"'),
    broken("typo-in-pod", of(one("a", podTemplate={"spec": {"container": []}})), 'podTemplate.spec.container"'),
    broken("other-type", of(one("a", type="main")), "supported values"),
    fine("adapter-switched-on", of(one("a", scalingAdapter={}))),
)


def asked(name: str, said: str = "", **spec: Json) -> BetaCase:
    """A request of v1beta1."""
    return BetaCase(id=name, kind=REQUEST, spec={"model": "m", **spec}, said=said)


OLDER = "is a profiler of Dynamo 0."
REQUESTS = (
    asked("request"),
    asked("request-of-a-release", image="r/dynamo-planner:1.5.1", backend="vllm"),
    asked("request-of-a-tag", image="r/dynamo-planner:mine", runtimeVersionOverride="1.5.1"),
    asked("request-without-model", "spec.model", model=""),
    asked("request-of-no-release", "the tag of r/p:mine says no release", image="r/p:mine"),
    asked("request-of-0.9", OLDER, image="r/p:0.9.1"),
    asked("request-for-0.9", OLDER, image="r/p:mine", runtimeVersionOverride="0.9.1"),
    asked("request-thorough-auto", "spec.searchStrategy: is thorough", searchStrategy="thorough", backend="auto"),
    asked("request-thorough", searchStrategy="thorough", backend="sglang"),
    asked("request-rates", "spec.workload: concurrency and", workload={"concurrency": 1.5, "requestRate": 2.5}),
    asked("request-goals", "spec.sla: e2eLatency excludes", sla={"e2eLatency": 5.5, "itl": 2.5}),
    asked("request-gpu", "spec.hardware.gpuSku", hardware={"gpuSku": "h900"}),
    asked("request-router", 'unknown field "spec.features.kvRouter"', features={"kvRouter": {}}),
)

BETA_CASES = (*COMPONENTS, *RESTARTS, *PODS, *EPPS, *TOPOLOGIES, *CHANGES, *SINGLES, *UNKNOWN, *REQUESTS)
