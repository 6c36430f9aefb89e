"""What a graph's frontends say, as reason and message of the condition Serving and as field of the status."""

from collections.abc import Iterable, Mapping

from hooks.graph.plan.frontends import SERVED
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.report.serving_reasons import MOST_LISTED, SERVING, SERVING_FIELD, ServingReason
from hooks.ground.k8s.conditions import is_true
from hooks.ground.k8s.types import Json
from hooks.wire.prober.frontends import FrontendEntry, FrontendOutcome, FrontendState

_NAMED, _LONGEST = 3, 1000
"""Models and frontends named in a message, and characters of what is told of one frontend."""


def judge_answers(
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
        return _judge_offered(entries, answered, offered, silent=silent, before=before)
    if answered:
        return ServingReason.NO_MODEL, _describe_nothing(answered)
    if any(one.state is FrontendState.UNASKED for one in entries):
        return ServingReason.ASKING, "the frontends' first answer is awaited"
    return ServingReason.BY_OBJECTS, silent or outcome.fault or "no frontend could be asked"


def _judge_offered(
    entries: tuple[FrontendEntry, ...],
    answered: list[FrontendEntry],
    offered: list[str],
    *,
    silent: str,
    before: Mapping[str, Json],
) -> tuple[ServingReason, str]:
    """Reason and message where the frontends that answered lack nothing, as far as they can be compared."""
    if _is_unsettled(answered) and not is_true(before.get("conditions") or (), SERVING):
        return ServingReason.ASKING, "the frontends list different models, and are asked once more"
    said = f"{len(answered)} of {len(entries)} frontends answer for {_list(offered)}"
    if silent and any(one.state is FrontendState.UNANSWERED for one in entries):
        return ServingReason.BY_OBJECTS, f"{said}; {silent}"
    return ServingReason.ANSWERING, said


def _is_unsettled(answered: Iterable[FrontendEntry]) -> bool:
    """Whether frontends list different models, and some list is older than the others."""
    answered = tuple(answered)
    return len({one.models for one in answered}) > 1 and any(one.is_doubted for one in answered)


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
        if model not in one.models and not one.has_more and not _is_unsettled(answered)
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


def report_entries(entries: Iterable[FrontendEntry], refused: Mapping[str, str]) -> dict[str, Json]:
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
    frontends = [{"pod": pod, "says": says[:_LONGEST]} for pod, says in sorted(told.items())]
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
