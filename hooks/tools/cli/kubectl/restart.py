"""`kubectl dynamo restart`: all services of a graph, as `spec.restart` says, or some of them by a new annotation."""

from collections.abc import Iterable
from datetime import UTC, datetime
from http import HTTPStatus
from time import monotonic, sleep

import click

from hooks.ground import contract
from hooks.ground.k8s.conditions import format_time
from hooks.ground.k8s.types import Json
from hooks.server.clients.api_server import Refused
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.kubectl.suggesting import complete_services
from hooks.tools.cli.kubectl.target import NotPossible, Target, find_graph, graph_options, list_names, open_graph
from hooks.wire.metacontroller.processing import find_unprocessed

RESTARTED_AT = contract.ANNOTATION_RESTARTED_AT
"""The annotation with which `kubectl rollout restart` restarts the pods of a Deployment, and we those of a service."""
_ATTEMPTS = 5
_PATIENCE_SECONDS = 5.0
_PAUSE_SECONDS = 0.5
_UNDER_WAY = frozenset({"Pending", "Restarting"})


@click.command(
    epilog="""\b
Examples:
  kubectl dynamo restart llm                    all services, one after another
  kubectl dynamo restart llm decode prefill"""
)
@graph_options
@click.argument("services", nargs=-1, metavar="[SERVICE]…", shell_complete=complete_services)
@click.option("--force", is_flag=True, help="Start over even while an earlier restart is under way.")
def restart(*, name: str, services: tuple[str, ...], namespace: str, connection: Connection, force: bool) -> None:
    """Restart a graph, or some of its services.

    Without SERVICE the graph gets a new spec.restart.id: its services restart one after another, or all at once if
    spec.restart.strategy says Parallel. A SERVICE gets a new annotation on its pods, and they roll at once. Pods are
    replaced as in any rollout, so a service with several replicas goes on serving.
    """
    with open_graph(connection, namespace, name) as target:
        click.echo(restart_graph(target, services, datetime.now(UTC), force=force))
        warn_if_nobody_acts(target)


def restart_graph(target: Target, given: Iterable[str], now: datetime, *, force: bool) -> str:
    """Restart the services, or all if none is given; returns a sentence about what was done.

    Raises:
        NotPossible: there is no such service, nothing runs, or a restart is under way.
        Refused: the API server refuses.
    """
    services = list(dict.fromkeys(target.find_service(service) for service in given))
    _check_runs(target, services)
    if not services and not force:
        _check_rests(target)
    stamp = format_time(now)
    change: Json = {"restart": {"id": stamp}}
    if services:
        annotated = {"extraPodMetadata": {"annotations": {RESTARTED_AT: stamp}}}
        change = {"services": dict.fromkeys(services, annotated)}
    change_graph(target, {"spec": change})
    return f"{_describe(target, services)}; watch it with: kubectl dynamo status {target.name} -n {target.namespace} -w"


def change_graph(target: Target, change: Json, *, of_spec: bool = False) -> None:
    """Patch the graph; if others change it at the same time, read it again and repeat.

    With `of_spec` the change follows from the spec that was read, so it is not made to another one.

    Raises:
        NotPossible: the graph is gone, or has another spec.
        Refused: the API server refuses.
    """
    graph = target.graph
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            target.cluster.patch(graph, change)
        except Refused as refused:
            if refused.status != HTTPStatus.CONFLICT or attempt == _ATTEMPTS:
                raise
            graph = find_graph(target.cluster, target.namespace, target.name).graph
            if of_spec and graph["metadata"].get("generation") != target.graph["metadata"].get("generation"):
                said = f"the spec of graph {target.name} was changed at the same time; nothing is done, try again"
                raise NotPossible(said) from refused
        else:
            return


def warn_if_nobody_acts(target: Target) -> None:
    """Wait for at most five seconds until a change of the graph is processed; if it is not, say so.

    Raises:
        NotPossible: the graph is gone.
        Refused: the API server does not answer.
    """
    deadline = monotonic() + _PATIENCE_SECONDS
    while True:
        graph = find_graph(target.cluster, target.namespace, target.name).graph
        waiting = find_unprocessed(graph, datetime.now(UTC))
        if waiting is None:
            return
        if monotonic() > deadline:
            break
        sleep(_PAUSE_SECONDS)
    look = f"kubectl dynamo status {target.name} -n {target.namespace}"
    click.echo(f"not done yet: {waiting}. Metacontroller may not call the hooks; {look} says more", err=True)


def _check_runs(target: Target, services: Iterable[str]) -> None:
    empty = {name for name, spec in target.services.items() if spec.get("replicas") == 0 and not _is_scaled(spec)}
    asked = set(services) or set(target.services)
    if asked <= empty:
        raise NotPossible(f"{list_names(asked)} of graph {target.name} has no replicas; there is nothing to restart")


def _is_scaled(spec: Json) -> bool:
    return bool((spec.get("scalingAdapter") or {}).get("enabled"))


def _check_rests(target: Target) -> None:
    wanted = (target.graph["spec"].get("restart") or {}).get("id")
    seen = (target.graph.get("status") or {}).get("restart") or {}
    if wanted and (seen.get("observedID") != wanted or seen.get("phase") in _UNDER_WAY):
        where = f", at {list_names(seen['inProgress'])}" if seen.get("inProgress") else ""
        raise NotPossible(f"restart {wanted} of graph {target.name} is under way{where}; --force starts over")


def _describe(target: Target, services: list[str]) -> str:
    if services:
        return f"graph {target.name}: the pods of {list_names(services)} restart"
    strategy = (target.graph["spec"].get("restart") or {}).get("strategy") or {}
    if strategy.get("type") == "Parallel":
        return f"graph {target.name}: all services restart at once"
    order = strategy.get("order") or sorted(target.services)
    return f"graph {target.name}: the services restart one after another: {', '.join(order)}"
