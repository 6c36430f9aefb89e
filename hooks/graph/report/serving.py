"""The condition Serving: whether requests to a graph are answered, by its pods and endpoints, and by its frontends.

Objects say no: no pod behind a frontend's Service, or no generation of workers with a ready pod of each role. Frontends
say yes or no, each for itself, because a Service spreads requests over all. Where none can be asked, nothing is known,
and nothing waits for it.

A frontend's yes counts only beside ready workers: it keeps workers that died for up to half a minute.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from hooks.graph.change.shares import Share
from hooks.graph.plan.frontends import SERVED
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.report.serving_reasons import MOST_LISTED, SERVING, SERVING_FIELD, ServingReason
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground.k8s.conditions import READY, Condition, Truth, find_condition, is_true
from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.not_ready import Cause, NotReadyReason
from hooks.ground.k8s.types import Json
from hooks.wire.prober.frontends import FrontendEntry, FrontendOutcome, FrontendState

_FIRST_SECONDS, _SOON_SECONDS, _RESTING_SECONDS = 1.0, 5.0, 15.0
"""After how long it asks again: before a first answer; where changes are not pushed, while not all is well, at rest."""
_ASKING_SECONDS = 15.0
"""So long Ready waits for a first answer at most."""
_NAMED = 3
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
    field = _report_entries(entries, outcome.refused)
    if by_objects is not None:
        return Serving(reason=by_objects.reason, message=by_objects.message, field=field)
    reason, message = _judge_answers(plan, entries, outcome, before=before, is_rolling=bool(shares))
    return Serving(reason=reason, message=message, field=field, seconds=_look_again(reason, outcome))


def _look_again(reason: ServingReason, outcome: FrontendOutcome) -> float:
    """Seconds until it asks again although nothing tells a change; 0 for never.

    A no is asked again even where changes are told, because a graph waits for it that could be ready.
    """
    if reason is ServingReason.ASKING:
        return _FIRST_SECONDS
    if outcome.report is None:  # without a prober nothing but objects can change
        return 0.0
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
        if one.replicas and seen.endpoints is not None and not seen.endpoints.get(one.service_object)
    ]
    if lacking:
        name = min(lacking)
        yield _say(
            ServingReason.NO_ENDPOINTS,
            f"no ready pod stands behind the Service {name}, so no request reaches the graph: "
            f"kubectl get endpointslices -l kubernetes.io/service-name={name}",
        )
    if missing := _find_missing_roles(plan, seen, shares):
        yield _say(
            ServingReason.ROLE_MISSING,
            f"no generation of workers has a ready pod of each role: {', '.join(missing)} has none",
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


def _judge_answers(
    plan: GraphPlan,
    entries: Iterable[FrontendEntry],
    outcome: FrontendOutcome,
    *,
    before: Mapping[str, Json],
    is_rolling: bool,
) -> tuple[ServingReason, str]:
    """Reason and message by what the frontends say."""
    entries = tuple(entries)
    answered = [one for one in entries if one.state is FrontendState.ANSWERED]
    silent = _describe_silent(plan, entries, outcome)
    if offered := sorted({model for one in answered for model in one.models}):
        if lacking := _find_lacking(plan, answered, offered, before, is_rolling=is_rolling):
            return ServingReason.NOT_ROUTED, "; ".join(lacking)
        said = f"{len(answered)} of {len(entries)} frontends answer for {_list(offered)}"
        if silent and not all(one.state is not FrontendState.UNANSWERED for one in entries):
            return ServingReason.BY_OBJECTS, f"{said}; {silent}"
        return ServingReason.ANSWERING, said
    if answered:
        return ServingReason.NO_MODEL, _describe_nothing(answered)
    if any(one.state is FrontendState.UNASKED for one in entries):
        return ServingReason.ASKING, "the frontends' first answer is awaited"
    return ServingReason.BY_OBJECTS, silent or outcome.fault or "no frontend could be asked"


def _describe_silent(plan: GraphPlan, entries: Iterable[FrontendEntry], outcome: FrontendOutcome) -> str:
    """Which frontends could not be asked, and why; empty if all could."""
    reasons = {one.pod: one.error for one in entries if one.state is FrontendState.UNANSWERED} | dict(outcome.refused)
    if not reasons and any(one.wants_certificate for one in plan.serving.frontends):
        return "the frontends want a client certificate, which the prober does not have"
    told = [f"frontend {pod} could not be asked: {why}" for pod, why in sorted(reasons.items())]
    more = len(told) - _NAMED
    return "; ".join([*told[:_NAMED], *([f"and {more} more"] if more > 0 else [])])


def _describe_nothing(answered: Iterable[FrontendEntry]) -> str:
    """Which frontend offers nothing, and what the models lack by its word."""
    first = min(answered, key=lambda one: one.pod)
    needs = [f"{one.name} lacks {' and '.join(one.needs)} workers" for one in first.missing if one.needs]
    why = "; ".join(needs[:_NAMED]) if needs else "no worker has registered a model with it"
    return f"frontend {first.pod} offers no model: {why}; see the workers' logs: kubectl dynamo logs"


def _find_lacking(
    plan: GraphPlan,
    answered: Iterable[FrontendEntry],
    offered: Iterable[str],
    before: Mapping[str, Json],
    *,
    is_rolling: bool,
) -> list[str]:
    """What some frontend does not route: a model that another one routes, or one that the graph served before."""
    told = [
        f"frontend {one.pod} does not route {model}, which another frontend routes{_needs(one, model)}"
        for one in answered
        for model in offered
        if model not in one.models and not one.has_more
    ]
    if is_rolling:
        return told[:_NAMED]
    for model in _find_lost(plan, tuple(offered), before):
        needs = next((found for one in answered if (found := _needs(one, model))), "")
        told.append(f"no frontend routes {model}, which the graph served before{needs}")
    return told[:_NAMED]


def _find_lost(plan: GraphPlan, offered: tuple[str, ...], before: Mapping[str, Json]) -> list[str]:
    """Models that workers' command lines name, and that were offered under that name before.

    What a command line names and nobody ever offered may be offered under another name.
    """
    last = before.get(SERVING_FIELD)
    entries = last.get("models") if isinstance(last, Mapping) else None
    known = {str(one.get("name")) for one in entries or () if isinstance(one, Mapping)}
    wanted = {str(plan.projections[one].get(SERVED) or "") for one, count in plan.serving.replicas.items() if count}
    return sorted((known & wanted) - set(offered) - {""})


def _needs(entry: FrontendEntry, model: str) -> str:
    found = next((one.needs for one in entry.missing if one.name == model), ())
    return f": it lacks {' and '.join(found)} workers" if found else ""


def _list(names: list[str]) -> str:
    more = len(names) - _NAMED
    return f"{', '.join(names[:_NAMED])}{f' and {more} more' if more > 0 else ''}"


def _report_entries(entries: Iterable[FrontendEntry], refused: Mapping[str, str]) -> dict[str, Json]:
    """`status.serving`: the models by how many frontends route them, and frontends that differ from the others."""
    entries = tuple(entries)
    models = sorted({model for one in entries for model in one.models})
    counted = [
        {"name": model, "frontends": f"{sum(model in one.models for one in entries)}/{len(entries)}"}
        for model in models
    ]
    lists = {one.models for one in entries}
    told = {one.pod: _tell(one) for one in entries if len(lists) > 1 or one.state is FrontendState.UNANSWERED}
    told |= refused
    frontends = [{"pod": pod, "says": says} for pod, says in sorted(told.items())]
    return {
        **({"models": counted[:MOST_LISTED]} if counted else {}),
        **({"frontends": frontends[:MOST_LISTED]} if frontends else {}),
    }


def _tell(entry: FrontendEntry) -> str:
    match entry.state:
        case FrontendState.UNASKED:
            return "it was not asked yet"
        case FrontendState.UNANSWERED:
            return entry.error
        case _:
            return f"it routes {_list(list(entry.models))}" if entry.models else "it routes no model"
