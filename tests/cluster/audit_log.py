"""The API server's audit log: what it answered to whom."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

WRITES = frozenset({"create", "update", "patch", "delete"})
LONGEST_LINE = 1 << 20
"""Bytes; without the objects that were sent, a line has a few thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """A call that the API server answered, refused ones included.

    `agent` is the sender's user agent, `time` when it was answered, in seconds, and `sent` the object, if the policy of
    the log keeps objects.
    """

    user: str
    agent: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    time: float
    sent: Mapping[str, Any] | None = None

    @property
    def is_write(self) -> bool:
        return self.verb in WRITES

    @property
    def title(self) -> str:
        """`update deployments/status`; a refused one ends with its code."""
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {what}" + (f" {self.code}" if self.code >= 400 else "")


class AuditLog:
    """Reads an audit log as it grows, from its beginning or from what it has now.

    A call is in it before its sender has the answer: the log mode must be blocking.
    """

    def __init__(self, path: Path, *, from_now: bool = False) -> None:
        self._path = path
        self._offset = _end_of_lines(path) if from_now else 0

    def read(self) -> list[ApiCall]:
        """The calls since the last time, in order.

        Raises:
            RuntimeError: the API server began a new file, so calls are missing.
        """
        with self._path.open("rb") as log:
            if log.seek(0, os.SEEK_END) < self._offset:
                raise RuntimeError(f"{self._path} is a new file: raise the API server's --audit-log-maxsize")
            log.seek(self._offset)
            data = log.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [_parse(line) for line in whole.splitlines()]


def _end_of_lines(path: Path) -> int:
    """Where the last whole line ends."""
    with path.open("rb") as log:
        start = max(log.seek(0, os.SEEK_END) - LONGEST_LINE, 0)
        log.seek(start)
        return start + log.read().rfind(b"\n") + 1


def _parse(line: bytes) -> ApiCall:
    event = json.loads(line)
    about = event.get("objectRef", {})
    return ApiCall(
        user=event["user"]["username"],
        agent=event.get("userAgent", ""),
        verb=event["verb"],
        group=about.get("apiGroup", ""),
        resource=about.get("resource", ""),
        subresource=about.get("subresource", ""),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        code=event.get("responseStatus", {}).get("code", 0),
        time=datetime.fromisoformat(event["stageTimestamp"]).timestamp(),
        sent=event.get("requestObject"),
    )
