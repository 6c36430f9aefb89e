"""What should be true outside of children and status, as plain values; the shell carries them out.

An effect is idempotent and may fail: the next sync returns it again while it is still needed.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdPrefixDrop:
    """No key under this prefix of etcd (`/<dynamo namespace>/components/<service>`)."""

    prefix: str


Effect = EtcdPrefixDrop
