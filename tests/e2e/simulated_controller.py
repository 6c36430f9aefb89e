"""The simulator's Metacontroller on a real API server, for machines that have no `metacontroller`.

One thread takes in what changed, and syncs one parent after another. It decides as in memory; only time and objects
are real.
"""

import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.metacontroller.controller import Controller, RecordedEvent
from hooks.tools.offline.simulator.metacontroller.controller_spec import parse_controller
from hooks.tools.offline.simulator.metacontroller.hook_client import connect_hook
from hooks.tools.offline.simulator.metacontroller.webhook import Hook
from hooks.tools.offline.simulator.resources import Catalogue
from tests.cluster.api_client import ApiClient
from tests.contract.backend import ApiRefused
from tests.e2e.live_store import LiveStore, LiveWriter

TURN_SECONDS = 0.1


class SimulatedMetacontroller:
    """All controllers in one thread; `run` works until `stop`, and `fault` is what ended it before."""

    def __init__(self, controllers: Iterable[Manifest], crds: Iterable[Manifest], hook: Hook, api: ApiClient) -> None:
        catalogue = Catalogue()
        for crd in crds:
            catalogue.add_crd(crd)
        self.fault: BaseException | None = None
        self._api = api
        self._began = time.monotonic()
        self._clock = Clock(datetime.now(UTC))
        self._store = LiveStore(catalogue, api)
        self._stopped = threading.Event()
        specs = [parse_controller(manifest, catalogue) for manifest in controllers]
        for spec in specs:
            for kind in (*spec.parents, *spec.methods):
                self._store.watch(kind)
        writer = LiveWriter(self._store, api)
        self._controllers = [
            Controller(spec, store=self._store, client=writer, hook=hook, clock=self._clock) for spec in specs
        ]

    def run(self) -> None:
        """Work until it is stopped, or until what the real one would not survive."""
        try:
            while not self._stopped.is_set():
                self._turn()
        except BaseException as fault:
            self.fault = fault
        finally:
            self._store.stop()

    def stop(self) -> None:
        """Let it end after this turn."""
        self._stopped.set()

    def _turn(self) -> None:
        self._clock.advance_to(time.monotonic() - self._began)
        has_work = any(controller.ready() for controller in self._controllers)
        for change in self._store.changes(0.001 if has_work else TURN_SECONDS):
            for controller in self._controllers:
                controller.observe(change)
        self._clock.advance_to(time.monotonic() - self._began)
        for controller in self._controllers:
            for ref in list(controller.ready())[:1]:
                controller.sync(ref)
            self._tell(controller.events)

    def _tell(self, events: list[RecordedEvent]) -> None:
        """Write the events of failed syncs, as Metacontroller does, and forget them."""
        for event in events:
            parent = self._store.get(event.ref)
            if parent is not None:
                self._write_event(event, parent)
        events.clear()

    def _write_event(self, event: RecordedEvent, parent: Manifest) -> None:
        now, metadata = self._clock.timestamp, parent["metadata"]
        namespace = metadata.get("namespace", "default")
        about = {
            "apiVersion": gvk_of(parent).api_version,
            "kind": parent["kind"],
            "name": metadata["name"],
            "namespace": namespace,
            "uid": metadata["uid"],
        }
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{uuid.uuid4().hex[:12]}", "namespace": namespace},
            "involvedObject": about,
            "type": event.type,
            "reason": event.reason,
            "message": event.message[:1000],
            "source": {"component": "simulated-metacontroller"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self._api.create(body)
        except ApiRefused:
            return


@contextmanager
def running_simulated(
    url: str, controllers: Iterable[Manifest], crds: Iterable[Manifest], api: ApiClient
) -> Iterator[SimulatedMetacontroller]:
    """Run it with the hooks at the URL until the end of the block, and raise what ended it early."""
    with connect_hook(url) as hook:
        found = SimulatedMetacontroller(controllers, crds, hook, api)
        thread = threading.Thread(target=found.run, name="simulated metacontroller", daemon=True)
        thread.start()
        try:
            yield found
        finally:
            found.stop()
            thread.join()
            if found.fault is not None:
                raise found.fault
