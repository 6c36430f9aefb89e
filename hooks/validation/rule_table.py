"""Every rule by name: what it says, for which kinds, why it refuses in one word, and where it is held.

A rule that the API server holds (`hooks.crds.cel_rules`) holds without our server too; the others need the webhook.

Source: Dynamo operator, internal/webhook/validation.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache


class Reason(StrEnum):
    """Why an object is refused, as a label of metrics."""

    IMMUTABLE = "immutable"
    INVALID = "invalid"
    NAME = "name"
    NOT_INSTALLED = "not_installed"
    REPLICAS_MANAGED = "replicas_managed"
    REQUIRED = "required"


class Place(StrEnum):
    """Who refuses: the API server itself, or the webhook alone.

    The webhook knows the API server's rules as well: the hooks and the command line use the same.
    """

    CEL = "cel and webhook"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; in its text `<…>` stands for what differs from case to case, `<p>` for a spec's path.

    `why` says what keeps a rule of the webhook out of CEL.
    """

    name: str
    reason: Reason
    text: str
    place: Place = Place.CEL
    why: str = ""


def _webhook(name: str, reason: Reason, why: str, text: str) -> Rule:
    return Rule(name, reason, text, Place.WEBHOOK, why)


_CREATED = "is required when create is true"
_ORDER = "spec.restart.strategy.order"
_CLUSTER, _USER, _ANNOTATION = "it needs the cluster", "it needs the user", "CEL does not see metadata.annotations"

_GRAPH = (
    Rule("services", Reason.REQUIRED, "spec.services must have at least one service"),
    Rule("claim-name", Reason.REQUIRED, "spec.pvcs[<i>].name is required"),
    Rule("claim-storage-class", Reason.REQUIRED, f"spec.pvcs[<i>].storageClass {_CREATED}"),
    Rule("claim-size", Reason.REQUIRED, f"spec.pvcs[<i>].size {_CREATED}"),
    Rule("claim-access-mode", Reason.REQUIRED, f"spec.pvcs[<i>].volumeAccessMode {_CREATED}"),
    Rule("restart-id", Reason.REQUIRED, "spec.restart.id is required"),
    Rule("restart-parallel", Reason.INVALID, f"{_ORDER} cannot be specified when strategy is parallel"),
    Rule("restart-unique", Reason.INVALID, f"{_ORDER} must be unique"),
    Rule(
        "restart-complete",
        Reason.INVALID,
        f"{_ORDER} must have the same number of unique services as the deployment",
    ),
    Rule("restart-unknown", Reason.INVALID, f"{_ORDER} contains unknown service: <service>"),
    Rule(
        "graph-name-length",
        Reason.NAME,
        "metadata.name has <n> characters, must have at most 63: it becomes a label",
    ),
    Rule(
        "service-names-differ",
        Reason.NAME,
        "spec.services[<service>] and spec.services[<other>] would both be named <name>; rename one",
    ),
    Rule(
        "service-name",
        Reason.NAME,
        "spec.services[<service>]: the name <name> is not possible; a service's name has letters, digits and '-' only",
    ),
    Rule(
        "service-name-length",
        Reason.NAME,
        "spec.services[<service>]: the name <name> has <n> characters, at most 63 are possible; shorten the "
        "DynamoGraphDeployment name (length <n>) or the service name (length <n>)",
    ),
    _webhook(
        "grove-name-length",
        Reason.NAME,
        _ANNOTATION,
        "spec.services[<service>]: combined resource name length <n> exceeds 45-character limit required for pod "
        "naming. Consider shortening <what> must not exceed 45 characters",
    ),
    Rule(
        "node-topology",
        Reason.IMMUTABLE,
        "spec.services[<service>] cannot change node topology (between single-node and multi-node) after creation",
    ),
    _webhook(
        "grove-nodes",
        Reason.IMMUTABLE,
        _ANNOTATION,
        "spec.services[<service>].multinode.nodeCount cannot change from <n> to <n>: Grove keeps it for as long as the "
        "PodCliqueSet exists; <what>",
    ),
    Rule(
        "service-topology",
        Reason.IMMUTABLE,
        "service topology is immutable and cannot be modified after creation: services <changes>",
    ),
    _webhook(
        "managed-replicas",
        Reason.REPLICAS_MANAGED,
        _USER,
        "spec.services[<service>].replicas cannot be modified directly when scaling adapter is enabled; scale or "
        "update the related DynamoGraphDeploymentScalingAdapter instead",
    ),
)

