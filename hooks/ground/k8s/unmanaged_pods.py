"""Pods that no workload of a graph manages: changes of the graph do not reach them, and they outlive it."""

from collections.abc import Container, Iterable, Iterator, Mapping

from hooks.ground.k8s.types import ReadManifest, controller_of, is_deleting, name_of


def find_unmanaged(
    pods: Iterable[ReadManifest],
    objects: Iterable[ReadManifest],
    roots: Container[str],
    unread: Container[str] = frozenset(),
) -> Iterator[ReadManifest]:
    """The pods whose controllers lead to none of the roots; those that are being deleted are left out.

    `objects` are what may control them, directly or not, `roots` the uids of graphs. `unread` are kinds of which some
    objects are not known: nothing is said of pods whose controllers lead there.
    """
    by_uid = {str(one["metadata"].get("uid")): one for one in objects}
    for pod in pods:
        if not is_deleting(pod) and not _is_managed(pod, by_uid, roots, unread):
            yield pod


def describe_unmanaged(pod: ReadManifest) -> str:
    """`Pod llm-worker-x of ReplicaSet llm-worker`."""
    owner = controller_of(pod)
    whose = f" of {owner.get('kind')} {owner.get('name')}" if owner else ""
    return f"Pod {name_of(pod)}{whose}"


def _is_managed(
    pod: ReadManifest, by_uid: Mapping[str, ReadManifest], roots: Container[str], unread: Container[str]
) -> bool:
    """Whether the pod is a root's, or may be."""
    found: ReadManifest | None = pod
    passed: set[str] = set()
    while found is not None:
        owner = controller_of(found)
        uid = str(owner.get("uid")) if owner else ""
        if owner is None or uid in passed:
            return False
        if uid in roots or (uid not in by_uid and str(owner.get("kind")) in unread):
            return True
        passed.add(uid)
        found = by_uid.get(uid)
    return False
