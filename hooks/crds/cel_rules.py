"""All rules that the API server holds, by kind; texts are those of the webhook.

Source: Dynamo operator, internal/webhook/validation, as the packages' `validate` modules have it.
"""

from collections.abc import Mapping

from hooks import contract
from hooks.crds.cel import NAME, At, CelRule, fixed, formatted, name_rule
from hooks.crds.cel_graph import GRAPH_CHANGE_RULES, GRAPH_RULES
from hooks.crds.cel_spec import COMPONENT_SPEC_RULES, SERVICE_RULES
from hooks.crds.cel_topology import COMPONENT_TOPOLOGY_RULES, TOPOLOGY_CHANGE_RULES, TOPOLOGY_RULES

_SPEC: At = ("spec",)

_BACKEND = CelRule(
    name="backend-framework",
    at=_SPEC,
    holds=fixed("backendFramework"),
    message="spec.backendFramework is immutable and cannot be changed after creation",
)


_LABELLED = "must have at most 63: pods are selected by it, and Service and Deployment are named so"

_LABEL_RULES = (
    name_rule(
        "component-name-length",
        f"size({NAME}) > 63",
        formatted(f"metadata.name: '%s' has %d characters, {_LABELLED}", NAME, f"size({NAME})"),
    ),
    CelRule(
        name="service-label-length",
        at=_SPEC,
        holds="size(self.?serviceName.orValue('')) <= 63",
        text=formatted(
            f"spec.serviceName: '%s' has %d characters, {_LABELLED}", "self.serviceName", "size(self.serviceName)"
        ),
    ),
)


def _required(name: str, field: str) -> CelRule:
    return CelRule(
        name=name, at=_SPEC, holds=f"size(self.?{field}.orValue('')) > 0", message=f"spec.{field} is required"
    )


def _immutable(name: str, field: str) -> CelRule:
    message = f"spec.{field} is immutable and cannot be changed after creation"
    return CelRule(name=name, at=_SPEC, holds=fixed(field), message=message)


_LORA = "self.?modelType.orValue('') == 'lora'"

_MODEL_RULES = (
    _required("model-name", "modelName"),
    _required("base-model-name", "baseModelName"),
    CelRule(
        name="source",
        at=_SPEC,
        holds=f"!({_LORA}) || has(self.source)",
        message="spec.source is required when modelType is 'lora'",
    ),
    CelRule(
        name="source-uri",
        at=_SPEC,
        holds=f"!({_LORA}) || !has(self.source) || size(self.source.?uri.orValue('')) > 0",
        message="spec.source.uri must be specified when modelType is 'lora'",
    ),
    CelRule(
        name="source-scheme",
        at=_SPEC,
        holds=(
            f"!({_LORA}) || size(self.?source.?uri.orValue('')) == 0 || self.source.uri.startsWith('s3://') || "
            "self.source.uri.startsWith('hf://') || self.source.uri.startsWith('file://')"
        ),
        text=formatted("source URI must start with 's3://' or 'hf://', got: %s", "self.source.uri"),
    ),
    _immutable("model-type", "modelType"),
    _immutable("base-model", "baseModelName"),
)

_STARTED = "['Profiling', 'Deploying', 'Ready', 'DeploymentDeleted']"
_FROZEN = "oldSelf.?status.?conditions[?0].?reason.orValue('') == 'SpecChangeRejected'"
"""A change slipped through, and Ready, the first condition, says so: it must be possible to take it back."""

_REQUEST_RULES = (
    CelRule(
        name="profiler-image",
        at=("spec", "profilingConfig"),
        holds="size(self.?profilerImage.orValue('')) > 0",
        message="spec.profilingConfig.profilerImage is required",
    ),
    CelRule(
        name="profiling-config",
        at=("spec", "profilingConfig"),
        holds="has(self.config)",
        message="spec.profilingConfig.config is required and must not be empty",
    ),
    CelRule(
        name="profiling-started",
        at=(),
        holds=f"!(oldSelf.?status.?state.orValue('') in {_STARTED}) || self.spec == oldSelf.spec || {_FROZEN}",
        text=formatted(
            "Cannot modify spec in state '%s'. DynamoGraphDeploymentRequest is immutable once profiling starts. Create "
            "a new resource with a different name instead.",
            "oldSelf.status.state",
        ),
    ),
)


def _reference(name: str, field: str) -> CelRule:
    return CelRule(
        name=name,
        at=("spec", "dgdRef"),
        holds=f"size(self.?{field}.orValue('')) > 0",
        message=f"spec.dgdRef.{field} is required",
    )


_ADAPTER_RULES = (
    CelRule(name="replicas", at=_SPEC, holds="self.replicas >= 0", message="spec.replicas must be non-negative"),
    _reference("adapter-graph", "name"),
    _reference("adapter-service", "serviceName"),
)

CEL_RULES: Mapping[str, tuple[CelRule, ...]] = {
    contract.GRAPH.kind: (
        *GRAPH_RULES,
        *TOPOLOGY_RULES,
        *SERVICE_RULES,
        _BACKEND,
        *GRAPH_CHANGE_RULES,
        *TOPOLOGY_CHANGE_RULES,
    ),
    contract.COMPONENT.kind: (*_LABEL_RULES, *COMPONENT_SPEC_RULES, *COMPONENT_TOPOLOGY_RULES, _BACKEND),
    contract.MODEL.kind: _MODEL_RULES,
    contract.GRAPH_REQUEST.kind: _REQUEST_RULES,
    contract.SCALING_ADAPTER.kind: _ADAPTER_RULES,
}
"""By kind, in the order in which the server is to name them."""
