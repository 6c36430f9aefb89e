"""The spec and the status of each kind in the other version, and what that version cannot say."""

from collections.abc import Callable, Mapping
from functools import partial

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.conversion.by_table import convert_by, convert_fields
from hooks.language.conversion.remembered import remembered
from hooks.language.conversion.sides import Side
from hooks.language.conversion.tables import translate
from hooks.language.conversion.version import Conversion, Convert, Converted, Fields
from hooks.language.v1beta1.conversion.component_lists import list_components, map_services
from hooks.language.v1beta1.conversion.component_pairs import COMPONENT_TABLE, OBJECT_NAME
from hooks.language.v1beta1.conversion.graph_pairs import (
    ADAPTER_TABLE,
    COMPONENT_STATUS_TABLE,
    GRAPH_STATUS_TABLE,
    GRAPH_TABLE,
    LISTED,
    OBSERVED,
    REPLICAS_TABLE,
    SAME_TABLE,
)
from hooks.language.v1beta1.conversion.request_pairs import REQUEST_TABLE
from hooks.language.v1beta1.conversion.request_shapes import gather_request, spread_request
from hooks.language.v1beta1.conversion.request_status import request_status_table
from hooks.language.v1beta1.conversion.shapes import gather, spread

_NOTHING: Fields = {}


def _convert_graph_spec(side: Side, spec: Fields, saved: Fields) -> Converted:
    ours, theirs = LISTED[side.opposite], LISTED[side]
    made, kept = convert_fields(GRAPH_TABLE, side, _without(spec, ours), _without(saved, theirs))
    former = saved.get(theirs)
    if ours not in spec:
        # Only a value of another type has nothing that stands for it.
        is_unsaid = theirs in saved and not isinstance(former, dict if side is Side.HUB else list)
        return {**made, **({theirs: former} if is_unsaid else {})}, kept
    written = spec[ours]
    if side is Side.SPOKE and isinstance(written, dict):
        components, services = list_components(written, former if isinstance(former, list) else [])
        return {**made, theirs: components}, {**kept, **({ours: services} if services else {})}
    if side is Side.HUB and isinstance(written, list):
        services, components = map_services(written, former if isinstance(former, dict) else {})
        return {**made, theirs: services}, {**kept, **({ours: components} if components else {})}
    return made, {**kept, ours: written}


def _convert_graph_status(side: Side, status: Fields, saved: Fields) -> Converted:
    ours, theirs = LISTED[side.opposite], LISTED[side]
    made, kept = convert_fields(GRAPH_STATUS_TABLE, side, _without(status, ours), _without(saved, theirs))
    observed, former = status.get(ours), saved.get(theirs)
    if not isinstance(observed, dict):
        return {**made, **({theirs: observed} if ours in status else {})}, kept
    known = former if isinstance(former, dict) else {}
    parts = {name: _convert_replicas(side, one, known.get(name)) for name, one in observed.items()}
    left = {name: part for name, (_, part) in parts.items() if part}
    return {**made, theirs: {name: part for name, (part, _) in parts.items()}}, {
        **kept,
        **({ours: left} if left else {}),
    }


def _convert_component_spec(side: Side, spec: Fields, saved: Fields, name: str) -> Converted:
    written = side.opposite
    translated = translate(
        COMPONENT_TABLE,
        side,
        spread(written, spec),
        saved=spread(side, saved),
        around={OBJECT_NAME: name} if name else {},
    )
    return gather(side, translated.result), gather(written, translated.kept, sparse=True)


def _convert_component_status(side: Side, status: Fields, saved: Fields, _name: str) -> Converted:
    ours, theirs = OBSERVED[side.opposite], OBSERVED[side]
    made, kept = convert_fields(COMPONENT_STATUS_TABLE, side, _without(status, ours), _without(saved, theirs))
    if ours not in status:
        return made, kept
    replicas, left = _convert_replicas(side, status[ours], saved.get(theirs))
    return {**made, theirs: replicas}, {**kept, **({ours: left} if left else {})}


def _convert_replicas(side: Side, replicas: Json, saved: Json) -> tuple[Json, dict[str, Json]]:
    if not isinstance(replicas, dict):
        return replicas, {}
    return _CONVERT_REPLICAS[side](replicas, saved if isinstance(saved, dict) else _NOTHING)


def _convert_request_spec(side: Side, spec: Fields, saved: Fields, _name: str) -> Converted:
    written = side.opposite
    former = spread_request(side, saved)
    translated = translate(REQUEST_TABLE, side, spread_request(written, spec), saved=former)
    return gather_request(side, translated.result), gather_request(written, translated.kept, sparse=True)


def _remember(convert: Callable[[Side, Fields, Fields], Converted]) -> Conversion:
    known = {side: remembered(partial(convert, side), results=128, max_bytes=2**16) for side in Side}
    return lambda side, fields, saved, _name: known[side](fields, saved)


def _without(fields: Fields, name: str) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if key != name}


_CONVERT_REPLICAS: Mapping[Side, Callable[[Fields, Fields], Converted]] = {
    side: remembered(partial(convert_fields, REPLICAS_TABLE, side), results=4096, max_bytes=2**10) for side in Side
}


def build_conversions(convert: Convert) -> Mapping[str, tuple[Conversion, Conversion]]:
    """The conversions of spec and status, by kind; `convert` converts the graph in a request's status."""
    return {
        contract.GRAPH.kind: (_remember(_convert_graph_spec), _remember(_convert_graph_status)),
        contract.COMPONENT.kind: (_convert_component_spec, _convert_component_status),
        contract.SCALING_ADAPTER.kind: (convert_by(ADAPTER_TABLE), convert_by(SAME_TABLE)),
        contract.GRAPH_REQUEST.kind: (_convert_request_spec, convert_by(request_status_table(convert))),
    }
