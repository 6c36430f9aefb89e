"""The messages of Metacontroller's hook protocol, version 2; `wire` reads and writes them.

Source: Metacontroller v4.17, pkg/controller/common/api/v2, composite/api/v2, decorator/api/v2, customize/api/v2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hooks.ground.k8s.types import GroupVersionKind, Json, Manifest, ReadManifest, object_key, plural_of
from hooks.ground.problems import Problem
from hooks.wire.metacontroller.controllers import OPTIONAL_CHILD_KINDS
from hooks.wire.metacontroller.effects import Effect
from hooks.wire.prober.frontends import AskedFrontends


class Objects:
    """The observed objects of a request, by kind and `namespace/name`; they must not be changed."""

    __slots__ = ("_by_kind",)

    def __init__(self, by_kind: Mapping[str, Mapping[str, ReadManifest]]) -> None:
        """Take Metacontroller's map: key of the kind to a map of `namespace/name` to object."""
        self._by_kind = by_kind

    def has_kind(self, kind: GroupVersionKind) -> bool:
        """Whether the controller declares the kind (children) or asked for it (related); there may be no objects."""
        return kind.key in self._by_kind

    def resources(self) -> tuple[str, ...]:
        """The declared kinds as kubectl takes them: `service`, `role.rbac.authorization.k8s.io`."""
        pairs = (key.partition(".")[::2] for key in self._by_kind)
        return tuple(sorted(".".join(filter(None, (kind.lower(), of.rpartition("/")[0]))) for kind, of in pairs))

    def optional_kinds(self) -> frozenset[GroupVersionKind]:
        """The optional kinds that the controller declares as children."""
        return frozenset(kind for kind in OPTIONAL_CHILD_KINDS if self.has_kind(kind))

    def __contains__(self, key: object) -> bool:
        """As `has_kind`, by Metacontroller's key of the kind."""
        return key in self._by_kind

    def get(self, kind: GroupVersionKind, name: str, namespace: str = "") -> ReadManifest | None:
        """One object by name; `namespace` is empty for cluster-scoped kinds."""
        return self._by_kind.get(kind.key, {}).get(f"{namespace}/{name}" if namespace else name)

    def of(self, kind: GroupVersionKind) -> tuple[ReadManifest, ...]:
        """All objects of a kind, sorted by their key."""
        found = self._by_kind.get(kind.key)
        return tuple(map(found.__getitem__, sorted(found))) if found else ()

    def all(self) -> tuple[ReadManifest, ...]:
        """All objects of all kinds, sorted by kind and key."""
        return tuple(found[key] for _, found in sorted(self._by_kind.items()) for key in sorted(found))

    def with_found(self, found: Mapping[GroupVersionKind, Sequence[ReadManifest]]) -> "Objects":
        """These objects and others; each kind in `found` has a key afterwards, also one without objects."""
        by_kind = {key: dict(group) for key, group in self._by_kind.items()}
        for kind, objects in found.items():
            by_kind.setdefault(kind.key, {}).update({object_key(one): one for one in objects})
        return Objects(by_kind)

    def entries(self) -> tuple[tuple[str, ReadManifest], ...]:
        """All objects with their keys, in the same order."""
        return tuple((key, found[key]) for _, found in sorted(self._by_kind.items()) for key in sorted(found))


