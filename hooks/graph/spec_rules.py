"""What upstream's webhook asks of a graph beyond its services: that there are some, claims, the restart, name lengths.

Source: Dynamo operator, internal/webhook/validation/dynamographdeployment.go, whose order and texts are kept.
"""

from collections.abc import Iterator, Mapping, Sequence

from hooks.api.graph import GraphDeployment, PersistentVolumeClaimRequest, Restart
from hooks.k8s.names import is_subdomain
from hooks.k8s.quantities import canonical_quantity, parse_quantity

PARALLEL = "Parallel"


def find_graph_problems(graph: GraphDeployment) -> Iterator[str]:
    """Problems of everything but the services themselves."""
    if not graph.spec.services:
        yield "spec.services must have at least one service"
    for index, claim in enumerate(graph.spec.pvcs):
        yield from _find_claim_problems(claim, f"spec.pvcs[{index}]")
    if graph.spec.restart is not None:
        yield from _find_restart_problems(graph.spec.restart, graph.spec.services)


def _find_claim_problems(claim: PersistentVolumeClaimRequest, path: str) -> Iterator[str]:
    if not claim.name:
        yield f"{path}.name is required"
    elif not is_subdomain(claim.name):
        yield f"{path}.name {claim.name!r} must consist of lower case letters, digits, '-' and '.'"
    if not claim.create:
        return
    if not claim.storage_class:
        yield f"{path}.storageClass is required when create is true"
    try:
        if claim.size is None or canonical_quantity(claim.size) == "0":
            yield f"{path}.size is required when create is true"
        elif parse_quantity(str(claim.size)) < 0:
            yield f"{path}.size {claim.size} must be greater than zero"
    except ValueError as error:
        yield f"{path}.size: {error}"
    if not claim.volume_access_mode:
        yield f"{path}.volumeAccessMode is required when create is true"


def _find_restart_problems(restart: Restart, services: Mapping[str, object]) -> Iterator[str]:
    path = "spec.restart.strategy.order"
    if not restart.id:
        yield "spec.restart.id is required"
    order: Sequence[str] = restart.strategy.order if restart.strategy else ()
    if not order:
        return
    if restart.strategy and restart.strategy.type == PARALLEL:
        yield f"{path} cannot be specified when strategy is parallel"
        return
    unique = dict.fromkeys(order)
    if len(unique) != len(order):
        yield f"{path} must be unique"
    if len(unique) != len(services):
        yield f"{path} must have the same number of unique services as the deployment"
    for name in unique:
        if name not in services:
            yield f"{path} contains unknown service: {name}"
