"""Rules that only objects of v1beta1 have, and the words of v1beta1 for rules that both versions have.

The commands without a cluster and the CEL of the CRDs take their texts from here. CEL checks the rules of `TABLE` with
place `CEL`. Of the rules that both versions have, it checks those of `hooks.language.rules` with the same place,
worded by `in_v1beta1`. Those include names that differ only in case (`graph.SERVICE_NAMES_DIFFER`) and the order of a
restart.

Source: Dynamo operator 1.x, api/v1beta1/*_types.go and internal/webhook/validation.
"""

from collections.abc import Mapping
from dataclasses import replace

from hooks.ground.problems import Place, Reason, Rule, Severity
from hooks.language.rules import component, graph, preview, spec, topology

ENDPOINT_PICKERS = Rule(
    name="endpoint-pickers",
    text="{path}: {other} is an endpoint picker too; a graph has at most one component of type epp",
    place=Place.CEL,
)
MAIN_CONTAINER = Rule(
    name="main-container",
    text="{path}: no container is named main; name the container that runs Dynamo main, and give it an image",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
MAIN_IMAGE = Rule(
    name="main-image",
    text="{path}: is required; nothing else gives the container an image",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
FRONTEND_SIDECAR = Rule(
    name="frontend-sidecar-container",
    text="{path}: no container of the podTemplate is named {name!r}; write the name of one of its containers",
    place=Place.CEL,
)

TYPE_CHANGE = Rule(
    name="type-change", text="{path}: type is immutable after it is set", reason=Reason.IMMUTABLE, place=Place.CEL
)

ADAPTER_IS_ON = Rule(
    name="scaling-adapter-on",
    text=(
        "{path}: {value} is on in v1beta1 and off in v1alpha1; remove the field if no scaling adapter should set the "
        "replicas"
    ),
    severity=Severity.WARNING,
)
ADAPTER_IS_OFF = Rule(
    name="scaling-adapter-off",
    text=(
        "{path}: {value} is off in v1alpha1 and on in v1beta1; write enabled: true if a scaling adapter should set the "
        "replicas, else remove the field"
    ),
    severity=Severity.WARNING,
)
"""A warning about an object of v1alpha1: it is here because its neighbour says the opposite of the same text."""

SCALING_GROUP_IGNORED = Rule(
    name="scaling-group-ignored",
    text=(
        "{path}: has no effect; only a component over several nodes becomes a PodCliqueScalingGroup, and this one is "
        "scaled as a PodClique; remove the field"
    ),
    severity=Severity.WARNING,
)

# Of requests; a profiler would say them after its search
THOROUGH_AUTO = Rule(
    name="thorough-auto",
    text="{path}: is thorough, which measures one engine; write sglang, trtllm or vllm into {backend}",
    place=Place.CEL,
)
BOTH_RATES = Rule(
    name="both-rates", text="{path}: concurrency and requestRate exclude each other; leave one out", place=Place.CEL
)
BOTH_GOALS = Rule(
    name="both-goals", text="{path}: e2eLatency excludes ttft and itl; leave it or them out", place=Place.CEL
)

TABLE: tuple[Rule, ...] = tuple(value for value in vars().values() if isinstance(value, Rule))
"""All rules that only v1beta1 has, and the warning about v1alpha1."""


def _worded(rule: Rule, text: str) -> tuple[Rule, Rule]:
    return rule, replace(rule, text=text)


_WORDS: Mapping[Rule, Rule] = dict(
    (
        _worded(graph.SERVICES, "{path} must have at least one component"),
        _worded(graph.RESTART_COMPLETE, "{path} must have the same number of unique components as the deployment"),
        _worded(graph.RESTART_UNKNOWN, "{path} contains unknown component: {service}"),
        _worded(
            graph.SERVICE_NAME,
            "{path}: the name {name} is not possible; a component's name has letters, digits and '-' only",
        ),
        _worded(
            graph.SERVICE_NAME_LENGTH,
            "{path}: the name {name} has {length} characters, at most 63 are possible; shorten the "
            "DynamoGraphDeployment name (length {graph_length}) or the component name (length {service_length})",
        ),
        _worded(
            graph.RESTART_ANNOTATION,
            "{path} is written by restarts: once the component has pods, another value here changes nothing. Use "
            "spec.restart",
        ),
        _worded(
            component.GROUP_NAME_LENGTH,
            "{path}: the LeaderWorkerSet would be named {name!r}, which has {length} characters, must have at most "
            "50; shorten the name of the component, or of the graph",
        ),
        *(
            _worded(
                rule,
                "{path} is required: compilationCache needs an explicit mountPath for backend framework {engine} (no "
                "default available)",
            )
            for rule in (spec.CACHE_MOUNT_POINT, spec.CACHE_MOUNT_POINT_WITHOUT_ENGINE)
        ),
        _worded(
            preview.GPU_MEMORY_SERVICE,
            "{path}: the GPU memory service is not supported, because it needs GPUs by Dynamic Resource Allocation; "
            "remove gpuMemoryService",
        ),
        _worded(
            preview.FAILOVER,
            "{path}: failover between engines is not supported, because it needs the GPU memory service; remove "
            "failover",
        ),
        _worded(
            topology.TOPOLOGY,
            "{path} with clusterTopologyName is required when any topology constraint is set (at spec or component "
            "level)",
        ),
        _worded(topology.TOPOLOGY_ANYWHERE, "{path} is required, as no component has a topologyConstraint"),
        _worded(topology.COMPONENT_TOPOLOGY, "{path}: needs Grove, under which only components of a graph can run"),
    )
)


def in_v1beta1(rule: Rule) -> Rule:
    """The rule with its text for an object of v1beta1; the same rule if its text fits both versions."""
    return _WORDS.get(rule, rule)