_FIXED_TOPOLOGY = (
    "topologyConstraint is immutable and cannot be added, removed, or changed after creation; delete and recreate the "
    "DynamoGraphDeployment to change topology constraints"
)
_TOPOLOGY = (
    Rule(
        "topology",
        Reason.REQUIRED,
        "spec.topologyConstraint with topologyProfile is required when any topology constraint is set (at spec or "
        "service level)",
    ),
    Rule(
        "topology-profile",
        Reason.REQUIRED,
        "spec.topologyConstraint.topologyProfile is required when any topology constraint is set",
    ),
    Rule("topology-domain", Reason.REQUIRED, "spec.services[<service>].topologyConstraint.packDomain is required"),
    Rule(
        "topology-of-service",
        Reason.REQUIRED,
        "spec.services[<service>].topologyConstraint is required, as spec.topologyConstraint.packDomain is not set",
    ),
    _webhook(
        "topology-grove",
        Reason.NOT_INSTALLED,
        _ANNOTATION,
        "spec.topologyConstraint needs Grove, and this graph does not run under it",
    ),
    Rule("topology-change", Reason.IMMUTABLE, f"spec.{_FIXED_TOPOLOGY}"),
    Rule("topology-change-of-service", Reason.IMMUTABLE, f"spec.services[<service>].{_FIXED_TOPOLOGY}"),
    Rule(
        "component-topology",
        Reason.INVALID,
        "spec.topologyConstraint needs Grove, under which only services of a graph can run",
    ),
)

_SPEC = (
    Rule("replicas", Reason.INVALID, "<p>.replicas must be non-negative"),
    Rule("ingress-host", Reason.REQUIRED, "<p>.ingress.host is required when ingress is enabled"),
    Rule(
        "mount-point",
        Reason.REQUIRED,
        "<p>.volumeMounts[<i>].mountPoint is required when useAsCompilationCache is false",
    ),
    Rule("shared-memory-size", Reason.REQUIRED, "<p>.sharedMemory.size is required when disabled is false"),
    Rule(
        "executor",
        Reason.INVALID,
        '<p>.annotations[nvidia.com/vllm-distributed-executor-backend] has invalid value <value>: must be "mp" or '
        '"ray"',
    ),
    _webhook(
        "epp-pool",
        Reason.NOT_INSTALLED,
        _CLUSTER,
        "<p>: cannot deploy EPP component: InferencePool API group (inference.networking.k8s.io) is not available <…>",
    ),
    Rule(
        "epp-nodes",
        Reason.INVALID,
        "<p>: EPP component cannot be multinode (multinode field must be nil or nodeCount must be 1)",
    ),
    Rule("epp-replicas", Reason.INVALID, "<p>: EPP component must have exactly 1 replica (found <n> replicas)"),
    Rule("epp-config", Reason.REQUIRED, "<p>.eppConfig is required for EPP components"),
    Rule(
        "epp-config-either",
        Reason.REQUIRED,
        "<p>.eppConfig: either configMapRef or config must be specified (no default configuration provided)",
    ),
    Rule(
        "epp-config-both",
        Reason.INVALID,
        "<p>.eppConfig: configMapRef and config are mutually exclusive, only one can be specified",
    ),
    Rule("epp-config-name", Reason.REQUIRED, "<p>.eppConfig.configMapRef.name is required"),
    Rule(
        "backend-framework",
        Reason.IMMUTABLE,
        "spec.backendFramework is immutable and cannot be changed after creation",
    ),
)

