"""Warns who creates a graph that shares workers with another one, because of the names of their Dynamo namespaces.

A graph with a longer name may be seen by frontends and endpoint pickers that are there. A new graph with a shorter name
sees others by its pickers alone: its frontends get no prefix then.

It needs the right to list graphs, which the count of resources needs too. Without it, or without an answer in time,
nothing is said.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from hooks.graph.spec.namespace_prefix import extends, has_picker_by_prefix, sees_workers_of
from hooks.ground import contract
from hooks.ground.k8s.types import name_of, plural_of
from hooks.ground.problems import METADATA, Problem, Rule
from hooks.language.api.base import read_parent
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules.slips import EXTENDED_NAMESPACE, EXTENDING_NAMESPACE
from hooks.language.validation.review import Review, Verdict
from hooks.server.clients.api_server import ApiServer, Refused, collection_path, read_objects
from hooks.server.serving.logs import logger

Judge = Callable[[Review], Verdict]

DEADLINE_SECONDS = 1.0
_MOST = 500
"""Graphs that are read; in a namespace with more, the rest is not looked at."""


def warn_of_neighbours(rules_by_plural: Mapping[str, Judge], server: ApiServer | None) -> dict[str, Judge]:
    """The same rules, with this warning about an accepted graph that is new."""
    plural = plural_of(contract.GRAPH)
    judge = rules_by_plural[plural]

    def warned(review: Review) -> Verdict:
        verdict = judge(review)
        if verdict.problems or review.old is not None or server is None:
            return verdict
        return replace(verdict, warnings=(*verdict.warnings, *_find_extended(review, server)))

    return {**rules_by_plural, plural: warned}


def _find_extended(review: Review, server: ApiServer) -> tuple[Problem, ...]:
    name, namespace = name_of(review.new), str(review.new["metadata"]["namespace"])
    try:
        return tuple(
            rule.at(METADATA / "name", other=f"{contract.GRAPH.kind} {other.metadata.name}", place="")
            for other in _read_graphs(server, namespace, name)
            if (rule := _judge(read_parent(GraphDeployment, review.new)[0], other)) is not None
        )
    except Refused as refused:
        logger.warning("graphs of namespace %s not read: %s", namespace, refused)
        return ()


def _judge(new: GraphDeployment, other: GraphDeployment) -> Rule | None:
    """What is said of the new graph and another one; None for nothing."""
    if sees_workers_of(other, new.metadata.name):
        return EXTENDED_NAMESPACE
    return (
        EXTENDING_NAMESPACE if extends(other.metadata.name, new.metadata.name) and has_picker_by_prefix(new) else None
    )


def _read_graphs(server: ApiServer, namespace: str, name: str) -> Iterator[GraphDeployment]:
    """The graphs whose Dynamo namespaces begin with each other's, of which there may be some.

    Raises:
        Refused: the API server refuses, or does not answer in time.
    """
    path = f"{collection_path(contract.GRAPH, namespace)}?limit={_MOST}"
    with server.converse(DEADLINE_SECONDS) as talk:
        found = read_objects(talk.ask("GET", path), f"GET {path}", contract.GRAPH)
    for item in found:
        if extends(name, name_of(item)) or extends(name_of(item), name):
            yield read_parent(GraphDeployment, item)[0]
