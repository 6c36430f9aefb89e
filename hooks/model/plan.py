"""What a DynamoModel wants of its engines: which adapter, from where, and which former ones must go.

Knows the spec, the status as last written and the other models; not what the engines hold.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hooks.api.base import parse_parent
from hooks.api.model import Model, ModelSpec
from hooks.errors import InvalidSpec
from hooks.facts import Facts
from hooks.k8s.types import Json, ReadManifest
from hooks.metacontroller.protocol import SyncRequest
from hooks.model.observe import Candidate, Seen, observe
from hooks.model.prober_messages import Adapter, AdapterPhase, EngineTarget, LoadRequest
from hooks.model.validate import validate_claims, validate_model


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPlan:
    """The adapter that every engine should hold, and the names of those that none should hold any more.

    With `problems` the adapter is the one that was last good, so that a broken spec changes nothing that runs; None
    when there is none, for base models, and in a finalize. `records` are the adapters that the status says this model
    loaded, the current one first.
    """

    model: Model
    seen: Seen
    problems: tuple[str, ...]
    adapter: Adapter | None
    former: tuple[str, ...]
    records: tuple[Adapter, ...]

    @property
    def has_work(self) -> bool:
        """Whether there is something to ask the prober about."""
        return bool(self.seen.candidates) and (self.adapter is not None or bool(self.former))


def plan_model(request: SyncRequest, facts: Facts, *, finalizing: bool) -> ModelPlan:
    """Decide what to ask of the engines; a spec that does not even parse is a problem like any other."""
    model, faults = _read_model(request.parent)
    seen = observe(request, model.spec.base_model_name, facts.settings.engine_port)
    faults = faults or validate_model(model, facts.settings)
    refused = validate_claims(model, seen.own_claim, seen.other_claims)
    records = read_records(request.status)
    mine = tuple(record for record in records if not refused or record.name != model.spec.model_name)
    adapter = None if finalizing else _resolve_adapter(model, mine, is_good=not faults and not refused)
    may_have_loaded = model.is_lora and not faults and not refused  # although its status, being lost, has no record
    named = (model.spec.model_name,) if finalizing and may_have_loaded else ()
    return ModelPlan(
        model=model,
        seen=seen,
        problems=(*faults, *refused),
        adapter=adapter,
        former=_former_names(mine, named, adapter),
        records=records if not refused else mine,
    )


def _read_model(parent: ReadManifest) -> tuple[Model, tuple[str, ...]]:
    try:
        return parse_parent(Model, {"metadata": parent["metadata"], "spec": parent.get("spec") or {}}), ()
    except InvalidSpec as error:
        empty = parse_parent(Model, {"metadata": parent["metadata"], "spec": {}})
        return empty.model_copy(update={"spec": _readable_spec(parent)}), error.problems


def _readable_spec(parent: ReadManifest) -> ModelSpec:
    """The texts of a spec that does not fit its schema: enough to find its engines and to unload its adapter."""
    texts = {key: value for key, value in (parent.get("spec") or {}).items() if isinstance(value, str)}
    return ModelSpec.model_validate({key: value for key, value in texts.items() if key != "source"})


def read_records(status: Mapping[str, Json]) -> tuple[Adapter, ...]:
    """The adapters of `status.adapters` (`name`, `source`), the current one first."""
    return tuple(
        Adapter(name=record["name"], uri=record["source"])
        for record in status.get("adapters") or ()
        if record.get("name") and record.get("source")
    )


def _resolve_adapter(model: Model, records: tuple[Adapter, ...], *, is_good: bool) -> Adapter | None:
    if is_good and model.is_lora and model.spec.source is not None:
        return Adapter(name=model.spec.model_name, uri=model.spec.source.uri)
    return records[0] if model.is_lora and records else None


def _former_names(records: Iterable[Adapter], named: Iterable[str], adapter: Adapter | None) -> tuple[str, ...]:
    names = {record.name for record in records} | {name for name in named if name}
    return tuple(sorted(names - {adapter.name if adapter else ""}))


def build_load_request(plan: ModelPlan, status: Mapping[str, Json]) -> LoadRequest:
    """Write the question to the prober; `status` is the parent's, for what it says of each engine."""
    metadata = plan.model.metadata
    entries = {(str(e.get("address")), str(e.get("podName"))): e for e in status.get("endpoints") or ()}
    past = _read_past(plan, status)
    return LoadRequest(
        namespace=metadata.namespace,
        name=metadata.name,
        generation=metadata.generation,
        adapter=plan.adapter,
        former=plan.former,
        targets=tuple(
            _build_target(one, entries.get((one.address, one.pod), {}), past) for one in plan.seen.candidates
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Past:
    """How the adapter that is wanted stands to the one that the status is about, its first record.

    `has_name` and `has_failures` say whether its sources and failures are the wanted one's. `replaced` is the source
    that engines may still hold under the wanted name, where no entry of the status says which. `loading` is the source
    of loads that may be under way though they are not wanted any more. Both are empty for none.
    """

    has_name: bool
    has_failures: bool
    replaced: str
    loading: str


def _read_past(plan: ModelPlan, status: Mapping[str, Json]) -> _Past:
    wanted, first = plan.adapter, next(iter(plan.records), None)
    is_same = wanted is not None and wanted == first
    return _Past(
        has_name=wanted is not None and first is not None and first.name == wanted.name,
        has_failures=is_same and status.get("observedGeneration") == plan.model.metadata.generation,
        replaced=_replaced_source(plan),
        loading=first.uri if first is not None and not is_same else "",
    )


def _build_target(candidate: Candidate, entry: Mapping[str, Json], past: _Past) -> EngineTarget:
    """`entry` is what the status says of the engine; empty for nothing."""
    return EngineTarget(
        address=candidate.address,
        pod=candidate.pod,
        ready=candidate.ready,
        recorded=(str(entry.get("source", "")) if past.has_name else "") or past.replaced,
        failed=_read_failure(entry) if past.has_failures else "",
        loading=past.loading if past.loading and _may_be_loading(entry) else "",
    )


def _read_failure(entry: Mapping[str, Json]) -> str:
    return str(entry.get("lastError") or "it failed before") if entry.get("phase") == AdapterPhase.FAILED else ""


def _may_be_loading(entry: Mapping[str, Json]) -> bool:
    """Whether a load was under way, or was tried and may go on in the engine although its answer never came."""
    return entry.get("phase") in {AdapterPhase.LOADING, AdapterPhase.RETRYING} and bool(entry.get("attempts"))


def _replaced_source(plan: ModelPlan) -> str:
    """The source that engines may still hold under the wanted name, where no entry of the status says which."""
    adapter = plan.adapter
    if adapter is None:
        return ""
    return next((r.uri for r in plan.records if r.name == adapter.name and r.uri != adapter.uri), "")