_COMPONENT = (
    Rule(
        "component-name-length",
        Reason.NAME,
        "metadata.name: <name> has <n> characters, must have at most 63: pods are selected by it, and Service and "
        "Deployment are named so",
    ),
    Rule(
        "service-label-length",
        Reason.NAME,
        "spec.serviceName: <name> has <n> characters, must have at most 63: pods are selected by it, and Service and "
        "Deployment are named so",
    ),
    _webhook(
        "group-name-length",
        Reason.NAME,
        "replicas change, and CEL sees the name only where it sees a status too, which must always be written",
        "<p>.multinode: the LeaderWorkerSet would be named <name>, which has <n> characters, must have at most 50; "
        "shorten the name of the component, or of the graph or service",
    ),
)

_MODEL = (
    Rule("model-name", Reason.REQUIRED, "spec.modelName is required"),
    Rule("base-model-name", Reason.REQUIRED, "spec.baseModelName is required"),
    Rule("source", Reason.REQUIRED, "spec.source is required when modelType is 'lora'"),
    Rule("source-uri", Reason.REQUIRED, "spec.source.uri must be specified when modelType is 'lora'"),
    Rule("source-scheme", Reason.INVALID, "source URI must start with 's3://' or 'hf://', got: <uri>"),
    _webhook(
        "source-file",
        Reason.INVALID,
        "it needs the installation's settings",
        "source URI may start with 'file://' only where setting lora_file_sources is on, got: <uri>",
    ),
    Rule("model-type", Reason.IMMUTABLE, "spec.modelType is immutable and cannot be changed after creation"),
    Rule("base-model", Reason.IMMUTABLE, "spec.baseModelName is immutable and cannot be changed after creation"),
)

_REQUEST = (
    Rule("profiler-image", Reason.REQUIRED, "spec.profilingConfig.profilerImage is required"),
    Rule("profiling-config", Reason.REQUIRED, "spec.profilingConfig.config is required and must not be empty"),
    _webhook(
        "gpu-discovery",
        Reason.INVALID,
        "it needs the installation's settings",
        "spec.enableGpuDiscovery can only be set to true for cluster-wide operators. <…>",
    ),
    Rule(
        "profiling-started",
        Reason.IMMUTABLE,
        "Cannot modify spec in state '<state>'. DynamoGraphDeploymentRequest is immutable once profiling starts. "
        "Create a new resource with a different name instead.",
    ),
)

_ADAPTER = (
    Rule("adapter-graph", Reason.REQUIRED, "spec.dgdRef.name is required"),
    Rule("adapter-service", Reason.REQUIRED, "spec.dgdRef.serviceName is required"),
)

TABLE = (*_GRAPH, *_TOPOLOGY, *_SPEC, *_COMPONENT, *_MODEL, *_REQUEST, *_ADAPTER)
"""All rules that have a text of their own.

What the hooks find beyond these while they render (a quantity, an engine's flags, a pod's fields) needs our program:
the webhook refuses it as `invalid`, and the status says it.
"""


def rule_of(problem: str) -> Rule | None:
    """The rule that says so; None for what the hooks find while they render, which has many words."""
    return next((rule for rule in TABLE if _pattern_of(rule.text).fullmatch(problem)), None)


def reasons_of(problems: Iterable[str]) -> tuple[str, ...]:
    """The reasons of some problems, sorted; what no rule says is `invalid`."""
    found = (rule_of(problem) for problem in problems)
    return tuple(sorted({(rule.reason if rule else Reason.INVALID).value for rule in found}))


@cache
def _pattern_of(text: str) -> re.Pattern[str]:
    parts = re.split(r"<[^<>]*>", text)
    return re.compile(".*".join(re.escape(part) for part in parts), re.DOTALL)
