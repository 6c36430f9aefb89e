"""The components of a graph: a map by name in v1alpha1, a list with an order in v1beta1.

The order is that of the names, or a kept one. A service that is null, and an item without a name of its own, exist in
one version alone, and are kept. v1beta1 takes one endpoint picker: of several, the first by name has the type there.
"""

from collections.abc import Mapping, Sequence

from hooks.ground.k8s.types import Json
from hooks.language.conversion.json_values import name_of_item
from hooks.language.conversion.sides import Side
from hooks.language.v1beta1.conversion.component_pairs import PICKER
from hooks.language.v1beta1.conversion.one_component import convert_service

Services = Mapping[str, Json]
Components = Sequence[Json]


def list_components(services: Services, saved: Components) -> tuple[list[Json], dict[str, Json]]:
    """The components of these services, and what they cannot say; `saved` are components with what was kept."""
    former = _by_name(saved)
    made: dict[str, Json] = {}
    kept: dict[str, Json] = {}
    pickers = sorted(name for name, one in services.items() if _is_picker(one, "componentType"))
    for name, service in services.items():
        if not isinstance(service, dict):
            kept[name] = service
            continue
        known = {key: value for key, value in former.get(name, {}).items() if key != "name"}
        component, left = convert_service(Side.SPOKE, service, known, is_second_picker=name in pickers[1:])
        made[name] = {"name": name, **component}
        if left:
            kept[name] = left
    return _in_order(made, saved), kept


def map_services(components: Components, saved: Services) -> tuple[dict[str, Json], list[Json]]:
    """The services of these components, and what they cannot say; `saved` are services with what was kept."""
    made: dict[str, Json] = {}
    kept: list[Json] = []
    pickers = {name_of_item(one) for one in components if _is_picker(one, "type")}
    for component in components:
        name = name_of_item(component)
        if name is None or name in made:
            kept.append(component)
            continue
        fields = {key: value for key, value in component.items() if key != "name"}
        known = saved.get(name)
        former = known if isinstance(known, dict) else {}
        service, left = convert_service(Side.HUB, fields, former, is_second_picker=bool(pickers - {name}))
        made[name] = service
        kept.append({"name": name, **left})
    unseen = {name: value for name, value in saved.items() if not isinstance(value, dict) and name not in made}
    if not _has_own_order(components):
        kept = [entry for entry in kept if len(entry) > 1]
    return {**made, **unseen}, kept


def _is_picker(component: Json, type_field: str) -> bool:
    """Whether it is an endpoint picker."""
    return isinstance(component, dict) and component.get(type_field) == PICKER


def _by_name(components: Components) -> dict[str, Mapping[str, Json]]:
    """The components by name; of several with one name, the first."""
    found: dict[str, Mapping[str, Json]] = {}
    for component in components:
        name = name_of_item(component)
        if name is not None:
            found.setdefault(name, component)
    return found


def _in_order(made: Mapping[str, Json], saved: Components) -> list[Json]:
    """The components in the saved order with what no service can say, then the others by name."""
    if not _has_own_order(saved):
        return [made[name] for name in sorted(made)]
    listed: list[Json] = []
    left = dict(made)
    seen: set[str] = set()
    for component in saved:
        name = name_of_item(component)
        if name is None or name in seen:
            listed.append(component)
        elif name in left:
            listed.append(left.pop(name))
            seen.add(name)
    return [*listed, *(left[name] for name in sorted(left))]


def _has_own_order(components: Components) -> bool:
    """Whether the list is not just sorted by names, each of them once."""
    names = [name_of_item(component) for component in components]
    known = [name for name in names if name is not None]
    return len(known) < len(names) or len(set(known)) < len(known) or known != sorted(known)
