"""Environment of a container that runs Dynamo: which layer wins, and the variables that every such process gets.

The layers, strongest first: the service's `envs` (already merged with the graph's), `mainContainer.env`, the type's
defaults, addresses from the settings. Variables are sorted by name, with one exception. If other variables refer to a
variable whose value only the kubelet knows, it comes first: the kubelet expands only references to earlier variables.
"""

from collections.abc import Iterable

from hooks.component.image.runtime_version import CURRENT_SINCE, RuntimeVersion, is_since
from hooks.component.spec.subject import Subject
from hooks.ground import contract
from hooks.ground.k8s.pods import expand_references, field_env, literal_env, merge_env, referenced_first
from hooks.ground.k8s.types import EnvVar
from hooks.ground.settings import Settings

DISCOVERY_BACKEND = "DYN_DISCOVERY_BACKEND"
ETCD_ENDPOINTS = "ETCD_ENDPOINTS"
KEY_VALUE_STORE = "DYN_STORE_KV"

_POD_FIELDS: tuple[EnvVar, ...] = (
    field_env("POD_NAME", "metadata.name"),
    field_env("POD_NAMESPACE", "metadata.namespace"),
    field_env("POD_UID", "metadata.uid"),
)

_SHARED = frozenset(
    {DISCOVERY_BACKEND, KEY_VALUE_STORE, "DYN_NAMESPACE", "DYN_REQUEST_PLANE", "DYN_EVENT_PLANE", "MODEL_EXPRESS_URL"}
)
_SHARED_PREFIXES = ("NATS_", "ETCD_")


def resolve_env(
    subject: Subject,
    settings: Settings,
    *layers: Iterable[EnvVar],
    version: RuntimeVersion | None,
    container: str = contract.MAIN_CONTAINER,
) -> list[EnvVar]:
    """The whole environment; `layers` override the variables that every component gets, and the last layer wins.

    `version` is the release that the container runs, None if it is unknown; `container` is its name.

    Raises:
        ValueError: references between variables cannot be expanded.

    Source: Dynamo operator, internal/dynamo/component_common.go and graph.go.
    """
    merged = merge_env(_standard_env(settings), _identity_env(subject, container), _POD_FIELDS, *layers)
    whole = merged if is_since(version, CURRENT_SINCE) else _with_key_value_store(merged)
    return referenced_first(expand_references(whole))


def resolve_plain_env(*layers: Iterable[EnvVar]) -> list[EnvVar]:
    """The environment of a container that does not run Dynamo; the last layer wins.

    Raises:
        ValueError: references between variables cannot be expanded.
    """
    return referenced_first(expand_references(merge_env(*layers)))


def select_shared(env: Iterable[EnvVar]) -> list[EnvVar]:
    """The variables that all processes of a pod must have in common: how they find each other, NATS and etcd."""
    return [entry for entry in env if entry["name"] in _SHARED or entry["name"].startswith(_SHARED_PREFIXES)]


def _standard_env(settings: Settings) -> list[EnvVar]:
    addresses = {
        "NATS_SERVER": settings.nats_address,
        ETCD_ENDPOINTS: settings.etcd_address,
        "MODEL_EXPRESS_URL": settings.model_express_url,
        "PROMETHEUS_ENDPOINT": settings.prometheus_endpoint,
    }
    return literal_env(addresses)


def _identity_env(subject: Subject, container: str) -> list[EnvVar]:
    values = {
        "DYN_NAMESPACE": subject.dynamo_namespace,
        "DYN_COMPONENT": subject.type_text,
        "DYN_PARENT_DGD_K8S_NAME": subject.graph,
        "DYN_PARENT_DGD_K8S_NAMESPACE": subject.namespace,
        DISCOVERY_BACKEND: subject.discovery,
    }
    if subject.uses_kubernetes_discovery and subject.discovery_mode == "container":
        values |= {"CONTAINER_NAME": container, "DYN_KUBE_DISCOVERY_MODE": subject.discovery_mode}
    return literal_env(values)


def _with_key_value_store(env: list[EnvVar]) -> list[EnvVar]:
    """The environment; under Kubernetes discovery without etcd, the runtime keeps its keys in memory.

    Otherwise runtime 0.9.1 connects to etcd and crashes, although it discovers through the API server.
    """
    values = {entry["name"]: entry.get("value") for entry in env}
    needs_store = values.get(DISCOVERY_BACKEND) == contract.DISCOVERY_KUBERNETES and ETCD_ENDPOINTS not in values
    return merge_env(literal_env({KEY_VALUE_STORE: "mem"}), env) if needs_store else env
