"""The status of a DynamoModel: its engines and adapters as the prober reports them."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, Condition, format_time, merge_conditions
from hooks.ground.k8s.types import Json
from hooks.ground.problems import join_texts
from hooks.model.plan.model import ModelPlan
from hooks.model.prober.messages import Adapter, AdapterPhase, EndpointReport, LoadReport
from hooks.model.seen.observe import EnginePod
from hooks.wire.policy import identity
from hooks.wire.policy.conditions import judge_spec

MAX_ENDPOINTS = 1000
"""The most endpoints in a status: 10,000 would exceed what etcd stores. The counts include the others."""

ENDPOINTS_READY, SERVICES_FOUND = "EndpointsReady", "ServicesFound"


class ModelReason(StrEnum):
    """Reasons of a model's conditions."""

    SERVICES_FOUND = "ServicesFound"
    NO_SERVICES = "NoServicesFound"
    NO_ENDPOINTS = "NoEndpoints"
    DISCOVERED = "EndpointsDiscovered"
    ALL_READY = "AllEndpointsReady"
    NOT_READY = "NotReady"
    UNSUPPORTED = "Unsupported"
    LOAD_FAILED = "LoadFailed"
    """An engine cannot load the adapter; it is tried again when the spec changes, or rarely."""
    INVALID = "InvalidSpec"
    UNLOADING = "Unloading"
    """The model is being deleted, and its adapters are being unloaded."""


_WORST_FIRST = (
    AdapterPhase.FAILED,
    AdapterPhase.RETRYING,
    AdapterPhase.UNLOADING,
    AdapterPhase.LOADING,
    AdapterPhase.PENDING,
    AdapterPhase.UNKNOWN,
)
_MAX_EXPLAINED = 3


class EndpointStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An engine in the status; `phase` is None if no adapter is wanted on it.

    A sync makes one for each engine, and a frozen dataclass would take ten times as long.
    """

    engine: EnginePod
    ready: bool = False
    phase: AdapterPhase | None = None
    attempts: int = 0
    last_error: str = ""
    since: str = ""
    source: str = ""

    def to_json(self) -> dict[str, Json]:
        """The entry in the status, without empty fields."""
        engine = self.engine
        pod = {"podName": engine.pod} if engine.pod else {}
        entry: dict[str, Json] = {"address": engine.address, **pod, "ready": self.ready}
        if self.phase is not None:
            entry["phase"], entry["attempts"], entry["since"] = str(self.phase), self.attempts, self.since
        if self.last_error:
            entry["lastError"] = self.last_error
        if self.source:
            entry["source"] = self.source
        return entry


def observe_endpoints(plan: ModelPlan, report: LoadReport | None, now: datetime) -> tuple[EndpointStatus, ...]:
    """One endpoint per engine; one that the prober has not called yet keeps its entry of the previous status.

    Then come those whose addresses could not be checked, and last those that the prober does not call, each with the
    reason.
    """
    reports = {entry.address: entry for entry in report.endpoints} if report else {}
    is_same = plan.adapter is not None and plan.adapter in plan.records[:1]
    called = tuple(
        _observe_endpoint(
            one, reports.get(one.address), plan.entries.get((one.address, one.pod), {}), now, is_same=is_same
        )
        for one in plan.engines.called
    )
    keeps_source = report is None or plan.adapter is None or _is_named(plan, plan.adapter.name)
    doubted = (_observe_doubted(one, plan, now, keeps_source=keeps_source) for one in plan.engines.doubted)
    refused = (EndpointStatus(engine=one, last_error=one.refusal) for one in plan.engines.refused)
    return (*called, *doubted, *refused)


def _is_named(plan: ModelPlan, name: str) -> bool:
    """Whether the sources in the last status are those of an adapter of this name."""
    return any(record.name == name for record in plan.records[:1])


def _observe_doubted(engine: EnginePod, plan: ModelPlan, now: datetime, *, keeps_source: bool) -> EndpointStatus:
    """The endpoint of an engine that is not called yet; the source that it has loaded is kept."""
    before = plan.entries.get((engine.address, engine.pod), {})
    phase = AdapterPhase.UNLOADING if plan.adapter is None else AdapterPhase.PENDING
    return EndpointStatus(
        engine=engine,
        phase=phase,
        last_error=engine.doubt,
        since=(before.get("since") if before.get("phase") == phase else None) or format_time(now),
        source=str(before.get("source", "")) if keeps_source else "",
    )


def _observe_endpoint(
    engine: EnginePod, reported: EndpointReport | None, before: Mapping[str, Json], now: datetime, *, is_same: bool
) -> EndpointStatus:
    if reported is None:
        return EndpointStatus(engine=engine)
    if reported.phase is AdapterPhase.UNKNOWN and is_same and before.get("phase"):
        return _read_endpoint(engine, before)
    phase = AdapterPhase.PENDING if reported.phase is AdapterPhase.UNKNOWN else reported.phase
    kept = before.get("since") if before.get("phase") == phase else None
    return EndpointStatus(
        engine=engine,
        ready=phase.is_ready,
        phase=phase,
        attempts=reported.attempts,
        last_error=reported.last_error,
        since=kept or format_time(now - timedelta(seconds=reported.age)),
        source=reported.source,
    )


def _read_endpoint(engine: EnginePod, entry: Mapping[str, Json]) -> EndpointStatus:
    """The endpoint of an entry; a phase that another version of the hooks wrote counts as pending."""
    phase = AdapterPhase(entry["phase"]) if entry["phase"] in set(AdapterPhase) else AdapterPhase.PENDING
    return EndpointStatus(
        engine=engine,
        ready=bool(entry.get("ready")) and phase.is_ready,
        phase=phase,
        attempts=int(entry.get("attempts", 0)),
        last_error=str(entry.get("lastError", "")),
        since=str(entry.get("since", "")),
        source=str(entry.get("source", "")),
    )


def build_status(
    plan: ModelPlan,
    endpoints: tuple[EndpointStatus, ...],
    records: tuple[Adapter, ...],
    *,
    previous: Mapping[str, Json],
    now: datetime,
    is_unloading: bool = False,
) -> dict[str, Json]:
    """The whole status; `records` are the adapters that this model loaded or is loading.

    Endpoints that the prober does not call are listed with the reason. They are no engines, so they do not count.
    """
    generation = plan.model.metadata.generation
    called = tuple(endpoint for endpoint in endpoints if not endpoint.engine.refusal)
    engines, services = _judge_engines(plan, called)
    ready = _judge(plan, called, engines, is_unloading=is_unloading)
    current = [engines, services, ready, judge_spec(plan.problems)]
    unsupported = sum(e.phase is AdapterPhase.UNSUPPORTED for e in called)
    status: dict[str, Json] = {
        "observedGeneration": generation,
        "readyEndpoints": sum(e.ready for e in called),
        "totalEndpoints": len(called),
        "conditions": merge_conditions(previous.get("conditions") or (), current, now=now, generation=generation),
    }
    if unsupported:
        status["unsupportedEndpoints"] = unsupported
    if endpoints:
        status["endpoints"] = [endpoint.to_json() for endpoint in _select_listed(endpoints)]
    if records:
        status["adapters"] = [{"name": record.name, "source": record.uri} for record in records]
    return status


def _select_listed(endpoints: tuple[EndpointStatus, ...]) -> list[EndpointStatus]:
    """As many endpoints as a status holds; those with a known source come last, and are left out first."""
    if len(endpoints) <= MAX_ENDPOINTS:
        return list(endpoints)
    return sorted(endpoints, key=lambda e: (e.ready and bool(e.source), e.ready, e.engine.name))[:MAX_ENDPOINTS]


def _judge_engines(plan: ModelPlan, endpoints: tuple[EndpointStatus, ...]) -> tuple[Condition, Condition]:
    """The two conditions that upstream has too, with its reasons and messages.

    Source: Dynamo operator, internal/controller/dynamo_model_controller.go.
    """
    if not endpoints:
        message = "; ".join((_explain_none(plan), *_explain_refused(plan)))
        return (
            Condition(type=ENDPOINTS_READY, status="False", reason=ModelReason.NO_ENDPOINTS, message=message),
            Condition(type=SERVICES_FOUND, status="False", reason=ModelReason.NO_SERVICES, message=message),
        )
    if plan.services:
        message = f"Found {plan.services} service(s)"
        found = Condition(type=SERVICES_FOUND, status="True", reason=ModelReason.SERVICES_FOUND, message=message)
    else:
        message = "No services associated with endpoint slices"
        found = Condition(type=SERVICES_FOUND, status="False", reason=ModelReason.NO_SERVICES, message=message)
    return _judge_endpoints(plan, endpoints), found


def _explain_none(plan: ModelPlan) -> str:
    """Why there are no engines, and what to look at."""
    base, namespace = plan.model.spec.base_model_name, plan.model.metadata.namespace
    selector = f"{contract.LABEL_MODEL_HASH}={identity.model_hash(base)}"
    if _explain_refused(plan):
        return (
            f"No endpoint of base model {base} is called; see kubectl get endpointslices -n {namespace} -l {selector}"
        )
    return (
        f"No endpoint slices found for base model {base}; a worker of namespace {namespace} must have it as "
        f"modelRef.name; then kubectl get endpointslices -n {namespace} -l {selector} shows one"
    )


def _judge_endpoints(plan: ModelPlan, endpoints: tuple[EndpointStatus, ...]) -> Condition:
    total = len(endpoints)
    if not plan.model.is_lora:
        message = f"Found {total} endpoint(s) for base model"
        return Condition(type=ENDPOINTS_READY, status="True", reason=ModelReason.DISCOVERED, message=message)
    ready = sum(e.ready for e in endpoints)
    supported = sum(e.phase is not AdapterPhase.UNSUPPORTED for e in endpoints)
    others = f"; {total - supported} more without LoRA support" if supported < total else ""
    if 0 < supported == ready:
        message = f"All {ready} endpoint(s) are ready{others}"
        return Condition(type=ENDPOINTS_READY, status="True", reason=ModelReason.ALL_READY, message=message)
    message = f"Found {ready} ready endpoint(s) out of {supported} total{others}"
    return Condition(type=ENDPOINTS_READY, status="False", reason=ModelReason.NOT_READY, message=message)


def _judge(
    plan: ModelPlan, endpoints: tuple[EndpointStatus, ...], engines: Condition, *, is_unloading: bool
) -> Condition:
    """`Ready`: true if the spec is valid, each engine with LoRA support has the adapter, and a pod is ready.

    A pod that is not ready gets no requests, so one beside pods that are ready does no harm.
    """
    if is_unloading:
        message = f"Unloading {', '.join(plan.former)} from {len(endpoints)} endpoint(s)"
        return Condition(type=READY, status="False", reason=ModelReason.UNLOADING, message=message)
    if plan.problems:
        return Condition(type=READY, status="False", reason=ModelReason.INVALID, message=join_texts(plan.problems))
    serving = [e for e in endpoints if e.ready or not plan.model.is_lora]
    if engines.status == "True" and not any(e.engine.ready for e in serving):
        message = _explain_pods(plan, serving)
        return Condition(type=READY, status="False", reason=ModelReason.NOT_READY, message=message)
    if engines.status == "True":
        message = "; ".join((engines.message, *_explain_refused(plan)))
        return Condition(type=READY, status="True", reason=engines.reason, message=message)
    if endpoints and all(e.phase is AdapterPhase.UNSUPPORTED for e in endpoints):
        message = f"None of {len(endpoints)} endpoint(s) supports LoRA; start the workers with LoRA enabled"
        return Condition(type=READY, status="False", reason=ModelReason.UNSUPPORTED, message=message)
    reason = ModelReason.LOAD_FAILED if any(e.phase is AdapterPhase.FAILED for e in endpoints) else engines.reason
    refused = _explain_refused(plan) if endpoints else []  # without endpoints, the message has them already
    explained = "; ".join((engines.message, *explain(endpoints), *refused))
    return Condition(type=READY, status="False", reason=reason, message=explained)


def _explain_pods(plan: ModelPlan, serving: list[EndpointStatus]) -> str:
    """That no pod which could serve the model is ready."""
    which = "with the adapter" if plan.model.is_lora else f"of base model {plan.model.spec.base_model_name}"
    see = f"kubectl describe pod {serving[0].engine.pod} -n {plan.model.metadata.namespace}"
    return f"None of the {len(serving)} pod(s) {which} is ready; see {see}"


def explain(endpoints: Iterable[EndpointStatus]) -> list[str]:
    """Sentences about the endpoints that are not ready, worst first, and the number of those left out."""
    not_ready = sorted(
        (e for e in endpoints if e.phase in _WORST_FIRST),
        key=lambda e: (_WORST_FIRST.index(e.phase or AdapterPhase.UNKNOWN), e.engine.pod),
    )
    sentences = [_explain_one(endpoint) for endpoint in not_ready[:_MAX_EXPLAINED]]
    more = len(not_ready) - _MAX_EXPLAINED
    return [*sentences, f"and {more} more"] if more > 0 else sentences


def _explain_refused(plan: ModelPlan) -> list[str]:
    """Sentences about the endpoints that the prober does not call."""
    refused = plan.engines.refused
    more = len(refused) - _MAX_EXPLAINED
    sentences = [f"{one.name} is {one.refusal}" for one in refused[:_MAX_EXPLAINED]]
    return [*sentences, f"and {more} more are not called"] if more > 0 else sentences


def _explain_one(endpoint: EndpointStatus) -> str:
    tries = f" after {endpoint.attempts} attempt(s)" if endpoint.attempts else ""
    error = f": {endpoint.last_error}" if endpoint.last_error else ""
    return f"{endpoint.engine.pod} is {endpoint.phase}{tries}{error}"
