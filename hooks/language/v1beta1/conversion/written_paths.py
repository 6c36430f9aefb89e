"""Where a field of v1alpha1 stands in the v1beta1 object that the user wrote.

An item of a list is written with its index, also in a list that is a map by name: `spec.components[1]`. An entry of a
map has its key in brackets: `limits[nvidia.com/gpu]`. What is only in the conversion's annotation has its path.
"""

from collections.abc import Callable, Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.ground.problems import METADATA, SPEC, FieldPath, Key
from hooks.language.conversion.json_values import name_of_item
from hooks.language.conversion.sides import Side
from hooks.language.v1beta1.conversion.graph_pairs import (
    LISTED,
    OBSERVED,
    REFERENCE_NAMES,
    ROLLING_NAMES,
    TOPOLOGY_NAMES,
)
from hooks.language.v1beta1.conversion.written_components import ONE_VERSION, written_in_component
from hooks.language.v1beta1.conversion.written_requests import written_in_request

_Parts = tuple[str | int, ...]
_Read = Callable[[ReadManifest], Manifest]
_STATUS = FieldPath(("status",))
_SERVICES, _COMPONENTS = LISTED[Side.HUB], LISTED[Side.SPOKE]


def written_path(path: FieldPath, original: ReadManifest, read: _Read) -> FieldPath:
    """The path in an object of v1beta1 of a field of its v1alpha1, which `read` makes of it.

    A field that was not written has the path of the nearest field above it that could hold it.
    """
    if len(path.parts) < 2:
        return path
    section, *rest = path.parts
    written = _WRITERS.get((original["kind"], str(section)))
    if written is None:
        return path
    return written(tuple(rest), original, read)


def _graph_spec(parts: _Parts, graph: ReadManifest, read: _Read) -> FieldPath:
    match parts:
        case ("services", str(name), *rest):
            return _service(name, tuple(rest), graph, read)
        case ("services", *_):
            return SPEC / _COMPONENTS
        case ("envs", *rest):
            return _at(SPEC, "env", *rest)
        case ("topologyConstraint", str(name), *rest):
            return _at(SPEC, "topologyConstraint", TOPOLOGY_NAMES.get(name, name), *rest)
        case ("pvcs", *_):
            return _saved(graph) or _at(SPEC, *parts)
    return _at(SPEC, *parts)


def _service(name: str, parts: _Parts, graph: ReadManifest, read: _Read) -> FieldPath:
    components = _mapping(graph.get("spec")).get(_COMPONENTS)
    listed = components if isinstance(components, list) else []
    at = next((i for i, one in enumerate(listed) if name_of_item(one) == name), None)
    if at is None:
        return _saved(graph) or SPEC / _COMPONENTS
    if parts[:1] and parts[0] in {*ONE_VERSION, "serviceName"}:
        return _saved(graph) or _at(SPEC / _COMPONENTS / at, *parts)
    services = _mapping(_mapping(read(graph).get("spec")).get(_SERVICES))
    return _at(SPEC / _COMPONENTS / at, *written_in_component(parts, listed[at], _mapping(services.get(name))))


def _component_spec(parts: _Parts, component: ReadManifest, read: _Read) -> FieldPath:
    if parts[0] in ONE_VERSION:
        return _saved(component) or _at(SPEC, *parts)
    service = _mapping(read(component).get("spec"))
    return _at(SPEC, *written_in_component(parts, _mapping(component.get("spec")), service))


def _adapter_spec(parts: _Parts, _adapter: ReadManifest, _read: _Read) -> FieldPath:
    match parts:
        case ("dgdRef", str(name), *rest):
            return _at(SPEC, "dgdRef", REFERENCE_NAMES.get(name, name), *rest)
    return _at(SPEC, *parts)


def _request_spec(parts: _Parts, request: ReadManifest, _read: _Read) -> FieldPath:
    found = written_in_request(parts, _mapping(request.get("spec")))
    return (_saved(request) or SPEC) if found is None else _at(SPEC, *found)


def _request_status(parts: _Parts, _request: ReadManifest, _read: _Read) -> FieldPath:
    first, *rest = parts
    if first == "generatedDeployment":
        return _at(_STATUS, "profilingResults", "selectedConfig")
    return _at(_STATUS, "phase" if first == "state" else first, *rest)


def _graph_status(parts: _Parts, _graph: ReadManifest, _read: _Read) -> FieldPath:
    match parts:
        case ("services", *rest):
            return _at(_STATUS, _COMPONENTS, *rest)
        case ("rollingUpdate", str(name), *rest):
            return _at(_STATUS, "rollingUpdate", ROLLING_NAMES.get(name, name), *rest)
    return _at(_STATUS, *parts)


def _component_status(parts: _Parts, _component: ReadManifest, _read: _Read) -> FieldPath:
    first, *rest = parts
    return _at(_STATUS, OBSERVED[Side.SPOKE] if first == OBSERVED[Side.HUB] else first, *rest)


def _saved(document: ReadManifest) -> FieldPath | None:
    """The path of the annotation for what v1beta1 cannot say, if the object has it."""
    key = f"{contract.CONVERSION_PREFIXES[document['kind']]}spec"
    annotations = _mapping(_mapping(document.get("metadata")).get("annotations"))
    return METADATA / "annotations" / Key(key) if key in annotations else None


def _at(path: FieldPath, *parts: str | int) -> FieldPath:
    return FieldPath((*path.parts, *parts))


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


_WRITERS: Mapping[tuple[str, str], Callable[[_Parts, ReadManifest, _Read], FieldPath]] = {
    (contract.GRAPH.kind, "spec"): _graph_spec,
    (contract.GRAPH.kind, "status"): _graph_status,
    (contract.COMPONENT.kind, "spec"): _component_spec,
    (contract.COMPONENT.kind, "status"): _component_status,
    (contract.SCALING_ADAPTER.kind, "spec"): _adapter_spec,
    (contract.GRAPH_REQUEST.kind, "spec"): _request_spec,
    (contract.GRAPH_REQUEST.kind, "status"): _request_status,
}
