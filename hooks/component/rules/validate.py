"""Finds all problems of a component's spec at once.

The same functions check a graph's services; only the path differs.

Source: Dynamo operator, internal/webhook/validation/shared.go and internal/dynamo/graph.go; their texts are kept.
"""

from collections.abc import Iterator, Mapping, Sequence

from hooks.component.image.command_line import CommandLine
from hooks.component.plan.component import find_istio_warnings
from hooks.component.plan.exposure import SERVED_TYPES, ingress_host
from hooks.component.plan.groups import validate_groups
from hooks.component.plan.strategy import validate_strategy
from hooks.component.pod.backends import Backend, resolve_backend
from hooks.component.pod.port_rules import find_port_problems
from hooks.component.pod.volumes import has_shared_memory, mount_path
from hooks.component.rules.fragments import MAIN_CONTAINER, validate_fragments
from hooks.component.rules.metadata_rules import validate_metadata
from hooks.component.rules.pod_rules.sources import check_reference
from hooks.component.rules.preview import find_preview_problems
from hooks.component.rules.replaced import Replacing, find_replaced
from hooks.component.rules.sidecar_rules import find_runtime_problems, find_sidecar_problems
from hooks.component.rules.slips import find_rollout_slip, find_slips
from hooks.component.rules.spec_rules import find_spec_problems, find_spec_warnings
from hooks.component.spec.beta_fields import find_frontend_container
from hooks.component.spec.operator_release import begin_component, choose_operator_release
from hooks.component.spec.subject import NEVER_COPIED, ComponentType, namespace_of, resolve_subject
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.names import MAX_LABEL, has_label_value_form, is_dns_label, is_label_value, is_subdomain
from hooks.ground.k8s.quantities import parse_quantity
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import METADATA, SPEC, FieldPath, Problem
from hooks.ground.settings import Switch
from hooks.language.api.base import read_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.component_spec import ComponentSpec, Ingress, SharedMemory
from hooks.language.rules import component as component_rules
from hooks.language.rules import pod as pod_rules
from hooks.language.rules import pod_values
from hooks.language.rules import spec as rules
from hooks.language.rules.topology import COMPONENT_TOPOLOGY
from hooks.language.validation.judging import Findings, judge
from hooks.language.validation.review import Review, Verdict

_UNREADABLE_COMMAND = frozenset({MAIN_CONTAINER, MAIN_CONTAINER / "command", MAIN_CONTAINER / "args"})
"""Fields whose types must be right before the main container's command can be read."""
_OF_TYPES = frozenset({pod_rules.FIELD_TYPE, pod_rules.FIELD_REQUIRED, pod_rules.QUANTITY})
"""Rules that a value breaks whose type is wrong, or which has no name."""


def review_component(review: Review) -> Verdict:
    """Judge a component that is about to be written."""
    return judge(review, ComponentDeployment, of_object=_judge_component, of_change=_judge_change)


def validate_component(component: ComponentDeployment) -> tuple[Problem, ...]:
    """All problems of a component; () if it can be rendered."""
    spec, name = component.spec, component.metadata.name
    replaced = (*component.metadata.labels, *NEVER_COPIED)
    return (
        *validate_spec(spec, SPEC, framework=spec.backend_framework, frontend_container=_frontend_container(component)),
        *validate_metadata(spec, SPEC, replaced=replaced),
        *validate_restart_policy(spec, SPEC),
        *_validate_names(name, spec.service_name),
        *validate_service_object(spec, name, METADATA / "name"),
        *validate_groups(spec, name, SPEC),
        *_validate_lone_picker(component),
        *_validate_lone_placement(spec),
        *_validate_lone_namespace(component),
    )


def validate_spec(
    spec: ComponentSpec,
    path: FieldPath,
    *,
    framework: str,
    lacks_pool: bool = False,
    common: Sequence[Json] = (),
    frontend_container: str = "",
) -> tuple[Problem, ...]:
    """Problems of the spec that a component and a graph's service share; `framework` is `backendFramework`, or empty.

    `common` are the `envs` of its graph. `frontend_container` names the user's container that runs a frontend.
    `lacks_pool`: a graph's endpoint picker needs an InferencePool, and its kind is not installed.
    """
    fragments = (*validate_fragments(spec), *find_sidecar_problems(spec))
    is_readable = all(problem.rule not in _OF_TYPES for problem in fragments)
    ports = find_port_problems(spec, path, common, frontend_container=frontend_container) if is_readable else ()
    problems = (
        *find_spec_problems(spec, path, lacks_pool=lacks_pool),
        *_validate_fields(spec, path),
        *(problem.under(path, instead_of=SPEC) for problem in fragments),
        *ports,
    )
    if any(problem.rule is pod_rules.FIELD_TYPE and problem.path in _UNREADABLE_COMMAND for problem in fragments):
        return problems
    try:
        kind, command = ComponentType.of(spec.component_type), CommandLine.of(spec.main_container)
        backend = resolve_backend(kind, command, framework)
    except InvalidSpec as error:
        return (*problems, *(_place(problem, path) for problem in error.problems))
    return (*problems, *_validate_mounts(spec, backend, path))


