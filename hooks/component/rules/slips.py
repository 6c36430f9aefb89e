"""Warnings about a service or component whose spec is accepted, but probably does not do what is meant.

Source: Dynamo operator: values that it compares, and otherwise ignores.
"""

from collections.abc import Iterator, Mapping, Sequence

from hooks.component.image import flags as image_flags
from hooks.component.image.command_line import CommandLine
from hooks.component.image.contents import ENGINE_OF
from hooks.component.image.programs import read_runs
from hooks.component.image.runtime_version import PLANNER_CONFIG_SINCE, is_since, resolve_runtime_version
from hooks.component.pod.backends import resolve_backend
from hooks.component.pod.defaults import resolve_typical
from hooks.component.pod.launch import launch
from hooks.component.pod.placement import Orchestrator, Placement, Role
from hooks.component.pod.port_rules import find_port_slips
from hooks.component.rules.fragments import MAIN_CONTAINER, validate_fragments
from hooks.component.rules.image_slips import find_image_slips
from hooks.component.rules.sidecar_rules import find_sidecar_problems
from hooks.component.rules.spec_rules import EXECUTOR_BACKENDS
from hooks.component.spec.projection import is_power_limit
from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.overlay import overlay_probe
from hooks.ground.k8s.pods import merge_env
from hooks.ground.k8s.types import Json
from hooks.ground.problems import METADATA, SPEC, FieldPath, Key, Problem
from hooks.language.api.component_spec import ComponentSpec, Ingress
from hooks.language.rules import slips as rules
from hooks.language.rules.values import suggest
from hooks.wire.policy.rollout_wishes import is_canary

_TYPES = tuple(kind.value for kind in ComponentType if kind is not ComponentType.OTHER)
_OLD_FRONTEND = "main"
"""The type of a graph's entry in releases of 2025."""
_TYPE_OF: Mapping[str, str] = {
    image_flags.FRONTEND: ComponentType.FRONTEND.value,
    "dynamo.planner": ComponentType.PLANNER.value,
    **dict.fromkeys(ENGINE_OF, ComponentType.WORKER.value),
}
"""By module the type that runs it."""
_ANY_NAME = "x"
_BOOLEANS = ("true", "false")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    contract.ANNOTATION_DEPLOYMENT_STRATEGY: (
        *("RollingUpdate", "Recreate", "RampedSlowRollout", "BestEffortControlledRollout"),
    ),
    contract.ANNOTATION_DISABLE_PULL_SECRETS: _BOOLEANS,
    contract.ANNOTATION_DISCOVERY_MODE: ("pod", "container"),
    contract.ANNOTATION_ENABLE_METRICS: _BOOLEANS,
}
_OF_ROLLOUTS: Mapping[str, tuple[str, ...]] = {
    contract.ANNOTATION_ROLLOUT: ("now",),
    contract.ANNOTATION_ROLLOUT_PAUSED: _BOOLEANS,
}
"""By annotation of an object itself: the values that exist."""
_BACKENDS = (contract.DISCOVERY_KUBERNETES, contract.DISCOVERY_ETCD)
KNOWN_VALUES: Mapping[str, tuple[str, ...]] = {
    **_CHOICES,
    contract.ANNOTATION_DISCOVERY_BACKEND: _BACKENDS,
    contract.ANNOTATION_EXECUTOR_BACKEND: EXECUTOR_BACKENDS,
}
"""By annotation of a service: the values that exist."""


def find_slips(
    spec: ComponentSpec,
    path: FieldPath,
    framework: str,
    launching: Mapping[str, str],
    *,
    common: Sequence[Json] = (),
    frontend_container: str = "",
) -> Iterator[Problem]:
    """Warnings about one spec at that path; `framework` is `backendFramework`, or empty.

    `launching` are the annotations by which its engine is launched: its own, those of its graph, and the origin.
    `common` are the `envs` of its graph. `frontend_container` names the user's container that runs a frontend.
    """
    yield from _find_type_slip(spec, path / "componentType")
    yield from find_annotation_slips(spec.annotations, path / "annotations")
    yield from _find_power_slip(spec, path / "extraPodMetadata.annotations")
    if spec.ingress and spec.ingress.enabled:
        yield from _find_ingress_slip(spec.ingress, path / "ingress")
    if not validate_fragments(spec) and not any(find_sidecar_problems(spec)):
        yield from find_port_slips(spec, path, common, frontend_container=frontend_container)
        yield from (
            one.under(path, instead_of=SPEC)
            for one in (
                *_find_repeated_variables(spec),
                *find_image_slips(spec, framework),
                *_find_probe_slips(spec),
                *_find_planner_slip(spec),
                *_warn_of_launch(spec.model_copy(update={"annotations": launching}), framework),
            )
        )


