"""Pods that will not start well after a change, although they did before: their image lacks what they ask for."""

from collections.abc import Iterable, Iterator

from hooks.ground.k8s.types import ReadManifest
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.rollouts import PodChange
from hooks.tools.offline.pod_starts import find_override, find_trouble
from hooks.tools.offline.pod_troubles import Trouble
from hooks.tools.world.settling import Settled
from hooks.wire.world.objects import ObjectId


def find_failing(pods: Iterable[PodChange], before: Settled, after: Settled) -> Iterator[tuple[ObjectId, str]]:
    """Workloads with a sentence about a container that ends at once, or that its probes do not find."""
    for change in pods:
        new, old = change.rollout.new, change.rollout.old
        if new is None or not new.count or (old is not None and old.template == new.template):
            continue
        trouble = _find(new, after)
        if trouble is None or (old is not None and _find(old, before) == trouble):
            continue
        role = f"{new.role} " if new.role else ""
        yield new.workload, f"the new {role}pods never become ready: {trouble}"


def _find(found: PodSet, settled: Settled) -> Trouble | None:
    return find_trouble(found.pod_spec, find_override(_owners(found.workload, settled), found.service))


def _owners(key: ObjectId, settled: Settled) -> Iterator[ReadManifest]:
    """The workload's owner, the owner of that, and so on."""
    owned = settled.world.objects.get(key)
    while owned is not None and owned.owner is not None:
        owned = settled.world.objects.get(owned.owner)
        if owned is not None:
            yield owned.manifest
