"""What a DynamoModel wants of its engines: the adapter to load, and the former ones to unload.

It reads the spec, the last status and the other models; it does not know what the engines have loaded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import Problem
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.language.api.base import read_parent
from hooks.language.api.model import Model, ModelSpec
from hooks.language.validation.reading import add_problems
from hooks.model.prober.messages import Adapter
from hooks.model.rules.validate import validate_claims, validate_model
from hooks.model.seen.observe import SortedEngines, observe, sort_engines
from hooks.model.seen.pod_addresses import NamedAddress, Verdicts
from hooks.wire.metacontroller.protocol import SyncRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPlan:
    """The adapter to load on every engine, and the names of the adapters to unload.

    If the spec has `problems`, the adapter is the last good one, so an invalid spec changes nothing that runs. It is
    None for base models, in a finalize, and if there is no good one. `records` are the adapters that this model loaded
    according to its status, the current one first. `entries` are the status's entries by address and pod. `to_check`
    are the addresses that may be called only if they are those of their pods. `graphs` are those of the engines.
    """

    model: Model
    services: int
    engines: SortedEngines
    to_check: tuple[NamedAddress, ...]
    problems: tuple[Problem, ...]
    adapter: Adapter | None
    former: tuple[str, ...]
    records: tuple[Adapter, ...]
    entries: Mapping[tuple[Json, Json], Mapping[str, Json]]
    graphs: tuple[str, ...] = ()

    @property
    def has_work(self) -> bool:
        """Whether the prober has anything to do for the model, on engines that it may call."""
        return bool(self.engines.called) and (self.adapter is not None or bool(self.former))


class WantedAdapters(NamedTuple):
    """The adapter to load, the names of those to unload, and of the records in the status those of the model's own."""

    adapter: Adapter | None
    former: tuple[str, ...]
    records: tuple[Adapter, ...]


def plan_model(request: SyncRequest, facts: Facts, *, finalizing: bool, verdicts: Verdicts | None = None) -> ModelPlan:
    """What the model wants of its engines; a spec that cannot be parsed is a problem like any other.

    `verdicts` are those on the addresses in the `to_check` of the plan without them.
    """
    model, problems = _read_model(request.parent, facts.settings)
    observed = observe(request, model.spec.base_model_name, facts.settings)
    seen = observed.endpoints
    refused = validate_claims(model, observed.own_claim, observed.other_claims)
    records = read_records(request.status)
    wanted = _plan_adapters(model, records, is_valid=not problems, is_taken=bool(refused), finalizing=finalizing)
    is_checked = facts.settings.engine_addresses == "pods" and (wanted.adapter is not None or bool(wanted.former))
    return ModelPlan(
        model=model,
        services=observed.services,
        engines=sort_engines(seen, verdicts) if is_checked else seen.as_named,
        to_check=seen.to_check if is_checked else (),
        problems=(*problems, *refused),
        adapter=wanted.adapter,
        former=wanted.former,
        records=wanted.records if refused else records,
        entries={(one.get("address"), one.get("podName")): one for one in request.status.get("endpoints") or ()},
        graphs=observed.graphs,
    )


def plan_stored(parent: ReadManifest, settings: Settings, *, finalizing: bool) -> tuple[WantedAdapters, ...]:
    """What a stored model may want, by its spec and its status: if its adapter's name is its own, and if it is taken.

    Which of the two is so depends on the other models of the namespace.
    """
    model, problems = _read_model(parent, settings)
    records = read_records(parent.get("status") or {})
    return tuple(
        _plan_adapters(model, records, is_valid=not problems, is_taken=is_taken, finalizing=finalizing)
        for is_taken in (False, True)
    )


def _plan_adapters(
    model: Model, records: tuple[Adapter, ...], *, is_valid: bool, is_taken: bool, finalizing: bool
) -> WantedAdapters:
    """The adapter to load and those to unload; `is_taken`: another model owns the name of the spec's adapter."""
    is_good = is_valid and not is_taken
    mine = tuple(record for record in records if not is_taken or record.name != model.spec.model_name)
    adapter = None if finalizing else _resolve_adapter(model, mine, is_good=is_good)
    # A valid model may have loaded its adapter although its status, if lost, does not say so.
    named = (model.spec.model_name,) if finalizing and model.is_lora and is_good else ()
    return WantedAdapters(adapter=adapter, former=_former_names(mine, named, adapter), records=mine)


def _read_model(parent: ReadManifest, settings: Settings) -> tuple[Model, tuple[Problem, ...]]:
    """The model with all its problems; if fields do not fit, the model has only the strings of the spec."""
    manifest = {"metadata": parent["metadata"], "spec": parent.get("spec") or {}}
    model, misfits = read_parent(Model, manifest)
    problems = add_problems(misfits, validate_model(model, settings))
    return (model.model_copy(update={"spec": _readable_spec(parent)}) if misfits else model), problems


def _readable_spec(parent: ReadManifest) -> ModelSpec:
    """The string fields of a spec that violates its schema: enough to find the engines and to unload the adapter."""
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
