"""The condition Serving: whether requests to a graph are answered, by its pods and endpoints, and by its frontends.

Objects say no: no pod behind a frontend's Service, or no generation of workers with a ready pod of each role. Frontends
say yes or no, each for itself, because a Service spreads requests over all. Where none can be asked, nothing is known,
and nothing waits for it.

A frontend's yes counts only beside ready workers: it keeps workers that died for up to half a minute.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from hooks.graph.change.shares import Share
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.report.serving_answers import judge_answers, report_entries
from hooks.graph.report.serving_reasons import SERVING, ServingReason
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground.k8s.conditions import READY, Condition, Truth, find_condition, is_true
from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.endpoint_slices import SERVICE_NAME
from hooks.ground.k8s.not_ready import Cause, NotReadyReason
from hooks.ground.k8s.types import Json
from hooks.wire.prober.frontends import FrontendOutcome

_FIRST_SECONDS, _SOON_SECONDS, _RESTING_SECONDS = 1.0, 5.0, 15.0
"""After how long it asks again: before a first answer; where changes are not pushed, while not all is well, at rest."""
_DOWN_SECONDS = 60.0
"""A prober that comes back knows no question."""
_ASKING_SECONDS = 15.0
"""So long Ready waits for a first answer at most."""
_TRUTHS: Mapping[ServingReason, Truth] = {
    ServingReason.ANSWERING: "True",
    ServingReason.BY_OBJECTS: "Unknown",
    ServingReason.ASKING: "Unknown",
    ServingReason.NO_FRONTEND: "Unknown",
    ServingReason.SCALED_TO_ZERO: "False",
    ServingReason.NO_ENDPOINTS: "False",
    ServingReason.ROLE_MISSING: "False",
    ServingReason.NO_MODEL: "False",
    ServingReason.NOT_ROUTED: "False",
}
_COUNTS = ("readyReplicas", "availableReplicas")


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The verdict: the condition's reason and message, and the field of the status.

    `seconds`: after how long to look again; 0 if a change tells it.
    """

    reason: ServingReason
    message: str
    field: Mapping[str, Json]
    seconds: float = 0.0

    @property
    def condition(self) -> Condition:
        """The condition Serving."""
        return Condition(type=SERVING, status=_TRUTHS[self.reason], reason=self.reason.value, message=self.message)

    def find_cause(self, before: Mapping[str, Json], now: datetime) -> Cause | None:
        """Why the graph is not ready although all its pods are; None if it is. `before` is its status.

        A graph that was ready stays it until frontends say no; a new one waits a moment for their first answer.
        """
        is_no = _TRUTHS[self.reason] == "False" and self.reason is not ServingReason.SCALED_TO_ZERO
        if is_no:
            return Cause(
                reason=NotReadyReason.NOT_SERVING, about="", why=f"{NotReadyReason.NOT_SERVING}: {self.message}"
            )
        if self.reason is ServingReason.ASKING and not is_true(before.get("conditions") or (), READY):
            last = find_condition(before.get("conditions") or (), SERVING)
            since = str(last.get("lastTransitionTime") or "") if last and last.get("status") == "Unknown" else ""
            if not since or seconds_since(since, now) < _ASKING_SECONDS:
                return Cause(
                    reason=NotReadyReason.PROGRESSING, about="", why=f"{NotReadyReason.PROGRESSING}: {self.message}"
                )
        return None


def judge_serving(
    plan: GraphPlan,
    seen: ObservedGraph,
    outcome: FrontendOutcome,
    *,
    shares: Mapping[str, Share],
    before: Mapping[str, Json],
) -> Serving:
    """Whether requests are answered. `before` is the graph's status, `shares` those of workers that roll."""
    by_objects = next(_judge_objects(plan, seen, shares), None)
    if by_objects is not None and by_objects.reason is not ServingReason.ROLE_MISSING:
        return by_objects
    entries = outcome.report.entries if outcome.report else ()
    field = report_entries(entries, outcome.refused)
    if by_objects is not None:
        return Serving(reason=by_objects.reason, message=by_objects.message, field=field)
    reason, message = judge_answers(plan, entries, outcome, before=before, is_rolling=bool(shares))
    return Serving(reason=reason, message=message, field=field, seconds=_look_again(reason, outcome))


