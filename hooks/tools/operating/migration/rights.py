"""What the user lacks of the rights that a command needs, asked before anything is changed."""

from collections.abc import Iterable, Iterator

from hooks.ground.k8s.types import GroupVersionKind, plural_of
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.doctor.facts import Right
from hooks.tools.operating.doctor.reviews import ask_all
from hooks.tools.operating.migration.definitions import DEFINITION
from hooks.tools.operating.migration.steps import Action, Plan

_YOU = "you"


def find_lacking(cluster: Cluster, needs: Iterable[Right]) -> str:
    """`you may not patch dynamographdeployments.nvidia.com; ask …`; empty if the user has all of the rights.

    Raises:
        Refused: the API server does not answer, or judges no rights.
    """
    lacking = [right.words for right in ask_all(cluster, needs) if not right.allowed]
    if not lacking:
        return ""
    return f"you may not {', '.join(lacking)}: ask who administers the cluster for these rights"


def needs_of_storage(kinds: Iterable[GroupVersionKind]) -> Iterator[Right]:
    """The rights to store all objects of these kinds in another version."""
    for kind in kinds:
        for verb in ("get", "list", "patch"):
            yield _need(kind, verb)
    yield _need(DEFINITION, "get")
    yield _need(DEFINITION, "patch")
    yield _need(DEFINITION, "patch", "/status")


def needs_of_plan(plan: Plan) -> list[Right]:
    """The rights to carry out a plan; those to read were needed for the plan."""
    found: dict[Right, None] = {}
    for step in plan.work:
        verb = "delete" if step.action is Action.DELETE else "patch"
        found[_need(step.kind, verb, namespace=step.namespace)] = None
        if step.action is Action.STORE:
            found[_need(step.kind, verb, "/status")] = None
    return list(found)


def _need(kind: GroupVersionKind, verb: str, subresource: str = "", namespace: str = "") -> Right:
    resource = plural_of(kind) + subresource
    return Right(holder=_YOU, user="", verb=verb, group=kind.group, resource=resource, namespace=namespace)
