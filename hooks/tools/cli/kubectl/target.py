"""The graph and the services that a user names, and the sentences for those that do not exist."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from hooks.ground import contract
from hooks.ground.k8s.types import Json, ReadManifest, name_of
from hooks.server.clients.api_server import Refused
from hooks.tools.cli.cluster_options import Connection, connect, connection_options
from hooks.tools.cli.kubectl.suggesting import complete_graphs, complete_namespaces
from hooks.tools.cli.refusals import describe_refusal
from hooks.tools.cli.values import parse_namespace
from hooks.tools.operating import live_reader
from hooks.tools.operating.cluster import Cluster

_MOST_NAMES = 20


class NotPossible(Exception):
    """What the user asks for does not exist, or there is nothing to do; the message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A graph of a cluster, read as v1alpha1 with its kind."""

    cluster: Cluster
    namespace: str
    graph: ReadManifest

    @property
    def name(self) -> str:
        """The graph's name."""
        return name_of(self.graph)

    @property
    def services(self) -> Mapping[str, Mapping[str, Json]]:
        """The services of the graph's spec, by name."""
        return (self.graph.get("spec") or {}).get("services") or {}

    def find_service(self, given: str) -> str:
        """The service's name; upper and lower case count only where two services differ in nothing else.

        Raises:
            NotPossible: there is none.
        """
        alike = [name for name in self.services if name.lower() == given.lower()]
        if given in self.services or len(alike) == 1:
            return given if given in self.services else alike[0]
        raise NotPossible(f"graph {self.name} has no service {given}; it has {list_names(self.services)}")


namespace_of_graph = click.option(
    "-n",
    "--namespace",
    metavar="NAMESPACE",
    default="",
    callback=lambda context, parameter, name: parse_namespace(context, parameter, name) if name else "",
    shell_complete=complete_namespaces,
    help="The graph's namespace. Default: that of the kubeconfig's context.",
)


graph_argument = click.argument("name", metavar="GRAPH", shell_complete=complete_graphs)


def graph_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the argument `name` of a graph, and the options `namespace` and `connection`."""
    return graph_argument(namespace_of_graph(connection_options(command)))


def check_kind(cluster: Cluster) -> None:
    """Check that the cluster knows graphs at all.

    Raises:
        NotPossible: it does not.
        Refused: the API server does not answer.
    """
    if cluster.read(f"/apis/{contract.GRAPH.api_version}") is None:
        raise NotPossible(f"the cluster has no {contract.GRAPH.kind}; Dynamo hooks are not installed in it")


@contextmanager
def open_graph(connection: Connection, namespace: str, name: str) -> Iterator[Target]:
    """The graph. If it, or something that is asked for inside, does not exist, ends with a sentence and status 1."""
    with open_cluster(connection) as cluster:
        yield find_graph(cluster, namespace or cluster.namespace, name)


@contextmanager
def open_cluster(connection: Connection) -> Iterator[Cluster]:
    """The cluster; what is refused, or not possible inside, ends the process with a sentence and status 1."""
    with guard_answers(), connect(connection) as cluster:
        yield cluster


@contextmanager
def guard_answers() -> Iterator[None]:
    """A context in which what is not possible, or refused, ends the process with a sentence and status 1."""
    try:
        yield
    except Refused as refused:
        click.echo(describe_refusal(refused), err=True)
        sys.exit(1)
    except NotPossible as error:
        click.echo(str(error), err=True)
        sys.exit(1)


def find_graph(cluster: Cluster, namespace: str, name: str) -> Target:
    """The graph of that name.

    Raises:
        NotPossible: there is none.
        Refused: the API server does not answer, or does not show it.
    """
    found = live_reader.find_graph(cluster, name, namespace)
    if found is not None:
        return Target(cluster=cluster, namespace=namespace, graph=found)
    check_kind(cluster)
    there = [name_of(one) for one in cluster.read_all(contract.GRAPH, namespace)]
    others = f"it has {list_names(there)}" if there else "it has none; -n names another namespace"
    raise NotPossible(f"there is no graph {name} in namespace {namespace}; {others}")


def list_names(names: Any) -> str:
    """`a, b and c`, sorted; `none` for none."""
    known = sorted(names)
    if len(known) > _MOST_NAMES:
        return f"{', '.join(known[:_MOST_NAMES])} and {len(known) - _MOST_NAMES} more"
    return " and ".join(filter(None, (", ".join(known[:-1]), *known[-1:]))) or "none"
