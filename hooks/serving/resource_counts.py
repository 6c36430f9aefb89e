"""What was counted of the custom resources in the cluster, on its way from the API server to `/metrics`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Key = tuple[str, str, str]
"""Kind, namespace, and a state or a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCounts:
    """The number of objects by state; and by reason, for how many seconds each object is not ready."""

    states: Mapping[Key, int] = field(default_factory=dict)
    not_ready: Mapping[Key, Sequence[float]] = field(default_factory=dict)


NOTHING = ResourceCounts()
