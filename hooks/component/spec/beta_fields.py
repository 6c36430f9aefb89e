"""Fields that only v1beta1 has, of an object that is stored in v1alpha1: they are kept in an annotation.

Most have no effect, and who wrote them learns that from the status too. One has: the name of the container that runs a
frontend, where v1alpha1's `frontendSidecar` cannot describe this container.
"""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Json, Manifest
from hooks.ground.problems import texts_of
from hooks.language.v1beta1.checks import find_v1beta1_warnings
from hooks.language.versions import V1BETA1, convert

_FRONTEND = "frontendSidecar"


def find_beta_warnings(
    kind: GroupVersionKind, annotations: Mapping[str, str], spec: Mapping[str, Json]
) -> tuple[str, ...]:
    """The warnings, with paths of v1beta1; `spec` needs only the names of services, and `multinode`."""
    if V1BETA1.keys(kind.kind).spec not in annotations:
        return ()
    return texts_of(find_v1beta1_warnings(_in_v1beta1(kind, annotations, spec)))


def find_frontend_containers(
    annotations: Mapping[str, str], services: Mapping[str, Mapping[str, Json]]
) -> dict[str, str]:
    """By service of a graph the name of such a container of its pods; {} for most graphs."""
    if _FRONTEND not in annotations.get(V1BETA1.keys(contract.GRAPH.kind).spec, ""):
        return {}
    components = _in_v1beta1(contract.GRAPH, annotations, {"services": services})["spec"].get("components") or ()
    named = {one["name"]: _named_container(one) for one in components if isinstance(one, dict) and "name" in one}
    return {
        name: container for name, container in named.items() if container and _FRONTEND not in services.get(name, {})
    }


def find_frontend_container(annotations: Mapping[str, str], extra_pod_spec: Mapping[str, Json]) -> str:
    """The same of a component: by its annotation for this, or kept by a conversion; empty for none."""
    if contract.ANNOTATION_FRONTEND_CONTAINER in annotations:
        return annotations[contract.ANNOTATION_FRONTEND_CONTAINER]
    if _FRONTEND not in annotations.get(V1BETA1.keys(contract.COMPONENT.kind).spec, ""):
        return ""
    pod = {key: extra_pod_spec[key] for key in ("mainContainer", "containers") if key in extra_pod_spec}
    return _named_container(_in_v1beta1(contract.COMPONENT, annotations, {"extraPodSpec": pod})["spec"])


def _named_container(component: Mapping[str, Json]) -> str:
    name = component.get(_FRONTEND)
    return name if isinstance(name, str) else ""


def _in_v1beta1(kind: GroupVersionKind, annotations: Mapping[str, str], spec: Mapping[str, Json]) -> Manifest:
    stored = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"annotations": dict(annotations)}}
    return convert({**stored, "spec": spec}, contract.BETA_VERSION)


def write_nodes(node_count: int) -> dict[str, Json]:
    """The field `multinode` of a component, as far as these warnings depend on it; {} on one node."""
    return {"multinode": {"nodeCount": node_count}} if node_count > 1 else {}
