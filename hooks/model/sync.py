"""The hooks of a DynamoModel: the request to the prober, and the status that follows from its report.

The server checks the addresses that `find_addresses` returns, sends the request of `plan_request`, if there is one, to
the prober, and passes the report to `sync` or `finalize`. All are pure, and none calls an engine.
"""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec, LeaveAlone, ProberUnavailable
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition, is_true
from hooks.ground.k8s.deadlines import seconds_left
from hooks.ground.k8s.messages import list_names
from hooks.ground.k8s.types import Json
from hooks.ground.settings.facts import Facts
from hooks.language.api.base import parse_parent
from hooks.language.api.model import Model
from hooks.model.plan.evidence import build_load_request
from hooks.model.plan.model import ModelPlan, plan_model
from hooks.model.prober.messages import Adapter, AdapterPhase, LoadReport, LoadRequest
from hooks.model.report.endpoints import EndpointStatus, observe_reported
from hooks.model.report.events import build_change_events, build_unload_failed_event, build_unloaded_event
from hooks.model.report.status import ModelReason, build_status
from hooks.model.seen.pod_addresses import NamedAddress, Verdicts
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.wire.metacontroller.stored_status import is_stored
from hooks.wire.policy import identity

_RECORD_SECONDS = 0.2
"""After a wanted adapter was first written into the status, the next sync comes soon: only then it is loaded."""
_CONFIRM_SECONDS = 3.0
"""After a change of the status it is looked whether it was written."""
_FIRST_RESYNC, _RESYNC_DIVISOR = 1.0, 10.0
"""While anything is pending, the next sync comes after a tenth of the time that it has been pending (at least 1 s)."""


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """A sync or finalize of one model; `verdicts` are those on the addresses of `find_addresses`, None for none yet."""

    request: SyncRequest
    facts: Facts
    finalizing: bool
    verdicts: Verdicts | None = None

    @cached_property
    def plan(self) -> ModelPlan:
        """What the model wants of its engines."""
        return plan_model(self.request, self.facts, finalizing=self.finalizing, verdicts=self.verdicts)

    @property
    def is_last(self) -> bool:
        """Whether this is a deletion after its deadline, which does not wait for the prober any more."""
        return self.finalizing and _remaining(self.request, self.facts) <= 0


def find_addresses(call: ModelCall) -> tuple[NamedAddress, ...]:
    """The addresses that are called only if they are those of their pods; () for base models, which need no call."""
    return call.plan.to_check


def plan_request(call: ModelCall) -> LoadRequest | None:
    """The request to the prober; None if it has nothing to do, as for base models and without engines.

    Raises:
        LeaveAlone: an engine's address is about to be checked, and the status says more about it. The prober forgets
            an engine that is left out of a request.
    """
    plan = call.plan
    new = {(one.address, one.pod) for one in plan.engines.doubted if one.is_new}
    if new and not call.finalizing and _knows(call.request.status, new):
        raise LeaveAlone("the addresses of the model's engines are being checked", retry_after=1)
    return build_load_request(plan, call.request.status) if plan.has_work else None


def sync(call: ModelCall, report: LoadReport | None) -> SyncAnswer:
    """The status of a model, from the prober's report.

    Raises:
        LeaveAlone: the prober started a moment ago, and the status contains more than its report.
        ProberUnavailable: there is a request to the prober, and no report.
    """
    request, facts, plan = call.request, call.facts, call.plan
    if plan.has_work and report is None:
        raise ProberUnavailable("the prober was not asked about the model's adapters; check that its container runs")
    if report is not None and report.starting and _status_knows_more(request.status, plan, report):
        raise LeaveAlone("the prober started a moment ago and has not called every engine yet", retry_after=1)
    reported = observe_reported(plan, report, facts.now)
    records = _next_records(plan, report)
    status = build_status(plan, reported, records, previous=request.status, now=facts.now)
    return SyncAnswer(
        status=status,
        effects=build_change_events(request, status, plan.model.spec.base_model_name),
        resync_after_seconds=_confirm(
            status, request, _next_sync(plan, report, status, facts), is_settled=_is_settled(plan, report)
        ),
        notes=_build_notes(plan, reported.endpoints),
        problems=plan.problems,
    )


def _status_knows_more(status: Mapping[str, Json], plan: ModelPlan, report: LoadReport) -> bool:
    """Whether the status says more about an engine than the report."""
    unknown = {entry.address for entry in report.endpoints if entry.phase is AdapterPhase.UNKNOWN}
    return _knows(status, {(one.address, one.pod) for one in plan.engines.called if one.address in unknown})


