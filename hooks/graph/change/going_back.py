"""The way back from a rollout that is stalled: the last spec whose workers serve, if the hooks are to write it back.

A sync announces the revision in the graph's status; the next one proposes to write it, and it is written only if the
stored status announces it. An annotation that is written with it names the revision that stalled. If somebody writes
that spec again, as GitOps does, and it stalls again, it stands.
"""

from hooks.graph.change.pacing import GOES_BACK, ROLLING_UPDATE, RolloutInSets, RolloutState, WayBack
from hooks.graph.change.revisions import observe_revisions
from hooks.ground import contract
from hooks.ground.k8s.types import annotations_of, name_of
from hooks.ground.settings import Settings, Switch
from hooks.wire.metacontroller.effects import Event, WriteBackSpec
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.conditions import reference_of
from hooks.wire.policy.spec_restoring import name_present

FAILED = "RolloutGoingBackFailed"
WENT_BACK = "RolloutWentBack"
"""Reasons of Events."""


def find_way_back(request: SyncRequest, rollout: RolloutInSets, settings: Settings) -> WayBack | None:
    """Where a stalled rollout goes back to; None if it is not to go back, or does not stall."""
    if settings.effect_go_back is not Switch.ON or rollout.state is not RolloutState.STALLED:
        return None
    present = name_present(request.parent)
    if annotations_of(request.parent).get(contract.ANNOTATION_WENT_BACK) == present:
        return WayBack(lacks="it went back from this spec before, and somebody wrote the spec again")
    if rollout.serving is None:
        return WayBack(lacks="no earlier generation serves")
    past = [one for one in observe_revisions(request) if one.name != present and one.suffix == rollout.serving]
    newest = max(past, key=lambda one: one.number, default=None)
    if newest is None or not newest.recorded.packed:
        return WayBack(lacks="the spec of the workers that serve is not in the history, or was too large for it")
    return WayBack(revision=newest.name, number=newest.number)


def plan_going_back(request: SyncRequest, rollout: RolloutInSets) -> tuple[WriteBackSpec | Event, ...]:
    """The spec to be written back once the stored status announces it, and the Event once it was."""
    last, about = request.status.get(ROLLING_UPDATE), reference_of(request.parent)
    announced = last.get(GOES_BACK) if isinstance(last, dict) else None
    if not isinstance(announced, str) or not announced:
        return ()
    if request.status.get("observedGeneration") != request.generation:
        left = annotations_of(request.parent).get(contract.ANNOTATION_WENT_BACK, "")
        if announced != name_present(request.parent) or not left:
            return ()
        text = f"The rollout of revision {left} stalled, so the spec of revision {announced} is written back"
        return (Event(about=about, type="Warning", reason=WENT_BACK, message=text, occasion=left),)
    if rollout.way_back is None or rollout.way_back.revision != announced:
        return ()
    failed = Event(
        about=about,
        type="Warning",
        reason=FAILED,
        message=f"The spec of revision {announced} cannot be written back",
        occasion=announced,
    )
    graph, namespace = name_of(request.parent), str(request.parent["metadata"]["namespace"])
    return (WriteBackSpec(graph=graph, namespace=namespace, revision=announced, if_failed=failed),)