def _look_again(reason: ServingReason, outcome: FrontendOutcome) -> float:
    """Seconds until it asks again although nothing tells a change; 0 for never.

    A no is asked again even where changes are told, because a graph waits for it that could be ready.
    """
    if reason is ServingReason.ASKING:
        return _FIRST_SECONDS
    if outcome.report is None:
        return _DOWN_SECONDS if outcome.is_down else 0.0
    is_no = _TRUTHS[reason] == "False"
    if outcome.can_push:
        return _RESTING_SECONDS if is_no else 0.0
    return _SOON_SECONDS if is_no else _RESTING_SECONDS


def _judge_objects(plan: GraphPlan, seen: ObservedGraph, shares: Mapping[str, Share]) -> Iterator[Serving]:
    """What pods and endpoints say already, the strongest first."""
    frontends, workers = plan.serving.frontends, plan.serving.roles
    if not frontends:
        yield _say(ServingReason.NO_FRONTEND, "the graph has no frontend, so nobody can be asked")
        return
    idle = [one.service for one in frontends if not one.replicas]
    asleep = sorted({role for role in plan.serving.needed if not _wanted_of(plan, role)})
    if len(idle) == len(frontends):
        yield _say(ServingReason.SCALED_TO_ZERO, f"no pod of {', '.join(sorted(idle))} is wanted (replicas: 0)")
    elif workers and asleep:
        names = sorted(one for one, role in workers.items() if role in asleep)
        yield _say(ServingReason.SCALED_TO_ZERO, f"no pod of {', '.join(names)} is wanted (replicas: 0)")
    lacking = [
        one.service_object
        for one in frontends
        if one.replicas and seen.endpoints is not None and seen.endpoints.get(one.service_object) == ()
    ]
    if lacking:
        name = min(lacking)
        yield _say(
            ServingReason.NO_ENDPOINTS,
            f"no ready pod stands behind the Service {name}, so no request reaches the graph: "
            f"kubectl get endpointslices -l {SERVICE_NAME}={name}",
        )
    if missing := _find_missing_roles(plan, seen, shares):
        yield _say(
            ServingReason.ROLE_MISSING,
            f"no generation of workers has a ready pod of each role: there is none of {', '.join(missing)}",
        )


def _say(reason: ServingReason, message: str) -> Serving:
    return Serving(reason=reason, message=message, field={})


def _wanted_of(plan: GraphPlan, role: str) -> int:
    return sum(plan.serving.replicas[one] for one, its in plan.serving.roles.items() if its == role)


def _find_missing_roles(plan: GraphPlan, seen: ObservedGraph, shares: Mapping[str, Share]) -> list[str]:
    """The services of the roles of which no pod is ready; [] if some generation has a ready pod of each."""
    new, old = dict.fromkeys(plan.serving.needed, 0), dict.fromkeys(plan.serving.needed, 0)
    for service, role in plan.serving.roles.items():
        if role not in new:
            continue
        if share := shares.get(service):
            new[role] += share.new
            old[role] += share.old
        else:
            new[role] += _count_ready(plan, seen, service)
    if all(new.values()) or (shares and all(old.values())):
        return []
    return sorted(one for one, role in plan.serving.roles.items() if role in new and not new[role])


def _count_ready(plan: GraphPlan, seen: ObservedGraph, service: str) -> int:
    """The ready pods of a worker that does not roll, as its component or Grove counts them."""
    if plan.grove is not None:
        found = (
            seen.grove.scalables.get((one.kind, one.target)) for one in plan.grove.services if one.service == service
        )
        return sum(one.available for one in found if one is not None)
    names = (one.name for one in plan.components if one.service == service)
    components = (seen.components.get(name) for name in names)
    return sum(
        max([int(one.service.get(field) or 0) for field in _COUNTS] + [int(one.is_settled)])
        for one in components
        if one is not None
    )
