"""A DynamoModel's calls: which question the prober is asked, and what status follows from its answer.

The order of a sync: the shell calls `wanted`, asks the prober where that is not None, and passes the report to `sync`
or `finalize`. Both are pure; neither ever calls an engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from hooks import contract, identity
from hooks.api.base import parse_parent
from hooks.api.model import Model
from hooks.errors import InvalidSpec, LeaveAlone, ProberUnavailable
from hooks.facts import Facts
from hooks.k8s import kinds
from hooks.k8s.conditions import READY, find_condition, is_true
from hooks.k8s.deadlines import seconds_left
from hooks.k8s.types import Json
from hooks.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.model.events import tell_given_up, tell_transitions, tell_unloaded
from hooks.model.plan import ModelPlan, build_load_request, plan_model
from hooks.model.prober_messages import Adapter, AdapterPhase, LoadReport, LoadRequest
from hooks.model.status import UNLOADING, Endpoint, build_status, observe_endpoints

_NAMED = 10
"""Pods named in one sentence."""
_SOON, _LATER = 1.0, 10.0
"""While something is pending, the next look comes after a tenth of the time it has been so, at least a second."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A sync or finalize of one model, from the question to the prober to the answer."""

    request: SyncRequest
    facts: Facts
    finalizing: bool

    @cached_property
    def plan(self) -> ModelPlan:
        """What the model wants of its engines."""
        return plan_model(self.request, self.facts, finalizing=self.finalizing)

    @property
    def is_last(self) -> bool:
        """Whether it is a deletion past its deadline, which does not wait for the prober either."""
        return self.finalizing and _remaining(self.request, self.facts) <= 0


def wanted(call: Call) -> LoadRequest | None:
    """What to ask the prober; None when there is no need: base models, no engines."""
    return build_load_request(call.plan, call.request.status) if call.plan.has_work else None


def sync(call: Call, report: LoadReport | None) -> SyncAnswer:
    """The status of a model, from what the prober reports.

    Raises:
        LeaveAlone: the prober has just started and would only report ignorance over a status that knows more.
        ProberUnavailable: there is a question to the prober, and no report.
    """
    request, facts, plan = call.request, call.facts, call.plan
    if plan.has_work and report is None:
        raise ProberUnavailable("the prober was not asked about the model's adapters; see that its container runs")
    if report is not None and report.starting and _knows_more(request.status, plan, report):
        raise LeaveAlone("the prober has just started and has not heard of every engine yet", retry_after=1)
    endpoints = observe_endpoints(plan, report, request.status, facts.now)
    records = _next_records(plan, report)
    status = build_status(plan, endpoints, records, previous=request.status, now=facts.now)
    return SyncAnswer(
        status=status,
        effects=tell_transitions(request, status, plan.model.spec.base_model_name),
        resync_after_seconds=_next_look(plan, report, status, facts),
        notes=_describe(plan, endpoints),
        problems=plan.problems,
    )


def _knows_more(status: Mapping[str, Json], plan: ModelPlan, report: LoadReport) -> bool:
    """Whether a status says what the prober does not know yet of some engine; of thousands it lists only a part."""
    entries = status.get("endpoints") or ()
    if status.get("readyEndpoints") and status.get("totalEndpoints", 0) > len(entries):
        return True
    unheard = {entry.address for entry in report.endpoints if entry.phase is AdapterPhase.UNKNOWN}
    engines = {(one.address, one.pod) for one in plan.seen.candidates if one.address in unheard}
    told = {(e.get("address"), e.get("podName")) for e in entries if e.get("phase") not in {None, AdapterPhase.PENDING}}
    return not engines.isdisjoint(told)


def _next_records(plan: ModelPlan, report: LoadReport | None) -> tuple[Adapter, ...]:
    """The adapter that is wanted, and those before it that some engine may still hold; the prober unloads by them."""
    if report is None:
        return plan.records
    adapter = plan.adapter
    left = {name for entry in report.endpoints for name in entry.left}
    kept = [r for r in plan.records if r.name in left]
    if adapter is None:
        return tuple(kept)
    if any(e.source != adapter.uri and e.phase is not AdapterPhase.UNSUPPORTED for e in report.endpoints):
        kept = [*(r for r in plan.records if r.name == adapter.name and r.uri != adapter.uri), *kept]
    return (adapter, *kept)


def _next_look(plan: ModelPlan, report: LoadReport | None, status: Mapping[str, Json], facts: Facts) -> float:
    """Seconds to the next sync: half a mandate for a settled adapter, sooner while something is pending, else never."""
    if report is None:
        return 0
    renewal = facts.settings.lora_mandate / 2
    if all(entry.phase.is_final and not entry.left for entry in report.endpoints):
        return renewal if plan.adapter is not None else 0
    age = 0.0
    if not is_true(status["conditions"], READY):
        age = _age(_transition_time(status), facts.now)
    return min(renewal, max(_SOON, round(age / _LATER, 1)))


def _describe(plan: ModelPlan, endpoints: tuple[Endpoint, ...]) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for endpoint in endpoints:
        phase = endpoint.phase.value if endpoint.phase else "Discovered"
        counts[phase] = counts.get(phase, 0) + 1
    left_out = [f"{one.pod} ({one.address})" for one in plan.seen.left_out]
    return (
        *(f"{count} endpoint(s) {phase}" for phase, count in sorted(counts.items())),
        *([f"left out, as their addresses are no IP addresses: {_enumerate(left_out)}"] if left_out else []),
    )