def _knows(status: Mapping[str, Json], engines: Set[tuple[str, str]]) -> bool:
    """Whether the status says something about one of the engines; a status lists only some of many engines."""
    entries = status.get("endpoints") or ()
    if status.get("readyEndpoints") and status.get("totalEndpoints", 0) > len(entries):
        return True
    known = {
        (e.get("address"), e.get("podName")) for e in entries if e.get("phase") not in {None, AdapterPhase.PENDING}
    }
    return not engines.isdisjoint(known)


def _next_records(plan: ModelPlan, report: LoadReport | None) -> tuple[Adapter, ...]:
    """The wanted adapter, and former ones that an engine may still have; later requests unload the former ones.

    An engine that is not called, because its address could not be checked, may have any of them.
    """
    if report is None:
        return plan.records
    adapter, is_doubted = plan.adapter, bool(plan.engines.doubted)
    left = {name for entry in report.endpoints for name in entry.left} | (set(plan.former) if is_doubted else set())
    kept = [r for r in plan.records if r.name in left]
    if adapter is None:
        return tuple(kept)
    others = [e for e in report.endpoints if e.source != adapter.uri and e.phase is not AdapterPhase.UNSUPPORTED]
    if others or is_doubted:
        kept = [*(r for r in plan.records if r.name == adapter.name and r.uri != adapter.uri), *kept]
    return (adapter, *kept)


def _next_sync(plan: ModelPlan, report: LoadReport | None, status: Mapping[str, Json], facts: Facts) -> float:
    """Seconds to the next sync: half a mandate once all is done, sooner while anything is pending; 0 for never.

    A pod may get the address for which it was refused, so addresses that depend on pods are checked again too.
    """
    engines, renewal = plan.engines, facts.settings.lora_mandate / 2
    is_refused = bool(plan.to_check and engines.refused)
    if report is None and not engines.doubted and not is_refused:
        return 0
    if report is not None and plan.adapter is not None and plan.adapter not in plan.records[:1]:
        return _RECORD_SECONDS
    is_ready, is_awaited = is_true(status["conditions"], READY), _ready_reason(status) == ModelReason.NOT_OFFERED
    if _is_settled(plan, report) and not is_awaited and (is_ready or not is_refused):
        return renewal if plan.adapter is not None or is_refused else 0
    age = 0.0 if is_ready else _age(_transition_time(status), facts.now)
    return min(renewal, max(_FIRST_RESYNC, age / _RESYNC_DIVISOR))


def _is_settled(plan: ModelPlan, report: LoadReport | None) -> bool:
    """Whether no engine has a load, an unload or a check before it."""
    entries = report.endpoints if report else ()
    return not plan.engines.doubted and all(entry.phase.is_final and not entry.left for entry in entries)


def _confirm(status: Mapping[str, Json], request: SyncRequest, seconds: float, *, is_settled: bool) -> float:
    """Seconds to the next sync, which comes soon after a change that a user waits for.

    Metacontroller drops the status of a model that was written meanwhile, and no event says so. The steps of a
    load are heard with the polls of what is pending, and start no further sync.
    """
    if is_stored(status, request.status):
        return seconds
    is_step = not is_settled and _read_ready(status) == _read_ready(request.status)
    return seconds if is_step else min(seconds or _CONFIRM_SECONDS, _CONFIRM_SECONDS)


def _read_ready(status: Mapping[str, Json]) -> tuple[str, str]:
    condition = find_condition(status.get("conditions") or (), READY) or {}
    return str(condition.get("status")), str(condition.get("reason"))


def _build_notes(plan: ModelPlan, endpoints: tuple[EndpointStatus, ...]) -> tuple[str, ...]:
    counted = Counter(one.phase for one in endpoints if not one.engine.refusal)
    counts = {phase.value if phase else "Discovered": count for phase, count in counted.items()}
    refused = [f"{one.name} ({one.refusal})" for one in plan.engines.refused]
    doubted = [f"{one.name} ({one.doubt})" for one in plan.engines.doubted]
    return (
        *(f"{count} endpoint(s) {phase}" for phase, count in sorted(counts.items())),
        *([f"endpoints without an engine's address: {list_names(refused)}"] if refused else []),
        *([f"endpoints with an unchecked address: {list_names(doubted)}"] if doubted else []),
    )


