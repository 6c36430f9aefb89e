"""Which services under Grove keep what was discovered for their pods earlier, so that the pods need not restart."""

from collections.abc import Iterable, Mapping

from hooks.component.seen.discovered import Discovered, is_needed
from hooks.graph.grove.service import GroveService
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground.k8s.pod_sets import cliques_of
from hooks.ground.k8s.types import Json
from hooks.ground.settings import Settings, Switch

_ROLLS = ("labels", "annotations")
"""Fields of a clique that, like the pods' spec, make Grove replace pods when they change."""


def find_discovered(found: GroveService, seen: ObservedGraph, settings: Settings) -> Discovered | None:
    """The earlier discovery for a service's pods; None if it equals the new one, or the pods need the new one."""
    existing = seen.grove.pod_clique_set
    earlier = existing.discovered.get(found.service) if existing is not None and not existing.is_deleting else None
    if earlier is None or earlier.within(found.discovered) == found.discovered:
        return None
    kept = earlier.within(found.discovered)
    scalable = seen.grove.scalables.get((found.kind, found.target))
    serves = scalable is not None and scalable.available > 0
    lacks_images = found.service in seen.with_image_errors if settings.explain_pods is Switch.ON else not serves
    is_over = is_needed(found.discovered, kept, accounts=(), serves=serves, lacks_images=lacks_images)
    return None if is_over else kept


def choose_discovered(found: GroveService, kept: GroveService, seen: ObservedGraph) -> GroveService:
    """`kept` if its pods are as last applied; `found` if they change anyway."""
    existing = seen.grove.pod_clique_set
    applied = (existing.applied_spec or {}) if existing is not None else {}
    before = _templates(cliques_of(applied))
    wanted = _templates(clique.to_json() for clique in kept.cliques)
    return kept if all(before.get(name) == template for name, template in wanted.items()) else found


def _templates(cliques: Iterable[Mapping[str, Json]]) -> dict[str, Json]:
    return {clique["name"]: [*map(clique.get, _ROLLS), clique["spec"]["podSpec"]] for clique in cliques}
