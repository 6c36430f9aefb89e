"""All that happens to the objects of a namespace, in the order of etcd's revisions, however the API server fares."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

import requests

from hooks.ground.k8s.types import GroupVersionKind, Manifest, controller_of
from hooks.tools.offline.simulator.resources import Catalogue
from hooks.tools.offline.simulator.store import Ref, ref_of
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.contract.backend import ApiRefused

DELETED, BOOKMARK = "DELETED", "BOOKMARK"
WATCH_SECONDS = 5
"""An API server that is to stop waits for watches to end."""
AGAIN_SECONDS = 0.2
"""Before a watch that ended starts over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One revision of an object, and when it was seen (a monotonic clock's seconds); `obj` is None once it is gone."""

    revision: int
    seconds: float
    ref: Ref
    obj: Manifest | None


@dataclass(slots=True)
class Picture:
    """The objects at one moment, for who reads as from Metacontroller's cache."""

    objects: dict[Ref, Manifest] = field(default_factory=dict)
    catalogue: Catalogue = field(default_factory=Catalogue)

    def get(self, ref: Ref) -> Manifest | None:
        """The object, None if it does not exist."""
        return self.objects.get(ref)

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """All objects of a kind, sorted by namespace and name."""
        found = [ref for ref in self.objects if (ref.group, ref.kind) == (kind.group, kind.kind)]
        return [self.objects[ref] for ref in sorted(found) if namespace in {"", ref.namespace}]

    def list_controlled(self, kind: GroupVersionKind, namespace: str, uid: str) -> list[Manifest]:
        """The objects of a kind that an object controls, or (empty uid) that none controls."""
        found = self.list_kind(kind, namespace)
        return [one for one in found if str((controller_of(one) or {}).get("uid", "")) == uid]

    def list_labelled(self, kind: GroupVersionKind, namespace: str, labels: Mapping[str, str]) -> list[Manifest]:
        """The objects of a kind with all of these labels."""
        found = self.list_kind(kind, namespace)
        return [one for one in found if labels.items() <= (one["metadata"].get("labels") or {}).items()]

    def advance(self, change: Change) -> None:
        """Become the picture after a change."""
        if change.obj is None:
            self.objects.pop(change.ref, None)
        else:
            self.objects[change.ref] = change.obj


class History:
    """Watches kinds (`apiVersion`, kind) in the client's namespace, each in a thread of its own, from `start` on."""

    def __init__(self, plane: ControlPlane, namespace: str, kinds: Sequence[tuple[str, str]]) -> None:
        self._plane = plane
        self._namespace = namespace
        self._kinds = kinds
        self._lock = Lock()
        self._ended = Event()
        self._changes: list[Change] = []
        self._now = Picture()

    def start(self) -> None:
        """Begin with what there is."""
        for kind in self._kinds:
            client = self._client()
            since, found = client.list_with_revision(*kind)
            self._take(found)
            Thread(target=self._follow, args=(client, kind, since), name=f"watch {kind[1]}", daemon=True).start()

    def stop(self) -> None:
        """Let the watches end with their next event or at their time limit."""
        self._ended.set()

    def now(self) -> Picture:
        """What is known now."""
        with self._lock:
            return Picture(dict(self._now.objects))

    def since(self, revision: int) -> list[Change]:
        """The changes after a revision, in the order of revisions."""
        with self._lock:
            return sorted((one for one in self._changes if one.revision > revision), key=lambda one: one.revision)

    def catch_up(self) -> int:
        """Wait until all that is stored was seen, and give the revision up to which that is so.

        Raises:
            AssertionError: it never was.
        """
        client = self._client()
        return max(self._catch_up_with(client, kind) for kind in self._kinds)

    def _catch_up_with(self, client: ApiClient, kind: tuple[str, str]) -> int:
        def has_seen_all() -> int:
            listed, found = _list(client, kind)
            known = {ref: _revision_of(obj) for ref, obj in self.now().objects.items() if ref.kind == kind[1]}
            return int(listed) if known == {ref_of(obj): _revision_of(obj) for obj in found} else 0

        return wait_for(has_seen_all, f"the watch of {kind[1]} has seen all")

    def _client(self) -> ApiClient:
        return self._plane.client(agent="history").within(self._namespace)

    def _take(self, found: Iterable[Manifest]) -> None:
        for obj in found:
            self._add(Change(revision=_revision_of(obj), seconds=time.monotonic(), ref=ref_of(obj), obj=obj))

    def _add(self, change: Change) -> None:
        with self._lock:
            self._changes.append(change)
            self._now.advance(change)

    def _follow(self, client: ApiClient, kind: tuple[str, str], since: str) -> None:
        while not self._ended.is_set():
            try:
                since = since or self._list_again(client, kind)
                for event in client.watch(*kind, since, WATCH_SECONDS):
                    since = self._note(event)
            except requests.RequestException:  # the API server is paused
                self._ended.wait(AGAIN_SECONDS)
            except ApiRefused as refused:  # the kind is not served now
                self._ended.wait(AGAIN_SECONDS)
                if refused.code == 410:  # or was removed and added again
                    since = ""

    def _list_again(self, client: ApiClient, kind: tuple[str, str]) -> str:
        since, found = client.list_with_revision(*kind)
        known = self.now().objects
        self._take(obj for obj in found if known.get(ref_of(obj)) != obj)
        for ref in known.keys() - {ref_of(obj) for obj in found}:
            if ref.kind == kind[1]:
                self._add(Change(revision=int(since), seconds=time.monotonic(), ref=ref, obj=None))
        return since

    def _note(self, event: Manifest) -> str:
        obj = event["object"]
        if event["type"] != BOOKMARK:
            left = None if event["type"] == DELETED else obj
            self._add(Change(revision=_revision_of(obj), seconds=time.monotonic(), ref=ref_of(obj), obj=left))
        return str(obj["metadata"]["resourceVersion"])


def _list(client: ApiClient, kind: tuple[str, str]) -> tuple[str, list[Manifest]]:
    """The objects of a kind and the list's revision; none at revision 1 where the kind is not served."""
    try:
        return client.list_with_revision(*kind)
    except ApiRefused as refused:
        if refused.code == 404:
            return "1", []
        raise


def _revision_of(obj: Manifest) -> int:
    return int(obj["metadata"]["resourceVersion"])
