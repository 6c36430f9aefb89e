"""Rules for related objects: which objects a rule selects, and which parents' rules select an object that changes.

Source: Metacontroller v4.17, pkg/controller/common/customize/manager.go.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader
from hooks.tools.offline.simulator.metacontroller.webhook import SyncFailed
from hooks.tools.offline.simulator.resources import Resource
from hooks.tools.offline.simulator.store import Ref, StoreChange
from hooks.wire.world.selectors import matches

Rule = Mapping[str, Any]
_Owned = tuple[int, Ref, Rule, Resource]
"""The place of the parent among all, the parent, a rule of it, and the rule's kind."""


def check_rule(rule: Rule, resource: Resource) -> None:
    """Check that Metacontroller takes a rule.

    Raises:
        SyncFailed: it is contradictory.
    """
    by_labels = rule.get("labelSelector") is not None
    by_namespace_labels = rule.get("namespaceSelector") is not None
    if rule.get("names") and (by_labels or by_namespace_labels):
        raise SyncFailed("related rule cannot have both names and labelSelector/namespaceSelector specified")
    if rule.get("namespace") and by_namespace_labels:
        raise SyncFailed("related rule cannot have both namespace and namespaceSelector specified")
    if by_namespace_labels and not resource.namespaced:
        raise SyncFailed("namespaceSelector is only supported for namespaced related resources")


def selects(rule: Rule, resource: Resource, obj: Manifest, store: ObjectReader) -> bool:
    """Whether a rule selects an object of its kind."""
    metadata = obj["metadata"]
    if resource.namespaced and rule.get("namespace") and metadata["namespace"] != rule["namespace"]:
        return False
    if rule.get("names") and metadata["name"] not in rule["names"]:
        return False
    if not matches(rule.get("labelSelector"), metadata.get("labels") or {}):
        return False
    if rule.get("namespaceSelector") is None:
        return True
    namespace = store.get(Ref("", "Namespace", "", metadata["namespace"])) or {"metadata": {}}
    return matches(rule["namespaceSelector"], namespace["metadata"].get("labels") or {})


class Concerns:
    """The rules of all parents by what they select, so that a change is compared with few of them.

    A rule stands under each of its names, or under one of its labels: that which the fewest rules have.
    """

    def __init__(self, rules: Iterable[tuple[Ref, Rule, Resource]]) -> None:
        owned = [(place, *one) for place, one in enumerate(rules)]
        counts = Counter(label for _, _, rule, _ in owned for label in labels_of_rule(rule))
        self._found: dict[tuple[str, ...], list[_Owned]] = {}
        for one in owned:
            _, _, rule, resource = one
            for key in _keys_of(rule, counts):
                self._found.setdefault((resource.kind.key, *key), []).append(one)

    def find(self, change: StoreChange, kind: str, store: ObjectReader) -> list[Ref]:
        """The parents that have a rule for an object before or after its change, in their order."""
        found: dict[int, Ref] = {}
        for obj in (change.old, change.new):
            for place, parent, rule, resource in self._candidates(obj, kind) if obj is not None else ():
                if place not in found and selects(rule, resource, obj or {}, store):
                    found[place] = parent
        return list(dict.fromkeys(found[place] for place in sorted(found)))

    def _candidates(self, obj: Manifest, kind: str) -> Iterator[_Owned]:
        metadata = obj["metadata"]
        yield from self._found.get((kind,), ())
        yield from self._found.get((kind, str(metadata["name"])), ())
        for key, value in (metadata.get("labels") or {}).items():
            yield from self._found.get((kind, key, value), ())


def labels_of_rule(rule: Rule) -> list[tuple[str, str]]:
    """The labels that a rule wants exactly."""
    return list(((rule.get("labelSelector") or {}).get("matchLabels") or {}).items())


def _keys_of(rule: Rule, counts: Mapping[tuple[str, str], int]) -> Sequence[tuple[str, ...]]:
    """Where a rule stands: by its names, by a label, or among those that any object of the kind may match."""
    if rule.get("names"):
        return [(str(name),) for name in rule["names"]]
    labels = labels_of_rule(rule)
    if not labels:
        return [()]
    rarest: tuple[str, str] = min(labels, key=lambda label: (counts[label], label))
    return [rarest]
