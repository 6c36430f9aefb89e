"""The graph of a profiler of Dynamo 1.x as the request wants it: its name, the user's overrides, and the release.

The profiler makes up another name at each run, and does not see `overrides.dgd`.
"""

from collections.abc import Mapping
from dataclasses import replace

from hooks.ground import contract
from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.pods import single_variables
from hooks.ground.k8s.types import Json, Manifest
from hooks.language.api.graph_request import GraphRequest
from hooks.language.versions import convert
from hooks.request.rules.profiler_rules import graph_name
from hooks.request.seen.generated_graph import GeneratedObjects
from hooks.request.spec.beta_spec import part_of, read_beta_spec
from hooks.request.spec.graph_overrides import merge_override


def finish_graph(request: GraphRequest, found: GeneratedObjects) -> GeneratedObjects:
    """The profiler's objects with the finished graph."""
    beta_spec = read_beta_spec(request)
    graph, written = found.graph, found.written
    remarks: tuple[str, ...] = ()
    override = part_of(beta_spec, "overrides", "dgd")
    if override:
        merged = merge_override(written or graph, override)
        clean = clean_json(dict(merged.graph))
        graph, written, remarks = clean, merged.written, merged.remarks
    release = request.spec.runtime_version_override
    graph = _finish(graph, graph_name(request, beta_spec), release)
    return replace(
        found,
        graph=graph,
        written=convert(graph, contract.BETA_VERSION) if written is not None else None,
        remarks=(*found.remarks, *remarks),
    )


def _finish(graph: Manifest, name: str, release: str) -> Manifest:
    spec: Mapping[str, Json] = graph.get("spec") or {}
    services = spec.get("services")
    if release and isinstance(services, Mapping):
        spec = {**spec, "services": {key: _with_release(one, release) for key, one in services.items()}}
    return {**graph, "metadata": {**graph["metadata"], "name": name}, "spec": single_variables(spec)}


def _with_release(service: Json, release: str) -> Json:
    if not isinstance(service, Mapping) or service.get("runtimeVersionOverride"):
        return service
    return {**service, "runtimeVersionOverride": release}
