"""What was counted of the custom resources in the cluster, on its way from the API server to `/metrics`."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

Key = tuple[str, str, str]
"""Kind, namespace, and a state or a reason."""

OfGraph = tuple[str, str, str]
"""Namespace and name of a graph, and the part of it that fails, what its rollout does, or a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCounts:
    """The number of objects by state; and by reason, for how many seconds each object is not ready.

    `outages` are by namespace, name and part the graphs that were ready and no longer serve, `rollouts` by namespace,
    name and reason those whose workers roll. `serving` says by namespace, name and model whether it is routed.
    """

    states: Mapping[Key, int] = field(default_factory=dict)
    not_ready: Mapping[Key, Sequence[float]] = field(default_factory=dict)
    outages: Set[OfGraph] = frozenset()
    rollouts: Set[OfGraph] = frozenset()
    serving: Mapping[OfGraph, bool] = field(default_factory=dict)


NOTHING = ResourceCounts()
