"""What a graph says while frontends or endpoint pickers of one graph see the workers of another: of both graphs.

Both may be ready: all pods run, and requests are answered, if not always by the workers that their sender means.
"""

from collections.abc import Iterable, Mapping

from hooks.ground import contract
from hooks.ground.k8s.conditions import Condition, find_condition
from hooks.ground.k8s.messages import list_names
from hooks.ground.k8s.types import Json

SHARED = "SharesWorkers"
"""Type of the condition; it is there only while it is true."""
REASON = "SharedByPrefix"
_WHY = "releases before 1.6.1 look for workers in every Dynamo namespace that begins with that of their graph"
_RENAME = "or create one of the graphs again with a name that does not begin with the other's"


def describe_sharing(looking: tuple[str, ...], longer: tuple[str, ...], seeing: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences about a graph whose services `looking` see the workers of `longer`, and which `seeing` see."""
    told = []
    if looking and longer:
        services = list_names(looking)
        told.append(
            f"{services} may send requests to the workers of {_name(longer)} too, because {_WHY} - give {services} "
            f"images of 1.6.1 or later, {_RENAME}"
        )
    if seeing:
        told.append(
            f"{_name(seeing)} may send requests to the workers of this graph, because {_WHY} - give frontends and "
            f"endpoint pickers there images of 1.6.1 or later, {_RENAME}"
        )
    return tuple(told)


def build_sharing(sentences: tuple[str, ...]) -> tuple[Condition, ...]:
    """The condition with these sentences; () without any."""
    return (Condition(type=SHARED, status="True", reason=REASON, message="; ".join(sentences)),) if sentences else ()


def find_sharing(status: Mapping[str, Json]) -> str:
    """What the condition in a graph's status says; empty if there is none."""
    found = find_condition(status.get("conditions") or (), SHARED) or {}
    return str(found.get("message") or "")


def _name(graphs: Iterable[str]) -> str:
    return f"{contract.GRAPH.kind} {list_names(tuple(graphs))}"
