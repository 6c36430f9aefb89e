"""Rules of upstream's webhook about a graph as a whole: it has services, claims, the restart, lengths of names.

Source: Dynamo operator, internal/webhook/validation/dynamographdeployment.go, whose order and texts are kept.
"""

from collections.abc import Iterator, Mapping, Sequence

from hooks.ground.k8s.names import is_subdomain
from hooks.ground.k8s.quantities import canonical_quantity, parse_quantity
from hooks.ground.problems import SPEC, FieldPath, Problem
from hooks.language.api.graph import GraphDeployment, PersistentVolumeClaimRequest, Restart
from hooks.language.rules import graph as rules
from hooks.language.rules.values import suggest

PARALLEL = "Parallel"
ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_SHORT_MODES = {
    "ROX": "did you mean ReadOnlyMany?",
    "RWO": "did you mean ReadWriteOnce?",
    "RWOP": "did you mean ReadWriteOncePod?",
    "RWX": "did you mean ReadWriteMany?",
}


def find_graph_problems(graph: GraphDeployment) -> Iterator[Problem]:
    """Problems of the graph that are not in a single service's spec."""
    if not graph.spec.services:
        yield rules.SERVICES.at(SPEC / "services")
    for index, claim in enumerate(graph.spec.pvcs):
        yield from _find_claim_problems(claim, SPEC / "pvcs" / index)
    if graph.spec.priority_class_name and not is_subdomain(graph.spec.priority_class_name):
        yield rules.PRIORITY_CLASS_NAME.at(SPEC / "priorityClassName", name=graph.spec.priority_class_name)
    if graph.spec.restart is not None:
        yield from _find_restart_problems(graph.spec.restart, graph.spec.services)


def _find_claim_problems(claim: PersistentVolumeClaimRequest, path: FieldPath) -> Iterator[Problem]:
    if not claim.name:
        yield rules.CLAIM_NAME.at(path / "name")
    elif not is_subdomain(claim.name):
        yield rules.CLAIM_NAME_FORM.at(path / "name", name=claim.name)
    if not claim.create:
        return
    given = {
        "storageClass": bool(claim.storage_class),
        "size": claim.size is not None and not _is_zero(claim.size),
        "volumeAccessMode": bool(claim.volume_access_mode),
    }
    for field, rule in rules.CREATED_CLAIM.items():
        if not given[field]:
            yield rule.at(path / field)
    if claim.size is not None:
        yield from _find_size_problems(str(claim.size), path / "size")
    mode = claim.volume_access_mode
    if mode and mode not in ACCESS_MODES:
        guess = _SHORT_MODES.get(mode) or suggest(mode, ACCESS_MODES)
        hint = f"; {guess}" if guess else ""
        choices = ", ".join(ACCESS_MODES)
        yield rules.CLAIM_MODE_UNKNOWN.at(path / "volumeAccessMode", found=repr(mode), choices=choices, hint=hint)
    if claim.storage_class and not is_subdomain(claim.storage_class):
        yield rules.CLAIM_CLASS_FORM.at(path / "storageClass", name=claim.storage_class)


def _is_zero(size: str | int) -> bool:
    try:
        return canonical_quantity(size) == "0"
    except ValueError:
        return False  # it has a problem of its own


def _find_size_problems(size: str, path: FieldPath) -> Iterator[Problem]:
    try:
        if parse_quantity(size) < 0:
            yield rules.CLAIM_SIZE_POSITIVE.at(path, size=size)
    except ValueError as error:
        yield rules.CLAIM_QUANTITY.at(path, why=str(error))


def _find_restart_problems(restart: Restart, services: Mapping[str, object]) -> Iterator[Problem]:
    if not restart.id:
        yield rules.RESTART_ID.at(SPEC / "restart.id")
    order: Sequence[str] = restart.strategy.order if restart.strategy else ()
    if not order:
        return
    path = SPEC / "restart.strategy.order"
    if restart.strategy and restart.strategy.type == PARALLEL:
        yield rules.RESTART_PARALLEL.at(path)
        return
    unique = dict.fromkeys(order)
    if len(unique) != len(order):
        yield rules.RESTART_UNIQUE.at(path)
    if len(unique) != len(services):
        yield rules.RESTART_COMPLETE.at(path)
    for name in unique:
        if name not in services:
            yield rules.RESTART_UNKNOWN.at(path, service=name)
