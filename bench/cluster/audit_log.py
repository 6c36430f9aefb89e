"""What the API server's audit log says of a run: calls by resource, and when they were answered."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

WRITES = frozenset({"create", "update", "patch", "delete"})
CHILDREN = frozenset({"dynamocomponentdeployments", "deployments", "services"})
"""Resources of the children of graphs and components of the bench; a graph of them has no others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """A call that the API server answered; `time` is when, in seconds; `sent` is the object if the policy keeps it."""

    user: str
    verb: str
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
    """Reads an audit log as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> list[ApiCall]:
        """The calls since the last time, in order; the log mode must be blocking.

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


def count(calls: Iterable[ApiCall]) -> Mapping[str, int]:
    """How often each kind of call was made, the most frequent first."""
    return dict(Counter(call.title for call in calls).most_common())


def find_refused(calls: Iterable[ApiCall]) -> Mapping[str, int]:
    """How often each kind of call was refused."""
    return count(call for call in calls if call.code >= 400)


def count_child_changes(calls: Iterable[ApiCall]) -> int:
    """Writes of children and of their statuses, whoever made them; Metacontroller may call a hook after each."""
    return sum(call.is_write and call.code < 400 and call.resource in CHILDREN for call in calls)


def count_first_writes(calls: Sequence[ApiCall]) -> Mapping[str, int]:
    """Status writes by resource until the last Deployment of their graph was created, and each object's first one.

    Metacontroller writes a first status after it has created the children.
    """
    last = {_name_graph(call): call.time for call in calls if call.title == "create deployments"}
    found: Counter[str] = Counter()
    known: set[tuple[str, str]] = set()
    for call in calls:
        if call.subresource != "status" or not call.is_write:
            continue
        is_first = (call.resource, call.name) not in known
        known.add((call.resource, call.name))
        found[call.resource] += is_first or call.time <= last[_name_graph(call)]
    return dict(found)


def _name_graph(call: ApiCall) -> str:
    """`bench-00001` of `bench-00001-worker01`."""
    return "-".join(call.name.split("-")[:2])


def describe_statuses(calls: Iterable[ApiCall]) -> Iterator[str]:
    """For each status write of each object, the fields that it changed; needs a log with the objects."""
    last: dict[tuple[str, str], Mapping[str, str]] = {}
    for call in calls:
        if call.subresource != "status" or call.sent is None:
            continue
        key, now = (call.resource, call.name), dict(_flatten(call.sent.get("status") or {}))
        before, is_first = last.get(key, now), key not in last
        last[key] = now
        yield f"{call.time % 1000:.3f} {call.resource}/{call.name}{': the first' if is_first else ''}"
        changed = [path for path in sorted({*before, *now}) if before.get(path) != now.get(path)]
        yield from (f"    {path}: {before.get(path, '-')} -> {now.get(path, '-')}" for path in changed)


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each leaf with its path; conditions are named by their type."""
    match value:
        case dict():
            for key, item in value.items():
                yield from _flatten(item, f"{path}.{key}" if path else key)
        case list():
            for number, item in enumerate(value):
                key = item["type"] if isinstance(item, dict) and "type" in item else number
                yield from _flatten(item, f"{path}[{key}]")
        case _:
            yield path, json.dumps(value)


def _parse(line: bytes) -> ApiCall:
    event = json.loads(line)
    about = event.get("objectRef", {})
    return ApiCall(
        user=event["user"]["username"],
        verb=event["verb"],
        resource=about.get("resource", ""),
        subresource=about.get("subresource", ""),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        code=event.get("responseStatus", {}).get("code", 0),
        time=datetime.fromisoformat(event["stageTimestamp"]).timestamp(),
        sent=event.get("requestObject"),
    )
