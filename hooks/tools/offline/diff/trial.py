"""What the API server says to objects in a dry run: how it would store them, or why it refuses them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.diff.pods import PodSet
from hooks.wire.world.objects import ObjectId


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """What the API server made of objects in a dry run: as it would store them, or why it refuses them."""

    stored: Mapping[ObjectId, Manifest] = field(default_factory=dict)
    refused: Mapping[ObjectId, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class ServerTrial(Protocol):
    """Tries objects as they are once the manifests are applied."""

    def roots(self, objects: Mapping[ObjectId, Manifest]) -> TrialResult:
        """What becomes of the user's objects."""

    def children(self, objects: Mapping[ObjectId, Manifest], pods: Iterable[PodSet]) -> TrialResult:
        """What is said of objects that hooks make, and of one pod of each set."""
