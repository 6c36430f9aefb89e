"""The generated graph in the form in which it is created.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, createDGD.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s.names import fit_label_value
from hooks.ground.k8s.types import Json, Manifest
from hooks.language.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.wire.metacontroller.installation import label_like_parent

_NEVER_COPIED = frozenset({contract.LABEL_CONTROLLER_UID, contract.LABEL_INSTALLATION})
"""Labels that name an object's owner; a profiler may have copied them from a running graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphTarget:
    """Namespace and name of the graph in the cluster. `uid` is the namespace's, empty if it does not exist."""

    namespace: str
    name: str
    uid: str


def plan_graph_to_apply(request: GraphRequest, generated: Manifest, target: GraphTarget) -> Manifest:
    """The graph to create: the generated one with the request's labels, and the user's overrides, which win."""
    overrides, metadata = request.spec.deployment_overrides or DeploymentOverrides(), generated["metadata"]
    own = {
        contract.LABEL_REQUEST_NAME: fit_label_value(request.metadata.name),
        contract.LABEL_REQUEST_NAMESPACE: request.metadata.namespace,
        contract.LABEL_MANAGED_BY: contract.MANAGER,
    }
    labels = {**metadata.get("labels", {}), **own, **overrides.labels}
    annotations = {**metadata.get("annotations", {}), **overrides.annotations}
    described = {
        "name": target.name,
        "namespace": target.namespace,
        "labels": {key: labels[key] for key in sorted(labels) if key not in _NEVER_COPIED},
        **({"annotations": dict(sorted(annotations.items()))} if annotations else {}),
    }
    spec = _with_release(with_image(generated["spec"], overrides.workers_image), request.spec.runtime_version_override)
    return label_like_parent(request.metadata.labels, {**generated, "metadata": described, "spec": spec})


def with_image(spec: Mapping[str, Json], image: str) -> Mapping[str, Json]:
    """The spec with the user's image for all workers; the profiler gets it too, but may ignore it."""
    if not image:
        return spec
    services = spec.get("services") or {}
    return {**spec, "services": {name: _service_with_image(found, image) for name, found in services.items()}}


def _with_release(spec: Mapping[str, Json], release: str) -> Mapping[str, Json]:
    """The spec with the request's release of Dynamo for all services that say none."""
    if not release:
        return spec
    services = spec.get("services") or {}
    return {
        **spec,
        "services": {name: {"runtimeVersionOverride": release, **found} for name, found in services.items()},
    }


def _service_with_image(service: Mapping[str, Json], image: str) -> Mapping[str, Json]:
    if not ComponentType.of(service.get("componentType", "")).is_worker:
        return service
    pod = service.get("extraPodSpec") or {}
    container = {**(pod.get("mainContainer") or {}), "image": image}
    return {**service, "extraPodSpec": {**pod, "mainContainer": container}}