def validate_restart_policy(spec: ComponentSpec, path: FieldPath) -> Iterator[Problem]:
    """Fields that Deployments and LeaderWorkerSets refuse: another restart policy than Always, and a deadline."""
    policy = spec.extra_pod_spec.get("restartPolicy")
    if policy and policy != "Always":
        yield pod_rules.RESTART_POLICY.at(path / "extraPodSpec.restartPolicy", value=repr(policy))
    if spec.extra_pod_spec.get("activeDeadlineSeconds") is not None:
        yield pod_values.NOT_HERE.at(path / "extraPodSpec.activeDeadlineSeconds")


def _place(problem: Problem, path: FieldPath) -> Problem:
    """An engine's problem, moved to the spec at `path`; an unknown engine is a problem of the whole graph and stays."""
    return problem if problem.rule is rules.ENGINE_UNKNOWN else problem.under(path, instead_of=SPEC)


def validate_change(new: str, old: str) -> Findings:
    """Findings about a change of `spec.backendFramework` of a graph or component; empty if it does not change."""
    return (
        Findings()
        if new == old
        else Findings(
            problems=(rules.BACKEND_FRAMEWORK.at(SPEC / "backendFramework"),),
            warnings=(rules.BACKEND_FRAMEWORK_CHANGES.at(SPEC / "backendFramework"),),
        )
    )


def is_for_status_only(problem: Problem) -> bool:
    """Whether only the status reports the problem: admission accepts the object, because upstream's does."""
    return problem.rule is rules.CACHE_MOUNT_POINT_WITHOUT_ENGINE


def _judge_component(component: ComponentDeployment, review: Review) -> Findings:
    spec, name = component.spec, namespace_of(component)
    return Findings(
        problems=tuple(problem for problem in validate_component(component) if not is_for_status_only(problem)),
        # The review of the graph has these warnings already.
        warnings=()
        if component.graph_name
        else (
            *find_spec_warnings(spec, SPEC, name),
            *find_rollout_slip(component.metadata.annotations),
            *find_slips(
                spec,
                SPEC,
                spec.backend_framework,
                _begin(spec, review.old),
                frontend_container=_frontend_container(component),
            ),
            *find_replaced(spec, SPEC, _replacing(component, review)),
            *find_istio_warnings(spec.ingress, SPEC, review.installed),
        ),
    )


def _begin(spec: ComponentSpec, old: ReadManifest | None) -> Mapping[str, str]:
    """The annotations of a component that began as its spec was before."""
    before = None if old is None else read_parent(ComponentDeployment, old)[0].spec
    kept = choose_operator_release([before]) if before is not None and before.is_multinode else None
    return begin_component(spec, kept)


def _replacing(component: ComponentDeployment, review: Review) -> Replacing:
    is_multinode = component.spec.is_multinode
    return Replacing(
        subject=resolve_subject(component, review.settings),
        annotations=_begin(component.spec, review.old),
        has_groups=is_multinode,
        has_numbers=is_multinode and review.settings.lws_gangs is not Switch.ON,
    )


def _frontend_container(component: ComponentDeployment) -> str:
    return find_frontend_container(
        {**component.metadata.annotations, **component.spec.annotations}, component.spec.extra_pod_spec
    )


def _judge_change(new: ComponentDeployment, old: ReadManifest, _review: Review) -> Findings:
    return validate_change(new.spec.backend_framework, read_backend(old))


def read_backend(manifest: ReadManifest) -> str:
    """`spec.backendFramework` of any object, even if malformed; empty for none."""
    spec = manifest.get("spec")
    found = spec.get("backendFramework") if isinstance(spec, Mapping) else None
    return found if isinstance(found, str) else ""


