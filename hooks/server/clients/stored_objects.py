"""What the API server stores, as the ground of effects: the parent of a sync, its children, the rest of their chain.

A request to the hooks says what a parent and its children look like, and anybody may send one. Here an effect is judged
by the objects at the API server alone: the same pure functions that wanted the effect get the stored objects, and must
want it again; a spec is written back only where the stored status announces it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hooks.adapter import sync as scaling_adapter
from hooks.graph import sync as graph
from hooks.graph.change.pacing import GOES_BACK, ROLLING_UPDATE
from hooks.graph.grove.service import target_name
from hooks.graph.seen.grove_names import find_set_name
from hooks.ground import contract
from hooks.ground.errors import HookError
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import wanted_replicas
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest, annotations_of, gvk_of, is_controlled_by, name_of
from hooks.ground.settings.facts import Facts
from hooks.server.clients.api_server import Conversation, Refused, object_path
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS, OUR_KINDS
from hooks.wire.metacontroller.effects import (
    Effect,
    EffectSource,
    Event,
    ScalePodClique,
    WriteBackReplicas,
    WriteBackSpec,
)
from hooks.wire.metacontroller.protocol import RelatedRule, SyncAnswer, SyncRequest
from hooks.wire.policy.identity import component_name
from hooks.wire.policy.rollout_wishes import NO_WISHES, read_wishes
from hooks.wire.policy.spec_restoring import name_present, read_way_back, with_spec
from hooks.wire.policy.spec_revisions import UnreadableRevision, read_revision, unpack
from hooks.wire.world.objects import World
from hooks.wire.world.sync_request import build_request

_PARENTS = {kind.kind: kind for kind in OUR_KINDS}
_SCALED = {kind.kind: kind for kind in (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP)}


class Unwanted(Exception):
    """The objects at the API server do not ask for the effect; the message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObjects:
    """The stored objects around one parent, each read at most once; `facts` are the time and the settings."""

    conversation: Conversation
    source: EffectSource
    facts: Facts
    _found: dict[str, ReadManifest | None] = field(default_factory=dict, init=False)

    def check_event(self, event: Event) -> None:
        """Check that the Event is about the parent of the sync, which exists with that uid.

        Raises:
            Unwanted: it is about another object, or about one that does not exist.
            Refused: the API server did not answer.
        """
        self._read_parent()
        if event.about != self.source.parent:
            raise Unwanted(f"a sync of {self._name} sends no Event about another object")

    def check_scale(self, effect: ScalePodClique) -> ReadManifest | None:
        """The stored PodClique or PodCliqueScalingGroup to scale; None if it does not exist yet.

        It belongs to the PodCliqueSet of the stored graph, and the graph and its adapter ask for these replicas.

        Raises:
            Unwanted: they do not.
            Refused: the API server did not answer.
        """
        parent = self._read_unchanged(contract.GRAPH)
        namespace, uid = self.source.parent.namespace, self.source.parent.uid
        if effect.namespace != namespace or effect.kind not in _SCALED:
            raise Unwanted(f"{effect.kind} {effect.namespace}/{effect.name} is no part of {self._name}")
        clique = self._find(_SCALED[effect.kind], effect.name)
        pod_clique_set = self._find(kinds.POD_CLIQUE_SET, find_set_name(parent))
        if clique is None or pod_clique_set is None:
            return None
        if not is_controlled_by(pod_clique_set, uid) or not _is_owned_by(clique, pod_clique_set):
            raise Unwanted(f"{effect.kind} {effect.name} does not belong to the PodCliqueSet of {self._name}")
        if wanted_replicas(clique) == effect.replicas:
            return clique
        adapters = self._find_adapters(parent, effect.name)
        if effect not in self._wanted_again(graph.sync, parent, clique, pod_clique_set, *adapters):
            raise Unwanted(f"{self._name} does not ask for {effect.replicas} replicas of {effect.name}")
        return clique

    def check_write_back(self, effect: WriteBackReplicas) -> ReadManifest | None:
        """The stored graph to write into; None if it does not exist. It is read again at each call.

        Raises:
            Unwanted: the stored adapter and graph do not ask for these replicas.
            Refused: the API server did not answer.
        """
        parent = self._read_unchanged(contract.SCALING_ADAPTER)
        if effect.namespace != self.source.parent.namespace:
            raise Unwanted(f"graph {effect.namespace}/{effect.graph} is in another namespace than {self._name}")
        self._found.pop(object_path(contract.GRAPH, effect.namespace, effect.graph), None)
        found = self._find(contract.GRAPH, effect.graph)
        if found is None or _replicas_of_service(found, effect.service) == effect.replicas:
            return found
        if not found["metadata"].get("resourceVersion"):
            raise Refused(f"graph {effect.graph} has no resourceVersion, so nothing is written into it")
        wanted = self._wanted_again(scaling_adapter.sync, parent, found)
        asked = (effect.graph, effect.service, effect.replicas)
        if all((one.graph, one.service, one.replicas) != asked for one in wanted if isinstance(one, WriteBackReplicas)):
            raise Unwanted(f"{self._name} does not ask for {effect.replicas} replicas of {effect.service}")
        return found

    def check_write_back_spec(self, effect: WriteBackSpec) -> tuple[ReadManifest, dict[str, Any]]:
        """The stored graph, and the spec to write into it. The graph is read again at each call.

        Its status, which only Metacontroller writes, announces the revision for its present spec.

        Raises:
            Unwanted: the stored objects do not ask for it.
            Refused: the API server did not answer, or has no such revision.
        """
        about = self.source.parent
        self._found.pop(object_path(contract.GRAPH, about.namespace, about.name), None)
        stored = self._read_unchanged(contract.GRAPH)
        status = stored.get("status") or {}
        rolling = status.get(ROLLING_UPDATE)
        announced = rolling.get(GOES_BACK) if isinstance(rolling, dict) else None
        is_announced = announced == effect.revision and status.get("observedGeneration") == self.source.generation
        if not is_announced or (effect.namespace, effect.graph) != (about.namespace, about.name):
            raise Unwanted(f"{self._name} does not go back to {effect.revision}")
        if name_present(stored) in read_way_back(stored) or read_wishes(annotations_of(stored)) != NO_WISHES:
            raise Unwanted(f"{self._name} went back before, or its rollout is paused or tried on a part")
        if not stored["metadata"].get("resourceVersion"):
            raise Refused(f"{self._name} has no resourceVersion, so nothing is written into it")
        found = self._find(kinds.CONTROLLER_REVISION, effect.revision)
        revision = read_revision(found) if found is not None and is_controlled_by(found, about.uid) else None
        if revision is None:
            raise Refused(f"{self._name} has no revision {effect.revision}")
        try:
            document = unpack(revision.recorded)
        except UnreadableRevision as unreadable:
            raise Refused(f"revision {effect.revision} cannot be used: {unreadable}") from unreadable
        if name_present(with_spec(stored, document)) != effect.revision:
            raise Refused(f"revision {effect.revision} cannot be used: it records another spec")
        return stored, document

    @property
    def _name(self) -> str:
        parent = self.source.parent
        return f"{parent.kind} {parent.namespace}/{parent.name}"

    def _find(self, kind: GroupVersionKind, name: str) -> ReadManifest | None:
        """An object in the parent's namespace."""
        path = object_path(kind, self.source.parent.namespace, name)
        if path not in self._found:
            found = self.conversation.find(path, kind)
            if found is not None and (fault := self._why_another(found, name)):
                raise Refused(f"GET {path}: {fault}", why=fault)
            self._found[path] = found
        return self._found[path]

    def _why_another(self, found: ReadManifest, name: str) -> str:
        """Why an answer is not the object that was asked for; empty if it is."""
        metadata = found["metadata"]
        is_it = (metadata.get("namespace"), name_of(found)) == (self.source.parent.namespace, name)
        return "" if is_it else "the API server answers another object"

    def _read_parent(self) -> ReadManifest:
        """The parent as it is stored, with the uid of the request."""
        parent = self.source.parent
        kind = _PARENTS.get(parent.kind)
        found = None if kind is None else self._find(kind, parent.name)
        if found is None:
            raise Unwanted(f"{self._name} does not exist")
        if not parent.uid or found["metadata"].get("uid") != parent.uid:
            raise Unwanted(f"{self._name} has another uid")
        return found

    def _read_unchanged(self, kind: GroupVersionKind) -> ReadManifest:
        """The parent as it is stored, if it is of that kind and has the generation of the request."""
        if self.source.parent.kind != kind.kind:
            raise Unwanted(f"a sync of {self._name} does not ask for this")
        parent = self._read_parent()
        stored = parent["metadata"].get("generation")
        if stored != self.source.generation:
            raise Unwanted(f"{self._name} has generation {stored}, the request has {self.source.generation}")
        return parent

    def _find_adapters(self, parent: ReadManifest, target: str) -> list[ReadManifest]:
        """The scaling adapter of the service that the target runs; none if it has none."""
        name, set_name = self.source.parent.name, find_set_name(parent)
        services = (parent.get("spec") or {}).get("services") or {}
        found = (
            self._find(contract.SCALING_ADAPTER, component_name(name, service))
            for service in services
            if target_name(set_name, service) == target
        )
        return [one for one in found if one is not None]

    def _wanted_again(
        self,
        sync: Callable[[SyncRequest, Facts], SyncAnswer],
        parent: ReadManifest,
        related: ReadManifest,
        *children: ReadManifest,
    ) -> tuple[Effect, ...]:
        """The effects of the parent's hook about these stored objects; a child of another parent is none here."""
        installed = (name for name, entry in OPTIONAL_KINDS.items() if entry.kind in self.source.declared)
        world = World.live([parent, related, *children], installed)
        rule = RelatedRule.of(gvk_of(related), self.source.parent.namespace, names=(name_of(related),))
        try:
            request = build_request(parent, world, [rule])
            return sync(request, self.facts).effects
        except HookError as error:
            raise Unwanted(f"{self._name} cannot be rendered: {error}") from error
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            why = f"a stored field has the wrong type ({type(error).__name__})"
            raise Unwanted(f"{self._name} cannot be rendered: {why}") from error


def _is_owned_by(manifest: ReadManifest, owner: ReadManifest) -> bool:
    uid = owner["metadata"].get("uid")
    return any(one.get("uid") == uid for one in manifest["metadata"].get("ownerReferences") or ())


def _replicas_of_service(found: ReadManifest, service: str) -> int | None:
    services = (found.get("spec") or {}).get("services") or {}
    return wanted_replicas({"spec": services[service]}) if isinstance(services.get(service), dict) else None
