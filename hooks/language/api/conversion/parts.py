"""The spec and the status of each kind in the other version, and what that version cannot say."""

from collections.abc import Callable, Mapping
from functools import partial

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.api.conversion.component_lists import list_components, map_services
from hooks.language.api.conversion.component_pairs import COMPONENT_TABLE, OBJECT_NAME
from hooks.language.api.conversion.graph_pairs import (
    ADAPTER_TABLE,
    COMPONENT_STATUS_TABLE,
    GRAPH_STATUS_TABLE,
    GRAPH_TABLE,
    LISTED,
    OBSERVED,
    REPLICAS_TABLE,
    SAME_TABLE,
)
from hooks.language.api.conversion.pairs import Frame
from hooks.language.api.conversion.remembered import remembered
from hooks.language.api.conversion.request_pairs import REQUEST_TABLE
from hooks.language.api.conversion.request_shapes import gather_request, spread_request
from hooks.language.api.conversion.request_status import REQUEST_STATUS_TABLE
from hooks.language.api.conversion.shapes import gather, spread
from hooks.language.api.conversion.tables import Table, translate
from hooks.language.api.conversion.versions import Version

Fields = Mapping[str, Json]
Converted = tuple[dict[str, Json], dict[str, Json]]
"""A part in the other version, and the fields that it had and that version cannot say, in the shape that it had."""

Conversion = Callable[[Version, Fields, Fields, str], Converted]
"""From the wanted version, a part, what was kept of it in the wanted version, and the object's name."""

_NOTHING: Fields = {}


def _convert_graph_spec(version: Version, spec: Fields, saved: Fields) -> Converted:
    ours, theirs = LISTED[version.other], LISTED[version]
    made, kept = _convert_fields(GRAPH_TABLE, version, _without(spec, ours), _without(saved, theirs))
    former = saved.get(theirs)
    if ours not in spec:
        # Only a value of another type has nothing that stands for it.
        is_unsaid = theirs in saved and not isinstance(former, dict if version is Version.ALPHA else list)
        return {**made, **({theirs: former} if is_unsaid else {})}, kept
    written = spec[ours]
    if version is Version.BETA and isinstance(written, dict):
        components, services = list_components(written, former if isinstance(former, list) else [])
        return {**made, theirs: components}, {**kept, **({ours: services} if services else {})}
    if version is Version.ALPHA and isinstance(written, list):
        services, components = map_services(written, former if isinstance(former, dict) else {})
        return {**made, theirs: services}, {**kept, **({ours: components} if components else {})}
    return made, {**kept, ours: written}


def _convert_graph_status(version: Version, status: Fields, saved: Fields) -> Converted:
    ours, theirs = LISTED[version.other], LISTED[version]
    made, kept = _convert_fields(GRAPH_STATUS_TABLE, version, _without(status, ours), _without(saved, theirs))
    observed, former = status.get(ours), saved.get(theirs)
    if not isinstance(observed, dict):
        return {**made, **({theirs: observed} if ours in status else {})}, kept
    known = former if isinstance(former, dict) else {}
    parts = {name: _convert_replicas(version, one, known.get(name)) for name, one in observed.items()}
    left = {name: part for name, (_, part) in parts.items() if part}
    return {**made, theirs: {name: part for name, (part, _) in parts.items()}}, {
        **kept,
        **({ours: left} if left else {}),
    }


def _convert_component_spec(version: Version, spec: Fields, saved: Fields, name: str) -> Converted:
    written = version.other
    translated = translate(
        COMPONENT_TABLE,
        version,
        spread(written, spec),
        saved=spread(version, saved),
        around={OBJECT_NAME: name} if name else {},
    )
    return gather(version, translated.result), gather(written, translated.kept, sparse=True)


def _convert_component_status(version: Version, status: Fields, saved: Fields, _name: str) -> Converted:
    ours, theirs = OBSERVED[version.other], OBSERVED[version]
    made, kept = _convert_fields(COMPONENT_STATUS_TABLE, version, _without(status, ours), _without(saved, theirs))
    if ours not in status:
        return made, kept
    replicas, left = _convert_replicas(version, status[ours], saved.get(theirs))
    return {**made, theirs: replicas}, {**kept, **({ours: left} if left else {})}


def _convert_replicas(version: Version, replicas: Json, saved: Json) -> tuple[Json, dict[str, Json]]:
    if not isinstance(replicas, dict):
        return replicas, {}
    return _CONVERT_REPLICAS[version](replicas, saved if isinstance(saved, dict) else _NOTHING)


def _convert_request_spec(version: Version, spec: Fields, saved: Fields, _name: str) -> Converted:
    written = version.other
    former = spread_request(version, saved)
    translated = translate(REQUEST_TABLE, version, spread_request(written, spec), saved=former)
    return gather_request(version, translated.result), gather_request(written, translated.kept, sparse=True)


def _remember(convert: Callable[[Version, Fields, Fields], Converted]) -> Conversion:
    known = {version: remembered(partial(convert, version), results=128, max_bytes=2**16) for version in Version}
    return lambda version, fields, saved, _name: known[version](fields, saved)


def _convert_by(table: Table) -> Conversion:
    return lambda version, fields, saved, _name: _convert_fields(table, version, fields, saved)


def _convert_fields(table: Table, version: Version, fields: Fields, saved: Fields) -> Converted:
    translated = translate(table, version, {Frame.TOP: fields}, saved={Frame.TOP: saved} if saved else {})
    return dict(translated.result.get(Frame.TOP, {})), dict(translated.kept.get(Frame.TOP, {}))


def _without(fields: Fields, name: str) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if key != name}


_CONVERT_REPLICAS: Mapping[Version, Callable[[Fields, Fields], Converted]] = {
    version: remembered(partial(_convert_fields, REPLICAS_TABLE, version), results=4096, max_bytes=2**10)
    for version in Version
}
CONVERSIONS: Mapping[str, tuple[Conversion, Conversion]] = {
    contract.GRAPH.kind: (_remember(_convert_graph_spec), _remember(_convert_graph_status)),
    contract.COMPONENT.kind: (_convert_component_spec, _convert_component_status),
    contract.SCALING_ADAPTER.kind: (_convert_by(ADAPTER_TABLE), _convert_by(SAME_TABLE)),
    contract.GRAPH_REQUEST.kind: (_convert_request_spec, _convert_by(REQUEST_STATUS_TABLE)),
}
"""The conversions of spec and status, by kind."""