def _validate_fields(spec: ComponentSpec, path: FieldPath) -> Iterator[Problem]:
    for field, value in (("componentType", spec.component_type), ("subComponentType", spec.sub_component_type)):
        if not is_label_value(value):
            yield rules.LABEL_VALUE.at(path / field, value=value)
    if spec.ingress and spec.ingress.enabled and spec.ingress.host:
        yield from _validate_ingress(spec.ingress, path / "ingress")
    if spec.shared_memory:
        yield from _validate_shared_memory(spec.shared_memory, path / "sharedMemory.size")
    yield from find_preview_problems(spec, path)
    yield from find_runtime_problems(spec, path)
    if spec.env_from_secret:
        yield from check_reference(spec.env_from_secret, path / "envFromSecret")
    if spec.annotations:
        yield from validate_strategy(spec.annotations, path / "annotations")


def _validate_mounts(spec: ComponentSpec, backend: Backend, path: FieldPath) -> Iterator[Problem]:
    for index, mount in enumerate(spec.volume_mounts):
        at = path / "volumeMounts" / index
        if not mount.name:
            yield rules.CLAIM_MOUNT_NAME.at(at / "name")
        elif not is_subdomain(mount.name):
            yield rules.CLAIM_MOUNT_NAME_FORM.at(at / "name", name=mount.name)
        if mount.use_as_compilation_cache and not mount_path(mount, backend):
            is_unknown = backend is Backend.NOOP
            rule = rules.CACHE_MOUNT_POINT_WITHOUT_ENGINE if is_unknown else rules.CACHE_MOUNT_POINT
            yield rule.at(at / "mountPoint", engine=backend.value)


def validate_service_object(spec: ComponentSpec, name: str, path: FieldPath) -> Iterator[Problem]:
    """The problem of a component that has a Service by any way of discovery, but no name that a Service may have."""
    if spec.component_type in SERVED_TYPES and not name[:1].isalpha():
        yield component_rules.SERVICE_OBJECT_NAME.at(path, name=name)


def _validate_lone_picker(component: ComponentDeployment) -> Iterator[Problem]:
    picker = component.spec.epp_config
    if component.spec.component_type != ComponentType.EPP or picker is None or component.graph_name:
        return
    if picker.config is not None and picker.config_map_ref is None:
        yield component_rules.LONE_EPP_CONFIG.at(SPEC / "eppConfig.config")


def _validate_lone_placement(spec: ComponentSpec) -> Iterator[Problem]:
    if spec.min_available is not None:
        yield component_rules.LONE_MIN_AVAILABLE.at(SPEC / "minAvailable")
    if spec.topology_constraint is not None:
        yield COMPONENT_TOPOLOGY.at(SPEC / "topologyConstraint")


def _validate_lone_namespace(component: ComponentDeployment) -> Iterator[Problem]:
    """The problem of a Dynamo namespace that no endpoint can have: dots separate the parts of an endpoint's name."""
    name = component.spec.dynamo_namespace
    if name and not component.graph_name and not is_dns_label(name):
        yield component_rules.DYNAMO_NAMESPACE_FORM.at(SPEC / "dynamoNamespace", name=name)


def _validate_ingress(ingress: Ingress, path: FieldPath) -> Iterator[Problem]:
    host = ingress_host(ingress)
    if not is_subdomain(host.removeprefix("*.")):
        yield rules.INGRESS_HOST_NAME.at(path / "host", host=host)
    name = ingress.ingress_controller_class_name or ""
    if name and not is_subdomain(name):
        yield rules.INGRESS_CLASS_NAME.at(path / "ingressControllerClassName", name=name)
    secret = ingress.tls.secret_name if ingress.tls else ""
    if name and secret and not is_subdomain(secret):
        yield rules.TLS_SECRET_NAME.at(path / "tls.secretName", name=secret)


def _validate_shared_memory(shared_memory: SharedMemory, path: FieldPath) -> Iterator[Problem]:
    size = shared_memory.size
    if size is None:
        return
    try:
        amount = parse_quantity(str(size or "0"))
    except ValueError as error:
        yield pod_rules.QUANTITY.at(path, why=str(error))
        return
    if amount < 0 and has_shared_memory(shared_memory):
        yield pod_rules.NEGATIVE.at(path, amount=size)


def _validate_names(name: str, service: str) -> Iterator[Problem]:
    """Problems of the names of a component and of its service; an empty service name is no problem."""
    for rule, path, value in (
        (component_rules.COMPONENT_NAME_LENGTH, METADATA / "name", name),
        (component_rules.SERVICE_LABEL_LENGTH, SPEC / "serviceName", service),
    ):
        if len(value) > MAX_LABEL:
            yield rule.at(path, name=value, length=len(value))
    if service and not has_label_value_form(service):
        yield rules.LABEL_VALUE.at(SPEC / "serviceName", value=service)
