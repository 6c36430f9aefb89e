"""The way back from a rollout that is stalled: the last spec whose workers serve, if the hooks are to write it back.

A sync announces the revision in the graph's status; the next one proposes to write it, and it is written only if the
stored status announces it. An annotation that is written with it names both revisions. While the graph has the spec of
one of them, it does not go back again: where Git writes the first one again, its rollout stands still.
"""

from collections.abc import Mapping
from typing import Any

from hooks.component.spec.subject import ComponentType
from hooks.graph.change.complete_sets import find_done
from hooks.graph.change.kept_releases import find_kept_releases, with_releases
from hooks.graph.change.pacing import GOES_BACK, ROLLING_UPDATE, RolloutInSets, RolloutState, WayBack
from hooks.graph.change.revisions import observe_revisions
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground.k8s.types import ReadManifest, name_of
from hooks.ground.settings import Settings, Switch
from hooks.wire.metacontroller.effects import Event, WriteBackSpec
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.conditions import reference_of
from hooks.wire.policy.rendering_mark import digest_workers
from hooks.wire.policy.spec_restoring import name_present, read_way_back, with_spec
from hooks.wire.policy.spec_revisions import UnreadableRevision, unpack

FAILED = "RolloutGoingBackFailed"
WENT_BACK = "RolloutWentBack"
"""Reasons of Events."""


def find_way_back(
    request: SyncRequest, rollout: RolloutInSets, seen: ObservedGraph, settings: Settings
) -> WayBack | None:
    """Where a stalled rollout goes back to; None if it is not to go back, or does not stall."""
    if settings.effect_go_back is not Switch.ON or rollout.state is not RolloutState.STALLED:
        return None
    if name_present(request.parent) in read_way_back(request.parent):
        return WayBack(lacks="the last way back was from this spec or to it")
    if rollout.serving is None or find_done(rollout.roles) >= rollout.serving[1]:
        return WayBack(lacks="no earlier generation serves more")
    return _find_revision(request, rollout.serving[0], seen)


def _find_revision(request: SyncRequest, generation: str, seen: ObservedGraph) -> WayBack:
    """The newest earlier revision whose workers have that generation."""
    present = name_present(request.parent)
    past = [one for one in observe_revisions(request) if one.name != present and one.suffix == generation]
    newest = max(past, key=lambda one: one.number, default=None)
    try:
        document = None if newest is None else unpack(newest.recorded)
    except UnreadableRevision as unreadable:
        return WayBack(lacks=f"the revision of the workers that serve cannot be used: {unreadable}")
    if newest is None or document is None or _digest(request.parent, document, seen) != generation:
        return WayBack(lacks="the history has no spec that gives the workers that serve")
    return WayBack(revision=newest.name, number=newest.number)


def _digest(graph: ReadManifest, document: Mapping[str, Any], seen: ObservedGraph) -> str:
    """The generation that the workers of a recorded spec would get."""
    services = document["spec"].get("services") or {}
    workers = [
        name
        for name, one in services.items()
        if isinstance(one, dict) and ComponentType.of(str(one.get("componentType"))).is_worker
    ]
    restored = with_spec(graph, document)
    return digest_workers(with_releases(restored, find_kept_releases(restored, seen)), workers)


def plan_going_back(request: SyncRequest, rollout: RolloutInSets) -> tuple[WriteBackSpec | Event, ...]:
    """The spec to be written back once the stored status announces it, and the Event once it was."""
    last = request.status.get(ROLLING_UPDATE)
    announced = last.get(GOES_BACK) if isinstance(last, dict) else None
    if not isinstance(announced, str) or not announced:
        return ()
    about = reference_of(request.parent)
    if request.status.get("observedGeneration") != request.generation:
        way = read_way_back(request.parent)
        if len(way) != 2 or announced != way[1] or announced != name_present(request.parent):
            return ()
        text = f"The rollout of revision {way[0]} stalled, so the spec of revision {announced} was written back"
        occasion = str(request.generation)
        return (Event(about=about, type="Warning", reason=WENT_BACK, message=text, occasion=occasion),)
    if rollout.way_back is None or rollout.way_back.revision != announced:
        return ()
    failed = Event(
        about=about,
        type="Warning",
        reason=FAILED,
        message=f"The spec of revision {announced} cannot be written back",
        occasion=str(request.generation),
    )
    graph, namespace = name_of(request.parent), str(request.parent["metadata"]["namespace"])
    return (WriteBackSpec(graph=graph, namespace=namespace, revision=announced, if_failed=failed),)
