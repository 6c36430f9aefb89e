"""The engines in a DynamoModel's status: what the prober reports of each, and what the last status said."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from hooks.ground.k8s.conditions import format_time
from hooks.ground.k8s.types import Json
from hooks.model.plan.model import ModelPlan
from hooks.model.prober.messages import AdapterPhase, EndpointReport, GraphOffer, LoadReport
from hooks.model.seen.observe import EnginePod


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """All endpoints, and by graph what its frontends offer; `called` are those that count as engines."""

    endpoints: tuple[EndpointStatus, ...]
    offers: tuple[GraphOffer, ...] = ()

    @property
    def called(self) -> tuple[EndpointStatus, ...]:
        """Endpoints that the prober calls, or will call."""
        return tuple(one for one in self.endpoints if not one.engine.refusal)


def observe_reported(plan: ModelPlan, report: LoadReport | None, now: datetime) -> Reported:
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
    return Reported(endpoints=(*called, *doubted, *refused), offers=report.offers if report else ())


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
