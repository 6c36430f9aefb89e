"""Nodes as the scheduler sees them: what is free on each, and why a pod may not run there.

It knows resources, nodeSelector, required node affinity, taints, and cordoned nodes. It does not know affinity between
pods, spread constraints, volumes, host ports or devices of claims (DRA).

Source: Kubernetes, pkg/scheduler/framework/plugins: noderesources, nodeaffinity, tainttoleration, nodeunschedulable.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.quantities import parse_quantity
from hooks.ground.k8s.types import Json, ReadManifest, labels_of, name_of
from hooks.tools.offline.diff.resources import request_of

PODS = "pods"
"""The resource of which each pod needs one."""

Milli = Mapping[str, int]
"""By name of a resource, its amount in thousandths."""

_MILLI = 1000
_ENDED = frozenset({"Succeeded", "Failed"})
_HARD = frozenset({"NoSchedule", "NoExecute"})
_OWN_TAINT = "node.kubernetes.io/unschedulable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node, and what is free on it after the pods that run there."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, Json], ...]
    is_cordoned: bool
    is_ready: bool
    free: Milli


def read_nodes(nodes: Iterable[ReadManifest], pods: Iterable[ReadManifest]) -> tuple[Node, ...]:
    """The nodes, sorted by name, less what the pods on them request."""
    used: dict[str, dict[str, int]] = {}
    for pod in pods:
        place = place_of(pod)
        if place:
            used[place] = add(used.get(place, {}), need_of(pod.get("spec") or {}))
    return tuple(_read_node(one, used.get(name_of(one), {})) for one in sorted(nodes, key=name_of))


def place_of(pod: ReadManifest) -> str:
    """The node on which a pod takes room; empty if it has none yet, or has ended."""
    ended = (pod.get("status") or {}).get("phase") in _ENDED
    return "" if ended else str((pod.get("spec") or {}).get("nodeName") or "")


def need_of(pod_spec: Mapping[str, Json]) -> dict[str, int]:
    """What a pod takes of a node."""
    asked = request_of(pod_spec)
    return {**{name: math.ceil(amount * _MILLI) for name, amount in asked.items() if amount > 0}, PODS: _MILLI}


def add(one: Milli, other: Milli, times: int = 1) -> dict[str, int]:
    """The first amounts, and the others so many times."""
    return {name: one.get(name, 0) + times * other.get(name, 0) for name in {**one, **other}}


def in_whole(amount: int) -> Fraction:
    """An amount in thousandths as cores, bytes or pieces."""
    return Fraction(amount, _MILLI)


def find_obstacle(node: Node, pod_spec: Mapping[str, Json]) -> str:
    """Why pods with this spec may not run on the node, whatever is free there; empty if they may.

    It is the predicate of a sentence about one node, such as `is cordoned`.
    """
    if not node.is_ready:
        return "is not ready"
    tolerations = pod_spec.get("tolerations") or ()
    if node.is_cordoned and not _is_tolerated({"key": _OWN_TAINT, "effect": "NoSchedule"}, tolerations):
        return "is cordoned"
    for taint in node.taints:
        if taint.get("effect") in _HARD and not _is_tolerated(taint, tolerations):
            return f"has the taint {_write_taint(taint)}, which the pods do not tolerate"
    for key, value in (pod_spec.get("nodeSelector") or {}).items():
        if node.labels.get(key) != str(value):
            return f"does not have the label {key}={value} of nodeSelector"
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not any(_is_matched(term, node) for term in required.get("nodeSelectorTerms") or ()):
        return "does not match the required node affinity"
    return ""


def _read_node(node: ReadManifest, used: Milli) -> Node:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    ready = find_condition(status.get("conditions") or (), "Ready")
    room = {PODS: "110", **(status.get("capacity") or {}), **(status.get("allocatable") or {})}
    return Node(
        name=name_of(node),
        labels=labels_of(node),
        taints=tuple(one for one in spec.get("taints") or () if one.get("key") != _OWN_TAINT),
        is_cordoned=bool(spec.get("unschedulable")),
        is_ready=ready is None or ready.get("status") == "True",
        free=add({name: _read_room(str(amount)) for name, amount in room.items()}, used, -1),
    )


def _read_room(text: str) -> int:
    """The amount in thousandths; 0 if it is no quantity, so that nothing is placed by it."""
    try:
        return math.floor(parse_quantity(text) * _MILLI)
    except ValueError:
        return 0


def _write_taint(taint: Mapping[str, Json]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _is_tolerated(taint: Mapping[str, Json], tolerations: Iterable[Mapping[str, Json]]) -> bool:
    """Source: Kubernetes, staging/src/k8s.io/api/core/v1/toleration.go, ToleratesTaint."""
    for one in tolerations:
        if one.get("effect") and one["effect"] != taint.get("effect"):
            continue
        if one.get("key") and one["key"] != taint.get("key"):
            continue
        exists = one.get("operator") == "Exists"
        if exists or (one.get("key") and (one.get("value") or "") == (taint.get("value") or "")):
            return True
    return False


def _is_matched(term: Mapping[str, Json], node: Node) -> bool:
    """Whether a node matches all requirements of a term; an empty term matches none."""
    asked = [(one, node.labels) for one in term.get("matchExpressions") or ()]
    asked += [(one, {"metadata.name": node.name}) for one in term.get("matchFields") or ()]
    return bool(asked) and all(_meets(one, labels) for one, labels in asked)


def _meets(asked: Mapping[str, Json], labels: Mapping[str, str]) -> bool:
    """Source: Kubernetes, apimachinery pkg/labels/selector.go, Requirement.Matches."""
    value = labels.get(str(asked.get("key")))
    values = [str(one) for one in asked.get("values") or ()]
    operator = asked.get("operator")
    if operator in {"Gt", "Lt"}:
        return _is_ordered(value or "", values, is_greater=operator == "Gt")
    judged = {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }
    return judged.get(str(operator), False)


def _is_ordered(value: str, values: Sequence[str], *, is_greater: bool) -> bool:
    try:
        left, right = int(value), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if is_greater else left < right
