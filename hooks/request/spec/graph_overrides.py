"""Merges `overrides.dgd`, parts of a graph in either version, into the graph that a profiler found.

As the Go operator's program does: in the version of the override, by the schema: objects field by field, lists that
have keys item by item, other lists as a whole. Only components that the profiler found can be changed.

Source: Dynamo operator 1.x, internal/dgdoverride/override.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.ground.problems import HERE, SPEC, FieldPath, Key, Problem
from hooks.language.api.merging import merge_by_schema
from hooks.language.api.structural import SchemaNode
from hooks.language.rules import profiler as rules
from hooks.language.rules import schema as schema_rules
from hooks.language.versions import CONVERSION_ANNOTATIONS, V1BETA1, convert

PATH = SPEC / "overrides.dgd"
_UNTOUCHED_ARGS = frozenset({"Frontend", "Planner"})
"""Services of v1alpha1 whose arguments are replaced; those of workers are appended."""
_VERSIONS = (contract.GRAPH.api_version, V1BETA1.api_version)
_PATCH = "$patch"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedGraph:
    """The graph in v1alpha1 and as v1beta1; each of `remarks` says what of the override has no effect."""

    graph: Manifest
    written: Manifest
    remarks: tuple[str, ...]


def find_override_problems(override: Json) -> Iterator[Problem]:
    """Why an override cannot be merged into any graph."""
    if override is None:
        return
    if not isinstance(override, Mapping) or override.get("kind") != contract.GRAPH.kind:
        yield rules.GRAPH_OVERRIDE.at(PATH / "kind", why=f"should be {contract.GRAPH.kind}")
        return
    if override.get("apiVersion") not in _VERSIONS:
        yield rules.GRAPH_OVERRIDE.at(PATH / "apiVersion", why=f"should be {' or '.join(_VERSIONS)}")
        return
    if "status" in override:
        yield rules.GRAPH_OVERRIDE.at(PATH / "status", why="is no part of what is asked for; leave it out")
    nulls = [*_find_nulls(override, HERE)]
    for path in nulls:
        why = "is null; a field that was generated cannot be removed"
        yield rules.GRAPH_OVERRIDE.at(path.under(PATH, instead_of=HERE), why=why)
    for found in () if nulls else _find_faults(override):
        yield found.under(PATH, instead_of=HERE)


def merge_override(graph: ReadManifest, override: Mapping[str, Json]) -> MergedGraph:
    """Merge an override without problems into a graph of either version."""
    version = contract.BETA_VERSION if override["apiVersion"] == V1BETA1.api_version else contract.VERSION
    base = convert(graph, version)
    remarks: list[str] = []
    partial = _prepare(version, base, override, remarks)
    merged: Manifest = merge_by_schema(base, partial, _schema_of(base))
    return MergedGraph(
        graph=convert(merged, contract.VERSION), written=convert(merged, contract.BETA_VERSION), remarks=tuple(remarks)
    )


def _find_nulls(value: Json, path: FieldPath) -> Iterator[FieldPath]:
    if value is None:
        yield path
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _find_nulls(one, path / Key(key) if "." in key or "/" in key else path / key)
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _find_nulls(one, path / index)


def _find_faults(override: Mapping[str, Json]) -> Iterator[Problem]:
    """What is no field of a graph, or has another type; a part may lack what a whole graph needs."""
    from hooks.language.crds import find_faults  # noqa: PLC0415 - schemas of all kinds, which most syncs do not need

    metadata = override.get("metadata")
    named = {"name": "a", **metadata} if isinstance(metadata, Mapping) else {"name": "a"}
    for found in find_faults({**_without_patches(override), "metadata": named}):
        if found.rule not in {schema_rules.REQUIRED, schema_rules.EMPTY}:
            yield found


def _without_patches(value: Json) -> Json:
    """The override without `$patch`, which is no field of a container."""
    if isinstance(value, Mapping):
        return {key: _without_patches(one) for key, one in value.items() if key != _PATCH}
    return [_without_patches(one) for one in value] if isinstance(value, list) else value


def _prepare(version: str, base: ReadManifest, override: Mapping[str, Json], remarks: list[str]) -> dict[str, Json]:
    """The override without what has no effect, and with whole lists of arguments."""
    partial: dict[str, Json] = {key: value for key, value in override.items() if key in {"metadata", "spec"}}
    metadata = override.get("metadata")
    kept = {key: metadata[key] for key in ("labels", "annotations") if key in (metadata or {})} if metadata else {}
    if isinstance(notes := kept.get("annotations"), Mapping):
        kept["annotations"] = {key: value for key, value in notes.items() if key not in CONVERSION_ANNOTATIONS}
    partial.pop("metadata", None)
    if kept:
        partial["metadata"] = kept
    spec = partial.get("spec")
    if not isinstance(spec, Mapping):
        return partial
    if version == contract.VERSION and isinstance(services := spec.get("services"), Mapping):
        partial["spec"] = {**spec, "services": _prepare_services(base, services, remarks)}
    if version == contract.BETA_VERSION and isinstance(components := spec.get("components"), Sequence):
        partial["spec"] = {**spec, "components": _prepare_components(base, components, remarks)}
    return partial


def _prepare_services(base: ReadManifest, services: Mapping[str, Json], remarks: list[str]) -> dict[str, Json]:
    known = _map(_map(base.get("spec")).get("services"))
    prepared: dict[str, Json] = {}
    for name, service in services.items():
        if name not in known:
            remarks.append(f"overrides.dgd: the profiler found no service {name}, so its fields have no effect")
            continue
        prepared[name] = service if name in _UNTOUCHED_ARGS else _append_args(_map(known[name]), _map(service))
    return prepared


def _append_args(base: Mapping[str, Json], service: Mapping[str, Json]) -> dict[str, Json]:
    """The service with the found arguments before its own."""
    pod = _map(service.get("extraPodSpec"))
    main = _map(pod.get("mainContainer"))
    if not isinstance(main.get("args"), list):
        return dict(service)
    found = _map(_map(base.get("extraPodSpec")).get("mainContainer")).get("args")
    joined = [*(found if isinstance(found, list) else ()), *main["args"]]
    return {**service, "extraPodSpec": {**pod, "mainContainer": {**main, "args": joined}}}


def _prepare_components(base: ReadManifest, components: Sequence[Json], remarks: list[str]) -> list[Json]:
    known = {_map(one).get("name"): _map(one) for one in _list(_map(base.get("spec")).get("components"))}
    prepared: list[Json] = []
    for one in components:
        component = _map(one)
        name = component.get("name")
        if name not in known:
            remarks.append(f"overrides.dgd: the profiler found no component {name}, so its fields have no effect")
            continue
        prepared.append(_apply_patches(known[name], component))
    return prepared


def _apply_patches(base: Mapping[str, Json], component: Mapping[str, Json]) -> dict[str, Json]:
    """The component with `$patch: {args: append}` of its containers carried out."""
    template = _map(component.get("podTemplate"))
    pod = _map(template.get("spec"))
    containers = pod.get("containers")
    if not isinstance(containers, list):
        return dict(component)
    known = {_map(one).get("name"): _map(one) for one in _list(_pod(base).get("containers"))}
    patched = [_apply_patch(known.get(_map(one).get("name"), {}), _map(one)) for one in containers]
    return {**component, "podTemplate": {**template, "spec": {**pod, "containers": patched}}}


def _apply_patch(base: Mapping[str, Json], container: Mapping[str, Json]) -> dict[str, Json]:
    left = {key: value for key, value in container.items() if key != _PATCH}
    if _map(container.get(_PATCH)).get("args") != "append":
        return left
    return {**left, "args": [*_list(base.get("args")), *_list(container.get("args"))]}


def _pod(component: Mapping[str, Json]) -> Mapping[str, Json]:
    return _map(_map(component.get("podTemplate")).get("spec"))


def _schema_of(graph: ReadManifest) -> SchemaNode:
    from hooks.language.crds.definitions import read_root_schema  # noqa: PLC0415

    return read_root_schema(graph) or {}


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
