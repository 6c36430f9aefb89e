"""The status of a DynamoModel: its engines and adapters as the prober reports them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, Condition, merge_conditions
from hooks.ground.k8s.types import Json
from hooks.ground.problems import join_texts
from hooks.model.plan.model import ModelPlan
from hooks.model.prober.messages import Adapter, AdapterPhase
from hooks.model.report.endpoints import EndpointStatus, Reported
from hooks.model.report.offering import explain_misses, explain_offers
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
    NOT_OFFERED = "NotOffered"
    """The engines have the adapter, and a frontend does not offer it to clients."""
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


def build_status(
    plan: ModelPlan,
    reported: Reported,
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
    called, endpoints = reported.called, reported.endpoints
    engines, services = _judge_engines(plan, called)
    ready = _judge(plan, called, engines, is_unloading=is_unloading)
    if plan.adapter is not None and not is_unloading and not plan.problems:
        ready = _judge_offers(ready, reported, previous, now)
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


def _judge_offers(ready: Condition, reported: Reported, previous: Mapping[str, Json], now: datetime) -> Condition:
    """`Ready` by what the frontends offer: none of what the engines have is of use to a client without them."""
    loaded = [one.since for one in reported.called if one.ready]
    if ready.status == "True":
        why = explain_offers(reported.offers, loaded, previous, now)
        return Condition(type=READY, status="False", reason=ModelReason.NOT_OFFERED, message=why) if why else ready
    misses = explain_misses(reported.offers) if loaded else ()
    return replace(ready, message="; ".join((ready.message, *misses)))


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
