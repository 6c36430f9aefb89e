"""One running controller of Metacontroller: which changes enqueue which parents, and what follows a failed sync.

`composite` and `decorator` hold the sync itself. Source: Metacontroller v4.17, pkg/controller/composite/controller.go
and pkg/controller/decorator/controller.go.
"""

from collections.abc import Collection
from dataclasses import dataclass

from hooks.ground.k8s.types import GroupVersionKind, Manifest, controller_of, is_deleting
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.metacontroller.composite import child_selector, sync_composite
from hooks.tools.offline.simulator.metacontroller.controller_spec import ControllerSpec, ParentRule
from hooks.tools.offline.simulator.metacontroller.decorator import sync_decorator
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader, ObjectWriter
from hooks.tools.offline.simulator.metacontroller.parents import SyncTools
from hooks.tools.offline.simulator.metacontroller.related import Related, version_of
from hooks.tools.offline.simulator.metacontroller.webhook import Hook, SyncFailed, TooManyRequests, Webhook
from hooks.tools.offline.simulator.metacontroller.workqueue import WorkQueue
from hooks.tools.offline.simulator.store import ApiError, Ref, StoreChange, ref_of
from hooks.wire.world.selectors import matches


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEvent:
    """A Kubernetes event; `seconds` is the simulated time."""

    seconds: float
    ref: Ref
    type: str
    reason: str
    message: str


class Controller:
    """A started controller with its queue; all existing parents are enqueued at once."""

    def __init__(
        self, spec: ControllerSpec, *, store: ObjectReader, client: ObjectWriter, hook: Hook, clock: Clock
    ) -> None:
        self.spec = spec
        self.events: list[RecordedEvent] = []
        self._store = store
        self._clock = clock
        self._queue: WorkQueue[Ref] = WorkQueue()
        webhook = Webhook(hook, spec.manifest, spec.paths, clock)
        self._tools = SyncTools(
            spec=spec,
            store=store,
            client=client,
            webhook=webhook,
            related=Related(store, webhook, clock),
            requeue=lambda ref, seconds: self._queue.add_at(ref, clock.seconds + seconds),
        )
        self._next_resync = clock.seconds + spec.resync_seconds if spec.resync_seconds else None
        self.enqueue_all()

    def ready(self) -> Collection[Ref]:
        """Parents that can be synced now."""
        if self._next_resync is not None and self.spec.resync_seconds and self._clock.seconds >= self._next_resync:
            self._next_resync = self._clock.seconds + self.spec.resync_seconds
            self.enqueue_all()
        return self._queue.ready(self._clock.seconds)

    def next_time(self) -> float | None:
        """When the next retry or resync is due."""
        times = [time for time in (self._queue.next_time(), self._next_resync) if time is not None]
        return min(times, default=None)

    @property
    def has_retries(self) -> bool:
        """Whether a sync failed and has not succeeded since."""
        return self._queue.has_failures

    def enqueue_all(self) -> None:
        """Enqueue every parent."""
        for parent in self._parents():
            self._enqueue(parent)

    def sync(self, ref: Ref) -> None:
        """Sync one ready parent; an error only changes the back-off and adds an event about the parent.

        Raises:
            MetacontrollerWouldCrash: the answer would crash the real one.
        """
        self._queue.take(ref)
        parent = self._store.get(ref)
        if parent is None:
            self._queue.forget(ref)
            return
        try:
            self.sync_once(parent)
        except TooManyRequests as busy:
            self._queue.add_at(ref, self._clock.seconds + busy.seconds)
        except (SyncFailed, ApiError) as failed:
            message = f"Sync error: {failed}"
            self.events.append(
                RecordedEvent(seconds=self._clock.seconds, ref=ref, type="Warning", reason="SyncError", message=message)
            )
            self._queue.add_failed(ref, self._clock.seconds)
        else:
            self._queue.forget(ref)

    def sync_once(self, parent: Manifest) -> None:
        """Sync a parent; a failure is raised.

        Raises:
            SyncFailed, ApiError: the sync failed, or some of its writes were refused.
            TooManyRequests: the hook answered 429; nothing was done.
        """
        if self.spec.composite:
            sync_composite(self._tools, parent)
        else:
            sync_decorator(self._tools, parent)

    def observe(self, change: StoreChange) -> None:
        """Enqueue every parent that a change concerns."""
        current = change.current
        kind = GroupVersionKind.of(current["apiVersion"], current["kind"])
        rule = self.spec.parents.get(kind)
        if rule is not None:
            if change.old is None or change.new is None or version_of(change.old) != version_of(change.new):
                self._tools.related.forget_index()
            self._observe_parent(rule, change)
        if kind in self.spec.methods:
            self._observe_child(change)
        for ref in self._tools.related.find_concerned(change, self._parents):
            parent = self._store.get(ref)
            if parent is not None:
                self._enqueue(parent)

    def _observe_parent(self, rule: ParentRule, change: StoreChange) -> None:
        if rule.ignore_status_changes and change.old is not None and change.new is not None:
            old, new = change.old["metadata"], change.new["metadata"]
            watched = ("generation", "labels", "annotations")
            if "deletionTimestamp" not in new and all(old.get(key) == new.get(key) for key in watched):
                return
        self._enqueue(change.current)

    def _observe_child(self, change: StoreChange) -> None:
        child = change.current
        owner = controller_of(child)
        if owner is not None:
            for kind, rule in self.spec.parents.items():
                group = GroupVersionKind.of(owner["apiVersion"], owner["kind"]).group
                if (group, owner["kind"]) == (kind.group, kind.kind):
                    namespace = child["metadata"].get("namespace", "") if rule.resource.namespaced else ""
                    parent = self._store.get(Ref(group, owner["kind"], namespace, owner["name"]))
                    if parent is not None and parent["metadata"]["uid"] == owner["uid"]:
                        self._enqueue(parent)
        elif self.spec.composite and change.new is not None and not is_deleting(child):
            self._enqueue_adopters(child)

    def _enqueue_adopters(self, orphan: Manifest) -> None:
        labels = orphan["metadata"].get("labels") or {}
        for parent in self._parents():
            own = parent["metadata"].get("namespace", "") in {"", orphan["metadata"].get("namespace", "")}
            try:
                selected = own and matches(child_selector(self.spec, parent), labels)
            except SyncFailed:
                selected = False
            if selected:
                self._enqueue(parent)

    def _parents(self) -> list[Manifest]:
        return [parent for kind in self.spec.parents for parent in self._store.list_kind(kind)]

    def _enqueue(self, parent: Manifest) -> None:
        if self.spec.handles(parent):
            self._queue.add(ref_of(parent))
