"""Names for which Grove refuses a graph: too long, equal to another, or not a host name.

Source: Grove, operator/internal/webhook/admission/pcs/validation.
"""

import re
from collections.abc import Iterator, Mapping

from hooks.component.pod.placement import Role, clique_name
from hooks.graph.seen.grove_names import group_and_clique, pod_clique_set_name
from hooks.ground import contract
from hooks.ground.k8s.grove import MAX_COMBINED_NAME, UPDATE_STRATEGIES
from hooks.ground.k8s.names import is_dns_label
from hooks.ground.k8s.types import Json
from hooks.ground.problems import METADATA, SPEC, Key, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules import grove as rules
from hooks.language.rules.graph import GROVE_NAME_KEPT, GROVE_NAME_LENGTH

_REFUSED_POD_FIELDS = ("topologySpreadConstraints", "nodeName")
_OTHER_WAY = ", where LeaderWorkerSet with Volcano runs its several nodes"
_INDEX = re.compile(r"[0-9]+")


def validate_for_grove(graph: GraphDeployment, set_name: str) -> Iterator[Problem]:
    """Problems that a graph has only under Grove, in the order of its services; lengths are for `validate_lengths`.

    `set_name` is the name of its PodCliqueSet.
    """
    name = graph.metadata.name
    if not is_dns_label(set_name) or not set_name[0].isalpha():
        yield rules.GROVE_GRAPH_NAME.at(METADATA / "name", name=name)
    strategy = graph.metadata.annotations.get(contract.ANNOTATION_GROVE_UPDATE_STRATEGY, UPDATE_STRATEGIES[0])
    if strategy not in UPDATE_STRATEGIES:
        path = METADATA / "annotations" / Key(contract.ANNOTATION_GROVE_UPDATE_STRATEGY)
        yield rules.GROVE_UPDATE_STRATEGY.at(path, value=strategy, choices=", ".join(UPDATE_STRATEGIES))
    for service, spec in sorted(graph.spec.services.items()):
        yield from _validate_name(set_name, service)
        yield from _validate_pod(service, spec.extra_pod_spec)
    yield from _validate_cliques(graph)


def validate_lengths(graph: GraphDeployment, known_set: str = "") -> Iterator[Problem]:
    """The problems of services whose pods' names would be too long, in the order of the services.

    `known_set` is the name of the graph's PodCliqueSet, empty for a graph that has none.
    """
    name = pod_clique_set_name(graph, known_set)
    is_kept = name != pod_clique_set_name(graph)
    for service, spec in sorted(graph.spec.services.items()):
        yield from _validate_length(service, spec, name, is_kept=is_kept)


def _validate_length(service: str, spec: ComponentSpec, set_name: str, *, is_kept: bool) -> Iterator[Problem]:
    parts = group_and_clique(service, spec)
    length, room = len(set_name) + len("".join(parts)), MAX_COMBINED_NAME - len(set_name)
    if length <= MAX_COMBINED_NAME:
        return
    added = len("".join(parts)) - len(parts) * len(service)  # of the role
    rule = GROVE_NAME_KEPT if is_kept else GROVE_NAME_LENGTH
    yield rule.at(
        SPEC / "services" / Key(service),
        length=length,
        name=set_name,
        parts=" + ".join(parts),
        most=(room - added) // len(parts),
        **({} if is_kept else {"nodes": _OTHER_WAY if spec.is_multinode else ""}),
    )


def _validate_name(set_name: str, service: str) -> Iterator[Problem]:
    path = SPEC / "services" / Key(service)
    if "." in service:
        yield rules.GROVE_SERVICE_DOT.at(path)
    if _INDEX.fullmatch(service):
        yield rules.GROVE_SERVICE_NUMBER.at(path, name=set_name)


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
