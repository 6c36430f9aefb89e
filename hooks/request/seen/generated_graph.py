"""Reads a profiler's output: the graph, checked by our own rules, and the ConfigMaps beside it.

Profilers of release 1.0 or later may write the graph in v1beta1. It is created in v1alpha1, as every graph is stored,
and its problems are told in the version that the profiler wrote.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, generateDGDSpec,
extractResourcesFromYAML.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from hooks.graph.rules.validate import validate_graph
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.hashing import canonical_json
from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.names import is_subdomain
from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.ground.k8s.yaml_bounds import STORED
from hooks.ground.k8s.yaml_reader import parse_yaml
from hooks.ground.problems import HERE, SPEC, FieldPath, Key, Problem, sort_problems
from hooks.language.api.base import parse_parent
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules import profiling as rules
from hooks.language.v1beta1.checks import find_v1beta1_problems
from hooks.language.v1beta1.rules import in_v1beta1
from hooks.language.validation.overlap import drop_repetitions
from hooks.language.versions import V1BETA1, convert, written_path
from hooks.request.spec.applied_graph import with_image
from hooks.wire.metacontroller.children import MAX_CHILD_BYTES

MAX_ADDITIONAL_BYTES = 250_000
_MAX_OWN_BYTES = MAX_CHILD_BYTES - 4096
"""Largest size of a generated object; labels and owner are added to it."""

_REMEMBERED_OUTPUTS = 32
"""Outputs that a process caches; each may have a megabyte."""

GENERATED = HERE / "status.generatedDeployment"
"""Field of the request that holds the generated graph once it is accepted."""

_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
_VERSIONS = (contract.GRAPH.api_version, V1BETA1.api_version)
_DATA_KEYS = ("data", "binaryData")
_INSTALLED = frozenset({kinds.INFERENCE_POOL})


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedObjects:
    """The objects of a profiler's output.

    `graph` has apiVersion, kind, metadata (name, namespace, labels, annotations) and spec. It is v1alpha1; `written` is
    the same in v1beta1, if the profiler wrote that. `config_maps` are as in the output. Each of `remarks` says why
    another ConfigMap of the output cannot be created.
    """

    graph: Manifest
    config_maps: tuple[Manifest, ...]
    remarks: tuple[str, ...]
    written: Manifest | None = None


@lru_cache(maxsize=_REMEMBERED_OUTPUTS)
def read_output(text: str, default_name: str) -> GeneratedObjects:
    """Read a key of the output ConfigMap; a graph without a name gets `default_name`.

    Raises:
        SyntaxError: the text is not YAML, or exceeds a bound; `lineno` is set.
        InvalidSpec: the text has no graph, or has objects that are too large or cannot be stored.
    """
    documents = [document for document in parse_yaml(text, STORED) if isinstance(document, dict)]
    found = next((d for d in documents if d.get("kind") == contract.GRAPH.kind), None)
    if found is None:
        raise InvalidSpec(rules.OUTPUT_WITHOUT_GRAPH.at(GENERATED, kind=contract.GRAPH.kind))
    graph, written = _read_graph(found, default_name)
    others = [document for document in documents if document is not found]
    size = sum(len(canonical_json(other)) for other in others)
    if size > MAX_ADDITIONAL_BYTES:
        raise InvalidSpec(rules.OUTPUT_ADDITIONS_SIZE.at(HERE, size=size, limit=MAX_ADDITIONAL_BYTES))
    config_maps, remarks = _read_config_maps(others)
    return GeneratedObjects(graph=graph, config_maps=config_maps, remarks=remarks, written=written)


def check_graph(
    graph: ReadManifest, namespace: str, workers_image: str = "", *, written: ReadManifest | None = None
) -> tuple[Problem, ...]:
    """All problems of a graph that is created in this namespace with this worker image (empty: the graph's own).

    With `written`, the same graph in v1beta1, they have its paths and words. The cluster's optional kinds are unknown
    here: what is wrong only with Grove, or only without, is left to the graph's hook.
    """
    found = _find_problems(graph, namespace, workers_image)
    if written is None:
        return found
    own = (*_find_faults(written), *find_v1beta1_problems(written))
    return sort_problems((*own, *drop_repetitions((_as_written(one, written) for one in found), own)))


def _find_problems(graph: ReadManifest, namespace: str, workers_image: str) -> tuple[Problem, ...]:
    named: Manifest = {**graph, "metadata": {**graph["metadata"], "namespace": namespace}}
    if faults := _find_faults(named):
        return sort_problems(faults)
    created = {**named, "spec": with_image(named.get("spec") or {}, workers_image)}
    try:
        parent = parse_parent(GraphDeployment, created)
    except InvalidSpec as error:
        return error.problems
    under_grove = validate_graph(parent, _INSTALLED | {kinds.POD_CLIQUE_SET})
    return tuple(problem for problem in validate_graph(parent, _INSTALLED) if problem in under_grove)


def _find_faults(graph: ReadManifest) -> tuple[Problem, ...]:
    """The fields that the API server would refuse, among those that it would keep."""
    from hooks.language.crds import find_faults, prune  # noqa: PLC0415 - schemas of all kinds, of which no other sync needs one

    return tuple(find_faults(prune(graph)))


def refuse_graph(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems of a generated graph as problems of its request; each holds the graph's problem as a value."""
    return tuple(
        rules.GENERATED_GRAPH.at(found.path.under(GENERATED, instead_of=HERE), problem=found) for found in problems
    )


def _read_graph(document: Mapping[str, Json], default_name: str) -> tuple[Manifest, Manifest | None]:
    """The graph in v1alpha1, and as it was written if that is v1beta1."""
    version = document.get("apiVersion")
    is_beta = version == V1BETA1.api_version
    if version not in _VERSIONS:
        expected = " or ".join(_VERSIONS)
        raise InvalidSpec(rules.GENERATED_VERSION.at(GENERATED / "apiVersion", value=str(version), expected=expected))
    if found := tuple(_find_fractions(convert(document, contract.VERSION))):
        raise InvalidSpec(refuse_graph(_as_written(one, document) if is_beta else one for one in found))
    clean = clean_json(dict(document))
    metadata = clean.get("metadata")
    known = {key: metadata[key] for key in _KEPT_METADATA if key in metadata} if isinstance(metadata, dict) else {}
    written: Manifest = {
        "apiVersion": str(version),
        "kind": contract.GRAPH.kind,
        "metadata": {"name": default_name, **known},
        "spec": clean.get("spec", {}),
    }
    graph = convert(written, contract.VERSION)
    size = len(canonical_json(graph).encode())
    if size > _MAX_OWN_BYTES:
        raise InvalidSpec(rules.GENERATED_SIZE.at(GENERATED, size=size, limit=_MAX_OWN_BYTES))
    return graph, written if is_beta else None


def _as_written(problem: Problem, written: ReadManifest) -> Problem:
    """A problem of the graph in v1alpha1, with the paths and words of the graph in v1beta1."""
    return replace(problem, rule=in_v1beta1(problem.rule)).moved(lambda path: written_path(path, written))


def _find_fractions(graph: Json) -> Iterator[Problem]:
    """Find floats in free-form configurations: they cannot become strings there, and no child can hold a float."""
    services = _mapping(_mapping(_mapping(graph).get("spec")).get("services"))
    for name, service in services.items():
        path = SPEC / "services" / Key(name) / "eppConfig"
        for field, value in _walk_scalars(_mapping(_mapping(service).get("eppConfig")).get("config"), path / "config"):
            if isinstance(value, float) and not value.is_integer():
                yield rules.GENERATED_FRACTION.at(field, value=str(value), other=path / "configMapRef")


def _walk_scalars(value: Json, path: FieldPath) -> Iterator[tuple[FieldPath, Json]]:
    """Every scalar with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _walk_scalars(item, path / key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk_scalars(item, path / index)
    else:
        yield path, value


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _read_config_maps(documents: Iterable[Mapping[str, Json]]) -> tuple[tuple[Manifest, ...], tuple[str, ...]]:
    """The ConfigMaps, the first of each name; like upstream, other kinds are ignored."""
    found: dict[str, Manifest] = {}
    remarks = []
    for document in documents:
        if (document.get("apiVersion"), document.get("kind")) != (kinds.CONFIG_MAP.api_version, kinds.CONFIG_MAP.kind):
            continue
        config_map = clean_json(dict(document))
        if remark := _check_config_map(config_map):
            remarks.append(remark)
        else:
            found.setdefault(config_map["metadata"]["name"], config_map)
    return tuple(found[name] for name in sorted(found)), tuple(remarks)


def _check_config_map(config_map: Mapping[str, Json]) -> str:
    """Why a ConfigMap of the output cannot be created, as a sentence; empty if it can."""
    metadata = _mapping(config_map.get("metadata"))
    name = metadata.get("name")
    if not isinstance(name, str) or not is_subdomain(name):
        return f"ConfigMap {name!r} cannot be created: its name must be a DNS subdomain"
    for part in ("labels", "annotations"):
        if not isinstance(metadata.get(part) or {}, dict):
            return f"ConfigMap {name} cannot be created: {part} of its metadata must be an object"
    for part in _DATA_KEYS:
        entries = config_map.get(part, {})
        if not isinstance(entries, dict) or not all(isinstance(text, str) for text in entries.values()):
            return f"ConfigMap {name} cannot be created: all values of {part} must be strings"
    size = len(canonical_json(config_map).encode())
    if size > _MAX_OWN_BYTES:
        return f"ConfigMap {name} cannot be created: it has {size} bytes, must have at most {_MAX_OWN_BYTES}"
    return ""
