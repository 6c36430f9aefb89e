"""Why a graph is not ready, each cause once: by its conditions, those of its components, and its pods.

A graph's condition repeats what its components say, and theirs what their pods say.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from hooks import contract
from hooks.k8s import kinds
from hooks.k8s.conditions import find_condition
from hooks.k8s.pod_reasons import explain_pods
from hooks.k8s.types import Json, Manifest, ReadManifest, gvk_of, labels_of, name_of
from hooks.metacontroller.processing import Unprocessed, find_unprocessed

_WRONG, _HELD = ("Ready", "Applied", "Valid"), "Held"
"""Conditions that should be True, those first that have what the others say too; and one that should not."""
_NORMAL = timedelta(seconds=30)
"""For so long a change may wait for its sync."""


def find_reasons(graph: Manifest, below: Iterable[Manifest], now: datetime) -> tuple[str, ...]:
    """Lines about a graph and all objects below it: specs that wait for their sync, then each cause."""
    objects = [graph, *below]
    judged = [graph, *(one for one in objects if gvk_of(one) == contract.COMPONENT)]
    lines = [*_find_waiting(objects, now), *_explain(judged), *_find_held(judged)]
    pods = [one for one in objects if gvk_of(one) == kinds.POD]
    return (*lines, *_explain_pods(pods, "\n".join(lines), now))


def describe_waiting(waiting: Unprocessed) -> str:
    """A sentence about a spec that was not synced: normal for a moment, then Metacontroller does not call the hooks."""
    if waiting.waited <= _NORMAL:
        return f"{waiting} yet"
    return f"{waiting}: Metacontroller does not call the hooks for it; kubectl dynamo doctor says why"


def _find_waiting(objects: Iterable[Manifest], now: datetime) -> Iterator[str]:
    for obj in objects:
        if waiting := find_unprocessed(obj, now):
            yield f"{obj['kind']} {name_of(obj)}: {describe_waiting(waiting)}"


def _explain(objects: Iterable[Manifest]) -> Iterator[str]:
    """What the graph says, then what components say beyond that."""
    said = ""
    for obj in objects:
        message = _message(obj)
        if message and message not in said:
            said = f"{said}\n{message}"
            yield f"{obj['kind']} {name_of(obj)}: {message}"


def _message(obj: ReadManifest) -> str:
    """What the first condition says that is False; empty if none is."""
    for type_ in _WRONG:
        condition: Mapping[str, Json] = find_condition((obj.get("status") or {}).get("conditions") or (), type_) or {}
        if condition.get("status") == "False":
            return str(condition.get("message") or condition.get("reason") or "no reason given")
    return ""


def _find_held(objects: list[Manifest]) -> Iterator[str]:
    """The condition Held of the graph, which names its components; else those of components."""
    for obj in objects:
        held = find_condition((obj.get("status") or {}).get("conditions") or (), _HELD) or {}
        if held.get("status") == "True":
            yield f"{obj['kind']} {name_of(obj)}: {_HELD}: {held.get('message') or held.get('reason')}"
            if gvk_of(obj) == contract.GRAPH:
                return


def _explain_pods(pods: Iterable[Manifest], said: str, now: datetime) -> Iterator[str]:
    """Why the pods of each service are not ready, unless it was said already."""
    by_service: dict[str, list[Manifest]] = {}
    for pod in pods:
        by_service.setdefault(labels_of(pod).get(contract.LABEL_COMPONENT, ""), []).append(pod)
    for service, found in sorted(by_service.items()):
        explanation = explain_pods(found, now)
        if explanation is not None and explanation.seen not in said:
            yield f"{service}: {explanation}"
