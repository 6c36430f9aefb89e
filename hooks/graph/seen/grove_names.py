"""The name of a graph's PodCliqueSet, and the longest name of its pods that a service leads to.

Grove makes the names of pods from those of the set, the scaling group and the clique: a graph's name that is too long
for them is cut. All else keeps the graph's name. A set keeps its name for as long as it exists, and the graph's status
records it.

Source: Dynamo operator since 1.2, internal/dynamo/graph.go, PCSNameForDGD.
"""

import re
from collections.abc import Mapping

from hooks.component.pod.placement import Role, clique_name
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.grove import MAX_COMBINED_NAME
from hooks.ground.k8s.hashing import fnv_hash
from hooks.ground.k8s.names import has_subdomain_form
from hooks.ground.k8s.types import Json, ReadManifest, name_of
from hooks.language.api.base import parse_parent
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment

SET_NAME = "podCliqueSet"
"""Field of a graph's status: the name of its PodCliqueSet."""

_SHORTEST = 8
"""Characters that a graph's name keeps in any case, with the hash."""
_DIGITS = 4
_CUT = re.compile(rf".+-[0-9a-f]{{{_DIGITS}}}")


def pod_clique_set_name(graph: GraphDeployment, known: str = "") -> str:
    """The name of a graph's PodCliqueSet: `known`, the name of the one that it has or had, else that of a new one."""
    return known or _cut(graph.metadata.name, graph.spec.services)


def find_set_name(graph: ReadManifest) -> str:
    """The recorded name of the graph's PodCliqueSet, else the name of a new one; the graph's if its spec is invalid."""
    if recorded := read_set_name(graph.get("status")):
        return recorded
    try:
        return pod_clique_set_name(parse_parent(GraphDeployment, graph))
    except InvalidSpec:
        return name_of(graph)


def read_set_name(status: Json) -> str:
    """The name of the PodCliqueSet that the status of a graph records; empty if it records none."""
    recorded = status.get(SET_NAME) if isinstance(status, Mapping) else None
    return recorded if isinstance(recorded, str) and has_subdomain_form(recorded) else ""


def may_be_cut(name: str) -> bool:
    """Whether the PodCliqueSet of a graph with another name can have this name, because that is cut."""
    return _CUT.fullmatch(name) is not None


def group_and_clique(service: str, spec: ComponentSpec) -> tuple[str, ...]:
    """The parts of the longest name of a pod that a service adds to the set's: scaling group and clique, or clique."""
    return (service.lower(), clique_name(service, Role.LEADER)) if spec.is_multinode else (service.lower(),)


def _cut(name: str, services: Mapping[str, ComponentSpec]) -> str:
    """The graph's name, or its beginning and a hash if pods' names would be too long with it."""
    longest = max((len("".join(group_and_clique(*one))) for one in services.items()), default=0)
    room = max(_SHORTEST, MAX_COMBINED_NAME - longest)
    if len(name) <= room:
        return name
    return f"{name[: room - _DIGITS - 1]}-{fnv_hash(name) & 0xFFFF:0{_DIGITS}x}"
