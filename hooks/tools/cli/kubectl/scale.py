"""`kubectl dynamo scale`: the replicas of a service, in the field that counts."""

import click

from hooks.ground import contract
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.kubectl.restart import change_graph, warn_if_nobody_acts
from hooks.tools.cli.kubectl.suggesting import complete_services
from hooks.tools.cli.kubectl.target import NotPossible, Target, graph_options, open_graph
from hooks.wire.policy.identity import component_name


@click.command(
    epilog="""\b
Example:
  kubectl dynamo scale llm decode 4"""
)
@graph_options
@click.argument("service", metavar="SERVICE", shell_complete=complete_services)
@click.argument("replicas", metavar="N", type=click.IntRange(min=0))
def scale(*, name: str, service: str, replicas: int, namespace: str, connection: Connection) -> None:
    """Set the replicas of a service.

    If the service has a scaling adapter, the adapter's replicas are set, because the graph's do not count then; an
    autoscaler that scales the adapter may change them again. Otherwise the graph's field is set. A replica over several
    nodes counts as one.
    """
    with open_graph(connection, namespace, name) as target:
        click.echo(scale_service(target, target.find_service(service), replicas))
        warn_if_nobody_acts(target)


def scale_service(target: Target, service: str, replicas: int) -> str:
    """Scale the service; returns a sentence about what was done.

    Raises:
        NotPossible: it has that many already, or its scaling adapter does not exist yet.
        Refused: the API server refuses.
    """
    spec = target.services[service]
    if (spec.get("scalingAdapter") or {}).get("enabled"):
        return _scale_adapter(target, service, replicas)
    now = 1 if spec.get("replicas") is None else spec["replicas"]
    _check_differs(target, service, now, replicas)
    change_graph(target, {"spec": {"services": {service: {"replicas": replicas}}}})
    return f"graph {target.name}: {service} {now} → {replicas} replicas"


def _scale_adapter(target: Target, service: str, replicas: int) -> str:
    name = component_name(target.name, service)
    adapter = target.cluster.find(contract.SCALING_ADAPTER, name, target.namespace)
    if adapter is None:
        raise NotPossible(f"{service} of graph {target.name} has no scaling adapter {name} yet; try again later")
    now = adapter["spec"].get("replicas", 0)
    _check_differs(target, service, now, replicas)
    header = {"apiVersion": contract.SCALING_ADAPTER.api_version, "kind": contract.SCALING_ADAPTER.kind}
    known = {key: adapter["metadata"][key] for key in ("name", "namespace", "uid") if key in adapter["metadata"]}
    target.cluster.patch({**header, "metadata": known}, {"spec": {"replicas": replicas}}, "scale")
    return f"graph {target.name}: {service} {now} → {replicas} replicas, by its scaling adapter {name}"


def _check_differs(target: Target, service: str, now: int, replicas: int) -> None:
    if now == replicas:
        plural = "" if now == 1 else "s"
        raise NotPossible(f"{service} of graph {target.name} has {now} replica{plural} already; there is nothing to do")
