"""A graph's PodCliqueSet and the objects that Grove created from it, read into frozen values; decides nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hooks.component.seen.discovered import Discovered, parse_discovered, read_annotation
from hooks.graph.seen.grove_names import find_set_name, read_set_name
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import LABEL_PART_OF
from hooks.ground.k8s.grove_parts import Scalable, judge_parts, read_errors, read_scalable
from hooks.ground.k8s.pod_sets import cliques_of
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting, labels_of, name_of
from hooks.wire.metacontroller.last_applied import read_applied_annotations, read_applied_spec
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.rendering_mark import RenderingMark, read_mark

_EXPOSING = (kinds.SERVICE, kinds.INGRESS, kinds.VIRTUAL_SERVICE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedSet:
    """The PodCliqueSet as the cluster holds it.

    `applied_spec` is the spec as it was last applied, None if that is not recorded. `unprocessed` says in half a
    sentence why its PodCliques may still be of an older template; it is empty where each part is judged for itself.
    `errors` are Grove's own words. `restarts` is by service the id of the last restart, empty for none; the applied
    spec counts if the annotation was removed.
    `discovered` is by service what was discovered for its pods when they last changed. `rendering` is the set's mark.
    `kept_releases` are by service the releases that its annotation keeps.
    """

    is_deleting: bool
    spec: Mapping[str, Json]
    applied_spec: Mapping[str, Json] | None
    unprocessed: str
    errors: tuple[str, ...]
    restarts: Mapping[str, str]
    discovered: Mapping[str, Discovered]
    rendering: RenderingMark | None = None
    kept_releases: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedGrove:
    """Grove's objects in a graph's sync: the set, and by kind and name the PodCliques and PodCliqueScalingGroups.

    `set_name` is the name of the set, or of the one that was there last; empty for a graph that never had one.
    `exposing` are the Services, Ingresses and VirtualServices that are the graph's own children, by kind and name.
    """

    set_name: str
    pod_clique_set: ObservedSet | None
    scalables: Mapping[tuple[str, str], Scalable]
    exposing: frozenset[tuple[str, str]]

    def is_processed(self, *parts: Scalable) -> bool:
        """Whether Grove has given the parts the template of the set."""
        found = self.pod_clique_set
        return found is not None and not found.unprocessed and not any(one.unprocessed for one in parts)


def observe_grove(request: SyncRequest) -> ObservedGrove:
    """Read the set from the children, and its parts from the related objects, by their labels."""
    namespace, found = request.parent["metadata"]["namespace"], _find_set(request)
    name = read_set_name(request.status) if found is None else name_of(found)
    parts = [
        manifest
        for kind in (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP)
        for manifest in request.related.of(kind)
        if name in {"", labels_of(manifest).get(LABEL_PART_OF)} and manifest["metadata"].get("namespace") == namespace
    ]
    unprocessed, scalables = (
        ("", [read_scalable(part) for part in parts]) if found is None else judge_parts(found, parts)
    )
    exposing = (child for kind in _EXPOSING for child in request.children.of(kind))
    return ObservedGrove(
        set_name=name,
        pod_clique_set=None if found is None else _observe_set(found, unprocessed),
        scalables={(part.kind, part.name): part for part in scalables},
        exposing=frozenset((child["kind"], child["metadata"]["name"]) for child in exposing),
    )


def without_counts(seen: ObservedGrove) -> ObservedGrove:
    """The part that a plan depends on: of the parts, which exist, how many pods they want, and whether one serves."""
    found = seen.pod_clique_set
    return replace(
        seen,
        pod_clique_set=None if found is None else replace(found, unprocessed="", errors=()),
        scalables={key: _without_counts(part) for key, part in seen.scalables.items()},
    )


def _without_counts(part: Scalable) -> Scalable:
    served, selected = min(part.available, 1), min(part.selected, 1)
    calm = replace(part, replicas=0, updated=0, scheduled=0, available=served, selected=selected)
    return replace(calm, generation=0, observed_generation=None, errors=(), unprocessed="", unfinished="")


def _find_set(request: SyncRequest) -> ReadManifest | None:
    """The graph's PodCliqueSet, whatever its name: it keeps the one with which it was created.

    A Go operator left a second one behind if longer names of services had changed the first one's name.
    """
    found = sorted(request.children.of(kinds.POD_CLIQUE_SET), key=name_of)
    if len(found) <= 1:
        return found[0] if found else None
    known = (find_set_name(request.parent), name_of(request.parent))
    return next((one for name in known for one in found if name_of(one) == name), found[0])


def _observe_set(manifest: ReadManifest, unprocessed: str) -> ObservedSet:
    spec: Mapping[str, Json] = manifest.get("spec") or {}
    applied = read_applied_spec(manifest)
    return ObservedSet(
        is_deleting=is_deleting(manifest),
        spec=spec,
        applied_spec=applied,
        unprocessed=unprocessed,
        errors=read_errors(manifest),
        restarts=_read_restarts(cliques_of(applied or {}), cliques_of(spec)),
        discovered=_read_discovered(manifest),
        rendering=read_mark(manifest),
        kept_releases=read_annotation(read_applied_annotations(manifest).get(contract.ANNOTATION_KEPT_RELEASE)),
    )


def _read_discovered(manifest: ReadManifest) -> dict[str, Discovered]:
    text = read_applied_annotations(manifest).get(contract.ANNOTATION_DISCOVERED)
    return {service: parse_discovered(value) for service, value in read_annotation(text).items()}


def _read_restarts(applied: Sequence[Mapping[str, Json]], live: Sequence[Mapping[str, Json]]) -> dict[str, str]:
    """The id of the last restart by service, from the live cliques; the last applied one if a live clique has none."""
    names = sorted({name for clique in live if (name := _service_of(clique))})
    ids = {_service_of(clique): restart for clique in (*applied, *live) if (restart := _restart_of(clique))}
    return {name: ids.get(name, "") for name in names}


def _service_of(clique: Mapping[str, Json]) -> str:
    return str((clique.get("labels") or {}).get(contract.LABEL_COMPONENT) or "")


def _restart_of(clique: Mapping[str, Json]) -> str:
    return str((clique.get("annotations") or {}).get(contract.ANNOTATION_RESTART_AT) or "")
