"""Reads the objects of some namespaces of a user's cluster as a `World`. It writes nothing.

What the user may not read is noted, and not fatal.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hooks.ground import contract
from hooks.ground.errors import HookError
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest, gvk_of, plural_of
from hooks.ground.settings.facts import Facts
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.live_reader import LiveReader, find_installed, header_of, title_of
from hooks.tools.world.composite_hooks import HOOKS, ask_for_related
from hooks.wire.metacontroller.controllers import CHILD_KINDS, OUR_KINDS, declared_by
from hooks.wire.metacontroller.protocol import RelatedRule
from hooks.wire.world.objects import ObjectId, World

_RELATED = (
    *(kinds.NAMESPACE, kinds.NODE, kinds.POD, kinds.SECRET),
    *(kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP),
)
_BY_PLURAL = {(kind.api_version, plural_of(kind)): kind for kind in (*CHILD_KINDS, *OUR_KINDS, *_RELATED)}


def read_world(cluster: Cluster, namespaces: Iterable[str], facts: Facts) -> World:
    """Read the objects of Dynamo in some namespaces (an empty one: in all), with their children and related objects.

    Raises:
        Refused: the API server does not answer, or refuses to show the objects of Dynamo.
    """
    readers = [_NamespaceReader(reader=LiveReader(cluster=cluster), namespace=namespace) for namespace in namespaces]
    installed = find_installed(cluster) if readers else frozenset[str]()
    for reader in readers:
        reader.read_parents()
        reader.read_children(installed)
        reader.read_related(installed, facts)
    objects = {key: one for reader in readers for key, one in reader.objects.items()}
    unread = dict.fromkeys(warning for reader in readers for warning in reader.reader.warnings)
    return World.live(objects.values(), installed, unread)


@dataclass(slots=True, kw_only=True)
class _NamespaceReader:
    """Collects the objects of one namespace, or of all, each once."""

    reader: LiveReader
    namespace: str
    objects: dict[ObjectId, ReadManifest] = field(default_factory=dict)

    def read_parents(self) -> None:
        for kind in OUR_KINDS:
            self.store(self.reader.cluster.read_all(kind, self.namespace))

    def read_children(self, installed: frozenset[str]) -> None:
        """Read all objects of the kinds of children where there are parents; of Secrets only Metacontroller's."""
        namespaces = sorted({key.namespace for key in self.objects if key.namespace})
        if not namespaces:
            return
        present = {kind for parent in OUR_KINDS for kind in declared_by(parent, installed)} - set(OUR_KINDS)
        for kind in sorted(present, key=lambda one: one.key):
            only = {"labelSelector": contract.LABEL_CONTROLLER_UID} if kind == kinds.SECRET else {}
            found = self.reader.read_all(title_of(kind), kind, self.namespace, **only)
            self.store(one for one in found if one["metadata"].get("namespace") in namespaces)
        for namespace in namespaces:
            self._store_one(kinds.NAMESPACE, namespace)

    def read_related(self, installed: frozenset[str], facts: Facts) -> None:
        """Read what the hooks would ask Metacontroller for, and what is not read yet."""
        known = {(kind.api_version, plural_of(kind)) for kind in (*CHILD_KINDS, *OUR_KINDS) if kind != kinds.SECRET}
        asked: set[str] = set()
        cluster = World(installed=installed)
        for parent in [one for one in self.objects.values() if gvk_of(one) in HOOKS]:
            for rule in _find_rules(parent, cluster, facts):
                kind = _BY_PLURAL.get((rule.api_version, rule.resource))
                is_new = str(rule) not in asked and (rule.api_version, rule.resource) not in known
                asked.add(str(rule))
                if kind is not None and is_new:
                    self._follow(rule, kind)

    def store(self, found: Iterable[ReadManifest]) -> None:
        for one in found:
            self.objects[ObjectId.of(one)] = one

    def _store_one(self, kind: GroupVersionKind, name: str, namespace: str = "") -> None:
        found = self.reader.attempt(
            f"{kind.kind} {name}", lambda: self.reader.cluster.find(kind, name, namespace), None
        )
        if found is not None:
            self.store([{**header_of(kind), **found}])

    def _follow(self, rule: RelatedRule, kind: GroupVersionKind) -> None:
        if rule.names:
            for name in rule.names:
                self._store_one(kind, name, rule.namespace)
            return
        selector = ",".join(f"{key}={value}" for key, value in rule.match_labels.items())
        query = {"labelSelector": selector} if selector else {}
        self.store(self.reader.read_all(f"{title_of(kind)} of {rule.namespace}", kind, rule.namespace, **query))


def _find_rules(parent: ReadManifest, cluster: World, facts: Facts) -> list[RelatedRule]:
    try:
        return ask_for_related(parent, cluster, facts)
    except HookError:
        return []  # what asks the hook afterwards says what is wrong with the parent
