"""What the calls to the API server say of a run: how many of which kind, and when they were answered."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.cluster.audit_log import ApiCall

CHILDREN = frozenset({"dynamocomponentdeployments", "deployments", "services"})
"""Resources of the children of graphs and components of the bench; a graph of them has no others."""


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