def _enumerate(names: list[str]) -> str:
    more = len(names) - _NAMED
    return f"{', '.join(names[:_NAMED])}{f' and {more} more' if more > 0 else ''}"


def finalize(call: Call, report: LoadReport | None) -> SyncAnswer:
    """Unload everywhere, then let go: when the adapters are gone for good, or at the deadline, saying which stayed.

    Gone for good means absent for one mandate, as another hooks pod's prober may act for the model that long; with
    one hooks pod it means absent.

    Raises:
        ProberUnavailable: there is a question to the prober, no report, and time left.
    """
    request, facts, plan = call.request, call.facts, call.plan
    if not plan.has_work:
        return SyncAnswer(finalized=True, notes=("nothing to unload",))
    remaining = _remaining(request, facts)
    count = len(plan.seen.candidates)
    if report is not None and _is_gone(report, facts):
        told = tell_unloaded(request, count)
        return SyncAnswer(finalized=True, effects=(told,), notes=(f"unloaded from {count} endpoint(s)",))
    if remaining <= 0:
        return _give_up(request, plan, report)
    if report is None:
        raise ProberUnavailable("the prober was not asked to unload the model's adapters; see that its container runs")
    endpoints = observe_endpoints(plan, report, request.status, facts.now)
    status = build_status(plan, endpoints, plan.records, previous=request.status, now=facts.now, is_unloading=True)
    return SyncAnswer(status=status, resync_after_seconds=min(_SOON, remaining), notes=_describe(plan, endpoints))


def _is_gone(report: LoadReport, facts: Facts) -> bool:
    if any(entry.phase is not AdapterPhase.UNLOADED or entry.left for entry in report.endpoints):
        return False
    needed = facts.settings.lora_mandate if facts.settings.hook_replicas > 1 else 0.0
    return all(entry.age >= needed for entry in report.endpoints)


def _give_up(request: SyncRequest, plan: ModelPlan, report: LoadReport | None) -> SyncAnswer:
    """Let go at the deadline, and name the engines that never said that the adapters are gone."""
    gone = _gone_addresses(request.status, report)
    silent = [candidate.pod for candidate in plan.seen.candidates if candidate.address not in gone]
    count = len(plan.seen.candidates)
    if not silent:
        note = f"unloaded from {count} endpoint(s), but not for a whole mandate"
        return SyncAnswer(finalized=True, effects=(tell_unloaded(request, count),), notes=(note,))
    note = f"gave up unloading {', '.join(plan.former)} at the deadline; no answer from {_enumerate(silent)}"
    return SyncAnswer(finalized=True, effects=(tell_given_up(request, note),), notes=(note,))


def _gone_addresses(status: Mapping[str, Json], report: LoadReport | None) -> set[str]:
    """Engines without the adapters: as the prober says, and by the status where it does not know or did not answer."""
    gone = {str(e.get("address")) for e in status.get("endpoints") or () if e.get("phase") == AdapterPhase.UNLOADED}
    if report is None:
        return gone
    gone -= {entry.address for entry in report.endpoints if entry.phase is not AdapterPhase.UNKNOWN}
    return gone | {
        entry.address for entry in report.endpoints if entry.phase is AdapterPhase.UNLOADED and not entry.left
    }


def _remaining(request: SyncRequest, facts: Facts) -> float:
    """Seconds until an unloading is given up.

    A model that only lost the controller's label has no deletion time, and that of another lies far ahead where clocks
    do not agree; there the first answer of finalize counts.
    """
    allowed = facts.settings.lora_unload_deadline
    deleted = request.parent["metadata"].get("deletionTimestamp")
    if deleted and datetime.fromisoformat(deleted) - facts.now < timedelta(seconds=allowed):
        return seconds_left(deleted, allowed, facts.now)
    if _ready_reason(request.status) == UNLOADING:
        return seconds_left(_transition_time(request.status), allowed, facts.now)
    return allowed


def _ready_reason(status: Mapping[str, Json]) -> str:
    condition = find_condition(status.get("conditions") or (), READY)
    return str(condition["reason"]) if condition else ""


def _transition_time(status: Mapping[str, Json]) -> str:
    condition = find_condition(status.get("conditions") or (), READY)
    return str(condition["lastTransitionTime"]) if condition else ""


def _age(moment: str, now: datetime) -> float:
    """Seconds since a time as Kubernetes writes it; 0 when it lies ahead."""
    return max(timedelta(), now - datetime.fromisoformat(moment)).total_seconds()


def customize(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:  # noqa: ARG001 - every hook's signature
    """The base model's EndpointSlices, and for an adapter the other models, which may claim the same name."""
    try:
        model = parse_parent(Model, request.parent)
    except InvalidSpec:
        return []
    namespace = model.metadata.namespace
    labels = {contract.LABEL_MODEL_HASH: identity.model_hash(model.spec.base_model_name)}
    slices = RelatedRule.of(kinds.ENDPOINT_SLICE, namespace, match_labels=labels)
    return [slices, RelatedRule.of(contract.MODEL, namespace)] if model.is_lora else [slices]
