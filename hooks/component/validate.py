"""What of a component's spec cannot be rendered, all of it at once.

A graph's services are checked by the same functions, under another path.

Source: Dynamo operator, internal/webhook/validation/shared.go and internal/dynamo/graph.go, whose texts are kept.
"""

from collections.abc import Iterator, Mapping

from hooks.api.component import ComponentDeployment
from hooks.api.component_spec import ComponentSpec, Ingress
from hooks.component.backends import Backend, resolve_backend
from hooks.component.backends.command_line import CommandLine
from hooks.component.exposure import ingress_host
from hooks.component.fragments import validate_fragments
from hooks.component.groups import validate_groups
from hooks.component.metadata_rules import validate_metadata
from hooks.component.plan import find_istio_warnings
from hooks.component.spec_rules import find_spec_problems, find_spec_warnings
from hooks.component.strategy import validate_strategy
from hooks.component.subject import NEVER_COPIED, ComponentType
from hooks.component.volumes import has_shared_memory, mount_path
from hooks.errors import InvalidSpec
from hooks.identity import dynamo_namespace
from hooks.k8s.names import MAX_LABEL, has_label_value_form, is_subdomain
from hooks.k8s.quantities import parse_quantity
from hooks.k8s.types import ReadManifest
from hooks.problems import SPEC
from hooks.validation.judging import Findings, judge
from hooks.validation.review import Review, Verdict
from hooks.validation.rules import spec as rules

_NO_ENGINE = f"backend framework {Backend.NOOP} (no default available)"


def review_component(review: Review) -> Verdict:
    """Judge a component that is about to be written."""
    return judge(review, ComponentDeployment, of_object=_judge_component, of_change=_judge_change)


def validate_component(component: ComponentDeployment) -> tuple[str, ...]:
    """All problems of a component, each with the path of its field; none means that it can be rendered."""
    spec = component.spec
    replaced = (*component.metadata.labels, *NEVER_COPIED)
    return (
        *validate_spec(spec, "spec", framework=spec.backend_framework),
        *validate_metadata(spec, "spec", replaced=replaced),
        *validate_restart_policy(spec, "spec"),
        *_too_long("metadata.name", component.metadata.name),
        *_bad_label("spec.serviceName", spec.service_name),
        *validate_groups(spec, component.metadata.name, "spec"),
        *_validate_lone_picker(component),
        *_validate_lone_topology(spec),
    )


def validate_spec(spec: ComponentSpec, path: str, *, framework: str, lacks_pool: bool = False) -> tuple[str, ...]:
    """Problems of what a component and a graph's service share; `framework` is the engine named, empty for none.

    `lacks_pool` is true where a graph's endpoint picker cannot have an InferencePool.
    """
    problems = [*find_spec_problems(spec, path, lacks_pool=lacks_pool), *_validate_fields(spec, path)]
    if any(problem.startswith(_unreadable_commands(path)) for problem in problems):
        return tuple(problems)
    try:
        kind, command = ComponentType.of(spec.component_type), CommandLine.of(spec.main_container)
        backend = resolve_backend(kind, command, framework)
    except InvalidSpec as error:
        return (*problems, *(f"{path}.backendFramework: {problem}" for problem in error.problems))
    return (*problems, *_validate_mounts(spec, backend, path))


def validate_restart_policy(spec: ComponentSpec, path: str) -> Iterator[str]:
    """What a Deployment and a LeaderWorkerSet refuse, whose pods run for ever; Grove takes it and sets its own."""
    policy = spec.extra_pod_spec.get("restartPolicy")
    if policy and policy != "Always":
        yield f"{path}.extraPodSpec.restartPolicy: is {policy!r}, must be 'Always' or absent"


def _unreadable_commands(path: str) -> tuple[str, ...]:
    """How the problems begin with which nobody can say what the main container runs."""
    main = f"{path}.extraPodSpec.mainContainer"
    return (f"{main}:", f"{main}.command:", f"{main}.args:")


