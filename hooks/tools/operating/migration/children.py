"""What becomes of the objects of one parent: which are adopted, which are held, and how many pods restart."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import ROLLING, count_running_pods, count_wanted_pods
from hooks.ground.k8s.readiness import has_ready_pods
from hooks.ground.k8s.types import ReadManifest, gvk_of, is_controlled_by, is_deleting, labels_of, name_of
from hooks.ground.settings.facts import Facts
from hooks.language.crds.owner_versions import find_foreign_owner
from hooks.tools.operating.migration.cases import Case, count_pods, judge
from hooks.tools.operating.migration.changes import find_obstacle, find_patch, make_change, refer_beside
from hooks.tools.operating.migration.claims import Claims, describe_holder
from hooks.tools.operating.migration.first_sync import Key
from hooks.tools.operating.migration.found import Found
from hooks.tools.operating.migration.restarts import count_restarts, count_stops, describe_differences, digest_pods
from hooks.tools.operating.migration.steps import Action, Change, Phase, Step
from hooks.tools.operating.migration.upstream import graph_of
from hooks.wire.policy.new_defaults import MARKED
from hooks.wire.policy.rendering_mark import read_mark

_PHASES = {
    kinds.PERSISTENT_VOLUME_CLAIM: Phase.SCALES,
    contract.SCALING_ADAPTER: Phase.SCALES,
    kinds.DEPLOYMENT: Phase.WORKLOADS,
    kinds.LEADER_WORKER_SET: Phase.WORKLOADS,
    kinds.POD_GROUP: Phase.WORKLOADS,
    contract.COMPONENT: Phase.COMPONENTS,
    kinds.POD_CLIQUE_SET: Phase.COMPONENTS,
}
_ENDING = frozenset({Action.END, Action.DELETE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The steps for the objects of one parent; `after` are its components as the first sync leaves them.

    `ending` are the components of which the hooks keep none in the end, with their workloads. `fresh`
    are the components as they are rendered once nothing is held, `warnings` are for the user.
    """

    steps: tuple[Step, ...] = ()
    ending: frozenset[str] = frozenset()
    after: Mapping[str, ReadManifest] = field(default_factory=dict)
    fresh: Mapping[str, ReadManifest] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def plan_children(
    parent: ReadManifest,
    claims: Claims,
    found: Found,
    facts: Facts,
    *,
    fresh: ReadManifest | None = None,
    is_ending: bool = False,
) -> Outcome:
    """Plan the objects of one parent; `fresh` is the parent as it is rendered once nothing is held, if that differs.

    `is_ending`: the parent is a component that ends, and its workloads with it.
    """
    if is_deleting(parent):
        return Outcome(steps=tuple(_plan_deleted(parent, claims)))
    case = judge(parent, claims, found, facts, fresh=fresh or parent)
    steps = [*_plan_claimed(case, found), *_plan_others(case), *_plan_creations(case)]
    if is_ending:
        steps = [_end(step, parent, claims) for step in steps]
    after = {
        name: case.after[key]
        for key in claims.all
        if (name := key[1]) and key[0] == contract.COMPONENT and case.is_wanted(key)
    }
    rendered = {
        name: {**after[name], "spec": case.first.wanted[contract.COMPONENT, name]["spec"]}
        for name in after
        if (contract.COMPONENT, name) in case.first.wanted
    }
    return Outcome(
        steps=tuple(steps),
        ending=frozenset(one.name for one in steps if one.kind == contract.COMPONENT and one.action in _ENDING),
        after=after,
        fresh=rendered,
        warnings=tuple(_find_warnings(case)),
    )


def _plan_claimed(case: Case, found: Found) -> Iterator[Step]:
    for key, live in case.claims.all.items():
        if is_deleting(live) or _is_done(live, case.parent):
            continue
        pods = count_pods(live, found)
        if key in case.ending or (pods and not case.is_wanted(key)):
            yield _plan_end(case, key, live, pods)
        elif case.is_wanted(key):
            yield _plan_adoption(case, key, live)
        else:
            yield _plan_keeping(case, live)


def _plan_end(case: Case, key: Key, live: ReadManifest, pods: int) -> Step:
    """The step for an object that the hooks do not want for ever, and that must not run on beside what they want.

    With the workloads of both paths as children, the hook of a graph returns neither, so those of the path that it has
    left are deleted. Pods of components are counted at their workloads.
    """
    stops = 0 if key[0] == contract.COMPONENT else pods
    if key in case.left:
        why = "its graph runs on the other path, and nothing of ours would manage its pods"
        return _step(case, live, action=Action.DELETE, phase=Phase.OTHERS, why=why, stops=stops)
    if key in case.ending:
        why = "it is of an earlier generation of workers, and gives its pods up as those of the current one are ready"
    else:
        why = "the spec wants no such object any more, so it ends"
    return _step(case, live, action=Action.END, phase=Phase.OTHERS, why=why, stops=stops, change=case.changes[key])


def _end(step: Step, parent: ReadManifest, claims: Claims) -> Step:
    """The step of a workload that ends with its component."""
    live = claims.all.get((step.kind, step.name))
    if live is None or step.kind not in ROLLING:
        return replace(step, starts=0)
    why = f"it ends with {parent['kind']} {name_of(parent)}"
    return replace(step, action=Action.END, why=why, restarts=0, starts=0, stops=count_running_pods(live))


