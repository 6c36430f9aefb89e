"""What a shell offers for the names of graphs, services and namespaces: what the cluster has, if it answers soon."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from hooks.tools.operating.cluster import Cluster

_SECONDS = 2.0
"""A shell waits no longer for each answer."""


def complete_graphs(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The graphs of the namespace that was given, or of the context's."""

    def read(cluster: "Cluster") -> Iterable[str]:
        from hooks.ground import contract  # noqa: PLC0415 - the shell asks for little, and soon

        graphs = cluster.read_all(contract.GRAPH, _namespace_of(context, cluster))
        return [str(one["metadata"]["name"]) for one in graphs]

    return _complete(context, incomplete, read)


def complete_services(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The services of the graph that was given, without those that were given too."""

    def read(cluster: "Cluster") -> Iterable[str]:
        from hooks.tools.operating.live_reader import find_graph  # noqa: PLC0415

        graph = find_graph(cluster, str(context.params.get("name") or ""), _namespace_of(context, cluster)) or {}
        services = (graph.get("spec") or {}).get("services") or {}
        given = context.params.get("services") or ()
        return [str(name) for name in services if name not in given]

    return _complete(context, incomplete, read)


def complete_namespaces(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The namespaces of the cluster."""

    def read(cluster: "Cluster") -> Iterable[str]:
        found = cluster.read("/api/v1/namespaces") or {}
        return [str(one["metadata"]["name"]) for one in found.get("items") or ()]

    return _complete(context, incomplete, read)


def _namespace_of(context: click.Context, cluster: "Cluster") -> str:
    return str(_given(context, "namespace") or cluster.namespace)


def _given(context: click.Context, name: str) -> object:
    """An option, given after the command or before it; while a shell completes, no command has run to pass it on."""
    before = _given(context.parent, name) if context.parent else None
    return context.params.get(name) or before


def _complete(context: click.Context, incomplete: str, read: "Callable[[Cluster], Iterable[str]]") -> list[str]:
    """The names that begin so; none where the cluster cannot be asked, since a shell has no place for a message."""
    from hooks.server.clients.api_server import Refused  # noqa: PLC0415
    from hooks.tools.cli import cluster_options  # noqa: PLC0415 - reads YAML, and most commands complete nothing

    given = {name: _given(context, name) for name in ("kubeconfig", "context", "server", "token_file", "ca_file")}
    options: dict[str, Any] = {name: value for name, value in given.items() if value}
    if "kubeconfig" in options:
        options["kubeconfig"] = Path(options["kubeconfig"])  # before the command it is still a text
    connection = cluster_options.Connection(**options, timeout=_SECONDS)
    try:
        with cluster_options.connect(connection) as cluster:
            return sorted(name for name in read(cluster) if name.startswith(incomplete))
    except (Refused, SystemExit, click.ClickException, OSError):
        return []
