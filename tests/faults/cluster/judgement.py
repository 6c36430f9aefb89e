"""What came of a fault: what was lost, restarted, said in error or written for nothing."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, controller_of
from hooks.tools.offline.simulator.store import Ref, ref_of
from tests.cluster.audit_log import ApiCall
from tests.cluster.control_plane import CHART_ACCOUNT
from tests.contract.backend import LAST_APPLIED
from tests.faults.cluster.fault import ClusterOutcome
from tests.faults.cluster.history import Change, Picture
from tests.faults.cluster.stage import GROWING, TARGET, Stage
from tests.faults.play import reasons_of
from tests.sequences.truth import find_lie, is_condition_true
from tests.waiting import stretch

STALE_SECONDS = 5.0
"""How old may be what a hook was shown when it says Ready."""
_PARENTS = (contract.GRAPH.kind, contract.COMPONENT.kind)
_OF_OTHERS = frozenset({"deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration"})
_SCALED = f"{TARGET}-{GROWING.lower()}"
_Warnings = frozenset[tuple[str, str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """How all was before a fault: a revision, a mark of the audit log, objects, children as wanted, and Warnings."""

    revision: int
    mark: int
    objects: Mapping[Ref, Manifest]
    wanted: Mapping[Ref, Manifest]
    events: _Warnings


def wanted_of(stage: Stage) -> dict[Ref, Manifest]:
    """What the hooks ask for on behalf of all graphs: each child without what others decide."""
    found = stage.history.now().objects.values()
    return {ref_of(obj): _strip(obj) for obj in found if (controller_of(obj) or {}).get("kind") in _PARENTS}


def read_warnings(stage: Stage) -> _Warnings:
    """uid, reason and count of each Warning."""
    found = [event for event in stage.api.list("v1", "Event") if event.get("type") == "Warning"]
    return frozenset((one["metadata"]["uid"], one["reason"], one.get("count") or 0) for one in found)


def find_deviation(stage: Stage, wanted: Mapping[Ref, Manifest]) -> str:
    """Which child is not as wanted; empty if all are."""
    live = wanted_of(stage)
    for ref, obj in wanted.items():
        if ref not in live:
            return f"{ref} is missing"
        if live[ref] != obj:
            return f"{ref} differs"
    return ""


def find_wrongs(stage: Stage, wanted: Mapping[Ref, Manifest]) -> list[str]:
    """What graphs say now, at rest, that is not so."""
    now = stage.history.now()
    graphs = [graph for graph in now.list_kind(contract.GRAPH) if is_condition_true(graph, "Ready")]
    said = {graph["metadata"]["name"]: find_lie(now, graph) for graph in graphs}
    if TARGET in said:
        said[TARGET] = said[TARGET] or find_deviation(stage, wanted)
    for ref, obj in now.objects.items():
        if _is_leaving(obj) and ref.kind != kinds.POD.kind:
            said |= {name: f"{ref} leaves" for name in said if ref.name.startswith(f"{name}-")}
    return [f"{name} says Ready, and {why}" for name, why in said.items() if why]


def judge(stage: Stage, past: Past, wrongs: Sequence[str], recovery: float | None) -> ClusterOutcome:
    """What came of it; `wrongs` are what was found before."""
    changes = stage.history.since(past.revision)
    calls = [one for one in stage.audit.calls()[past.mark :] if one.namespace == stage.api.namespace]
    pods = {obj["metadata"]["uid"] for ref, obj in past.objects.items() if ref.kind == kinds.POD.kind}
    left = {pod["metadata"]["uid"] for pod in stage.history.now().list_kind(kinds.POD) if not _is_leaving(pod)}
    gone = pods - left
    found = [*wrongs, *_lost(stage, past), *_changed_templates(past, changes)]
    found += find_untrue(past.objects, changes, stretch(STALE_SECONDS))
    found += _unneeded(stage, past, changes, calls)
    found += [f"a pod was replaced that nobody took away: {uid}" for uid in sorted(gone - stage.taken)]
    ours = [one for one in calls if one.user == CHART_ACCOUNT]
    done = [one for one in ours if one.code < 300]
    return ClusterOutcome(
        seen=_seen(stage, changes),
        events=tuple(sorted({reason for _, reason, _ in read_warnings(stage) - past.events})),
        taken=len(gone & stage.taken),
        wrongs=tuple(found),
        children=sum(one.subresource != "status" for one in done),
        statuses=sum(one.subresource == "status" for one in done),
        refused=len(ours) - len(done),
        recovery=recovery,
    )


def _strip(obj: Manifest) -> Manifest:
    """The object without what others decide, and without the replicas of the service that users scale."""
    metadata = obj["metadata"]
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key not in _OF_OTHERS}
    applied = json.loads(annotations.pop(LAST_APPLIED, "null"))
    owners = [(one["kind"], one["name"], one.get("controller")) for one in metadata.get("ownerReferences", ())]
    kept = {key: value for key, value in obj.items() if key not in {"metadata", "status"}}
    spec: dict[str, Any] = {
        key: value for key, value in (kept.get("spec") or {}).items() if not key.startswith("clusterIP")
    }
    if metadata["name"] == _SCALED:
        spec.pop("replicas", None)
        if applied:
            applied = {**applied, "spec": {key: one for key, one in applied["spec"].items() if key != "replicas"}}
    return {
        **kept,
        "spec": spec,
        "labels": _forget_parent(metadata).get("labels"),
        "annotations": annotations,
        "applied": applied and {**applied, "metadata": _forget_parent(applied["metadata"])},
        "owners": owners,
    }


def _forget_parent(metadata: Manifest) -> Manifest:
    """Metadata that do not say which parent it is; one that was created again has another uid."""
    labels = metadata.get("labels") or {}
    return {**metadata, "labels": {key: key == contract.LABEL_CONTROLLER_UID or one for key, one in labels.items()}}


def _lost(stage: Stage, past: Past) -> Iterator[str]:
    now = stage.history.now()
    for ref, obj in past.objects.items():
        if ref not in past.wanted and ref.kind != contract.GRAPH.kind:
            continue
        live = now.get(ref)
        if live is None:
            yield f"{ref} is lost"
        elif live["metadata"]["uid"] != obj["metadata"]["uid"] and ref not in stage.deleted:
            yield f"{ref} was deleted and created again"


def _changed_templates(past: Past, changes: Sequence[Change]) -> Iterator[str]:
    known = dict(past.objects)
    for change in changes:
        before, after = known.get(change.ref), change.obj
        if change.ref.kind == kinds.DEPLOYMENT.kind and before and after and _template(before) != _template(after):
            yield f"the pod template of {change.ref} changed"
        if after is not None:
            known[change.ref] = after


def _template(workload: Manifest) -> Any:
    return workload["spec"]["template"]


def find_untrue(
    objects: Mapping[Ref, Manifest], changes: Sequence[Change], stale: float = STALE_SECONDS
) -> Iterator[str]:
    """Statuses that say Ready when, shortly before too, it was not so."""
    picture, earlier = Picture(dict(objects)), list[tuple[float, dict[Ref, Manifest]]]()
    for change in changes:
        earlier = [one for one in earlier if one[0] > change.seconds - stale]
        earlier.append((change.seconds, dict(picture.objects)))
        before = picture.get(change.ref)
        picture.advance(change)
        graph = change.obj
        if graph is None or change.ref.kind != contract.GRAPH.kind or not is_condition_true(graph, "Ready"):
            continue
        if before is not None and before.get("status") == graph.get("status"):
            continue
        lie = find_lie(picture, graph)
        if lie and all(find_lie(Picture(objects), graph) for _, objects in earlier):
            yield f"{change.ref} says Ready at revision {change.revision}: {lie}"


def _unneeded(stage: Stage, past: Past, changes: Sequence[Change], calls: Sequence[ApiCall]) -> Iterator[str]:
    """Writes of Metacontroller that nobody needed.

    An object that a person changed may be written once for each time, a child of a graph that a user created once for
    each creation. A graph at rest, and what belongs to it, is written never. No write leaves its object as it was.
    """
    allowed = Counter({_key(ref): number for ref, number in stage.edited.items()})
    done = [one for one in calls if one.code < 300]
    ours = [one for one in done if one.user == CHART_ACCOUNT]
    children = Counter((one.resource, one.name) for one in ours if one.subresource != "status")
    for (resource, name), times in sorted(children.items()):
        needed = stage.created[_graph_of(stage, name)] or allowed[resource, name]
        if times > needed:
            yield f"{resource}/{name} was written {times} times, {needed} were needed"
    is_disturbed = bool(stage.edited or stage.taken)
    statuses = Counter((one.resource, one.name) for one in ours if one.subresource == "status")
    for (resource, name), times in sorted(statuses.items()):
        is_target = name == TARGET or name.startswith(f"{TARGET}-")
        if not _graph_of(stage, name) and not (is_target and is_disturbed):
            yield f"the status of {resource}/{name} at rest was written {times} times"
    yield from _without_effect(done, changes)


def _without_effect(done: Sequence[ApiCall], changes: Sequence[Change]) -> Iterator[str]:
    parents = {f"{kind.lower()}s" for kind in _PARENTS}
    writes = Counter(
        (one.resource, one.name) for one in done if one.resource in parents and one.verb in {"update", "patch"}
    )
    revisions = Counter(_key(change.ref) for change in changes if change.obj is not None)
    for key, times in sorted(writes.items()):
        if times > revisions[key]:
            yield f"{times - revisions[key]} writes of {'/'.join(key)} changed nothing"


def _seen(stage: Stage, changes: Sequence[Change]) -> tuple[str, ...]:
    names = {TARGET, *stage.newcomers}
    found: dict[str, None] = {}
    for change in changes:
        is_graph = change.ref.kind == contract.GRAPH.kind and change.ref.name in names
        if is_graph and change.obj is not None and change.obj.get("status"):
            found |= dict.fromkeys(reasons_of(change.obj))
    return tuple(found)


def _key(ref: Ref) -> tuple[str, str]:
    kind = ref.kind.lower()
    return f"{kind}es" if kind.endswith("s") else f"{kind}s", ref.name


def _graph_of(stage: Stage, name: str) -> str:
    """The graph that a user created to which an object belongs; empty if there is none."""
    return next((one for one in stage.newcomers if name == one or name.startswith(f"{one}-")), "")


def _is_leaving(obj: Manifest) -> bool:
    return "deletionTimestamp" in obj["metadata"]