def _plan_creations(case: Case) -> Iterator[Step]:
    """What the hooks create, because the cluster does not have it; pods of components are counted at the components."""
    for key, wanted in case.second.wanted.items():
        if key in case.claims.all or key in case.claims.others or key[0] not in MARKED:
            continue
        starts = count_wanted_pods(wanted)
        if key[0] == contract.COMPONENT:
            spec = wanted["spec"]
            starts = int(spec.get("replicas", 1)) * int((spec.get("multinode") or {}).get("nodeCount", 1))
        live = {**wanted, "metadata": {"namespace": case.parent["metadata"]["namespace"], **wanted["metadata"]}}
        why = f"the spec of {case.parent['kind']} {name_of(case.parent)} wants it, and it does not exist"
        yield _step(case, live, action=Action.CREATE, phase=Phase.NOTHING, why=why, starts=starts)


def _is_done(live: ReadManifest, parent: ReadManifest) -> bool:
    """Whether Metacontroller takes the object for a child already."""
    uid = parent["metadata"]["uid"]
    is_child = is_controlled_by(live, uid) and labels_of(live).get(contract.LABEL_CONTROLLER_UID) == uid
    return is_child and not find_foreign_owner(live)


def _plan_adoption(case: Case, key: Key, live: ReadManifest) -> Step:
    change, updated = case.changes[key], case.after[key]
    is_replaced = live["metadata"].get("uid") != updated["metadata"].get("uid")
    restarts = count_running_pods(live) if is_replaced else count_restarts(live, updated)
    is_workload = gvk_of(live) in ROLLING
    change_of_size = count_wanted_pods(updated) - count_wanted_pods(live) if is_workload else 0
    is_held = bool(change.mark) and read_mark(updated) == read_mark(make_change(change, live))
    why = _explain(case, key, live, is_held=is_held, restarts=restarts)
    lost = "it had lost its owner; " if key in case.claims.lost else ""
    step = _step(
        case,
        live,
        action=Action.HOLD if is_held else Action.ADOPT,
        phase=_PHASES.get(gvk_of(live), Phase.OTHERS),
        why=lost + why,
        restarts=restarts,
        starts=max(change_of_size, 0),
        stops=count_stops(live, updated) if is_workload and not is_replaced else 0,
        change=change,
        pods=digest_pods(live) if change.is_recorded else "",
    )
    return replace(step, awaits_pods=key in case.serving)


def _explain(case: Case, key: Key, live: ReadManifest, *, is_held: bool, restarts: int) -> str:
    kind = gvk_of(live)
    if kind == contract.SCALING_ADAPTER:
        return f"its {(live.get('spec') or {}).get('replicas', 1)} replicas stay"
    if kind == kinds.PERSISTENT_VOLUME_CLAIM:
        return f"it is never changed; it is deleted only with {case.parent['kind']} {name_of(case.parent)}"
    if kind in MARKED:
        return _explain_workload(case, key, live, is_held=is_held, restarts=restarts)
    return f"child of {case.parent['kind']} {name_of(case.parent)}"


def _explain_workload(case: Case, key: Key, live: ReadManifest, *, is_held: bool, restarts: int) -> str:
    wanted = case.fresh.wanted.get(key)
    fields = describe_differences(wanted, live) if wanted else ""
    if is_held:
        at = f" ({fields})" if fields else ""
        return f"its pods stay; it takes our defaults{at} at the next change of its spec"
    if not restarts:
        return "its pods stay; they are as we render them" if not fields else f"its pods stay; {fields} change"
    if obstacle := find_obstacle(live):
        return f"it cannot be held, because {obstacle}: {fields} change now"
    if gvk_of(live) in ROLLING and not has_ready_pods(live):
        return f"none of its pods is ready, so it takes our defaults now: {fields}"
    return f"it takes our defaults now: {fields}"


def _plan_keeping(case: Case, live: ReadManifest) -> Step:
    """The step for an object that we do not render: Metacontroller would delete an adopted one."""
    owner = f"{case.parent['kind']} {name_of(case.parent)}"
    return _step(
        case,
        live,
        action=Action.KEEP,
        phase=Phase.OTHERS,
        why=f"we render no such object, nothing of ours uses it; it is deleted with {owner}",
        change=Change(beside=(refer_beside(case.parent),)),
    )


def _plan_others(case: Case) -> Iterator[Step]:
    """The objects of other owners that have the names of wanted children."""
    for key, other in case.claims.others.items():
        if key in case.second.wanted:
            owner = f"{case.parent['kind']} {name_of(case.parent)}"
            why = f"{owner} wants an object of this name, but {describe_holder(other)}"
            yield _step(case, other, action=Action.LEAVE, phase=Phase.NOTHING, why=why)


def _plan_deleted(parent: ReadManifest, claims: Claims) -> Iterator[Step]:
    """The objects that a parent which is being deleted lost: without its reference, they would never be deleted."""
    for live in claims.lost.values():
        if is_deleting(live) or gvk_of(live) == kinds.PERSISTENT_VOLUME_CLAIM:
            continue
        change = Change(beside=(refer_beside(parent),))
        if find_patch(change, live):
            why = (
                f"it had lost its owner; it is deleted with {parent['kind']} {name_of(parent)}, which is being deleted"
            )
            yield _step_of(parent, live, action=Action.KEEP, phase=Phase.OTHERS, why=why, change=change)


def _find_warnings(case: Case) -> Iterator[str]:
    if case.first.error:
        metadata, kind = case.parent["metadata"], case.parent["kind"]
        yield (
            f"{kind} {metadata['namespace']}/{metadata['name']}: the hooks refuse its spec ({case.first.error}), so "
            "its objects stay as they are until it is mended"
        )


def _step(case: Case, live: ReadManifest, **fields: Any) -> Step:
    return _step_of(case.parent, live, **fields)


def _step_of(parent: ReadManifest, live: ReadManifest, **fields: Any) -> Step:
    metadata = live["metadata"]
    return Step(
        kind=gvk_of(live),
        namespace=metadata.get("namespace", ""),
        name=name_of(live),
        uid=metadata.get("uid", ""),
        graph=graph_of(parent),
        **fields,
    )
