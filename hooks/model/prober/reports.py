"""The prober's answer about a model: one entry for each of its engines."""

from collections.abc import Mapping

from hooks.model.prober.adapter_state import AdapterState, Goal
from hooks.model.prober.engine_record import EngineRecord
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import AdapterPhase, EndpointReport, EngineTarget, LoadReport, LoadRequest


def build_report(
    request: LoadRequest, engines: Mapping[str, EngineRecord], limits: Limits, *, first_asked: float, now: float
) -> LoadReport:
    """The report on a request; `engines` by address, `first_asked` is when the mandate began.

    It is `starting` while some engine may not have been listed yet.
    """
    endpoints = tuple([_report_engine(target, engines.get(target.address), request, now) for target in request.targets])
    all_lists = len(request.targets) * limits.list_grace / limits.concurrency
    is_new = now < first_asked + limits.verify_interval + limits.list_timeout + all_lists
    is_unknown = any(entry.phase is AdapterPhase.UNKNOWN for entry in endpoints)
    return LoadReport(starting=is_new and is_unknown, endpoints=endpoints)


def _report_engine(
    target: EngineTarget, engine: EngineRecord | None, request: LoadRequest, now: float
) -> EndpointReport:
    adapters = engine.adapters if engine is not None else {}
    unwanted = [
        state for state in adapters.values() if state.wanted.goal is Goal.UNLOADED and state.wanted.model == request.key
    ]
    left = _list_left(unwanted) if unwanted else ()
    if request.adapter is None:
        return _report_unloading(target, unwanted, left, now)
    state = adapters.get(request.adapter.name)
    if state is None or state.wanted.model != request.key:
        owner = f"DynamoModel {state.wanted.model}" if state is not None else "another DynamoModel"
        error = f"{owner} has an adapter of this name on the engine"
        return EndpointReport(address=target.address, phase=AdapterPhase.PENDING, last_error=error, left=left)
    return _report_adapter(target, state, left, now)


def _list_left(unwanted: list[AdapterState]) -> tuple[str, ...]:
    """Names of the adapters that may still be loaded."""
    return tuple(sorted(state.wanted.name for state in unwanted if state.phase is not AdapterPhase.UNLOADED))


def _report_unloading(
    target: EngineTarget, unwanted: list[AdapterState], left: tuple[str, ...], now: float
) -> EndpointReport:
    """The report of the unload that is furthest from its end; `Unloaded` if the model has nothing on the engine."""
    if not unwanted:
        return EndpointReport(address=target.address, phase=AdapterPhase.UNLOADED, left=left)
    slowest = max(unwanted, key=lambda state: (state.phase is not AdapterPhase.UNLOADED, state.since))
    return _report_adapter(target, slowest, left, now)


def _report_adapter(target: EngineTarget, state: AdapterState, left: tuple[str, ...], now: float) -> EndpointReport:
    # A source in the status says that no other load is under way, also to a prober after this one.
    is_sure = state.phase.is_ready and not state.late_loads.may_come(now)
    return EndpointReport(
        address=target.address,
        phase=state.phase,
        attempts=state.tries.attempts,
        last_error=state.last_error,
        age=max(0.0, now - state.since),
        source=state.source if is_sure else "",
        left=left,
    )
