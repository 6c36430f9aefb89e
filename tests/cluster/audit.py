"""The API server's audit log: who wrote what."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.control_plane import CHART_ACCOUNT, METACONTROLLER, ControlPlane
from tests.contract.backend import Write

LONGEST_LINE = 1 << 20
"""Bytes; the policy of the tests logs no bodies, so a line has a few thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One write that the API server answered, refused ones included; `agent` is the sender's user agent."""

    user: str
    agent: str
    group: str
    write: Write


class Audit:
    """Reads a control plane's audit log as it grows from now on; a mark is a number of entries."""

    def __init__(self, plane: ControlPlane) -> None:
        self._path = plane.audit_log
        self._entries: list[Entry] = []
        self._offset = _end_of_lines(self._path)

    def entries(self) -> list[Entry]:
        """Give every entry since this reader was made.

        A write is here before its sender has the answer: the log mode is blocking.
        """
        with self._path.open("rb") as log:
            log.seek(self._offset)
            data = log.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        self._entries.extend(_parse(line) for line in whole.splitlines())
        return self._entries

    def mark(self) -> int:
        """Give a mark for `writes`."""
        return len(self.entries())

    def writes(self, mark: int = 0) -> list[Write]:
        """Give Metacontroller's writes since the mark, in order; those to its own kinds are left out."""
        ours = (entry for entry in self.entries()[mark:] if entry.user in (METACONTROLLER, CHART_ACCOUNT))
        return [entry.write for entry in ours if entry.group != "metacontroller.k8s.io"]


def _end_of_lines(path: Path) -> int:
    """Where the last whole line ends."""
    with path.open("rb") as log:
        start = max(log.seek(0, os.SEEK_END) - LONGEST_LINE, 0)
        log.seek(start)
        return start + log.read().rfind(b"\n") + 1


def _parse(line: bytes) -> Entry:
    event = json.loads(line)
    ref = event.get("objectRef", {})
    write = Write(
        verb=event["verb"],
        resource=ref.get("resource", ""),
        subresource=ref.get("subresource", ""),
        namespace=ref.get("namespace", ""),
        name=ref.get("name", ""),
        code=event.get("responseStatus", {}).get("code", 0),
    )
    user, agent = event["user"]["username"], event.get("userAgent", "")
    return Entry(user=user, agent=agent, group=ref.get("apiGroup", ""), write=write)
