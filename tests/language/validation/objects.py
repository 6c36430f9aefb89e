"""What a case of the rules is, and objects for cases in one line each."""

from dataclasses import dataclass, field
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind
from tests.make import with_image

Json = Any
Manifest = dict[str, Any]
NAMESPACE = "default"


@dataclass(frozen=True, kw_only=True)
class Case:
    """An object as it shall be and, for a change, as it was; what is said of it, all in order."""

    id: str
    new: Manifest
    old: Manifest | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)


def make(kind: GroupVersionKind, spec: Json, name: str = "g", **metadata: Json) -> Manifest:
    """An object of that kind; a spec of None is left out, and an image is filled in."""
    named = {"name": name, "namespace": NAMESPACE, **metadata}
    body = {} if spec is None else {"spec": _with_images(kind, spec)}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": named, **body}


def _with_images(kind: GroupVersionKind, spec: Json) -> Json:
    if kind == contract.COMPONENT:
        return with_image(spec)
    if kind != contract.GRAPH:
        return spec
    services = {name: with_image(service) for name, service in spec.get("services", {}).items()}
    return {**spec, "services": services} if services else spec


def graph(services: Json = None, *, name: str = "g", annotations: Json = None, **spec: Json) -> Manifest:
    """A graph with one service `main` unless services are given."""
    body = {"services": {"main": {}} if services is None else services, **spec}
    return make(contract.GRAPH, body, name, **({"annotations": annotations} if annotations else {}))


def service(**fields: Json) -> Manifest:
    """A graph of one service `main` with these fields."""
    return graph({"main": fields})


def component(*, name: str = "c", **fields: Json) -> Manifest:
    return make(contract.COMPONENT, fields, name)


def model(**fields: Json) -> Manifest:
    """A base model; fields of None are left out."""
    body = {"modelName": "m", "baseModelName": "base", **fields}
    return make(contract.MODEL, {key: value for key, value in body.items() if value is not None}, "m")


def lora(**fields: Json) -> Manifest:
    return model(**{"modelType": "lora", "source": {"uri": "s3://bucket/a"}, **fields})


CONFIG: Json = {"engine": {"backend": "vllm"}, "deployment": {"model": "test-model"}}
NO_CONFIG: Json = {"profilerImage": "i"}


def request(profiling: Json = None, **fields: Json) -> Manifest:
    body = {"model": "test-model", "backend": "vllm", **fields}
    return make(
        contract.GRAPH_REQUEST, {**body, "profilingConfig": profiling or {"profilerImage": "i", "config": CONFIG}}
    )


def adapter(**fields: Json) -> Manifest:
    return make(contract.SCALING_ADAPTER, {"replicas": 1, "dgdRef": {"name": "g", "serviceName": "main"}, **fields})


def restart(**strategy: Json) -> Json:
    return {"id": "1", "strategy": strategy}


MAIN = "spec.services[main]"
