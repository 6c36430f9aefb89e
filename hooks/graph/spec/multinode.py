"""Checks, before anything is created, that LeaderWorkerSets can run a graph's components over several nodes.

Each component is checked by its own rules; their problems name the path of its service. Only the graph can compare the
names of its components.
"""

import re
from collections.abc import Iterator, Sequence

from hooks.component.plan.groups import validate_groups
from hooks.graph.spec.components import GraphServicePlan
from hooks.ground.errors import InvalidSpec
from hooks.ground.problems import SPEC, Key, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import graph as rules

_INDEX = re.compile(r"-[0-9]+")


def check_components(components: Sequence[GraphServicePlan]) -> None:
    """Refuse a graph if one of its components over several nodes cannot be rendered.

    Raises:
        InvalidSpec: all problems, each with the path of its field.
    """
    # Only components with a number of nodes are parsed again.
    candidates = [component for component in components if component.spec.get("multinode")]
    problems: list[Problem] = []
    for component in candidates:
        spec, path = ComponentSpec.model_validate(component.spec), SPEC / "services" / Key(component.service)
        problems += validate_groups(spec, component.name, path)
        problems += _validate_distinct(component, components) if spec.is_multinode else ()
    if problems:
        raise InvalidSpec(tuple(problems))


def _validate_distinct(component: GraphServicePlan, components: Sequence[GraphServicePlan]) -> Iterator[Problem]:
    """Names of a LeaderWorkerSet's objects: a Service and StatefulSets named `<component>-<index>` or longer.

    If another object's Service has that name, LeaderWorkerSet uses it, and the pods find no leader.
    """
    for other in components:
        if other.name.startswith(component.name) and _INDEX.fullmatch(other.name[len(component.name) :]):
            path, group = (SPEC / "services" / Key(one.service) for one in (other, component))
            yield rules.GROUP_NAMES_DIFFER.at(path, name=other.name, other=group)
