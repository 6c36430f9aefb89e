"""Warns who creates a graph whose Dynamo namespace begins with that of another graph in the Kubernetes namespace.

It needs the right to list graphs, which the count of resources needs too. Without it, or without an answer in time,
nothing is said.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from hooks.graph.spec.namespace_prefix import extends, sees_workers_of
from hooks.ground import contract
from hooks.ground.k8s.types import name_of, plural_of
from hooks.ground.problems import METADATA, Problem
from hooks.language.api.base import read_parent
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules.slips import EXTENDED_NAMESPACE
from hooks.language.validation.review import Review, Verdict
from hooks.server.clients.api_server import ApiServer, Refused, collection_path, read_objects
from hooks.server.serving.logs import logger

Rule = Callable[[Review], Verdict]

DEADLINE_SECONDS = 1.0
_MOST = 500
"""Graphs that are read; in a namespace with more, the rest is not looked at."""


def warn_of_neighbours(rules_by_plural: Mapping[str, Rule], server: ApiServer | None) -> dict[str, Rule]:
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
            EXTENDED_NAMESPACE.at(METADATA / "name", other=f"{contract.GRAPH.kind} {other.metadata.name}", place="")
            for other in _read_graphs(server, namespace, name)
            if sees_workers_of(other, name)
        )
    except Refused as refused:
        logger.warning("graphs of namespace %s not read: %s", namespace, refused)
        return ()


def _read_graphs(server: ApiServer, namespace: str, name: str) -> Iterator[GraphDeployment]:
    """The graphs with a shorter name, of which there may be some.

    Raises:
        Refused: the API server refuses, or does not answer in time.
    """
    path = f"{collection_path(contract.GRAPH, namespace)}?limit={_MOST}"
    with server.converse(DEADLINE_SECONDS) as talk:
        found = read_objects(talk.ask("GET", path), f"GET {path}", contract.GRAPH)
    for item in found:
        if extends(name, name_of(item)):
            yield read_parent(GraphDeployment, item)[0]
