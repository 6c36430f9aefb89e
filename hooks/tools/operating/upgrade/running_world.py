"""Reads what runs, with what hooks would read on demand, such as the pods of what is not ready. It writes nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hooks.ground.errors import HookError
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import ReadManifest, gvk_of
from hooks.ground.settings.facts import Facts
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.live_reader import LiveReader, header_of, title_of
from hooks.tools.operating.live_world import read_world
from hooks.tools.operating.upgrade.running_settings import find_hooks
from hooks.tools.world.composite_hooks import HOOKS, answer_found, ask
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer
from hooks.wire.metacontroller.queries import ObjectSource
from hooks.wire.world.objects import ObjectId, Owned, World

MOST_READS = 2000
"""Questions on demand: graphs that are not ready ask for their pods, one question for each workload."""
_TOO_MANY = f"more than {MOST_READS} objects that are not ready ask for their pods; those of the others are not read"


def read_hooks(cluster: Cluster, installation: str) -> tuple[ReadManifest | None, tuple[str, ...]]:
    """The Deployment of the hooks that run, None if there is none; and a sentence if it may not be read.

    Raises:
        Refused: the API server does not answer.
    """
    reader = LiveReader(cluster=cluster)
    what = "the Deployments of all namespaces, so the settings of the hooks that run are not known"
    found = reader.attempt(what, lambda: find_hooks(cluster.read_all(kinds.DEPLOYMENT), installation), None)
    return found, reader.warnings


def read_running(cluster: Cluster, namespace: str, facts: Facts) -> World:
    """All that one namespace has of Dynamo, or all namespaces for "", and what the hooks read on demand.

    Raises:
        Refused: the API server does not answer, or refuses to show the objects of Dynamo.
    """
    world = read_world(cluster, [namespace], facts)
    asked = _OnDemand(reader=LiveReader(cluster=cluster))
    for one in world.objects.values():
        if gvk_of(one.manifest) in HOOKS:
            asked.follow(one.manifest, world, facts)
    unread = (*world.unread, *asked.reader.warnings, *((_TOO_MANY,) if asked.reads > MOST_READS else ()))
    found = {key: Owned(manifest=dict(one)) for key, one in asked.objects.items() if key not in world.objects}
    return replace(world, objects={**world.objects, **found}, unread=tuple(dict.fromkeys(unread)))


@dataclass(slots=True, kw_only=True)
class _OnDemand:
    """Answers the questions of syncs, and keeps what it found."""

    reader: LiveReader
    objects: dict[ObjectId, ReadManifest] = field(default_factory=dict)
    reads: int = 0

    def follow(self, parent: ReadManifest, world: World, facts: Facts) -> None:
        """Read all that a sync of the parent asks for."""
        try:
            ask(parent, world, facts, ObjectSource(read=self.read))
        except HookError:
            return  # what asks the hook afterwards says what is wrong with the parent

    def read(self, queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        return {query: self._answer(query) for query in queries}

    def _answer(self, query: ObjectQuery) -> QueryAnswer:
        self.reads += 1
        if self.reads > MOST_READS:
            return QueryAnswer(fault=_TOO_MANY)
        found = tuple({**header_of(query.kind), **one} for one in self._find(query))
        self.objects |= {ObjectId.of(one): one for one in found}
        return answer_found(query, found)

    def _find(self, query: ObjectQuery) -> Iterable[ReadManifest]:
        what, cluster = f"{title_of(query.kind)} of {query.namespace}", self.reader.cluster
        if query.name:
            one = self.reader.attempt(what, lambda: cluster.find(query.kind, query.name, query.namespace), None)
            return () if one is None else (one,)
        selector = ",".join(f"{key}={value}" for key, value in query.labels)
        return self.reader.read_all(what, query.kind, query.namespace, labelSelector=selector)
