"""The rules of upstream's webhook about the spec that a component and a graph's service share, in upstream's order.

`path` is that of the spec: `spec`, or `spec.services[<name>]`.

Source: Dynamo operator, internal/webhook/validation/shared.go.
"""

import json
from collections.abc import Iterator, Mapping

from hooks.component.image.runtime_version import NATIVE_PICKER_SINCE, is_since, resolve_runtime_version
from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Key, Problem
from hooks.language.api.component_spec import ComponentSpec, SharedMemory
from hooks.language.rules import spec as rules
from hooks.language.rules.schema import find_wrong_type

EXECUTOR_BACKENDS = ("mp", "ray")


def find_spec_problems(spec: ComponentSpec, path: FieldPath, *, lacks_pool: bool) -> Iterator[Problem]:
    """All problems that upstream finds; `lacks_pool`: a picker needs an InferencePool, its kind is not installed."""
    if spec.replicas is not None and spec.replicas < 0:
        yield rules.REPLICAS.at(path / "replicas")
    if spec.min_available is not None and 0 < _replicas(spec) < spec.min_available:
        yield rules.MIN_AVAILABLE.at(path, spec=path)
    if spec.ingress and spec.ingress.enabled and not spec.ingress.host:
        yield rules.INGRESS_HOST.at(path / "ingress.host")
    for index, mount in enumerate(spec.volume_mounts):
        if not mount.use_as_compilation_cache and not mount.mount_point:
            yield rules.MOUNT_POINT.at(path / "volumeMounts" / index / "mountPoint")
    if spec.shared_memory and _lacks_size(spec.shared_memory):
        yield rules.SHARED_MEMORY_SIZE.at(path / "sharedMemory.size")
    yield from find_executor_problem(spec.annotations, path / "annotations")
    if spec.component_type == ComponentType.EPP:
        if lacks_pool:
            yield rules.EPP_POOL.at(path)
        yield from _find_picker_problems(spec, path)


def find_executor_problem(annotations: Mapping[str, str], path: FieldPath) -> Iterator[Problem]:
    """The problem of an annotation that names no executor of vLLM; `path` is that of the annotations."""
    executor = annotations.get(contract.ANNOTATION_EXECUTOR_BACKEND)
    if executor is not None and executor.lower() not in EXECUTOR_BACKENDS:
        yield rules.EXECUTOR.at(
            path / Key(contract.ANNOTATION_EXECUTOR_BACKEND), value=json.dumps(executor, ensure_ascii=False)
        )


def find_spec_warnings(spec: ComponentSpec, path: FieldPath, dynamo_namespace: str) -> Iterator[Problem]:
    """Warnings about fields that are ignored; `dynamo_namespace` is the one that is used."""
    if spec.dynamo_namespace and spec.dynamo_namespace != dynamo_namespace:
        yield rules.DYNAMO_NAMESPACE_IGNORED.at(
            path / "dynamoNamespace", value=spec.dynamo_namespace, used=dynamo_namespace
        )
    if spec.autoscaling is not None:
        yield rules.AUTOSCALING_IGNORED.at(path / "autoscaling")


def _find_picker_problems(spec: ComponentSpec, path: FieldPath) -> Iterator[Problem]:
    """Problems of an endpoint picker; the first two texts name the whole spec, because upstream's do."""
    if spec.is_multinode:
        yield rules.EPP_NODES.at(path / "multinode", spec=path)
    if spec.replicas is not None and spec.replicas != 1:
        yield rules.EPP_REPLICAS.at(path / "replicas", spec=path, count=spec.replicas)
    picker, at = spec.epp_config, path / "eppConfig"
    is_native = is_since(resolve_runtime_version(spec), NATIVE_PICKER_SINCE)
    if picker is None:
        if not is_native:
            yield rules.EPP_CONFIG.at(at)
    elif is_native:
        yield rules.EPP_CONFIG_NATIVE.at(at)
    elif picker.config_map_ref is None and picker.config is None:
        yield rules.EPP_CONFIG_EITHER.at(at)
    elif picker.config_map_ref is not None and picker.config is not None:
        yield rules.EPP_CONFIG_BOTH.at(at)
    elif not all(found is None or isinstance(found, Mapping) for found in (picker.config, picker.config_map_ref)):
        yield rules.EPP_CONFIG_OBJECT.at(at)
    elif isinstance(picker.config_map_ref, Mapping):
        yield from _find_reference_problems(picker.config_map_ref, at / "configMapRef")


def _find_reference_problems(reference: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Problems of a reference to a ConfigMap's key; its types are held by the API server's schema, not by the model."""
    if not reference.get("name"):
        yield rules.EPP_CONFIG_NAME.at(path / "name")
    for field in ("name", "key"):
        value = reference.get(field)
        if value and not isinstance(value, str):
            yield find_wrong_type(path / field, value, ("string",))


def _replicas(spec: ComponentSpec) -> int:
    return 1 if spec.replicas is None else spec.replicas


def _lacks_size(memory: SharedMemory) -> bool:
    if memory.disabled:
        return False
    try:
        return memory.size is None or canonical_quantity(memory.size) == "0"
    except ValueError:
        return False  # another rule reports that this is not a quantity
