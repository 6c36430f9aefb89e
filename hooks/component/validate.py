"""What of a component's spec cannot be rendered, all of it at once.

A graph's services are checked by the same functions, under another path.

Source: Dynamo operator, internal/webhook/validation/shared.go and internal/dynamo/graph.go, whose texts are kept.
"""

from collections.abc import Iterator

from hooks.api.component import ComponentDeployment
from hooks.api.component_spec import ComponentSpec, EppConfig, Ingress
from hooks.component.backends import Backend, resolve_backend
from hooks.component.backends.command_line import CommandLine
from hooks.component.exposure import ingress_host
from hooks.component.fragments import validate_fragments
from hooks.component.groups import validate_groups
from hooks.component.resources import validate_resources
from hooks.component.strategy import validate_strategy
from hooks.component.subject import ComponentType
from hooks.component.volumes import mount_path
from hooks.errors import InvalidSpec
from hooks.k8s.names import MAX_LABEL, has_label_value_form, is_subdomain
from hooks.k8s.quantities import parse_quantity


def validate_component(component: ComponentDeployment) -> tuple[str, ...]:
    """All problems of a component, each with the path of its field; none means that it can be rendered."""
    spec = component.spec
    problems = [
        *_too_long("metadata.name", component.metadata.name),
        *_bad_label("spec.serviceName", spec.service_name),
        *validate_spec(spec, "spec", framework=spec.backend_framework),
        *validate_groups(spec, component.metadata.name, "spec"),
    ]
    if spec.topology_constraint is not None:
        problems.append("spec.topologyConstraint needs Grove, under which only services of a graph can run")
    if ComponentType.of(spec.component_type) is ComponentType.EPP:
        problems += _validate_epp(spec.epp_config, "spec", has_graph=bool(component.graph_name))
    return tuple(problems)


def validate_spec(spec: ComponentSpec, path: str, *, framework: str) -> tuple[str, ...]:
    """Problems of what a component and a graph's service share; `framework` is the engine named, empty for none."""
    problems = list(_validate_fields(spec, path))
    if any(problem.startswith(f"{path}.extraPodSpec.mainContainer") for problem in problems):
        return tuple(problems)
    try:
        kind, command = ComponentType.of(spec.component_type), CommandLine.of(spec.main_container)
        backend = resolve_backend(kind, command, framework)
    except InvalidSpec as error:
        return (*problems, *(f"{path}.backendFramework: {problem}" for problem in error.problems))
    return (*problems, *_validate_mounts(spec, backend, path))


def _validate_fields(spec: ComponentSpec, path: str) -> Iterator[str]:
    for field, value in (("componentType", spec.component_type), ("subComponentType", spec.sub_component_type)):
        yield from _bad_label(f"{path}.{field}", value)
    if spec.replicas is not None and spec.replicas < 0:
        yield f"{path}.replicas must be non-negative"
    if spec.ingress and spec.ingress.enabled:
        yield from _validate_ingress(spec.ingress, path)
    yield from _validate_shared_memory(spec, path)
    yield from validate_resources(spec.resources, path)
    yield from validate_strategy(spec.annotations, path)
    yield from validate_fragments(spec, path)


def _validate_mounts(spec: ComponentSpec, backend: Backend, path: str) -> Iterator[str]:
    for index, mount in enumerate(spec.volume_mounts):
        at = f"{path}.volumeMounts[{index}]"
        if not mount.name:
            yield f"{at}.name: volumeMount.name is required when volumeMounts is set"
        elif not is_subdomain(mount.name):
            yield f"{at}.name: {mount.name!r} is no name of a PersistentVolumeClaim"
        if mount_path(mount, backend):
            continue
        if mount.use_as_compilation_cache:
            yield (
                f"{at}.mountPoint: volumeMount with useAsCompilationCache=true requires an explicit mountPoint for "
                f"backend framework {backend} (no default available)"
            )
        else:
            yield f"{at}.mountPoint is required when useAsCompilationCache is false"


def _validate_epp(config: EppConfig | None, path: str, *, has_graph: bool) -> Iterator[str]:
    if config is None or (config.config_map_ref is None and config.config is None):
        yield (
            f"{path}.eppConfig: EPP configuration is required: either eppConfig.configMapRef or eppConfig.config must "
            "be specified"
        )
    elif config.config_map_ref is not None and config.config is not None:
        yield f"{path}.eppConfig: configMapRef and config are mutually exclusive, only one can be specified"
    elif config.config_map_ref is None:
        if not has_graph:
            yield (
                f"{path}.eppConfig.config: only a graph makes the ConfigMap of an inline configuration; "
                "a component that stands alone needs configMapRef"
            )
    elif not isinstance(config.config_map_ref, dict) or not config.config_map_ref.get("name"):
        yield f"{path}.eppConfig.configMapRef.name is required"


def _validate_ingress(ingress: Ingress, path: str) -> Iterator[str]:
    if not ingress.host:
        yield f"{path}.ingress.host is required when ingress is enabled"
    elif not is_subdomain(ingress_host(ingress).removeprefix("*.")):
        yield f"{path}.ingress.host: {ingress_host(ingress)!r} is no host name; use lower case letters, digits, - and ."


def _validate_shared_memory(spec: ComponentSpec, path: str) -> Iterator[str]:
    size = spec.shared_memory.size if spec.shared_memory else None
    if size is None:
        return
    try:
        parse_quantity(str(size or "0"))
    except ValueError as error:
        yield f"{path}.sharedMemory.size: {error}"


def _too_long(path: str, name: str) -> Iterator[str]:
    if len(name) > MAX_LABEL:
        yield (
            f"{path}: {name!r} has {len(name)} characters, must have at most {MAX_LABEL}: pods are selected by it, and "
            "Service and Deployment are named so"
        )


def _bad_label(path: str, value: str) -> Iterator[str]:
    yield from _too_long(path, value)
    if value and not has_label_value_form(value):
        yield f"{path}: {value!r} is no label value; use letters, digits, -, _ and . between letters or digits"
