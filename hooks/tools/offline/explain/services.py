"""The services of a graph in the object that the user wrote, and the service that a rendered leaf belongs to."""

from collections.abc import Collection, Mapping

from hooks.ground import contract
from hooks.ground.k8s.pod_sets import CLIQUES
from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.ground.problems import METADATA, Key
from hooks.tools.offline.explain.edits import Parts, drop
from hooks.tools.offline.explain.leaves import LeafPlace, RenderedObjects

_LABEL = Key(contract.LABEL_COMPONENT)


def places_of_services(written: ReadManifest) -> dict[str, Parts]:
    """By the name of each service of a graph, its place in the object; {} for other kinds."""
    spec = written.get("spec")
    if not isinstance(spec, Mapping):
        return {}
    services, components = spec.get("services"), spec.get("components")
    if isinstance(services, Mapping):
        return {str(name): ("spec", "services", str(name)) for name in services}
    if isinstance(components, list):
        named = ((at, one) for at, one in enumerate(components) if isinstance(one, Mapping) and "name" in one)
        return {str(one["name"]): ("spec", "components", at) for at, one in named}
    return {}


def without_services(written: Manifest, names: Collection[str]) -> Manifest:
    """The object without these services."""
    places = places_of_services(written)
    changed: Json = written
    for name in reversed(places):  # from the end, because the places of later ones would move
        if name in names:
            changed = drop(changed, places[name])
    found: Manifest = changed
    return found


def service_of(place: LeafPlace, made: RenderedObjects) -> str:
    """The service whose labels the object of a leaf has, or the clique around it; empty for what no service has."""
    parts = place.path.parts
    if place.path.is_within(CLIQUES) and len(parts) > len(CLIQUES.parts):
        labels = CLIQUES / parts[len(CLIQUES.parts)] / "labels"
    else:
        labels = METADATA / "labels"
    return str(made.value(LeafPlace(place.kind, place.name, labels / _LABEL)) or "")