def find_repeats(variables: Sequence[Json], path: FieldPath) -> Iterator[Problem]:
    """Warnings about variables of the list at that path that an earlier entry has too."""
    earlier: dict[str, int] = {}
    for index, entry in enumerate(variables):
        if entry["name"] in earlier:
            yield rules.VARIABLE_TWICE.at(path / index, name=entry["name"], other=path / earlier[entry["name"]])
        earlier[entry["name"]] = index


def find_rollout_slip(annotations: Mapping[str, str]) -> Iterator[Problem]:
    """The warnings that an object's own annotation does not let new defaults in, or does not steer a rollout."""
    for name, choices in _OF_ROLLOUTS.items():
        value = annotations.get(name)
        if value and value not in choices:
            path, hint = METADATA / "annotations" / Key(name), _guess(value, choices)
            yield rules.ANNOTATION_VALUE.at(path, value=value, choices=", ".join(choices), hint=hint)
    canary = annotations.get(contract.ANNOTATION_ROLLOUT_CANARY)
    if canary and not is_canary(canary):
        yield rules.CANARY_VALUE.at(METADATA / "annotations" / Key(contract.ANNOTATION_ROLLOUT_CANARY), value=canary)


def find_annotation_slips(annotations: Mapping[str, str], path: FieldPath) -> Iterator[Problem]:
    """Warnings about values that nothing knows; a graph's annotations are its services' too."""
    for name, choices in _CHOICES.items():
        value = annotations.get(name)
        if value and value not in choices:
            yield rules.ANNOTATION_VALUE.at(
                path / Key(name), value=value, choices=", ".join(choices), hint=_guess(value, choices)
            )
    backend = annotations.get(contract.ANNOTATION_DISCOVERY_BACKEND)
    if backend and backend not in _BACKENDS:
        hint = "; did you mean kubernetes?" if backend.lower() in {"k8s", "kube"} else _guess(backend, _BACKENDS)
        at = path / Key(contract.ANNOTATION_DISCOVERY_BACKEND)
        yield rules.DISCOVERY_VALUE.at(at, value=backend, choices=", ".join(_BACKENDS), hint=hint)


def _find_repeated_variables(spec: ComponentSpec) -> Iterator[Problem]:
    """Variables that one list of the spec has twice; each list reaches one container."""
    yield from find_repeats(spec.envs, SPEC / "envs")
    yield from find_repeats(spec.main_container.get("env") or (), MAIN_CONTAINER / "env")
    if spec.frontend_sidecar is not None:
        yield from find_repeats(spec.frontend_sidecar.envs, SPEC / "frontendSidecar.envs")
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.extra_pod_spec.get(field) or ()):
            yield from find_repeats(container.get("env") or (), SPEC / "extraPodSpec" / field / index / "env")


def _find_type_slip(spec: ComponentSpec, path: FieldPath) -> Iterator[Problem]:
    value = spec.component_type
    if value and value != ComponentType.OTHER and ComponentType.of(value) is ComponentType.OTHER:
        meant = _find_meant_type(spec)
        hint = f"; write {meant}" if meant else _guess(value, _TYPES)
        yield rules.COMPONENT_TYPE.at(path, value=value, choices=", ".join(_TYPES), hint=hint)


def _find_meant_type(spec: ComponentSpec) -> str:
    """The type of what the command runs; `main` without a command was the frontend of the first releases."""
    main = spec.main_container
    if validate_fragments(spec):
        return ""
    modules = [run.module for run in read_runs(CommandLine.of(main))]
    found = next((_TYPE_OF[module] for module in modules if module in _TYPE_OF), "")
    if found or spec.component_type != _OLD_FRONTEND or main.get("command") or main.get("args"):
        return found
    return ComponentType.FRONTEND.value


