"""Related objects: the customize hook's rules, cached by (uid, generation), and the objects that they select.

Source: Metacontroller v4.17, pkg/controller/common/customize/manager.go.
"""

from collections.abc import Mapping
from typing import Any

from hooks.k8s.types import Manifest, object_key
from hooks.offline.simulator.clock import Clock
from hooks.offline.simulator.metacontroller.informer import Reader
from hooks.offline.simulator.metacontroller.webhook import SyncFailed, TooManyRequests, Webhook
from hooks.offline.simulator.resources import Resource, UnknownKind
from hooks.offline.simulator.store import Change, Ref
from hooks.world.selectors import matches

ObjectMap = dict[str, dict[str, Manifest]]
"""Objects by key of their kind (`Deployment.apps/v1`), then by their own (`namespace/name`)."""

Rule = Mapping[str, Any]

CACHED_SECONDS = 20 * 60.0


class Related:
    """One controller's rules for each of its parents."""

    def __init__(self, store: Reader, webhook: Webhook, clock: Clock) -> None:
        self._store = store
        self._webhook = webhook
        self._clock = clock
        self._rules: dict[tuple[str, int], tuple[float, list[Rule]]] = {}
        self._watched: set[str] = set()

    def objects(self, parent: Manifest) -> ObjectMap:
        """All objects that the parent's rules select, with a key for every kind in the rules.

        Raises:
            SyncFailed: the hook failed, or a rule is contradictory or names a kind that is not installed.
            TooManyRequests: the hook answered 429.
        """
        found: ObjectMap = {}
        for rule in self._rules_of(parent):
            resource = self._resource_of(rule)
            _check_rule(rule, resource)
            group = found.setdefault(resource.kind.key, {})
            for obj in self._store.list_kind(resource.kind):
                if self._selects(rule, resource, obj):
                    group[object_key(obj)] = obj
        self._watched |= set(found)
        return found

    def concerns(self, parent: Manifest, change: Change) -> bool:
        """Whether a change requires a sync of the parent; calls the hook if its rules are not cached."""
        kind = f"{change.current['kind']}.{change.current['apiVersion']}"
        if kind not in self._watched:
            return False
        try:
            rules = self._rules_of(parent)
        except (SyncFailed, TooManyRequests):
            return False
        return any(self._rule_concerns(rule, kind, change) for rule in rules)

    def _rule_concerns(self, rule: Rule, kind: str, change: Change) -> bool:
        try:
            resource = self._resource_of(rule)
            _check_rule(rule, resource)
        except SyncFailed:
            return False
        if resource.kind.key != kind:
            return False
        return any(self._selects(rule, resource, obj) for obj in (change.old, change.new) if obj is not None)

    def _rules_of(self, parent: Manifest) -> list[Rule]:
        if not self._webhook.has("customize"):
            return []
        key = (parent["metadata"]["uid"], parent["metadata"].get("generation", 0))
        known = self._rules.get(key)
        if known is not None and known[0] > self._clock.seconds:
            return known[1]
        rules: list[Rule] = self._webhook.call("customize", {"parent": parent}).get("relatedResources", [])
        self._rules[key] = (self._clock.seconds + CACHED_SECONDS, rules)
        return rules

    def _resource_of(self, rule: Rule) -> Resource:
        try:
            return self._store.catalogue.by_plural(rule.get("apiVersion", ""), rule.get("resource", ""))
        except UnknownKind as unknown:
            raise SyncFailed(str(unknown)) from None

    def _selects(self, rule: Rule, resource: Resource, obj: Manifest) -> bool:
        metadata = obj["metadata"]
        if resource.namespaced and rule.get("namespace") and metadata["namespace"] != rule["namespace"]:
            return False
        if rule.get("names") and metadata["name"] not in rule["names"]:
            return False
        if not matches(rule.get("labelSelector"), metadata.get("labels") or {}):
            return False
        if rule.get("namespaceSelector") is None:
            return True
        namespace = self._store.get(Ref("", "Namespace", "", metadata["namespace"])) or {"metadata": {}}
        return matches(rule["namespaceSelector"], namespace["metadata"].get("labels") or {})


def _check_rule(rule: Rule, resource: Resource) -> None:
    by_labels = rule.get("labelSelector") is not None
    by_namespace_labels = rule.get("namespaceSelector") is not None
    if rule.get("names") and (by_labels or by_namespace_labels):
        raise SyncFailed("related rule cannot have both names and labelSelector/namespaceSelector specified")
    if rule.get("namespace") and by_namespace_labels:
        raise SyncFailed("related rule cannot have both namespace and namespaceSelector specified")
    if by_namespace_labels and not resource.namespaced:
        raise SyncFailed("namespaceSelector is only supported for namespaced related resources")
