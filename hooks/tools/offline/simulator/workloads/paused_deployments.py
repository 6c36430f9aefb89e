"""The sizes of the ReplicaSets of a Deployment that is paused: they stay, unless its own size changes.

Source: Kubernetes, pkg/controller/deployment/sync.go, scale.
"""

from collections.abc import Sequence

from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.k8s.types import Manifest

Sizes = list[tuple[Manifest, int]]


def plan_paused_sizes(deployment: Manifest, sets: Sequence[Manifest]) -> Sizes:
    """The sizes of all sets; what is added or taken away is shared by their sizes, and the rest is the largest one's.

    No set is made for a new template. One alone, or the newest if all are empty, gets all pods.
    """
    spec = deployment["spec"]
    wanted: int = spec["replicas"]
    by_age = sorted(sets, key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["uid"]))
    active = [item for item in by_age if item["spec"]["replicas"]]
    if len(active) < 2:
        return [(item, wanted) for item in active or by_age[-1:]]
    if spec["strategy"]["type"] == "Recreate":
        return []
    surge = scale_amount(spec["strategy"]["rollingUpdate"]["maxSurge"], wanted, up=True)
    allowed = wanted + surge if wanted else 0
    before = int((deployment.get("status") or {}).get("replicas") or 0)
    return _share(active, allowed, before)


def _share(active: Sequence[Manifest], allowed: int, before: int) -> Sizes:
    change = allowed - sum(item["spec"]["replicas"] for item in active)
    if not change:
        return []
    newest_first = active[::-1] if change > 0 else active
    ordered = sorted(newest_first, key=lambda item: -item["spec"]["replicas"])
    sizes, left = Sizes(), change
    for item in ordered:
        size: int = item["spec"]["replicas"]
        part = int(size * allowed / before + 0.5) - size if before else 0
        part = min(part, left) if change > 0 else max(part, left)
        left -= part
        sizes.append((item, size + part))
    first, size = sizes[0]
    return [(first, max(0, size + left)), *sizes[1:]]
