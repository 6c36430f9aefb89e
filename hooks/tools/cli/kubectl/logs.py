"""`kubectl dynamo logs`: the logs of all pods of a graph, or of some of its services."""

import sys
from collections.abc import Iterator, Sequence
from threading import Lock, Thread

import click

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import ReadManifest, name_of
from hooks.server.clients.api_server import Refused
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.kubectl.suggesting import complete_services
from hooks.tools.cli.kubectl.target import NotPossible, Target, graph_options, open_graph
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.operating.cluster import path_of

_INTERRUPTED = 130
_MOST_PODS = 50
"""Of so many pods the logs are followed at the same time."""


@click.command(
    epilog="""\b
Examples:
  kubectl dynamo logs llm                       of all services
  kubectl dynamo logs llm decode
  kubectl dynamo logs llm decode -f --tail 10
  kubectl dynamo logs llm decode -p             of the containers before their last restart"""
)
@graph_options
@click.argument("services", nargs=-1, metavar="[SERVICE]…", shell_complete=complete_services)
@click.option("-f", "--follow", is_flag=True, help="Go on until Ctrl-C, or until all pods have ended.")
@click.option("-p", "--previous", is_flag=True, help="The logs of the containers before their last restart.")
@click.option("-c", "--container", default="main", show_default=True, metavar="NAME", help="A container of the pods.")
@click.option(
    "--tail",
    type=click.IntRange(min=-1),
    default=100,
    show_default=True,
    metavar="N",
    help="The last N lines of each pod; -1 for all.",
)
@click.option("--timestamps", is_flag=True, help="Begin each line with its time.")
def logs(  # noqa: PLR0913 - one for each option
    *,
    name: str,
    services: tuple[str, ...],
    follow: bool,
    previous: bool,
    container: str,
    tail: int,
    timestamps: bool,
    namespace: str,
    connection: Connection,
) -> None:
    """Print the logs of a graph's pods, or of those of some services.

    If there are several pods, each line begins with its pod.
    """
    query = {
        "container": container,
        **({"tailLines": str(tail)} if tail >= 0 else {}),
        **{key: "true" for key, is_set in (("previous", previous), ("timestamps", timestamps)) if is_set},
    }
    with open_graph(connection, namespace, name) as target:
        pods = _choose_pods(target, services, container)
        try:
            with guard_output():
                failed = print_logs(target, pods, query, follow=follow)
        except KeyboardInterrupt:
            sys.exit(_INTERRUPTED)
    if failed:
        sys.exit(1)


def _choose_pods(target: Target, services: Sequence[str], container: str) -> list[ReadManifest]:
    """The pods with the container; of all services if none is given, as not all of them may have it."""
    if not services:
        pods = find_pods(target)
        having = [pod for pod in pods if container in _list_containers(pod)]
        if not having:
            _check_container(pods, container)
        return having
    names = dict.fromkeys(target.find_service(service) for service in services)
    found = [pod for name in names for pod in find_pods(target, name)]
    _check_container(found, container)
    return found


def find_pods(target: Target, service: str = "") -> list[ReadManifest]:
    """The pods of a service, or of the graph, on all ways in which a graph can run.

    Raises:
        NotPossible: it has none.
    """
    labels = {contract.LABEL_GRAPH: target.name, **({contract.LABEL_COMPONENT: service} if service else {})}
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    found = sorted(target.cluster.read_all(kinds.POD, target.namespace, labelSelector=selector), key=name_of)
    if not found:
        asked = f"kubectl dynamo status {target.name} -n {target.namespace}"
        subject = f"{service} of graph {target.name}" if service else f"graph {target.name}"
        raise NotPossible(f"{subject} has no pods; {asked} may say why")
    return found


def _check_container(pods: Sequence[ReadManifest], name: str) -> None:
    names = _list_containers(pods[0])
    if name not in names:
        raise NotPossible(f"pod {name_of(pods[0])} has no container {name}; it has {', '.join(names)}")


def _list_containers(pod: ReadManifest) -> list[str]:
    spec = pod.get("spec") or {}
    return [one["name"] for key in ("containers", "initContainers") for one in spec.get(key) or ()]


def print_logs(target: Target, pods: Sequence[ReadManifest], query: dict[str, str], *, follow: bool) -> bool:
    """Print the lines of all pods; returns whether a log could not be read, which is then said on standard error."""
    lock, width = Lock(), max(len(name_of(pod)) for pod in pods)
    failed: list[str] = []

    def print_one(name: str) -> None:
        prefix = f"[{name.ljust(width)}] " if len(pods) > 1 else ""
        try:
            for line in _read(target, name, {**query, **({"follow": "true"} if follow else {})}):
                with lock:
                    click.echo(f"{prefix}{line}")
        except Refused as refused:
            with lock:
                click.echo(f"{prefix}{refused}", err=True)
                failed.append(name)

    if follow and len(pods) > _MOST_PODS:
        raise NotPossible(f"there are {len(pods)} pods; --follow takes at most {_MOST_PODS}")
    if follow and len(pods) > 1:
        threads = [Thread(target=print_one, args=(name_of(pod),), daemon=True) for pod in pods]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        for pod in pods:
            print_one(name_of(pod))
    return bool(failed)


def _read(target: Target, pod: str, query: dict[str, str]) -> Iterator[str]:
    return target.cluster.read_lines(f"{path_of(kinds.POD, pod, target.namespace)}/log", query)
