"""The process of Metacontroller: its controllers, the caches that they share, and what becomes of both in a restart."""

from collections.abc import Callable, Collection, Iterator

from hooks.ground.k8s.types import GroupVersionKind, Manifest, gvk_of
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.metacontroller.controller import Controller, RecordedEvent
from hooks.tools.offline.simulator.metacontroller.controller_spec import ControllerSpec, parse_controller
from hooks.tools.offline.simulator.metacontroller.informer import Informer, ObjectWriter
from hooks.tools.offline.simulator.metacontroller.webhook import Hook
from hooks.tools.offline.simulator.store import Store, StoreChange


class Metacontroller:
    """All controllers. Before one is started or all are restarted, pending changes must have been observed."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        hook: Hook,
        *,
        late: Collection[GroupVersionKind],
        build_client: Callable[[], ObjectWriter],
    ) -> None:
        self._clock, self._hook, self._build_client = clock, hook, build_client
        self._informer = Informer(store, late)
        self._controllers: dict[str, Controller] = {}
        self._hooks: dict[str, Hook] = {}
        self._past_events: list[RecordedEvent] = []

    def start(self, manifest: Manifest, hook: Hook | None) -> None:
        """Start a controller; raises ControllerNotStarted."""
        spec = parse_controller(manifest, self._informer.catalogue)
        self._hooks[spec.name] = hook or self._hook
        self._controllers[spec.name] = self._build(spec)

    def stop(self, name: str) -> None:
        """Stop a controller; its finalizers stay on its parents, as in a real cluster."""
        self._past_events += self._controllers.pop(name).events

    def restart(self) -> None:
        """Restart all controllers: with empty caches they list everything and sync every parent."""
        self._informer.list_again()
        self._past_events = self.events
        self._controllers = {name: self._build(old.spec) for name, old in self._controllers.items()}

    def break_watches(self) -> None:
        """Break and renew the watches: of several pending changes of an object only the last arrives."""
        for change in self._informer.list_again():
            self._notify(change)

    def delay_news(self, late: Collection[GroupVersionKind]) -> None:
        """From now on keep changes of these late kinds from the controllers, and of no others."""
        self._informer.delay(late)

    def observe(self, change: StoreChange) -> None:
        """Notify all controllers of a change, or keep it for later if its kind is late."""
        if self._informer.is_late(change):
            self._informer.send(change)
        else:
            self._notify(change)

    def pending_kinds(self) -> list[tuple[str, str]]:
        """Groups and kinds with changes that can be delivered, sorted."""
        return self._informer.pending_kinds()

    def deliver(self, key: tuple[str, str]) -> None:
        """Deliver the oldest pending change of a group and kind."""
        self._notify(self._informer.deliver(key))

    def controllers(self) -> Iterator[tuple[str, Controller]]:
        """All running controllers by name, in the order in which they were started."""
        yield from self._controllers.items()

    def sync_again(self) -> None:
        """Enqueue every parent, like an event without a change."""
        for controller in self._controllers.values():
            controller.enqueue_all()

    def sync_now(self, parent: Manifest) -> None:
        """Sync one parent at once, by each controller of its kind."""
        for controller in self._controllers.values():
            if gvk_of(parent) in controller.spec.parents:
                controller.sync_once(parent)

    @property
    def events(self) -> list[RecordedEvent]:
        """All events that controllers recorded, oldest first."""
        recorded = [*self._past_events, *(event for found in self._controllers.values() for event in found.events)]
        return sorted(recorded, key=lambda event: event.seconds)

    @property
    def has_retries(self) -> bool:
        """Whether a sync failed and has not succeeded since."""
        return any(controller.has_retries for controller in self._controllers.values())

    def next_time(self) -> float | None:
        """When the next retry or resync is due, in seconds of the clock; None if there is none."""
        times = (controller.next_time() for controller in self._controllers.values())
        return min((time for time in times if time is not None), default=None)

    def _build(self, spec: ControllerSpec) -> Controller:
        return Controller(
            spec, store=self._informer, client=self._build_client(), hook=self._hooks[spec.name], clock=self._clock
        )

    def _notify(self, change: StoreChange) -> None:
        for controller in self._controllers.values():
            controller.observe(change)
