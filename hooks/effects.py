"""What should be true outside of children and status, as plain values; the shell carries them out.

An effect is idempotent and may fail: the next sync returns it again while it is still needed.
"""

from dataclasses import dataclass


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


Effect = EtcdPrefixDrop | ScalePodClique
