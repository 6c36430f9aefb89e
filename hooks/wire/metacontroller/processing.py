"""Whether Metacontroller has synced the newest spec of an object.

It writes the generation that it synced into the status.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hooks.ground import contract
from hooks.ground.k8s.types import ReadManifest, gvk_of

_DRIVEN = frozenset({contract.GRAPH, contract.COMPONENT, contract.GRAPH_REQUEST})
"""The kinds of CompositeControllers; of others Metacontroller writes no status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprocessed:
    """A spec that waits for its sync: its generation, that of the status (0 for none), and how long it has waited."""

    generation: int
    observed: int
    waited: timedelta

    def __str__(self) -> str:
        """Half a sentence."""
        of = f"the status is of generation {self.observed}" if self.observed else "there is no status"
        return f"generation {self.generation} of its spec was not processed, {of}"


def is_driven(parent: ReadManifest) -> bool:
    """Whether the status of such an object says what was synced."""
    return gvk_of(parent) in _DRIVEN


def find_unprocessed(parent: ReadManifest, now: datetime) -> Unprocessed | None:
    """How the newest spec waits; None if it was synced, and for kinds without that sign."""
    metadata = parent["metadata"]
    observed, generation = (parent.get("status") or {}).get("observedGeneration"), metadata.get("generation")
    if not is_driven(parent) or observed == generation or generation is None:
        return None
    entries = metadata.get("managedFields") or ()
    times = [str(entry["time"]) for entry in entries if entry.get("time") and entry.get("subresource") != "status"]
    since = max(map(datetime.fromisoformat, times), default=None)
    since = since or datetime.fromisoformat(str(metadata.get("creationTimestamp") or now.isoformat()))
    return Unprocessed(generation=int(generation), observed=int(observed or 0), waited=now - since)
