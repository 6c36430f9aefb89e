"""What should be true outside of children and status, as plain values; the shell carries them out.

An effect is idempotent and may fail: the next sync returns it again while it is still needed.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdPrefixDrop:
    """No key under this prefix of etcd (`/<dynamo namespace>/components/<service>`)."""

    prefix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePodClique:
    """So many replicas of a PodClique or PodCliqueScalingGroup (`kind`), by its scale subresource.

    Grove reads the replicas of a PodCliqueSet's template when it makes them, and never again.
    """

    kind: str
    namespace: str
    name: str
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBackReplicas:
    """So many replicas in `spec.services[service]` of a graph: the planner reads them there, not at the adapter."""

    graph: str
    namespace: str
    service: str
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A line of `kubectl describe`: an object's Event of the core API.

    `occasion` tells two occurrences with the same words apart (a condition's transition time, a generation); two
    effects that are equal in all fields are one Event, however often they are carried out.
    """

    about: Reference
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    occasion: str


Effect = EtcdPrefixDrop | Event | ScalePodClique | WriteBackReplicas
