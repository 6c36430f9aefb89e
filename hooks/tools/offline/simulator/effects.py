"""Effects of the hooks on the simulated cluster: like the real client, only on objects that exist and differ."""

from collections.abc import Iterable
from typing import assert_never

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import Ref
from hooks.wire.metacontroller.effects import Effect, Event, ScalePodClique, WriteBackReplicas, WriteBackSpec
from hooks.wire.policy.spec_restoring import go_back
from hooks.wire.policy.spec_revisions import read_revision, unpack


def carry_out(client: Client, effects: Iterable[Effect]) -> None:
    """Carry out effects; Events are dropped."""
    for effect in effects:
        match effect:
            case ScalePodClique():
                _scale(client, effect)
            case WriteBackReplicas():
                _write_back(client, effect)
            case WriteBackSpec():
                _write_back_spec(client, effect)
            case Event():
                pass
            case _:
                assert_never(effect)


def _scale(client: Client, effect: ScalePodClique) -> None:
    ref = Ref(kinds.POD_CLIQUE.group, effect.kind, effect.namespace, effect.name)
    live = client.get(ref)
    if live is not None and live["spec"]["replicas"] != effect.replicas:
        client.scale(ref, effect.replicas)


def _write_back(client: Client, effect: WriteBackReplicas) -> None:
    ref = Ref(contract.GRAPH.group, contract.GRAPH.kind, effect.namespace, effect.graph)
    live = client.get(ref)
    service = live["spec"].get("services", {}).get(effect.service) if live is not None else None
    if service is not None and service.get("replicas", 1) != effect.replicas:
        client.patch(ref, {"spec": {"services": {effect.service: {"replicas": effect.replicas}}}})


def _write_back_spec(client: Client, effect: WriteBackSpec) -> None:
    ref = Ref(contract.GRAPH.group, contract.GRAPH.kind, effect.namespace, effect.graph)
    kind = kinds.CONTROLLER_REVISION
    live, found = client.get(ref), client.get(Ref(kind.group, kind.kind, effect.namespace, effect.revision))
    revision = read_revision(found) if found is not None else None
    if live is not None and revision is not None:
        client.patch(ref, go_back(live, unpack(revision.recorded), effect.revision))
