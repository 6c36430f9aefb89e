"""What must hold of the release that a graph began with, which no sequence writes into the graph."""

from collections.abc import Iterator

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, annotations_of
from hooks.wire.metacontroller.last_applied import read_last_applied
from tests.sequences.calls import Call
from tests.sequences.world import Step, World

_KEEPING = (contract.COMPONENT.kind, kinds.LEADER_WORKER_SET.kind, kinds.POD_CLIQUE_SET.kind)


def origins_stay(_world: World, step: Step) -> Iterator[str]:
    """What exists keeps the origin that it has, or has none, whatever images, hooks and services come and go.

    Where an edit came before Metacontroller had seen the first components of a new graph, their origins may differ;
    then they agree on one.
    """
    for call in step.calls:
        if call.stage == "sync" and call.said:
            yield from _faults(call)


def _faults(call: Call) -> Iterator[str]:
    for kind in _KEEPING:
        wanted = call.wanted(kind)
        kept = {
            live["metadata"]["name"]: _origin_of(dict(applied))
            for live in call.children(kind)
            if (applied := read_last_applied(live)) is not None
        }
        if len(set(kept.values())) > 1:
            continue
        for name, origin in kept.items():
            if name in wanted and origin != _origin_of(wanted[name]):
                yield f"{kind} {name} began with {origin!r}, now {_origin_of(wanted[name])!r}"


def _origin_of(child: Manifest) -> str:
    of_spec = child["spec"].get("annotations") or {} if child["kind"] == contract.COMPONENT.kind else {}
    return str({**annotations_of(child), **of_spec}.get(contract.ANNOTATION_ORIGIN_VERSION, ""))
