"""Everything that happened to the pods and workloads of a namespace, in the order in which it happened.

Nothing is polled: the API server tells each change since a revision, also those that lasted only a moment.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.cluster.api_client import ApiClient
from tests.contract.backend import Manifest

POD = ("v1", "Pod")


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """`most` is the highest number of pods at any moment that were not being deleted, `before` that at the start.

    `created` and `gone` are the names of pods, and `kind/name` of workloads, that were created or deleted.
    """

    before: int
    most: int
    created: frozenset[str]
    gone: frozenset[str]


@dataclass
class Watched:
    """The changes since the last look, or since this was made; `workloads` are apiVersion and kind."""

    api: ApiClient
    workloads: tuple[tuple[str, str], ...]
    _since: dict[tuple[str, str], str] = field(default_factory=dict)
    _pods: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for kind in (POD, *self.workloads):
            self._since[kind], found = self.api.list_with_revision(*kind)
            if kind == POD:
                self._pods = {uid_of(one) for one in found if not is_ending(one)}

    def look(self) -> Happened:
        """What happened until now."""
        before = most = len(self._pods)
        created, gone = set[str](), set[str]()
        kinds = (POD, *self.workloads)
        with ThreadPoolExecutor(len(kinds)) as pool:
            changes = dict(zip(kinds, pool.map(self._changes, kinds), strict=True))
        for change in changes[POD]:
            pod, name = change["object"], change["object"]["metadata"]["name"]
            if change["type"] == "DELETED" or is_ending(pod):
                gone |= {name} if uid_of(pod) in self._pods else set()
                self._pods.discard(uid_of(pod))
            elif change["type"] == "ADDED":
                created.add(name)
                self._pods.add(uid_of(pod))
            most = max(most, len(self._pods))
        for kind in self.workloads:
            for change in changes[kind]:
                title = f"{kind[1]}/{change['object']['metadata']['name']}"
                created |= {title} if change["type"] == "ADDED" else set()
                gone |= {title} if change["type"] == "DELETED" else set()
        return Happened(before=before, most=most, created=frozenset(created), gone=frozenset(gone))

    def _changes(self, kind: tuple[str, str]) -> list[Manifest]:
        """The changes up to the revision of a list that is read now."""
        until, _ = self.api.list_with_revision(*kind)
        since, self._since[kind] = self._since[kind], until
        found = [one for one in self.api.watch(*kind, since, 1) if one["type"] != "BOOKMARK"]
        return [one for one in found if int(one["object"]["metadata"]["resourceVersion"]) <= int(until)]


def uid_of(manifest: Manifest) -> str:
    return str(manifest["metadata"]["uid"])


def is_ending(manifest: Manifest) -> bool:
    return "deletionTimestamp" in manifest["metadata"]