def finalize(call: ModelCall, report: LoadReport | None) -> SyncAnswer:
    """The answer to a deletion: unload from all engines; finalized once the adapters are gone, or at the deadline.

    Raises:
        ProberUnavailable: there is a request to the prober, no report, and time left.
    """
    request, facts, plan = call.request, call.facts, call.plan
    if not plan.has_work and not plan.engines.doubted:
        return SyncAnswer(finalized=True, notes=("nothing to unload",))
    remaining = _remaining(request, facts)
    count = len(plan.engines.called)
    if report is not None and not plan.engines.doubted and _is_gone(report):
        event = build_unloaded_event(request, count)
        return SyncAnswer(finalized=True, effects=(event,), notes=(f"unloaded from {count} endpoint(s)",))
    if remaining <= 0:
        return _give_up(request, plan, report)
    if report is None and plan.has_work:
        raise ProberUnavailable(
            "the prober was not asked to unload the model's adapters; check that its container runs"
        )
    reported = observe_reported(plan, report, facts.now)
    status = build_status(plan, reported, plan.records, previous=request.status, now=facts.now, is_unloading=True)
    return SyncAnswer(
        status=status, resync_after_seconds=min(_FIRST_RESYNC, remaining), notes=_build_notes(plan, reported.endpoints)
    )


def _is_gone(report: LoadReport) -> bool:
    return all(entry.phase is AdapterPhase.UNLOADED and not entry.left for entry in report.endpoints)


def _give_up(request: SyncRequest, plan: ModelPlan, report: LoadReport | None) -> SyncAnswer:
    """The answer at the deadline, which names the engines that did not confirm the unload."""
    gone = _gone_addresses(request.status, report)
    silent = [one.pod for one in plan.engines.called if one.address not in gone]
    silent += [f"{one.pod} (not called)" for one in plan.engines.doubted]
    count = len(plan.engines.called)
    if not silent:
        note = f"unloaded from {count} endpoint(s), as the last status says"
        return SyncAnswer(finalized=True, effects=(build_unloaded_event(request, count),), notes=(note,))
    note = f"gave up unloading {', '.join(plan.former)} at the deadline; no answer from {list_names(silent)}"
    return SyncAnswer(finalized=True, effects=(build_unload_failed_event(request, note),), notes=(note,))


def _gone_addresses(status: Mapping[str, Json], report: LoadReport | None) -> set[str]:
    """Engines without the adapters: by the report, or by the status if the report does not know the engine."""
    gone = {str(e.get("address")) for e in status.get("endpoints") or () if e.get("phase") == AdapterPhase.UNLOADED}
    if report is None:
        return gone
    gone -= {entry.address for entry in report.endpoints if entry.phase is not AdapterPhase.UNKNOWN}
    return gone | {
        entry.address for entry in report.endpoints if entry.phase is AdapterPhase.UNLOADED and not entry.left
    }


def _remaining(request: SyncRequest, facts: Facts) -> float:
    """Seconds until the deadline of an unloading.

    It counts from the deletion. In two cases it counts from the first answer of finalize: the model has no deletion
    time, because it only lost the controller's label; or the deletion time is in the future, because clocks differ.
    """
    allowed = facts.settings.lora_unload_deadline
    deleted = request.parent["metadata"].get("deletionTimestamp")
    if deleted and datetime.fromisoformat(deleted) - facts.now < timedelta(seconds=allowed):
        return seconds_left(deleted, allowed, facts.now)
    if _ready_reason(request.status) == ModelReason.UNLOADING:
        return seconds_left(_transition_time(request.status), allowed, facts.now)
    return allowed


def _ready_reason(status: Mapping[str, Json]) -> str:
    condition = find_condition(status.get("conditions") or (), READY)
    return str(condition["reason"]) if condition else ""


def _transition_time(status: Mapping[str, Json]) -> str:
    condition = find_condition(status.get("conditions") or (), READY)
    return str(condition["lastTransitionTime"]) if condition else ""


def _age(moment: str, now: datetime) -> float:
    """Seconds since a Kubernetes timestamp; 0 for one in the future."""
    return max(timedelta(), now - datetime.fromisoformat(moment)).total_seconds()


def customize(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:  # noqa: ARG001 - every hook's signature
    """The base model's EndpointSlices, and for a LoRA model the other models, which may claim the same adapter name."""
    try:
        model = parse_parent(Model, request.parent)
    except InvalidSpec:
        return []
    namespace = model.metadata.namespace
    labels = {contract.LABEL_MODEL_HASH: identity.model_hash(model.spec.base_model_name)}
    slices = RelatedRule.of(kinds.ENDPOINT_SLICE, namespace, match_labels=labels)
    return [slices, RelatedRule.of(contract.MODEL, namespace)] if model.is_lora else [slices]
