"""Names on which the component, graph and model hooks must agree: of objects, Dynamo namespaces, discovery, models."""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.hashing import short_hash
from hooks.ground.k8s.names import MAX_LABEL, fit_name, to_dns_label

MPI_SECRET_SUFFIX = "-mpi-ssh"  # noqa: S105 - the end of a name


def dynamo_namespace(namespace: str, graph: str, *, is_global: bool = False) -> str:
    """The Dynamo namespace, in which a graph's processes find each other: `<namespace>-<graph>`, or `dynamo` if global.

    Dots of the graph's name become dashes, as in the newer operator: a dot separates the parts of an endpoint's name.

    Source: Dynamo operator, api/v1alpha1/common.go, ComputeDynamoNamespace.
    """
    if is_global:
        return contract.GLOBAL_DYNAMO_NAMESPACE
    return f"{namespace}-{graph.replace('.', '-')}"


def discovery_backend(annotations: Mapping[str, str], default: str) -> str:
    """`kubernetes` or `etcd`: the annotation's value, or `default` (the setting) if it is absent or empty.

    DYN_DISCOVERY_BACKEND is always set, because the runtime's own default has changed.
    """
    return annotations.get(contract.ANNOTATION_DISCOVERY_BACKEND) or default


def component_name(graph: str, service: str) -> str:
    """Name of a service's component, Deployment, Service and scaling adapter: `<graph>-<service in lower case>`.

    Source: Dynamo operator, internal/dynamo/graph.go, GetDynamoComponentName.
    """
    return f"{graph}-{service.lower()}"


def model_hash(model: str) -> str:
    """The label value by which a base model's endpoints are found: 8 hex digits of the SHA-256 of its exact name."""
    return short_hash(model)


def model_service_name(owner: str, model: str) -> str:
    """Name of the headless Service for those pods of an owner that serve a base model: `<owner>-model-<hash>`.

    A Service's name must begin with a letter, so another beginning gets `m-` in front.
    """
    suffix, label = f"-model-{model_hash(model)}", to_dns_label(owner)
    return fit_name(label if label[:1].isalpha() else f"m-{label}", 63 - len(suffix)) + suffix


def owner_of_model_service(service: str, model: str) -> str:
    """Whose headless Service of a base model has this name; empty if that cannot be told, as of a long name."""
    owner = service.removesuffix(f"-model-{model_hash(model)}")
    rest = owner.removeprefix("m-")
    owner = rest if rest[:1].isdigit() else owner
    return owner if owner != service and model_service_name(owner, model) == service else ""


def discovery_account(graph: str) -> str:
    """ServiceAccount with which a graph's pods discover each other through the API server."""
    return f"{graph}-k8s-service-discovery"


def planner_account(graph: str) -> str:
    """ServiceAccount of a graph's planner; each graph has its own, because two parents cannot own one object."""
    return f"{graph}-planner"


def epp_account(graph: str) -> str:
    """ServiceAccount of a graph's endpoint picker."""
    return f"{graph}-epp"


def epp_config_map(graph: str) -> str:
    """ConfigMap with the endpoint picker's generated configuration."""
    return f"{graph}-epp-config"


def epp_pool(graph: str) -> str:
    """InferencePool of a graph."""
    return f"{graph}-pool"


def mpi_secret(owner: str) -> str:
    """Secret with the SSH key of multinode TensorRT-LLM, copied for each graph and each component without a graph.

    The volume has the same name, so this is a DNS label.
    """
    return fit_name(to_dns_label(owner), MAX_LABEL - len(MPI_SECRET_SUFFIX)) + MPI_SECRET_SUFFIX
