"""Why a graph's services and its other children are not ready at the wanted spec, on either path."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hooks.component.report.explain import explain_rollout
from hooks.component.report.status import describe_new
from hooks.graph.change.pacing import NONE as NO_ROLLOUT
from hooks.graph.change.pacing import RolloutInSets
from hooks.graph.change.shares import Share
from hooks.graph.grove.progress import GroveProgress, find_unready, measure_grove
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.report.serving import Serving
from hooks.graph.seen.observe import ChildComponent, ObservedGraph
from hooks.graph.spec.components import GraphServicePlan
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import Condition
from hooks.ground.k8s.deletion import why_deleting
from hooks.ground.k8s.not_ready import Explanation, NotReadyReason
from hooks.ground.k8s.types import Json, Manifest
from hooks.wire.metacontroller.controllers import NEVER_UPDATED
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.accepted_changes import AcceptedChanges
from hooks.wire.policy.applied_condition import Applied, Judged
from hooks.wire.policy.deviations import Deviance, Deviation, Unmanaged, find_deviations
from hooks.wire.policy.new_defaults import MARKED

_NEVER_UPDATED, _BINDINGS = NEVER_UPDATED[contract.GRAPH], frozenset({kinds.ROLE_BINDING})
_UNMANAGED = Unmanaged(existing=_NEVER_UPDATED - _BINDINGS, fixed=_NEVER_UPDATED & _BINDINGS)
_UNREAD = "it is not known which components the Go operator left"
NOTHING_WAITS: Mapping[str, str] = {}
_NOT_AVAILABLE = "Component deployment not ready - Available condition not true"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphProgress:
    """How far the children of a graph have come.

    `unready` are the services that are not ready. `components` says by component's name why it is not ready, `reasons`
    the same in one word each; `grove` is the progress of Grove. They are empty while no workload is returned. `applied`
    says which children are missing or not as wanted; `held` is the condition about workloads that wait with new
    defaults. `new` are the components that have no status yet and get a Deployment. `rollout` is that of
    the workers, `shares` are those of workers that roll. `serving` says whether requests are answered, None if nobody
    asks; `is_gated`: Ready follows it. `sharing` are sentences about workers that two graphs share.
    """

    unready: frozenset[str]
    components: Mapping[str, str]
    reasons: Mapping[str, str]
    grove: GroveProgress | None
    applied: Applied
    held: tuple[Condition, ...] = ()
    new: frozenset[str] = frozenset()
    rollout: RolloutInSets = NO_ROLLOUT
    shares: Mapping[str, Share] = field(default_factory=dict)
    serving: Serving | None = None
    is_gated: bool = False
    sharing: tuple[str, ...] = ()

    @property
    def lacking(self) -> tuple[Judged, ...]:
        """Children but for workloads that are missing or not as wanted; nothing says which services need them."""
        return tuple(one for one in self.applied.judged if one.deviation.kind not in MARKED)

    def find_blocking(self, plan: GraphPlan) -> frozenset[str]:
        """The services for which a restart waits: all while the graph lacks an object that they may need."""
        return frozenset(component.service for component in plan.components) if self.lacking else self.unready


def find_graph_deviations(
    plan: GraphPlan,
    children: Iterable[Manifest],
    request: SyncRequest,
    seen: ObservedGraph,
    *,
    accepted: AcceptedChanges,
) -> tuple[Deviation, ...]:
    """The children that are missing or not as wanted, and those that this answer leaves out for now."""
    unknown = (
        Deviation(kind=contract.COMPONENT, name=name, state=Deviance.WITHHELD, why=f"{_UNREAD}: {seen.unread}")
        for name in find_unknown(plan, seen)
    )
    return (*find_deviations(children, request, _UNMANAGED, accepted), *_find_withheld(plan, request), *unknown)


def find_unknown(plan: GraphPlan, seen: ObservedGraph) -> tuple[str, ...]:
    """The components that are not created, because the Go operator may have left others of their services."""
    if not seen.unread or plan.grove is not None or plan.blocked_by:
        return ()
    return tuple(one.name for one in plan.components if one.name not in seen.components)


def measure_graph(
    plan: GraphPlan, seen: ObservedGraph, applied: Applied, *, waiting: Mapping[str, str] = NOTHING_WAITS
) -> GraphProgress:
    """Compare the observed objects with the plan, by the rules of the condition Ready.

    `waiting` says by service why its component stays as it was last applied.
    """
    if plan.blocked_by:
        every = frozenset(component.service for component in plan.components)
        return GraphProgress(unready=every, components={}, reasons={}, grove=None, applied=applied)
    if plan.grove is not None:
        grove = measure_grove(plan.grove, seen.grove, applied)
        unready = find_unready(plan.grove, grove)
        return GraphProgress(unready=unready, components={}, reasons={}, grove=grove, applied=applied)
    judged = {one.deviation.name: one for one in applied.judged if one.deviation.kind == contract.COMPONENT}
    new = _find_new(plan, seen, judged)
    found = [
        (
            one,
            waiting.get(one.service)
            or new.get(one.name)
            or _why_unready(one, seen.components.get(one.name), judged.get(one.name)),
        )
        for one in plan.components
    ]
    return GraphProgress(
        unready=frozenset(component.service for component, reason in found if reason),
        components={component.name: reason for component, reason in found if reason},
        reasons={
            one.name: _name_reason(seen.components.get(one.name), judged.get(one.name)) for one, why in found if why
        },
        grove=None,
        applied=applied,
        new=frozenset(new),
    )


def awaits_first_pods(plan: GraphPlan, seen: ObservedGraph) -> bool:
    """Whether the pods of all components are still to be created, and some are wanted."""
    if plan.blocked_by or plan.grove is not None or not any(one.spec.get("replicas", 1) for one in plan.components):
        return False
    return not any(one.is_deleting or one.service.get("replicas") for one in seen.components.values())


def _find_new(plan: GraphPlan, seen: ObservedGraph, judged: Mapping[str, Judged]) -> dict[str, str]:
    """By name the components that are just being created: why they are not ready, as their first status will say it.

    A component that is missing beside others with pods was deleted, or is a new service of an old graph.
    """
    is_coming_up = awaits_first_pods(plan, seen)
    return {
        one.name: describe_new(int(one.spec.get("replicas", 1)))
        for one in plan.components
        if _is_new(seen.components.get(one.name), judged.get(one.name), is_coming_up=is_coming_up)
        and not one.spec.get("multinode")
    }


def _is_new(seen: ChildComponent | None, judged: Judged | None, *, is_coming_up: bool) -> bool:
    if judged is not None and (judged.is_lasting or judged.deviation.holder):
        return False  # the component of that name is another graph's
    return is_coming_up if seen is None else not (seen.is_deleting or seen.has_status)


def _find_withheld(plan: GraphPlan, request: SyncRequest) -> Iterator[Deviation]:
    grove = plan.grove
    if grove is not None and grove.services and (plan.blocked_by or grove.is_withheld):
        live = request.children.get(kinds.POD_CLIQUE_SET, grove.name, request.parent["metadata"]["namespace"])
        why = plan.blocked_by or (why_deleting(live) if live is not None else "it is being deleted")
        yield Deviation(kind=kinds.POD_CLIQUE_SET, name=grove.name, state=Deviance.WITHHELD, why=why)
    for component in plan.components if plan.blocked_by and grove is None else ():
        yield Deviation(kind=contract.COMPONENT, name=component.name, state=Deviance.WITHHELD, why=plan.blocked_by)
    for account in plan.accounts:
        if account.is_rebound:
            why = "it is deleted and created again, because its role changed"
            yield Deviation(kind=kinds.ROLE_BINDING, name=account.binding, state=Deviance.WITHHELD, why=why)


def _why_unready(plan: GraphServicePlan, seen: ChildComponent | None, judged: Judged | None) -> str:
    """Why a component is not ready at the wanted spec; empty when it is.

    Upstream reads only the condition Available, so a changed graph still shows its old success for a moment.
    """
    if seen is None or seen.is_deleting:
        what = judged.what if judged else "not found" if seen is None else "it is being deleted"
        return f"{judged.explanation if judged else Explanation(reason=NotReadyReason.PROGRESSING)} ({what})"
    if judged is not None:
        return _describe_change(judged)
    if seen.observed_generation < seen.generation:
        counts = f"generation={seen.generation}, observedGeneration={seen.observed_generation}"
        return f"{explain_rollout()} (spec not yet processed: {counts})"
    if not seen.is_available or seen.unready:
        # The message of its condition Ready begins with the cause; without it, it says why it is not available.
        return seen.unready or (f"{_NOT_AVAILABLE} ({seen.message})" if seen.message else _NOT_AVAILABLE)
    if _init_containers(seen.spec) != _init_containers(plan.spec):
        return (
            "init containers were inserted or reordered; this cannot be applied to an existing object, delete it once"
        )
    return ""


def _name_reason(seen: ChildComponent | None, judged: Judged | None) -> str:
    """The reason of a component that is not ready: a `NotReadyReason`, or what its own condition Ready says."""
    if judged is not None and judged.is_lasting:
        return judged.explanation.reason
    if seen is None or seen.is_deleting or not seen.has_status:
        return NotReadyReason.PROGRESSING
    if judged is not None or seen.observed_generation < seen.generation:
        return NotReadyReason.ROLLING_OUT
    if not seen.is_available or seen.unready:
        return seen.reason or NotReadyReason.PROGRESSING
    return NotReadyReason.DIFFERS


def _describe_change(judged: Judged) -> str:
    is_new = judged.deviation.state is Deviance.BEING_APPLIED and not judged.is_lasting
    why = judged.explanation if judged.is_lasting else explain_rollout()
    return f"{why} ({'spec not yet applied' if is_new else judged.what})"


def _init_containers(spec: Mapping[str, Json]) -> list[Json]:
    """Names in order: Metacontroller merges the list by name and keeps the order of the existing object."""
    found = (spec.get("extraPodSpec") or {}).get("initContainers")
    return [container.get("name") for container in found if isinstance(container, dict)] if found else []
