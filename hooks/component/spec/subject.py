"""The identity of a component: its names, its type, its discovery, and the labels by which others select its pods."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from hooks.ground import contract
from hooks.ground.k8s.names import fit_label_value, to_dns_label
from hooks.ground.k8s.types import ReadManifest
from hooks.ground.settings import Settings
from hooks.language.api.base import parse_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.component_spec import ComponentSpec
from hooks.wire.policy.identity import discovery_backend, dynamo_namespace, model_hash


class ComponentType(StrEnum):
    """The type of a component, which decides its defaults."""

    FRONTEND = "frontend"
    WORKER = "worker"
    PREFILL = "prefill"
    DECODE = "decode"
    PLANNER = "planner"
    EPP = "epp"
    OTHER = "default"

    @classmethod
    def of(cls, text: str) -> "ComponentType":
        """The type with that name; `default` for an unknown name."""
        return cls(text) if text in _KNOWN_TYPES else cls.OTHER

    @property
    def is_worker(self) -> bool:
        """Whether it runs an engine."""
        return self in _WORKERS


NEVER_COPIED = frozenset({contract.LABEL_CONTROLLER_UID, contract.LABEL_INSTALLATION})
"""Labels of the component itself that its children do not get: its controller's uid, and its installation."""

_KNOWN_TYPES = frozenset(kind.value for kind in ComponentType)
_WORKERS = frozenset(map(ComponentType, contract.WORKER_TYPES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The identity of a component.

    `name` is its own name and that of its workload. `service` is its name in labels and among Dynamo's processes.
    `graph` is empty for a component without a graph. `discovery` is `kubernetes`, `etcd`, or an annotation's value.
    `takes_bare_prefix`: it is the graph's own, and no other graph's Dynamo namespace begins with it.
    """

    name: str
    namespace: str
    service: str
    graph: str
    type: ComponentType
    type_text: str
    sub_type: str
    dynamo_namespace: str
    discovery: str
    discovery_mode: str
    base_model: str
    takes_bare_prefix: bool

    @property
    def uses_kubernetes_discovery(self) -> bool:
        """Whether processes discover each other through the API server."""
        return self.discovery == contract.DISCOVERY_KUBERNETES

    @property
    def service_object_name(self) -> str:
        """Name of the Service, without dots, which a Service's name must not contain."""
        return to_dns_label(self.name)

    def selecting_labels(self) -> dict[str, str]:
        """Labels that select this component's pods among all pods of the namespace."""
        labels = {
            contract.LABEL_COMPONENT: self.service,
            contract.LABEL_NAMESPACE: fit_label_value(self.dynamo_namespace),
        }
        return {**labels, contract.LABEL_COMPONENT_TYPE: self.type_text} if self.type_text else labels

    def discovery_labels(self) -> dict[str, str]:
        """Labels by which processes discover pods and Services through the API server; {} under another discovery."""
        if not self.uses_kubernetes_discovery:
            return {}
        return {contract.LABEL_DISCOVERY_BACKEND: self.discovery, contract.LABEL_DISCOVERY_ENABLED: "true"}

    def model_labels(self) -> dict[str, str]:
        """The label by which the pods of a base model are found; {} without a model."""
        return {contract.LABEL_MODEL_HASH: model_hash(self.base_model)} if self.base_model else {}


def resolve_subject(component: ComponentDeployment, settings: Settings) -> Subject:
    """The identity of a component.

    A component that a Go operator of 1.5 made for a graph says the name of its service by a label alone. The Dynamo
    namespace contains the graph's name. A component without a graph has one of its own, named after it, or
    the one that `dynamoNamespace` names: components that name the same one find each other. Upstream puts all
    components without a graph in a Kubernetes namespace into `<namespace>-`, which is not a valid label value.
    """
    spec, metadata = component.spec, component.metadata
    graph = component.graph_name
    return Subject(
        name=metadata.name,
        namespace=metadata.namespace,
        service=spec.service_name or (metadata.labels.get(contract.LABEL_COMPONENT) if graph else "") or metadata.name,
        graph=graph,
        type=ComponentType.of(spec.component_type),
        type_text=spec.component_type,
        sub_type=spec.sub_component_type,
        dynamo_namespace=namespace_of(component),
        discovery=discovery_backend(spec.annotations, settings.discovery_backend),
        discovery_mode=spec.annotations.get(contract.ANNOTATION_DISCOVERY_MODE, ""),
        base_model=base_model_of(spec),
        takes_bare_prefix=spec.annotations.get(contract.ANNOTATION_NAMESPACE_PREFIX) == "true"
        and not spec.global_dynamo_namespace,
    )


def namespace_of(component: ComponentDeployment) -> str:
    """The Dynamo namespace of a component."""
    spec, metadata = component.spec, component.metadata
    if not component.graph_name and spec.dynamo_namespace and not spec.global_dynamo_namespace:
        return spec.dynamo_namespace
    owner = component.graph_name or metadata.name
    return dynamo_namespace(metadata.namespace, owner, is_global=spec.global_dynamo_namespace)


def resolve_deleted_subject(parent: ReadManifest, settings: Settings) -> Subject:
    """The identity of a deleted component, from the readable fields of its spec; never raises.

    `dynamoNamespace` is not read: in a Dynamo namespace that components share, the keys of this one's service may be
    those of another component. Their leases end by themselves.
    """
    raw = parent.get("spec") or {}
    annotations = raw.get("annotations")
    readable = {
        "serviceName": raw.get("serviceName") if isinstance(raw.get("serviceName"), str) else "",
        "globalDynamoNamespace": raw.get("globalDynamoNamespace") is True,
        "annotations": {key: value for key, value in annotations.items() if isinstance(value, str)}
        if isinstance(annotations, dict)
        else {},
    }
    return resolve_subject(parse_parent(ComponentDeployment, {**parent, "spec": readable}), settings)


def base_model_of(spec: ComponentSpec) -> str:
    """The model that a component serves; empty if it names none."""
    return spec.model_ref.name if spec.model_ref else ""


def pod_selector(component: ComponentDeployment, subject: Subject) -> dict[str, str]:
    """Labels that all pods of a component have, and no other pods of its namespace.

    The pods of a Deployment have one label of their own. The pods of LeaderWorkerSets do not have it.
    """
    if not component.spec.is_multinode:
        return {contract.LABEL_SELECTOR: subject.name}
    graph = subject.graph or component.spec.labels.get(contract.LABEL_GRAPH, "")
    return {**subject.selecting_labels(), contract.LABEL_GRAPH: graph}


def operator_labels(subject: Subject) -> Mapping[str, str]:
    """Labels of a component's pods that selectors use; a user's labels never override them."""
    labels = {
        contract.LABEL_SELECTOR: subject.name,
        **subject.selecting_labels(),
        **subject.discovery_labels(),
        **subject.model_labels(),
    }
    return {**labels, contract.LABEL_SUB_COMPONENT_TYPE: subject.sub_type} if subject.sub_type else labels
