"""A real API server behind the interfaces of the simulator's store: cached reads, watched changes, writes."""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import requests

from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.index import Index
from hooks.tools.offline.simulator.resources import Catalogue
from hooks.tools.offline.simulator.store import ApiError, Propagation, Ref, StoreChange, ref_of
from tests.cluster.api_client import ApiClient
from tests.contract.backend import ApiRefused

T = TypeVar("T")
WATCH_SECONDS = 60
_Event = tuple[str, GroupVersionKind, list[Manifest]]
"""`ADDED`, `MODIFIED` or `DELETED` with one object, or `LISTED` with all of a kind."""


class LiveStore:
    """What a Metacontroller knows of the cluster. Each kind is listed when it is first asked for, then watched.

    Watches only queue what they hear; `changes` takes it in. So what is read changes nowhere else.
    """

    def __init__(self, catalogue: Catalogue, api: ApiClient) -> None:
        self.catalogue = catalogue
        self._api = api
        self._index = Index()
        self._watched: dict[tuple[str, str], GroupVersionKind] = {}
        self._events: queue.Queue[_Event] = queue.Queue()
        self._stopped = threading.Event()

    def get(self, ref: Ref) -> Manifest | None:
        """The object, None if it does not exist."""
        self.watch(self.kind_of(ref))
        return self._index.get(ref)

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """All objects of a kind, in one namespace or (empty) in all, sorted by namespace and name."""
        self.watch(kind)
        return self._index.list_kind(kind, namespace)

    def list_controlled(self, kind: GroupVersionKind, namespace: str, uid: str) -> list[Manifest]:
        """The objects of a kind that an object controls, or (empty uid) that none controls, sorted likewise."""
        self.watch(kind)
        return self._index.list_controlled(kind, namespace, uid)

    def list_labelled(self, kind: GroupVersionKind, namespace: str, labels: Mapping[str, str]) -> list[Manifest]:
        """The objects of a kind with all of these labels, at least one; sorted likewise."""
        self.watch(kind)
        return self._index.list_labelled(kind, namespace, labels)

    def watch(self, kind: GroupVersionKind) -> None:
        """List the kind and follow it, unless that is done already."""
        if (kind.group, kind.kind) in self._watched:
            return
        self._watched[kind.group, kind.kind] = kind
        revision, found = self._api.list_with_revision(kind.api_version, kind.kind)
        for obj in found:
            self._index.put(ref_of(obj), obj)
        threading.Thread(target=self._follow, args=(kind, revision), daemon=True).start()

    def changes(self, seconds: float) -> Iterator[StoreChange]:
        """The next changes; waits for the first one for so many seconds."""
        try:
            yield from self._take(*self._events.get(timeout=seconds))
            while True:
                yield from self._take(*self._events.get_nowait())
        except queue.Empty:
            return

    def stop(self) -> None:
        """Let the watches end."""
        self._stopped.set()

    def kind_of(self, ref: Ref) -> GroupVersionKind:
        """The kind with the version in which it is watched, or served."""
        known = self._watched.get((ref.group, ref.kind))
        served = (one.kind for one in self.catalogue.all() if (one.kind.group, one.kind.kind) == (ref.group, ref.kind))
        return known or next(served)

    def _follow(self, kind: GroupVersionKind, revision: str) -> None:
        while not self._stopped.is_set():
            try:
                for event in self._api.watch(kind.api_version, kind.kind, revision, WATCH_SECONDS):
                    revision = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._events.put((event["type"], kind, [event["object"]]))
            except requests.RequestException:
                self._stopped.wait(0.5)
            except ApiRefused:  # it no longer knows the revision
                revision = self._list_again(kind, revision)

    def _list_again(self, kind: GroupVersionKind, revision: str) -> str:
        try:
            revision, found = self._api.list_with_revision(kind.api_version, kind.kind)
        except (ApiRefused, requests.RequestException):
            self._stopped.wait(0.5)
        else:
            self._events.put(("LISTED", kind, found))
        return revision

    def _take(self, event: str, kind: GroupVersionKind, objects: list[Manifest]) -> Iterator[StoreChange]:
        there = {ref_of(obj): obj for obj in objects}
        if event == "LISTED":
            for old in self._index.list_kind(kind):
                if ref_of(old) not in there:
                    self._index.drop(ref_of(old))
                    yield StoreChange(ref_of(old), old, None)
        for ref, obj in there.items():
            before = self._index.get(ref)
            if event == "DELETED":
                self._index.drop(ref)
                yield StoreChange(ref, before or obj, None)
            elif before is None or before["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
                self._index.put(ref, obj)
                yield StoreChange(ref, before, obj)


class LiveWriter:
    """Writes on the API server, with its refusals as the simulator's."""

    def __init__(self, store: LiveStore, api: ApiClient) -> None:
        self._store = store
        self._api = api

    def get(self, ref: Ref) -> Manifest | None:
        """The object as it is now, None if it does not exist."""
        kind = self._store.kind_of(ref)
        return _refused(lambda: self._api.get(kind.api_version, kind.kind, ref.name, ref.namespace))

    def create(self, obj: Manifest) -> Manifest:
        """Create an object and give it as stored."""
        return _refused(lambda: self._api.create(obj))

    def update(self, obj: Manifest) -> Manifest:
        """Replace an object and give it as stored."""
        return _refused(lambda: self._api.replace(obj))

    def update_status(self, obj: Manifest) -> Manifest:
        """Replace an object's status and give the object as stored."""
        return _refused(lambda: self._api.replace(obj, "status"))

    def delete(self, ref: Ref, propagation: Propagation = "Background", uid: str = "") -> None:
        """Delete an object, only if it has that uid."""
        kind = self._store.kind_of(ref)
        _refused(lambda: self._api.delete(kind.api_version, kind.kind, ref.name, ref.namespace, propagation, uid))


def _refused(call: Callable[[], T]) -> T:
    try:
        return call()
    except ApiRefused as refused:
        raise ApiError(refused.code, "", refused.message) from None
    except requests.RequestException as error:
        raise ApiError(503, "ServiceUnavailable", f"the API server does not answer: {type(error).__name__}") from None
