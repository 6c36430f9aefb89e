"""How many replicas the services of a graph under Grove get: what is scaled now, what waits, and what is at 0."""

from collections.abc import Iterable, Iterator, Mapping

from hooks.graph.grove.service import GroveService
from hooks.graph.seen.grove import ObservedGrove
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import ON_DELETE
from hooks.ground.k8s.pod_defaults import without_defaults
from hooks.ground.k8s.pod_sets import cliques_of
from hooks.ground.k8s.types import Json, Manifest
from hooks.ground.settings import Settings, Switch
from hooks.wire.metacontroller.effects import ScalePodClique

NEVER = "87600h0m0s"
"""A termination delay of ten years. Grove lets it change at any time, and replaces no pod for it."""


def count_wanted(service: GroveService, seen: ObservedGrove) -> int:
    """The replicas that the graph or an autoscaler wants."""
    found = seen.scalables.get((service.kind, service.target))
    left = found.desired if found is not None else service.least
    return left if service.replicas is None else service.replicas


def counts_still(seen: ObservedGrove) -> bool:
    """Whether Grove still counts the time that a service was at 0: a shorter delay would end the gang at once."""
    existing = seen.pod_clique_set
    is_long = existing is not None and (existing.spec.get("template") or {}).get("terminationDelay") == NEVER
    return is_long and any(part.is_breached for part in seen.scalables.values())


def find_held(
    services: Iterable[GroveService], seen: ObservedGrove, wanted: Manifest, settings: Settings
) -> Iterator[str]:
    """The services that must not become smaller yet: an update that has begun, or is to begin, would never end.

    Source: Grove, operator/internal/controller/podclique/components/pod/rollingupdate.go, isCurrentPodUpdateComplete.
    """
    existing, strategy = seen.pod_clique_set, (wanted["spec"].get("updateStrategy") or {}).get("type")
    if settings.effect_scale is Switch.OFF or strategy == ON_DELETE:
        return
    applied = (existing.applied_spec or existing.spec) if existing else {}
    for service in services:
        found = seen.scalables.get((service.kind, service.target))
        if found is None or not service.replicas or service.replicas >= found.desired:
            continue  # nothing of an update matters where no pod is wanted
        is_to_change = service.group is None and any(
            _pods_of(wanted["spec"], clique.name) != _pods_of(applied, clique.name) for clique in service.cliques
        )
        if found.keeps_size or (is_to_change and found.available):
            yield service.service


def _pods_of(spec: Mapping[str, Json], name: str) -> Json:
    """What an update of a clique of the set replaces its pods for."""
    found = next((one for one in cliques_of(spec) if one.get("name") == name), {})
    pod = without_defaults((found.get("spec") or {}).get("podSpec") or {})
    return [found.get("labels") or {}, found.get("annotations") or {}, pod]


def plan_scaling(
    services: Iterable[GroveService], seen: ObservedGrove, namespace: str, settings: Settings
) -> Iterator[ScalePodClique]:
    """Effects for services whose live replicas are not the wanted ones; new objects get replicas from the template.

    Grove can create a PodClique with 0 replicas when it makes a gang anew: it keeps those of the one that is there,
    which is deleted in the meantime. Source: Grove, podcliqueset/components/podclique/podclique.go, buildResource.

    A service whose adapter is no longer enabled is always scaled: the live object may be older than the adapter's last
    change, and without the adapter nothing would show that.
    """
    if settings.effect_scale is Switch.OFF or seen.pod_clique_set is None or seen.pod_clique_set.is_deleting:
        return
    for service in services:
        yield from _refill(service, seen, namespace)
        found = seen.scalables.get((service.kind, service.target))
        if found is None or found.is_deleting or service.replicas is None:
            continue
        if found.desired == service.replicas and not service.leaves_adapter:
            continue
        yield ScalePodClique(kind=service.kind, namespace=namespace, name=service.target, replicas=service.replicas)


def _refill(service: GroveService, seen: ObservedGrove, namespace: str) -> Iterator[ScalePodClique]:
    """Effects for PodCliques of a group at 0, where nobody scales them: each has the pods of its template."""
    group, kind = seen.scalables.get((service.kind, service.target)), kinds.POD_CLIQUE.kind
    if service.group is None or group is None or group.is_deleting:
        return
    for clique in service.cliques:
        for name in (f"{service.target}-{index}-{clique.name}" for index in range(group.desired)):
            found = seen.scalables.get((kind, name))
            if found is not None and found.desired == 0 and not found.is_deleting:
                yield ScalePodClique(kind=kind, namespace=namespace, name=name, replicas=clique.replicas)
