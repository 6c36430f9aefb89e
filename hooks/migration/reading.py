"""Reads from a cluster all that a plan is made from. It writes nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus

from hooks import contract
from hooks.clients.api_server import Refused
from hooks.clients.cluster import Cluster
from hooks.errors import HookError
from hooks.facts import Facts
from hooks.k8s import kinds
from hooks.k8s.types import GroupVersionKind, ReadManifest, gvk_of, name_of, plural_of
from hooks.metacontroller.controllers import CHILD_KINDS, OPTIONAL_CHILD_KINDS, OPTIONAL_KINDS, OUR_KINDS, declared_by
from hooks.metacontroller.protocol import CustomizeRequest, RelatedRule
from hooks.migration.definitions import DEFINITION, needs_change
from hooks.migration.found import Found
from hooks.migration.upstream import OPERATOR_NAME
from hooks.rendering import HOOKS

WEBHOOKS = tuple(
    GroupVersionKind("admissionregistration.k8s.io", "v1", f"{kind}WebhookConfiguration")
    for kind in ("Validating", "Mutating")
)
_RELATED = (
    *(kinds.NAMESPACE, kinds.NODE, kinds.POD, kinds.SECRET),
    *(kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP),
)
_BY_PLURAL = {(kind.api_version, plural_of(kind)): kind for kind in (*CHILD_KINDS, *OUR_KINDS, *_RELATED)}


def read_found(cluster: Cluster, namespace: str, facts: Facts) -> Found:
    """Read everything that concerns one namespace, or all if `namespace` is empty.

    Raises:
        Refused: the API server does not answer, or refuses to show what a plan cannot be made without.
    """
    reader = _Reader(cluster=cluster, namespace=namespace, facts=facts)
    installed = frozenset(name for name, entry in OPTIONAL_KINDS.items() if reader.has(entry.kind))
    reader.read_parents()
    reader.read_children(installed)
    reader.read_related(installed)
    definitions = tuple(reader.read_definitions())
    return Found(
        objects=tuple(reader.objects.values()),
        installed=installed,
        operators=tuple(reader.read_operators()),
        webhooks=tuple(one for kind in WEBHOOKS for one in reader.read(kind, what="webhook configurations")),
        definitions=definitions,
        stored=reader.count_stored(definitions),
        namespace=namespace,
        warnings=tuple(dict.fromkeys(reader.warnings)),
    )


def read_objects(cluster: Cluster, namespaces: Iterable[str], facts: Facts) -> Found:
    """Read the objects of Dynamo in some namespaces, with their children and related objects, and nothing else.

    Raises:
        Refused: the API server does not answer, or refuses to show the objects of Dynamo.
    """
    readers = [_Reader(cluster=cluster, namespace=namespace, facts=facts) for namespace in namespaces]
    installed = frozenset(name for name, entry in OPTIONAL_KINDS.items() if readers and readers[0].has(entry.kind))
    for reader in readers:
        reader.read_parents()
        reader.read_children(installed)
        reader.read_related(installed)
    objects = {key: one for reader in readers for key, one in reader.objects.items()}
    warnings = dict.fromkeys(warning for reader in readers for warning in reader.warnings)
    return Found(objects=tuple(objects.values()), installed=installed, warnings=tuple(warnings))


@dataclass(slots=True, kw_only=True)
class _Reader:
    """Collects objects, each once; what the user may not read is a warning."""

    cluster: Cluster
    namespace: str
    facts: Facts
    objects: dict[tuple[str, str, str], ReadManifest] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def has(self, kind: GroupVersionKind) -> bool:
        """Whether the cluster serves the kind."""
        found = self.cluster.read(f"/apis/{kind.api_version}") or {}
        return any(one.get("name") == plural_of(kind) for one in found.get("resources") or ())

    def read_parents(self) -> None:
        for kind in OUR_KINDS:
            self.keep(self.cluster.read_all(kind, self.namespace))

    def read_children(self, installed: frozenset[str]) -> None:
        """Read all objects of the kinds of children where there are parents; of Secrets only Metacontroller's."""
        namespaces = self.namespaces()
        if not namespaces:
            return
        present = {kind for parent in OUR_KINDS for kind in declared_by(parent, installed)} - set(OUR_KINDS)
        for kind in sorted(present, key=lambda one: one.key):
            only = {"labelSelector": contract.LABEL_CONTROLLER_UID} if kind == kinds.SECRET else {}
            found = self.read(kind, self.namespace, what=f"{kind.kind} objects", **only)
            self.keep(one for one in found if one["metadata"].get("namespace") in namespaces)
        for namespace in namespaces:
            self.keep_one(kinds.NAMESPACE, namespace)

    def read_related(self, installed: frozenset[str]) -> None:
        """Read what the hooks would ask Metacontroller for, and what is not read yet."""
        known = {(kind.api_version, plural_of(kind)) for kind in (*CHILD_KINDS, *OUR_KINDS) if kind != kinds.SECRET}
        asked: set[str] = set()
        for parent in [one for one in self.objects.values() if gvk_of(one) in HOOKS]:
            for rule in self._find_rules(parent, installed):
                kind = _BY_PLURAL.get((rule.api_version, rule.resource))
                is_new = str(rule) not in asked and (rule.api_version, rule.resource) not in known
                asked.add(str(rule))
                if kind is not None and is_new:
                    self._follow(rule, kind)

    def read_definitions(self) -> Iterator[ReadManifest]:
        for kind in OUR_KINDS:
            found = self.cluster.find(DEFINITION, f"{plural_of(kind)}.{kind.group}")
            if found is not None:
                yield {"apiVersion": DEFINITION.api_version, "kind": DEFINITION.kind, **found}

    def read_operators(self) -> Iterator[ReadManifest]:
        """The Deployments of Go operators, in all namespaces."""
        yield from self.read(
            kinds.DEPLOYMENT,
            what="Deployments of other namespaces, so a Go operator there is not noticed",
            labelSelector=f"{contract.LABEL_APP_NAME}={OPERATOR_NAME}",
        )

    def count_stored(self, definitions: Iterable[ReadManifest]) -> dict[str, int]:
        """The number of objects in the whole cluster, of kinds whose storage version is not ours alone."""
        doubtful = {one["spec"]["names"]["kind"] for one in definitions if needs_change(one)}
        return {kind.kind: sum(1 for _ in self.cluster.read_all(kind)) for kind in OUR_KINDS if kind.kind in doubtful}

    def namespaces(self) -> list[str]:
        return sorted({key[1] for key in self.objects if key[1]})

    def read(self, kind: GroupVersionKind, namespace: str = "", *, what: str, **query: str) -> list[ReadManifest]:
        """All objects of a kind; none, and a warning, if the user may not read them."""
        try:
            return list(self.cluster.read_all(kind, namespace, **query))
        except Refused as refused:
            if refused.status != HTTPStatus.FORBIDDEN:
                raise
            self.warnings.append(f"you may not read {what}: {refused}")
            return []

    def keep(self, found: Iterable[ReadManifest]) -> None:
        for one in found:
            self.objects[gvk_of(one).key, one["metadata"].get("namespace", ""), name_of(one)] = one

    def keep_one(self, kind: GroupVersionKind, name: str, namespace: str = "") -> None:
        try:
            found = self.cluster.find(kind, name, namespace)
        except Refused as refused:
            if refused.status != HTTPStatus.FORBIDDEN:
                raise
            self.warnings.append(f"you may not read {kind.kind} {name}: {refused}")
            return
        if found is not None:
            self.keep([{"apiVersion": kind.api_version, "kind": kind.kind, **found}])

    def _find_rules(self, parent: ReadManifest, installed: frozenset[str]) -> list[RelatedRule]:
        declared = frozenset(declared_by(gvk_of(parent), installed)) & frozenset(OPTIONAL_CHILD_KINDS)
        try:
            return HOOKS[gvk_of(parent)].customize(CustomizeRequest(parent=parent, child_kinds=declared), self.facts)
        except HookError:
            return []  # the plan says what is wrong with the parent

    def _follow(self, rule: RelatedRule, kind: GroupVersionKind) -> None:
        if rule.names:
            for name in rule.names:
                self.keep_one(kind, name, rule.namespace)
            return
        selector = ",".join(f"{key}={value}" for key, value in rule.match_labels.items())
        query = {"labelSelector": selector} if selector else {}
        self.keep(self.read(kind, rule.namespace, what=f"{kind.kind} objects of {rule.namespace}", **query))
