"""The frontends of a graph as a person asks them: pods, ports and paths, by what their containers say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hooks.component.pod.sidecars import FRONTEND_SIDECAR
from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import is_pod_ready
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting, labels_of, name_of
from hooks.server.clients.api_server import collection_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontend:
    """A pod that runs a frontend, its port, and where it lists models and takes chats."""

    namespace: str
    pod: str
    is_ready: bool
    port: int = contract.HTTP_PORT
    is_tls: bool = False
    models_path: str = contract.MODELS_PATH
    chat_path: str = "/v1/chat/completions"

    def path(self, below: str) -> str:
        """A path of the frontend, in the API server's proxy."""
        scheme = "https:" if self.is_tls else ""
        return f"{collection_path(kinds.POD, self.namespace)}/{scheme}{self.pod}:{self.port}/proxy{below}"


def find_frontends(pods: Iterable[ReadManifest]) -> tuple[Frontend, ...]:
    """The pods that run a frontend, in their main container or beside it, sorted by name."""
    found = ((pod, container) for pod in pods if (container := _find_container(pod)) is not None)
    return tuple(sorted((_read(pod, container) for pod, container in found), key=lambda one: one.pod))


def _find_container(pod: ReadManifest) -> Mapping[str, Json] | None:
    is_frontend = labels_of(pod).get(contract.LABEL_COMPONENT_TYPE) == ComponentType.FRONTEND.value
    name = contract.MAIN_CONTAINER if is_frontend else FRONTEND_SIDECAR
    spec = pod.get("spec") or {}
    containers = [one for key in ("containers", "initContainers") for one in spec.get(key) or ()]
    return next((one for one in containers if one["name"] == name), None)


def _read(pod: ReadManifest, container: Mapping[str, Json]) -> Frontend:
    variables = {str(one.get("name")): str(one.get("value") or "") for one in container.get("env") or ()}
    words = (*(container.get("command") or ()), *(container.get("args") or ()))
    ports = {str(one.get("name") or ""): one.get("containerPort") for one in container.get("ports") or ()}
    given = {
        "models_path": variables.get(contract.MODELS_PATH_VARIABLE),
        "chat_path": variables.get("DYN_HTTP_SVC_CHAT_PATH"),
    }
    return Frontend(
        namespace=str(pod["metadata"].get("namespace") or ""),
        pod=name_of(pod),
        is_ready=is_pod_ready(pod) and not is_deleting(pod),
        port=int(ports.get(contract.HTTP_PORT_NAME) or contract.HTTP_PORT),
        is_tls=bool(variables.get(contract.TLS_VARIABLE)) or any(contract.TLS_FLAG in str(word) for word in words),
        **{name: path for name, path in given.items() if path and path.startswith("/")},
    )
