"""What a graph says while somebody does something to one of its children, for each kind of child.

The graph is at rest when it begins. After a minute the obstacle goes, and the graph must become whole by itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import GroupVersionKind, Manifest, controller_of, gvk_of, plural_of
from hooks.tools.offline.simulator.store import copy_json, ref_of
from tests.faults.children import (
    CREATED_ONCE,
    OUTAGE,
    WORKLOADS,
    allow,
    delete_children,
    delete_held,
    remove_finalizers,
    write_child,
)
from tests.faults.fault import Act, Fault, Outcome, nothing
from tests.faults.play import play_fault
from tests.faults.stage import Stage
from tests.sequences.world import NAMESPACE

ROADS: Mapping[GroupVersionKind, str] = {
    contract.COMPONENT: "components",
    contract.SCALING_ADAPTER: "components",
    kinds.DEPLOYMENT: "components",
    kinds.LEADER_WORKER_SET: "lws",
    kinds.POD_GROUP: "lws",
    kinds.POD_CLIQUE_SET: "grove",
    kinds.SERVICE: "components",
    kinds.SERVICE_ACCOUNT: "components",
    kinds.ROLE: "components",
    kinds.ROLE_BINDING: "components",
    kinds.PERSISTENT_VOLUME_CLAIM: "components",
}
"""The kinds of children, and on which way from graph to pods each is found."""
NAME = "stranger"
_METACONTROLLERS = {contract.LABEL_CONTROLLER_UID, contract.ANNOTATION_LAST_APPLIED}
STRANGER = {"apiVersion": "v1", "kind": "ConfigMap"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What is done to all children of a kind: half a sentence, and how it begins and ends."""

    what: str
    begin: Callable[[GroupVersionKind], Act]
    end: Act = nothing


def _children(stage: Stage, kind: GroupVersionKind) -> list[Manifest]:
    return [child for child in stage.children() if gvk_of(child) == kind]


def _edit(kind: GroupVersionKind) -> Act:
    def act(stage: Stage) -> None:
        for child in _children(stage, kind):
            where = "labels" if child["metadata"]["labels"].keys() - _METACONTROLLERS else "annotations"
            found = child["metadata"][where]
            write_child(stage, child, **{where: {**found, min(found.keys() - _METACONTROLLERS): "another"}})
        stage.record("children are edited by hand")

    return act


def _edit_for_good(kind: GroupVersionKind) -> Act:
    def act(stage: Stage) -> None:
        stage.refused |= {(plural_of(kind), child["metadata"]["name"]) for child in _children(stage, kind)}
        _edit(kind)(stage)

    return act


def _replace(kind: GroupVersionKind) -> Act:
    """The same objects again, of nobody."""

    def act(stage: Stage) -> None:
        chosen = _children(stage, kind)
        delete_children(kind)(stage)
        for child in chosen:
            metadata = {"name": child["metadata"]["name"], "namespace": NAMESPACE}
            content = {key: value for key, value in child.items() if key != "status"}
            stage.foreign.add(ref_of(stage.cluster.create(copy_json({**content, "metadata": metadata}))))

    return act


def _give_back(stage: Stage) -> None:
    for ref in sorted(stage.foreign):
        kind = next(kind for kind in ROADS if kind.kind == ref.kind)
        live = stage.cluster.get(kind, ref.name, NAMESPACE)
        if live is not None and (controller_of(live) or STRANGER)["kind"] == STRANGER["kind"]:
            stage.cluster.delete(kind, ref.name, NAMESPACE)
    stage.foreign.clear()
    stage.record("names are given back")


def _owner(stage: Stage) -> dict[str, Any]:
    stranger = stage.cluster.get(kinds.CONFIG_MAP, NAME, NAMESPACE)
    assert stranger is not None
    return {**STRANGER, "name": NAME, "uid": stranger["metadata"]["uid"], "controller": True}


def _take_over(kind: GroupVersionKind) -> Act:
    def act(stage: Stage) -> None:
        for child in _children(stage, kind):
            write_child(stage, child, ownerReferences=[_owner(stage)])
            stage.foreign.add(ref_of(child))
        if kind in WORKLOADS:
            stage.pods_lost |= stage.pods()
        stage.record("another controller takes the children")

    return act


ATTEMPTS: Mapping[str, Attempt] = {
    "edited": Attempt(what="a label is changed by hand, or an annotation where it has none", begin=_edit),
    "refused": Attempt(what="the same, and a policy refuses to set it back", begin=_edit_for_good, end=allow),
    "deleted": Attempt(what="it is deleted by hand", begin=delete_children),
    "stuck": Attempt(what="it is deleted, and somebody's finalizer holds it", begin=delete_held, end=remove_finalizers),
    "replaced": Attempt(what="it is deleted, and somebody makes one of this name", begin=_replace, end=_give_back),
    "taken": Attempt(what="another controller makes itself its owner", begin=_take_over, end=_give_back),
}
LEFT_OUT = frozenset(
    {
        (contract.COMPONENT, "taken"),  # it is then a component of no graph, and its pods are made anew
        (kinds.POD_CLIQUE_SET, "replaced"),  # Grove's finalizer holds a deleted one, and its name
        *((kind, name) for kind in (*CREATED_ONCE, contract.SCALING_ADAPTER) for name in ("edited", "refused")),
    }
)
"""The last are created once and never updated."""
CASES = tuple((kind, name) for kind in ROADS for name in ATTEMPTS if (kind, name) not in LEFT_OUT)


@cache
def play_attempt(kind: GroupVersionKind, name: str) -> tuple[Outcome, str, float]:
    """What came of it, and the message for which the graph was not Ready for longest, with its seconds.

    The message is empty if the graph stayed Ready.

    Raises:
        Violation: something untrue was said, or something was done that nobody asked for.
    """
    attempt, said = ATTEMPTS[name], Said()

    def begin(stage: Stage) -> None:
        attempt.begin(kind)(stage)
        assert stage.edited, f"no child of the kind {kind.kind} on this road"
        stage.listen = lambda: said.note(stage)

    fault = Fault(name=name, what=attempt.what, begin=begin, end=attempt.end, seconds=OUTAGE, holds="")
    outcome = play_fault(fault, ROADS[kind], _prepare)
    message = max(said.seconds, key=lambda message: said.seconds[message], default="")
    return outcome, message, said.seconds.get(message, 0.0)


class Said:
    """For how many seconds the graph was not Ready with each message."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last: tuple[str, float] | None = None

    def note(self, stage: Stage) -> None:
        """Count the time since the last note for what was said then."""
        if self._last is not None and self._last[0]:
            message, since = self._last
            self.seconds[message] = self.seconds.get(message, 0.0) + stage.clock.seconds - since
        graph = stage.graph
        ready = find_condition(graph["status"].get("conditions") or (), "Ready") if graph is not None else None
        is_unready = ready is not None and ready["status"] != "True"
        self._last = (str(ready["message"]) if ready is not None and is_unready else "", stage.clock.seconds)


def _prepare(stage: Stage) -> None:
    """Every kind of child is there, and an object that may own them."""
    stage.cluster.create({**STRANGER, "metadata": {"name": NAME, "namespace": NAMESPACE}})
    wanted = copy_json({key: value for key, value in (stage.graph or {}).items() if key != "status"})
    claim = {"name": "data", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}
    wanted["spec"]["pvcs"] = [claim]
    wanted["spec"]["services"]["Worker"]["scalingAdapter"] = {"enabled": True}
    stage.write(wanted, is_valid=True)
    stage.record("a claim and an adapter are asked for")
