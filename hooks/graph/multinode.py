"""Whether LeaderWorkerSets can be made of a graph's components over several nodes, before anything is created.

Each component is judged by its own rules, under the path of its service. A component cannot see the names of the
others; only the graph can.
"""

import re
from collections.abc import Iterator, Sequence

from hooks.api.component_spec import ComponentSpec
from hooks.component.groups import validate_groups
from hooks.errors import InvalidSpec
from hooks.graph.components import GraphServicePlan
from hooks.problems import SPEC, Key, Problem
from hooks.validation.rules import graph as rules

_INDEX = re.compile(r"-[0-9]+")


def check_components(components: Sequence[GraphServicePlan]) -> None:
    """Refuse a graph that has a component over several nodes which cannot be made.

    Raises:
        InvalidSpec: all problems, each with the path of its field.
    """
    # Only components that name a number of nodes are parsed once more.
    candidates = [component for component in components if component.spec.get("multinode")]
    problems: list[Problem] = []
    for component in candidates:
        spec, path = ComponentSpec.model_validate(component.spec), SPEC / "services" / Key(component.service)
        problems += validate_groups(spec, component.name, path)
        problems += _validate_distinct(component, components) if spec.is_multinode else ()
    if problems:
        raise InvalidSpec(tuple(problems))


def _validate_distinct(component: GraphServicePlan, components: Sequence[GraphServicePlan]) -> Iterator[Problem]:
    """A LeaderWorkerSet makes a Service and StatefulSets of its own name, `<component>-<index>`, and of longer ones.

    LeaderWorkerSet would use another's Service of that name, and its pods would find no leader.
    """
    for other in components:
        if other.name.startswith(component.name) and _INDEX.fullmatch(other.name[len(component.name) :]):
            path, group = (SPEC / "services" / Key(one.service) for one in (other, component))
            yield rules.GROUP_NAMES_DIFFER.at(path, name=other.name, other=group)
