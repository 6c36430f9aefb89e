"""Whether LeaderWorkerSets can be made of a graph's components over several nodes, told before anything is created.

The components refuse the same for themselves; this says it of the graph, and sees what no component can: its fellows.
"""

import re
from collections.abc import Iterator, Sequence

from hooks.api.component_spec import ComponentSpec
from hooks.component.groups import validate_groups
from hooks.errors import InvalidSpec
from hooks.graph.components import ComponentPlan

_INDEX = re.compile(r"-[0-9]+")


def check_components(components: Sequence[ComponentPlan]) -> None:
    """Refuse a graph of which a component over several nodes cannot be made.

    Raises:
        InvalidSpec: all problems, each with the path of its field.
    """
    # Most components say nothing of nodes; only the others are parsed once more.
    candidates = [component for component in components if component.spec.get("multinode")]
    problems: list[str] = []
    for component in candidates:
        spec = ComponentSpec.model_validate(component.spec)
        problems += validate_groups(spec, component.name, f"spec.services[{component.service}]")
        problems += _validate_distinct(component, components) if spec.is_multinode else ()
    if problems:
        raise InvalidSpec(tuple(problems))


def _validate_distinct(component: ComponentPlan, components: Sequence[ComponentPlan]) -> Iterator[str]:
    """A LeaderWorkerSet makes a Service and StatefulSets named like itself, `<component>-<index>` and longer.

    LeaderWorkerSet would take another's Service of that name for its own, and its pods would find no leader.
    """
    for other in components:
        if other.name.startswith(component.name) and _INDEX.fullmatch(other.name[len(component.name) :]):
            yield (
                f"spec.services[{other.service}]: its name {other.name} may be that of a LeaderWorkerSet of "
                f"spec.services[{component.service}], which spans several nodes; rename one"
            )