def _find_power_slip(spec: ComponentSpec, path: FieldPath) -> Iterator[Problem]:
    given = spec.extra_pod_metadata.annotations if spec.extra_pod_metadata else {}
    limit = given.get(contract.ANNOTATION_GPU_POWER_LIMIT)
    if limit is not None and not is_power_limit(limit):
        yield rules.POWER_LIMIT.at(path / Key(contract.ANNOTATION_GPU_POWER_LIMIT), value=limit)


def _guess(value: str, choices: tuple[str, ...]) -> str:
    guess = suggest(value, choices)
    return f"; {guess}" if guess else ""


def _find_ingress_slip(ingress: Ingress, path: FieldPath) -> Iterator[Problem]:
    by_gateway = ingress.use_virtual_service and ingress.virtual_service_gateway
    if not ingress.ingress_controller_class_name and not by_gateway:
        yield rules.INGRESS_WITHOUT_CLASS.at(
            path,
            class_name=path / "ingressControllerClassName",
            use=path / "useVirtualService",
            gateway=path / "virtualServiceGateway",
        )


def _find_planner_slip(spec: ComponentSpec) -> Iterator[Problem]:
    """The warning that a planner of 1.0 or later gets the arguments of an older one, or none."""
    version, runs = resolve_runtime_version(spec), read_runs(CommandLine.of(spec.main_container))
    planners = [run for run in runs if run.module == "dynamo.planner"]
    is_planner = spec.component_type == ComponentType.PLANNER and planners
    if is_planner and is_since(version, PLANNER_CONFIG_SINCE) and not any("--config" in run.flags for run in planners):
        yield rules.PLANNER_CONFIG.at(MAIN_CONTAINER / "args", version=str(version))


def _find_probe_slips(spec: ComponentSpec) -> Iterator[Problem]:
    """Ports by name at which the main container's probes ask, and which it does not have."""
    defaults, main = resolve_typical(spec), spec.main_container
    ports = main.get("ports") or defaults.ports
    names = {port.get("name") for port in ports}
    missing: dict[str, Problem] = {}
    for path, probe in _probes_of(spec, main, defaults.probes):
        for handler in ("httpGet", "tcpSocket"):
            name = (probe.get(handler) or {}).get("port")
            if isinstance(name, str) and not name.isdigit() and name not in names:
                at = MAIN_CONTAINER / "ports" if main.get("ports") else path
                missing.setdefault(name, rules.PROBE_PORT.at(at, name=name, probe=path))
    yield from missing.values()


def _probes_of(
    spec: ComponentSpec, main: Mapping[str, Json], ours: Mapping[str, Mapping[str, Json]]
) -> Iterator[tuple[FieldPath, Mapping[str, Json]]]:
    """The probes that the main container gets, each with the path of the field that a user would write."""
    top = {"livenessProbe": spec.liveness_probe, "readinessProbe": spec.readiness_probe}
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        own = top.get(field)
        if own is not None:
            yield SPEC / field, own
        elif main.get(field):
            yield MAIN_CONTAINER / field, overlay_probe(ours.get(field), main[field])
        elif field in ours:
            yield MAIN_CONTAINER / field, ours[field]


def _warn_of_launch(spec: ComponentSpec, framework: str) -> tuple[Problem, ...]:
    """Warnings of the engine's launch rules, over several nodes about the leader."""
    kind, main = ComponentType.of(spec.component_type), canonical_fragment(spec.main_container)
    defaults = resolve_typical(spec)
    container = {"command": list(defaults.command), "args": list(defaults.args), **main}
    env = merge_env(main.get("env") or (), canonical_fragment(spec.envs))
    try:
        role = Role.LEADER if spec.is_multinode else Role.MAIN
        place = Placement(role=role, orchestrator=Orchestrator.LWS, node_count=spec.node_count, service=_ANY_NAME)
        launched = launch(
            {**container, "env": env},
            place,
            backend=resolve_backend(kind, CommandLine.of(spec.main_container), framework),
            spec=spec,
            mpi_secret=_ANY_NAME,
        )
    except InvalidSpec:
        return ()  # planning reports these problems
    return launched.warnings
