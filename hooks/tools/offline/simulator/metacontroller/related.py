"""Related objects: the customize hook's rules, cached by (uid, generation), and the objects that they select.

Source: Metacontroller v4.17, pkg/controller/common/customize/manager.go.
"""

import math
from collections.abc import Callable, Iterator

from hooks.ground.k8s.types import Manifest, object_key
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader
from hooks.tools.offline.simulator.metacontroller.related_rules import (
    Concerns,
    Rule,
    check_rule,
    labels_of_rule,
    selects,
)
from hooks.tools.offline.simulator.metacontroller.webhook import SyncFailed, TooManyRequests, Webhook
from hooks.tools.offline.simulator.resources import Resource, UnknownKind
from hooks.tools.offline.simulator.store import Ref, StoreChange, ref_of

ObjectMap = dict[str, dict[str, Manifest]]
"""Objects by key of their kind (`Deployment.apps/v1`), then by their own (`namespace/name`)."""

CACHED_SECONDS = 20 * 60.0


class Related:
    """One controller's rules for each of its parents."""

    def __init__(self, store: ObjectReader, webhook: Webhook, clock: Clock) -> None:
        self._store = store
        self._webhook = webhook
        self._clock = clock
        self._rules: dict[tuple[str, int], tuple[float, list[Rule]]] = {}
        self._watched: set[str] = set()
        self._concerns = Concerns(())
        self._fresh_until = 0.0
        """Until when no rules of a parent are to be asked for again, if no parent changes and no kind comes."""
        self._kinds = 0

    def objects(self, parent: Manifest) -> ObjectMap:
        """All objects that the parent's rules select, with a key for every kind in the rules.

        Raises:
            SyncFailed: the hook failed, or a rule is contradictory or names a kind that is not installed.
            TooManyRequests: the hook answered 429.
        """
        found: ObjectMap = {}
        for rule in self._rules_of(parent):
            resource = self._resource_of(rule)
            check_rule(rule, resource)
            group = found.setdefault(resource.kind.key, {})
            for obj in self._look_at(rule, resource):
                if selects(rule, resource, obj, self._store):
                    group[object_key(obj)] = obj
        self._watched |= set(found)
        return found

    def _look_at(self, rule: Rule, resource: Resource) -> Iterator[Manifest]:
        """The objects that a rule can select, sorted: those of its names, with its labels, or of the whole kind."""
        kind, namespace = resource.kind, (rule.get("namespace") or "") if resource.namespaced else ""
        if not rule.get("names") or (resource.namespaced and not namespace):
            labels = dict(labels_of_rule(rule))
            yield from (
                self._store.list_labelled(kind, namespace, labels) if labels else self._store.list_kind(kind, namespace)
            )
            return
        for name in sorted(set(rule["names"])):
            if (found := self._store.get(Ref(kind.group, kind.kind, namespace, name))) is not None:
                yield found

    def forget_index(self) -> None:
        """Parents came, went or have another generation, so that rules may have to be asked for."""
        self._fresh_until = 0.0

    def find_concerned(self, change: StoreChange, parents: Callable[[], list[Manifest]]) -> list[Ref]:
        """The parents that a change requires a sync of; calls the hook about those whose rules are not cached."""
        kind = f"{change.current['kind']}.{change.current['apiVersion']}"
        if kind not in self._watched:
            return []
        if self._clock.seconds >= self._fresh_until or self._kinds != len(self._store.catalogue):
            self._kinds = len(self._store.catalogue)
            self._concerns = Concerns(self._read_rules(parents()))
        return self._concerns.find(change, kind, self._store)

    def _read_rules(self, parents: list[Manifest]) -> list[tuple[Ref, Rule, Resource]]:
        """The good rules of all parents; a failed question is asked again at the next change."""
        self._fresh_until = math.inf
        found = []
        for parent in parents:
            try:
                rules = self._rules_of(parent)
            except (SyncFailed, TooManyRequests):
                self._fresh_until = 0.0
                continue
            if rules:
                self._fresh_until = min(self._fresh_until, self._rules[version_of(parent)][0])
            for rule in rules:
                try:
                    resource = self._resource_of(rule)
                    check_rule(rule, resource)
                except SyncFailed:
                    continue
                found.append((ref_of(parent), rule, resource))
        return found

    def _rules_of(self, parent: Manifest) -> list[Rule]:
        if not self._webhook.has("customize"):
            return []
        key = version_of(parent)
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


def version_of(parent: Manifest) -> tuple[str, int]:
    """What the rules of a parent are cached by: its uid and generation."""
    return parent["metadata"]["uid"], parent["metadata"].get("generation", 0)