def validate_change(new: str, old: str) -> Findings:
    """What is said of a graph or component whose engine changes; both are `spec.backendFramework`, empty for none."""
    return (
        Findings()
        if new == old
        else Findings(
            problems=(rules.BACKEND_FRAMEWORK.at(SPEC / "backendFramework"),),
            warnings=(rules.BACKEND_FRAMEWORK_CHANGES.at(SPEC / "backendFramework"),),
        )
    )


def is_told_later(problem: str) -> bool:
    """Whether a problem is no matter of admission, as upstream's accepts it: which engine an image runs may be unknown.

    It stands in the status.
    """
    return problem.endswith(_NO_ENGINE)


def _judge_component(component: ComponentDeployment, review: Review) -> Findings:
    metadata, spec = component.metadata, component.spec
    name = dynamo_namespace(metadata.namespace, metadata.name, is_global=spec.global_dynamo_namespace)
    # A graph fills in what counts; its user is told by the graph's own review.
    told = (*find_spec_warnings(spec, "spec", name), *find_istio_warnings(spec.ingress, "spec", review.installed))
    warnings = () if component.graph_name else told
    problems = tuple(problem for problem in validate_component(component) if not is_told_later(problem))
    return Findings.of(problems, warnings)


def _judge_change(new: ComponentDeployment, old: ReadManifest, _review: Review) -> Findings:
    return validate_change(new.spec.backend_framework, read_backend(old))


def read_backend(manifest: ReadManifest) -> str:
    """`spec.backendFramework` of an object of any shape; empty for none."""
    spec = manifest.get("spec")
    found = spec.get("backendFramework") if isinstance(spec, Mapping) else None
    return found if isinstance(found, str) else ""


def _validate_fields(spec: ComponentSpec, path: str) -> Iterator[str]:
    for field, value in (("componentType", spec.component_type), ("subComponentType", spec.sub_component_type)):
        yield from _bad_label(f"{path}.{field}", value)
    if spec.ingress and spec.ingress.enabled and spec.ingress.host:
        yield from _validate_ingress(spec.ingress, path)
    yield from _validate_shared_memory(spec, path)
    yield from validate_strategy(spec.annotations, path)
    yield from validate_fragments(spec, path)


def _validate_mounts(spec: ComponentSpec, backend: Backend, path: str) -> Iterator[str]:
    for index, mount in enumerate(spec.volume_mounts):
        at = f"{path}.volumeMounts[{index}]"
        if not mount.name:
            yield f"{at}.name: volumeMount.name is required when volumeMounts is set"
        elif not is_subdomain(mount.name):
            yield f"{at}.name: {mount.name!r} is no name of a PersistentVolumeClaim"
        if mount.use_as_compilation_cache and not mount_path(mount, backend):
            yield (
                f"{at}.mountPoint: volumeMount with useAsCompilationCache=true requires an explicit mountPoint for "
                f"backend framework {backend} (no default available)"
            )


def _validate_lone_picker(component: ComponentDeployment) -> Iterator[str]:
    picker = component.spec.epp_config
    if component.spec.component_type != ComponentType.EPP or picker is None or component.graph_name:
        return
    if picker.config is not None and picker.config_map_ref is None:
        yield (
            "spec.eppConfig.config: only a graph makes the ConfigMap of an inline configuration; "
            "a component that stands alone needs configMapRef"
        )


def _validate_lone_topology(spec: ComponentSpec) -> Iterator[str]:
    if spec.topology_constraint is not None:
        yield "spec.topologyConstraint needs Grove, under which only services of a graph can run"


def _validate_ingress(ingress: Ingress, path: str) -> Iterator[str]:
    if not is_subdomain(ingress_host(ingress).removeprefix("*.")):
        yield f"{path}.ingress.host: {ingress_host(ingress)!r} is no host name; use lower case letters, digits, - and ."


def _validate_shared_memory(spec: ComponentSpec, path: str) -> Iterator[str]:
    size = spec.shared_memory.size if spec.shared_memory else None
    if size is None:
        return
    try:
        is_negative = parse_quantity(str(size or "0")) < 0
    except ValueError as error:
        yield f"{path}.sharedMemory.size: {error}"
        return
    if is_negative and has_shared_memory(spec.shared_memory):
        yield f"{path}.sharedMemory.size: is {size}, must not be negative"


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
