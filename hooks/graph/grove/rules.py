"""What Grove would refuse of a graph, told before it is asked: names that are too long, equal, or no host names.

Source: Grove, operator/internal/webhook/admission/pcs/validation; Dynamo operator,
internal/webhook/validation/dynamographdeployment.go, whose text for the length is kept.
"""

import re
from collections.abc import Iterator, Mapping

from hooks.api.component_spec import ComponentSpec
from hooks.api.graph import GraphDeployment
from hooks.component.placement import Role, clique_name
from hooks.k8s.grove import MAX_COMBINED_NAME
from hooks.k8s.names import is_dns_label
from hooks.k8s.types import Json

_REFUSED_POD_FIELDS = ("topologySpreadConstraints", "nodeName")
_INDEX = re.compile(r"[0-9]+")


def validate_for_grove(graph: GraphDeployment) -> Iterator[str]:
    """Problems of a graph that only a PodCliqueSet has, but for the length of names; the services are in order."""
    name = graph.metadata.name
    if not is_dns_label(name) or not name[0].isalpha():
        yield (
            f"metadata.name {name!r} must begin with a letter and hold no '.': Grove names a Service and the hosts of "
            "all pods by it"
        )
    for service, spec in sorted(graph.spec.services.items()):
        yield from _validate_name(name, service)
        yield from _validate_pod(service, spec.extra_pod_spec)
    yield from _validate_cliques(graph)


def validate_length(graph: str, service: str, spec: ComponentSpec) -> Iterator[str]:
    """What is wrong with the length of the names that a service's pods get."""
    lower = service.lower()
    length = len(graph) + len(lower) + (len(clique_name(service, Role.LEADER)) if spec.is_multinode else 0)
    if length <= MAX_COMBINED_NAME:
        return
    what = (
        "For multinode services, the combined length of DGD name + service name + service name with role suffix "
        f"(e.g., '{clique_name(service, Role.LEADER)}')"
        if spec.is_multinode
        else "The combined length of DGD name + service name"
    )
    yield (
        f"spec.services[{service}]: combined resource name length {length} exceeds {MAX_COMBINED_NAME}-character limit "
        f"required for pod naming. Consider shortening the DynamoGraphDeployment name '{graph}' (length {len(graph)}) "
        f"or service name '{service}' (length {len(service)}). {what} must not exceed {MAX_COMBINED_NAME} characters"
    )


def _validate_name(graph: str, service: str) -> Iterator[str]:
    path = f"spec.services[{service}]"
    if "." in service:
        yield f"{path}: the name must hold no '.': Grove makes host names of it"
    if _INDEX.fullmatch(service):
        yield f"{path}: the name must not be a number: Grove calls a Service of its own {graph}-0"


def _validate_pod(service: str, pod: Mapping[str, Json]) -> Iterator[str]:
    for field in _REFUSED_POD_FIELDS:
        if pod.get(field):
            yield f"spec.services[{service}].extraPodSpec.{field} must be absent: Grove places pods itself"


def _validate_cliques(graph: GraphDeployment) -> Iterator[str]:
    """Two cliques of one name, or whose PodCliques would have one."""
    owners: dict[str, str] = {}
    members: list[tuple[str, str, str]] = []
    for service, spec in sorted(graph.spec.services.items()):
        roles = (Role.LEADER, Role.WORKER) if spec.is_multinode else (Role.MAIN,)
        for role in roles:
            clique = clique_name(service, role)
            first = owners.setdefault(clique, service)
            if first != service:
                both = f"spec.services[{service}] and spec.services[{first}]"
                yield f"{both} would both have a clique {clique}; rename one"
            if role is not Role.MAIN:
                members.append((service, service.lower(), clique))
    for service, group, clique in members:
        own = re.compile(rf"{re.escape(group)}-[0-9]+-{re.escape(clique)}")
        for other in sorted(name for name in owners if own.fullmatch(name)):
            yield f"spec.services[{owners[other]}] would be named like a part of spec.services[{service}]; rename one"
