"""What a model's last status proves about its engines, for a prober that begins to act for the model and has no memory.

An engine's list has names and no sources, so the status is the only memory that outlives a prober. Its `adapters` are
written ahead: a prober loads an adapter only when the status that comes back names it first. So whatever an earlier
prober loaded, or is loading still, is one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.ground.k8s.types import Json
from hooks.model.plan.model import ModelPlan
from hooks.model.prober.messages import MOST_GRAPHS, AdapterPhase, EngineTarget, LoadRequest
from hooks.model.seen.observe import EnginePod

_NOTHING_UNDER_WAY = frozenset(
    {
        AdapterPhase.LOADED,
        AdapterPhase.UNVERIFIED,
        AdapterPhase.FAILED,
        AdapterPhase.UNSUPPORTED,
        AdapterPhase.UNLOADED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastStatus:
    """What the last status says of all engines: the `sources` of loads that a prober may have sent.

    `wanted` is the source of the wanted adapter, empty for none. `is_recorded`: the status names the wanted adapter
    first, so what it says about engines is about this adapter. `has_failures`: it is of this generation too, so its
    failures count. `leaves_ready_out`: it lists only some of many engines, and the others have the adapter. Those with
    a known source are listed last, so one of them on the list means that no other engine was left out.
    """

    wanted: str
    sources: tuple[str, ...]
    is_recorded: bool
    has_failures: bool
    leaves_ready_out: bool


def build_load_request(plan: ModelPlan, status: Mapping[str, Json]) -> LoadRequest:
    """The request to the prober; `status` is the model's, with what it says about each engine."""
    metadata = plan.model.metadata
    last = _read_last_status(plan, status)
    return LoadRequest(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        generation=metadata.generation,
        adapter=plan.adapter,
        is_recorded=plan.adapter is None or last.is_recorded,
        former=plan.former,
        targets=tuple(
            _build_target(one, plan.entries.get((one.address, one.pod)), last) for one in plan.engines.called
        ),
        graphs=plan.graphs[:MOST_GRAPHS] if plan.adapter is not None else (),
    )


def _read_last_status(plan: ModelPlan, status: Mapping[str, Json]) -> _LastStatus:
    is_recorded = plan.adapter is not None and plan.adapter in plan.records[:1]
    entries, total = status.get("endpoints") or (), status.get("totalEndpoints") or 0
    wanted = plan.adapter.uri if plan.adapter is not None else ""
    return _LastStatus(
        wanted=wanted,
        sources=tuple(sorted({record.uri for record in plan.records})),
        is_recorded=is_recorded,
        has_failures=is_recorded and status.get("observedGeneration") == plan.model.metadata.generation,
        leaves_ready_out=total > len(entries) and any(entry.get("source") == wanted for entry in entries),
    )


def _build_target(engine: EnginePod, entry: Mapping[str, Json] | None, last: _LastStatus) -> EngineTarget:
    """The target of an engine; `entry` is what the status says about it, None for nothing."""
    is_loaded = last.is_recorded and _has_source(entry, last)
    is_quiet = is_loaded or (not last.wanted and entry is not None and entry.get("phase") in _NOTHING_UNDER_WAY)
    return EngineTarget(
        address=engine.address,
        pod=engine.pod,
        ready=engine.ready,
        recorded=last.wanted if is_loaded else "",
        failed=_read_failure(entry) if entry is not None and last.has_failures else "",
        loading=() if is_quiet else last.sources,
    )


def _has_source(entry: Mapping[str, Json] | None, last: _LastStatus) -> bool:
    """Whether the status says that the engine has the adapter from the wanted source."""
    return last.leaves_ready_out if entry is None else entry.get("source") == last.wanted


def _read_failure(entry: Mapping[str, Json]) -> str:
    return str(entry.get("lastError") or "the load failed before") if entry.get("phase") == AdapterPhase.FAILED else ""
