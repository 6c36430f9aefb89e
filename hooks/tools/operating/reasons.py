"""Why a graph is not ready, each cause once: by its conditions, those of its components, and its pods.

A graph's condition repeats what its components say, and theirs what their pods say.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hooks.graph.report.sharing import SHARED, find_sharing
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.pod_reasons import explain_pods
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, gvk_of, labels_of, name_of
from hooks.wire.metacontroller.processing import Unprocessed, find_unprocessed

_WRONG, _HELD = ("Ready", "Applied", "Valid"), "Held"
"""Conditions that should be True, those first that have what the others say too; and one that should not."""
_NORMAL = timedelta(seconds=30)
"""For so long a change may wait for its sync."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one object, or the pods of one service, say about what is wrong; `obj` is None for pods."""

    about: str
    text: str
    obj: ReadManifest | None = None

    def __str__(self) -> str:
        return f"{self.about}: {self.text}"


def find_reasons(graph: Manifest, below: Iterable[Manifest], now: datetime) -> tuple[str, ...]:
    """Lines about a graph and all objects below it: specs that wait for their sync, then each cause."""
    objects = [graph, *below]
    judged = [graph, *(one for one in objects if gvk_of(one) == contract.COMPONENT)]
    lines = [*_find_waiting(objects, now), *_explain(judged), *_find_held(judged)]
    if (shared := find_sharing(graph.get("status") or {})) and not any(shared in one.text for one in lines):
        lines.append(Said(_title(graph), f"{SHARED}: {shared}", graph))
    pods = [one for one in objects if gvk_of(one) == kinds.POD]
    return (*map(str, lines), *map(str, _explain_pods(pods, lines, now)))


def find_first_cause(graph: Manifest, below: Iterable[Manifest], now: datetime) -> Said | None:
    """The first cause for which a graph is not ready; None if no object says one."""
    objects = [graph, *below]
    judged = [graph, *(one for one in objects if gvk_of(one) == contract.COMPONENT)]
    said = [*_find_waiting(objects, now), *_explain(judged)]
    pods = [one for one in objects if gvk_of(one) == kinds.POD]
    return next(iter((*said, *_explain_pods(pods, said, now))), None)


def describe_waiting(waiting: Unprocessed) -> str:
    """A sentence about a spec that was not synced: normal for a moment, then Metacontroller does not call the hooks."""
    if waiting.waited <= _NORMAL:
        return f"{waiting} yet"
    return f"{waiting}: Metacontroller does not call the hooks for it; kubectl dynamo doctor says why"


def _find_waiting(objects: Iterable[Manifest], now: datetime) -> Iterator[Said]:
    for obj in objects:
        if waiting := find_unprocessed(obj, now):
            yield Said(_title(obj), describe_waiting(waiting), obj)


def _title(obj: ReadManifest) -> str:
    return f"{obj['kind']} {name_of(obj)}"


def _explain(objects: Iterable[Manifest]) -> Iterator[Said]:
    """What the graph says, then what components say beyond that."""
    said = ""
    for obj in objects:
        message = _message(obj)
        if message and message not in said:
            said = f"{said}\n{message}"
            yield Said(_title(obj), message, obj)


def _message(obj: ReadManifest) -> str:
    """What the first condition says that is False; empty if none is."""
    for type_ in _WRONG:
        condition: Mapping[str, Json] = find_condition((obj.get("status") or {}).get("conditions") or (), type_) or {}
        if condition.get("status") == "False":
            return str(condition.get("message") or condition.get("reason") or "no reason given")
    return ""


def _find_held(objects: list[Manifest]) -> Iterator[Said]:
    """The condition Held of the graph, which names its components; else those of components."""
    for obj in objects:
        held = find_condition((obj.get("status") or {}).get("conditions") or (), _HELD) or {}
        if held.get("status") == "True":
            yield Said(_title(obj), f"{_HELD}: {held.get('message') or held.get('reason')}", obj)
            if gvk_of(obj) == contract.GRAPH:
                return


def _explain_pods(pods: Iterable[Manifest], lines: Iterable[Said], now: datetime) -> Iterator[Said]:
    """Why the pods of each service are not ready, unless it was said already."""
    said = "\n".join(one.text for one in lines)
    by_service: dict[str, list[Manifest]] = {}
    for pod in pods:
        by_service.setdefault(labels_of(pod).get(contract.LABEL_COMPONENT, ""), []).append(pod)
    for service, found in sorted(by_service.items()):
        explanation = explain_pods(found, now)
        if explanation is not None and explanation.seen not in said:
            yield Said(service, str(explanation))
