"""Labels and annotations of a service: its own, those of its graph, and the Dynamo namespace that they name."""

from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s.names import fit_label_value
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy import identity

_OF_ONE_SERVICE = frozenset(
    {
        contract.ANNOTATION_RESTART_AT,
        contract.ANNOTATION_RENDERING,
        contract.ANNOTATION_ROLLOUT,
        contract.ANNOTATION_ROLLOUT_PAUSED,
        contract.ANNOTATION_ROLLOUT_CANARY,
    }
)
"""Annotations that services never take from the graph's spec."""

REPLACED_LABELS = frozenset(
    {contract.LABEL_CONTROLLER_UID, contract.LABEL_COMPONENT, contract.LABEL_NAMESPACE, contract.LABEL_GRAPH}
)
"""Labels of a service that its component gets with other values, or not at all."""

_INHERITED = (
    contract.ANNOTATION_ENABLE_METRICS,
    contract.ANNOTATION_DISCOVERY_BACKEND,
    contract.ANNOTATION_DISCOVERY_MODE,
    contract.ANNOTATION_ORIGIN_VERSION,
    contract.ANNOTATION_EXECUTOR_BACKEND,
)


def service_labels(graph: GraphDeployment, service: str) -> dict[str, str]:
    """The service's own labels over those of the graph's spec, overridden by the three that name its graph, sorted.

    Beside an endpoint picker, a worker has its class, by which the picker and its InferencePool find it. A copied label
    `controller-uid` is dropped: Metacontroller would take the object for another parent's child.
    """
    spec = graph.spec.services[service]
    both = {**graph.spec.labels, **spec.labels}
    own = {key: value for key, value in both.items() if key != contract.LABEL_CONTROLLER_UID}
    labels = {
        **own,
        contract.LABEL_COMPONENT: service,
        contract.LABEL_NAMESPACE: fit_label_value(namespace_of(graph, spec)),
        contract.LABEL_GRAPH: graph.metadata.name,
    }
    is_picked = ComponentType.of(spec.component_type).is_worker and has_picker(graph)
    found = {**labels, contract.LABEL_COMPONENT_CLASS: contract.CLASS_WORKER} if is_picked else labels
    return dict(sorted(found.items()))


def has_picker(graph: GraphDeployment) -> bool:
    """Whether a service is an endpoint picker."""
    return any(spec.component_type == ComponentType.EPP for spec in graph.spec.services.values())


def namespace_of(graph: GraphDeployment, spec: ComponentSpec) -> str:
    """The Dynamo namespace in which a service of the graph is found."""
    metadata = graph.metadata
    return identity.dynamo_namespace(metadata.namespace, metadata.name, is_global=spec.global_dynamo_namespace)


def service_annotations(graph: GraphDeployment, spec: ComponentSpec) -> dict[str, str]:
    """The service's annotations, and the graph's that apply to all services.

    The service's own value wins, then the value in the graph's metadata, then that in the graph's spec.
    """
    from_graph = {key: value for key, value in graph.metadata.annotations.items() if key in _INHERITED}
    return {**common_annotations(graph), **from_graph, **spec.annotations}


def common_annotations(graph: GraphDeployment) -> dict[str, str]:
    """The annotations of the graph's spec, which all services' objects and pods have."""
    return {key: value for key, value in graph.spec.annotations.items() if key not in _OF_ONE_SERVICE}
