"""The graph that a profiler's output holds: YAML text to a graph that our own rules accept, and the ConfigMaps with it.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, generateDGDSpec,
extractResourcesFromYAML.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from hooks import contract
from hooks.api.base import parse_parent
from hooks.api.graph import GraphDeployment
from hooks.crds import find_faults, prune
from hooks.errors import InvalidSpec
from hooks.graph.components import clean_json
from hooks.graph.request.applied_graph import with_image
from hooks.graph.validate import validate_graph
from hooks.k8s import kinds
from hooks.k8s.hashing import canonical_json
from hooks.k8s.names import is_subdomain
from hooks.k8s.types import Json, Manifest, ReadManifest
from hooks.k8s.yaml_reader import YamlDocument, read_yaml
from hooks.metacontroller.children import MAX_CHILD_BYTES
from hooks.problems import Problem, as_problems

MAX_ADDITIONAL_BYTES = 250_000
_MAX_OWN_BYTES = MAX_CHILD_BYTES - 4096
"""What is left for a child once labels and owner are added."""

_REMEMBERED_OUTPUTS = 32
"""Texts that a process remembers with what they hold; each may have a megabyte."""

_FREE_FORM = re.compile(r"\.spec\.services\.[^.]+\.eppConfig\.config(\.|$)")
_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
_DATA_KEYS = ("data", "binaryData")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What profiling led to.

    `graph` has apiVersion, kind, metadata (name, namespace, labels, annotations) and spec. `config_maps` are whole, as
    the output has them. `remarks` say what of the rest of the output cannot be created.
    """

    graph: Manifest
    config_maps: tuple[Manifest, ...]
    remarks: tuple[str, ...]


@lru_cache(maxsize=_REMEMBERED_OUTPUTS)
def read_output(text: str, default_name: str) -> Generated:
    """Read a key of the output ConfigMap; `default_name` is for a graph without a name.

    Raises:
        InvalidSpec: the text is not YAML, holds no graph or one that our rules refuse, or too much beside it.
    """
    documents = list(_read_documents(text))
    found = next((d for d in documents if d.get("kind") == contract.GRAPH.kind), None)
    if found is None:
        raise InvalidSpec(f"no {contract.GRAPH.kind} found in YAML content")
    graph = _read_graph(found, default_name)
    others = [document for document in documents if document is not found]
    size = sum(len(canonical_json(other)) for other in others)
    if size > MAX_ADDITIONAL_BYTES:
        raise InvalidSpec(f"additional resources have {size} bytes, must have at most {MAX_ADDITIONAL_BYTES}")
    config_maps, remarks = _read_config_maps(others)
    return Generated(graph=graph, config_maps=config_maps, remarks=remarks)


def check_graph(graph: ReadManifest, namespace: str, workers_image: str = "") -> tuple[Problem, ...]:
    """All problems of a graph, as it would be created in a namespace with that image for workers; empty for none.

    Which optional kinds the cluster has is not known here: the graph's own hook judges that.
    """
    named: Manifest = {**graph, "metadata": {**graph["metadata"], "namespace": namespace}}
    if faults := [f"{_path(fault.path)}: {fault.message}" for fault in find_faults(prune(named))]:
        return as_problems(sorted(faults))
    created = {**named, "spec": with_image(named.get("spec") or {}, workers_image)}
    try:
        return as_problems(validate_graph(parse_parent(GraphDeployment, created), frozenset({kinds.INFERENCE_POOL})))
    except InvalidSpec as error:
        return error.problems


def _path(path: Iterable[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def _read_documents(text: str) -> Iterator[Mapping[str, Json]]:
    try:
        for document in read_yaml(text):
            if document.faults:
                raise InvalidSpec(f"failed to parse YAML content: {_first_fault(document)}")
            if isinstance(document.value, dict):
                yield document.value
    except SyntaxError as error:
        raise InvalidSpec(f"failed to parse YAML content: line {error.lineno}: {error.msg}") from error


def _first_fault(document: YamlDocument) -> str:
    fault = document.faults[0]
    return f"line {fault.line}: {_path(fault.path)} {fault.message}"


def _read_graph(document: Mapping[str, Json], default_name: str) -> Manifest:
    if fault := next(_find_lost_numbers(document, ""), None):
        raise InvalidSpec(fault)
    clean = clean_json(dict(document))
    metadata = clean.get("metadata")
    known = {key: metadata[key] for key in _KEPT_METADATA if key in metadata} if isinstance(metadata, dict) else {}
    graph: Manifest = {
        "apiVersion": contract.GRAPH.api_version,
        "kind": contract.GRAPH.kind,
        "metadata": {"name": default_name, **known},
        "spec": clean.get("spec", {}),
    }
    if clean.get("apiVersion") != contract.GRAPH.api_version:
        raise InvalidSpec(
            f"the generated graph has apiVersion {clean.get('apiVersion')}, must be {contract.GRAPH.api_version}"
        )
    size = len(canonical_json(graph).encode())
    if size > _MAX_OWN_BYTES:
        raise InvalidSpec(f"the generated graph has {size} bytes as JSON, must have at most {_MAX_OWN_BYTES}")
    return graph


def _find_lost_numbers(value: Json, path: str) -> Iterator[str]:
    """Fractions where a number means itself and is no quantity: no child can carry them to the cluster."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _find_lost_numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_lost_numbers(item, f"{path}.{index}")
    elif isinstance(value, float) and not value.is_integer() and _FREE_FORM.match(path):
        yield (
            f"{path.lstrip('.')} is {value}: a fraction cannot be handed on there; put the configuration into a "
            f"ConfigMap and name it in configMapRef"
        )


def _read_config_maps(documents: Iterable[Mapping[str, Json]]) -> tuple[tuple[Manifest, ...], tuple[str, ...]]:
    """The ConfigMaps, the first of each name; whatever else the output holds is passed over, as upstream does."""
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
    metadata = config_map.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not is_subdomain(name):
        return f"ConfigMap {name!r} cannot be created: it has no name that is possible"
    for part in _DATA_KEYS:
        entries = config_map.get(part, {})
        if not isinstance(entries, dict) or not all(isinstance(text, str) for text in entries.values()):
            return f"ConfigMap {name} cannot be created: {part} must consist of texts"
    size = len(canonical_json(config_map).encode())
    if size > _MAX_OWN_BYTES:
        return f"ConfigMap {name} cannot be created: it has {size} bytes, at most {_MAX_OWN_BYTES} are possible"
    return ""
