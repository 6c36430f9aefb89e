"""Deletes keys in etcd through its HTTP gateway, within two seconds.

Source: etcd, "gRPC gateway", and api/etcdserverpb/rpc.proto, DeleteRangeRequest.
"""

import base64
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

from hooks.server.exchange.call_time import seconds_left
from hooks.server.exchange.documents import Unreadable, parse_object
from hooks.server.exchange.http_client import MIB, Allowance, HttpClient, Unanswered, open_client
from hooks.wire.metacontroller.effects import DropReport, EtcdPrefixDrop

DEADLINE_SECONDS = 2.0
_PATH = "/v3/kv/deleterange"


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdClient:
    """The members of one etcd cluster, in any order; `clock` returns seconds and never decreases."""

    urls: tuple[str, ...]
    deadline_seconds: float = DEADLINE_SECONDS
    clock: Callable[[], float] = field(default=time.monotonic)

    @classmethod
    def at(cls, addresses: str) -> "EtcdClient":
        """Read the setting `etcd_address`: host:port or URL, or several separated by commas."""
        parts = (part.strip().rstrip("/") for part in addresses.split(","))
        return cls(urls=tuple(part if "://" in part else f"http://{part}" for part in parts if part))

    def drop(self, drop: EtcdPrefixDrop) -> DropReport:
        """Delete all keys with a prefix, at the first member that answers correctly; never raises."""
        faults, client = [], open_client()
        try:
            for url, seconds in self._turns():
                fault = _drop_at(client, url, drop.prefix, seconds)
                if not fault:
                    return DropReport(drop=drop)
                faults.append(fault)
        finally:
            client.close()
        return DropReport(drop=drop, fault="; ".join(faults))

    def _turns(self) -> Iterator[tuple[str, float]]:
        """Each member and its timeout in seconds: an equal part of the time that is left."""
        until = self.clock() + min(self.deadline_seconds, seconds_left())
        for index, url in enumerate(self.urls):
            yield url, max(0.05, (until - self.clock()) / (len(self.urls) - index))


def _drop_at(client: HttpClient, url: str, prefix: str, seconds: float) -> str:
    """Why the keys may still be there; empty if they were deleted.

    The text is the same for the same cause, and leaves out a password in the URL.
    """
    parts = urlsplit(url)
    member = parts.netloc.rpartition("@")[2]
    body = {"key": _encode(prefix.encode()), "range_end": _encode(_end_of(prefix.encode()))}
    limits, headers = Allowance(seconds=seconds, most_bytes=MIB), {"Content-Type": "application/json"}
    try:
        reply = client.ask("POST", url + _PATH, limits=limits, headers=headers, body=json.dumps(body).encode())
    except Unanswered as unanswered:
        if unanswered.is_too_large:
            return f"{member} answered, but not as etcd does"
        return f"{member} did not answer in time" if unanswered.is_slow else f"{member} does not answer"
    if reply.status != HTTPStatus.OK:
        return f"{member} answered HTTP {reply.status}"
    return "" if _is_of_etcd(reply.body) else f"{member} answered, but not as etcd does"


def _is_of_etcd(body: bytes) -> bool:
    try:
        answer = parse_object(body)
    except Unreadable:
        return False
    return isinstance(answer.get("header"), dict)


def _end_of(prefix: bytes) -> bytes:
    """The first key after all keys with the prefix; in UTF-8 its last byte is never 0xff, so it can be increased."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def _encode(key: bytes) -> str:
    return base64.b64encode(key).decode()