@dataclass(frozen=True, slots=True)
class ObjectQuery:
    """Objects that a sync would like to know, beside those of its request: one by name, or those with labels.

    Unlike the objects of a `RelatedRule`, Metacontroller does not watch them: they are read when they are needed.
    """

    kind: GroupVersionKind
    namespace: str
    name: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def order(self) -> tuple[str, str, str, tuple[tuple[str, str], ...]]:
        """What queries are sorted by."""
        return self.kind.key, self.namespace, self.name, self.labels

    def to_rule(self) -> "RelatedRule":
        """The rule that selects the same objects."""
        names = (self.name,) if self.name else ()
        return RelatedRule.of(self.kind, self.namespace, names=names, match_labels=dict(self.labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """The objects that a query found; `fault` is half a sentence on why not all could be read, empty if they were.

    `size` and `seconds` are what the answer cost: bytes that were read, and the time for them.
    """

    objects: tuple[ReadManifest, ...] = ()
    fault: str = ""
    size: int = field(default=0, compare=False)
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """A sync or finalize call; a DecoratorController's attachments are `children` here.

    `answered` are the queries that were answered: what they found is among the related objects, and the text says why
    that is not all, empty if it is.
    `body` is its text, for the little that is read of `metadata.managedFields`, which the objects do not have.
    """

    parent: ReadManifest
    children: Objects
    related: Objects
    finalizing: bool = False
    answered: Mapping[ObjectQuery, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False, compare=False)

    def with_answers(self, found: Mapping[ObjectQuery, QueryAnswer]) -> "SyncRequest":
        """The request with what queries found; a kind of which nothing was read is no key of the related objects."""
        by_kind: dict[GroupVersionKind, list[ReadManifest]] = {}
        for query, answer in found.items():
            if answer.objects or not answer.fault:
                by_kind.setdefault(query.kind, []).extend(answer.objects)
        answered = {**self.answered, **{query: answer.fault for query, answer in found.items()}}
        return replace(self, related=self.related.with_found(by_kind), answered=answered)

    @property
    def generation(self) -> int:
        """The parent's generation; 0 if the parent was never stored."""
        return int(self.parent["metadata"].get("generation", 0))

    @property
    def status(self) -> Mapping[str, Json]:
        """The parent's status as last written; {} at first."""
        return self.parent.get("status") or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomizeRequest:
    """A customize call, which asks for the related objects of a parent; `child_kinds` are optional kinds."""

    parent: ReadManifest
    child_kinds: frozenset[GroupVersionKind] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncAnswer:
    """Wanted children and status; `notes` say why, for the log line.

    `problems` say what is wrong with the spec; if there are any, the children are those of the last good sync.
    `queries` are objects with which the answer would say more. `later` are those that are worth a read only if what is
    not ready now stays so for a moment. `waits`: something is withheld until they are answered, if only by nothing.
    `asked` is what frontends were asked before, and what came of it.
    """

    children: Sequence[Manifest] = ()
    status: dict[str, Json] | None = None
    resync_after_seconds: float = 0
    finalized: bool = False
    effects: tuple[Effect, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    queries: tuple[ObjectQuery, ...] = ()
    later: tuple[ObjectQuery, ...] = ()
    waits: bool = False
    asked: AskedFrontends | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedRule:
    """Related objects that a sync needs: by names, by labels, or all of a kind in a namespace.

    `namespace` is empty only for cluster-scoped kinds; for others, an empty one would mean all namespaces. Objects with
    the label `without_label` are left out; empty leaves out none.
    """

    api_version: str
    resource: str
    namespace: str = ""
    names: tuple[str, ...] = ()
    match_labels: Mapping[str, str] = field(default_factory=dict)
    without_label: str = ""

    @classmethod
    def of(
        cls,
        kind: GroupVersionKind,
        namespace: str = "",
        *,
        names: tuple[str, ...] = (),
        match_labels: Mapping[str, str] | None = None,
        without_label: str = "",
    ) -> "RelatedRule":
        """A rule for objects of a kind."""
        return cls(
            api_version=kind.api_version,
            resource=plural_of(kind),
            namespace=namespace,
            names=names,
            match_labels=match_labels or {},
            without_label=without_label,
        )

    def to_json(self) -> dict[str, Json]:
        """The rule in Metacontroller's JSON."""
        rule: dict[str, Json] = {"apiVersion": self.api_version, "resource": self.resource}
        if self.namespace:
            rule["namespace"] = self.namespace
        if self.names:
            rule["names"] = sorted(set(self.names))
        labels = {"matchLabels": dict(sorted(self.match_labels.items()))} if self.match_labels else {}
        absent = [{"key": self.without_label, "operator": "DoesNotExist"}] if self.without_label else []
        if labels or absent:
            rule["labelSelector"] = {**labels, **({"matchExpressions": absent} if absent else {})}
        return rule
