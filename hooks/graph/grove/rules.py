"""Names for which Grove refuses a graph: too long, equal to another, or not a host name.

Source: Grove, operator/internal/webhook/admission/pcs/validation; Dynamo operator,
internal/webhook/validation/dynamographdeployment.go, whose text for the length is kept.
"""

import re
from collections.abc import Iterator, Mapping

from hooks import contract
from hooks.api.component_spec import ComponentSpec
from hooks.api.graph import GraphDeployment
from hooks.component.placement import Role, clique_name
from hooks.k8s.grove import MAX_COMBINED_NAME, UPDATE_STRATEGIES
from hooks.k8s.names import is_dns_label
from hooks.k8s.types import Json
from hooks.problems import METADATA, SPEC, Key, Problem
from hooks.rules import grove as rules
from hooks.rules.graph import GROVE_NAME_LENGTH

_REFUSED_POD_FIELDS = ("topologySpreadConstraints", "nodeName")
_INDEX = re.compile(r"[0-9]+")


def validate_for_grove(graph: GraphDeployment) -> Iterator[Problem]:
    """Problems that a graph has only under Grove, in the order of its services; lengths are for `validate_length`."""
    name = graph.metadata.name
    if not is_dns_label(name) or not name[0].isalpha():
        yield rules.GROVE_GRAPH_NAME.at(METADATA / "name", name=name)
    strategy = graph.metadata.annotations.get(contract.ANNOTATION_GROVE_UPDATE_STRATEGY, UPDATE_STRATEGIES[0])
    if strategy not in UPDATE_STRATEGIES:
        path = METADATA / "annotations" / Key(contract.ANNOTATION_GROVE_UPDATE_STRATEGY)
        yield rules.GROVE_UPDATE_STRATEGY.at(path, value=strategy, choices=", ".join(UPDATE_STRATEGIES))
    for service, spec in sorted(graph.spec.services.items()):
        yield from _validate_name(name, service)
        yield from _validate_pod(service, spec.extra_pod_spec)
    yield from _validate_cliques(graph)


def validate_length(graph: str, service: str, spec: ComponentSpec) -> Iterator[Problem]:
    """The problem of a service whose pods' names would be too long."""
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
    yield GROVE_NAME_LENGTH.at(
        SPEC / "services" / Key(service),
        length=length,
        graph=graph,
        graph_length=len(graph),
        service=service,
        service_length=len(service),
        what=what,
    )


def _validate_name(graph: str, service: str) -> Iterator[Problem]:
    path = SPEC / "services" / Key(service)
    if "." in service:
        yield rules.GROVE_SERVICE_DOT.at(path)
    if _INDEX.fullmatch(service):
        yield rules.GROVE_SERVICE_NUMBER.at(path, graph=graph)


def _validate_pod(service: str, pod: Mapping[str, Json]) -> Iterator[Problem]:
    for field in _REFUSED_POD_FIELDS:
        if pod.get(field):
            yield rules.GROVE_POD_FIELD.at(SPEC / "services" / Key(service) / "extraPodSpec" / field)


def _validate_cliques(graph: GraphDeployment) -> Iterator[Problem]:
    """Services with cliques of the same name, and services whose PodCliques would have the same name."""
    owners: dict[str, str] = {}
    members: list[tuple[str, str, str]] = []
    for service, spec in sorted(graph.spec.services.items()):
        roles = (Role.LEADER, Role.WORKER) if spec.is_multinode else (Role.MAIN,)
        for role in roles:
            clique = clique_name(service, role)
            first = owners.setdefault(clique, service)
            if first != service:
                path, other = (SPEC / "services" / Key(name) for name in (service, first))
                yield rules.GROVE_CLIQUES_DIFFER.at(path, other=other, clique=clique)
            if role is not Role.MAIN:
                members.append((service, service.lower(), clique))
    for service, group, clique in members:
        own = re.compile(rf"{re.escape(group)}-[0-9]+-{re.escape(clique)}")
        for found in sorted(name for name in owners if own.fullmatch(name)):
            path, other = (SPEC / "services" / Key(name) for name in (owners[found], service))
            yield rules.GROVE_CLIQUE_OF_GROUP.at(path, other=other)
