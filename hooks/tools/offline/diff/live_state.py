"""What runs while a difference is computed, so that afterwards one can say which pods were replaced."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hooks.ground import contract
from hooks.ground.k8s.types import ReadManifest, is_deleting, labels_of
from hooks.wire.world.objects import ObjectId

Place = tuple[str, str, str]
"""Namespace, graph (empty for none) and service of pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveState:
    """The generations of the user's objects that exist, and the uids of the pods of each service."""

    generations: Mapping[ObjectId, int] = field(default_factory=dict)
    pods: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)


def group_pods(pods: Iterable[ReadManifest]) -> dict[Place, tuple[str, ...]]:
    """The uids of the pods of each service; those that are stopping do not count."""
    found: dict[Place, list[str]] = {}
    for pod in pods:
        labels = labels_of(pod)
        if not is_deleting(pod) and contract.LABEL_COMPONENT in labels:
            place = (
                str(pod["metadata"].get("namespace") or ""),
                str(labels.get(contract.LABEL_GRAPH) or ""),
                str(labels[contract.LABEL_COMPONENT]),
            )
            found.setdefault(place, []).append(str(pod["metadata"].get("uid")))
    return {place: tuple(sorted(uids)) for place, uids in sorted(found.items())}
