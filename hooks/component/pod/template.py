"""Builds the pod of a component: its type's defaults, overridden by the user, with the engine's launch rules applied.

Source: Dynamo operator, internal/dynamo/graph.go, GenerateBasePodSpec.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from hooks.component.image.runtime_version import resolve_runtime_version
from hooks.component.pod.backends import Backend
from hooks.component.pod.backends.launched import Launched
from hooks.component.pod.defaults import ComponentDefaults
from hooks.component.pod.environment import resolve_env, resolve_plain_env
from hooks.component.pod.launch import launch
from hooks.component.pod.placement import Placement
from hooks.component.pod.resources import build_resources
from hooks.component.pod.sidecars import Neighbour, build_frontend_sidecar, overlay_frontend, overlay_runtime
from hooks.component.pod.volumes import VolumePlan, is_shared_memory, is_shared_memory_path, shared_memory_volume
from hooks.component.seen.discovered import Discovered
from hooks.component.spec.subject import Subject
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.overlay import overlay, overlay_probe
from hooks.ground.k8s.pods import add_named, expand_references, literal_env, merge_env, single_variables, without_named
from hooks.ground.k8s.types import EnvVar, Json, PodSpec
from hooks.ground.problems import SPEC, FieldPath, Problem
from hooks.ground.settings import Settings
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import pod as rules

_MERGED_ELSEWHERE = frozenset({"env", "resources", "livenessProbe", "readinessProbe", "startupProbe"})
_ASSEMBLED = frozenset(
    {"mainContainer", "containers", "initContainers", "volumes", "imagePullSecrets", "serviceAccount"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlan:
    """The decisions about a component's pods; `account` is the ServiceAccount that the spec decides, empty for none.

    `mpi_secret` names the Secret with the SSH key; only TensorRT-LLM over several nodes uses it. `runtime_container` is
    the index of the init container that runs Dynamo; None if the main container does. `frontend_container` is the name
    of the user's container that runs a frontend; empty for none.
    """

    subject: Subject
    spec: ComponentSpec
    defaults: ComponentDefaults
    backend: Backend
    volumes: VolumePlan
    account: str
    discovered: Discovered
    mpi_secret: str
    settings: Settings
    runtime_container: int | None = None
    frontend_container: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPod:
    """A pod's spec, and warnings for the user from the engine's launch rules."""

    spec: PodSpec
    warnings: tuple[Problem, ...]


def build_pod(plan: PodPlan, placement: Placement) -> BuiltPod:
    """Build the pod with that placement; the main container comes after the user's further containers, as upstream.

    Raises:
        InvalidSpec: references between environment variables cannot be expanded, or the engine's launch rules cannot
            use the command.
    """
    users: Mapping[str, Json] = single_variables(canonical_fragment(plan.spec.extra_pod_spec))
    base: dict[str, Json] = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": plan.defaults.grace_seconds,
    }
    if "securityContext" not in users:
        base["securityContext"] = {"fsGroup": contract.DEFAULT_FS_GROUP}
    pod = overlay(base, {key: value for key, value in users.items() if key not in _ASSEMBLED})
    launched = _launch(plan, placement, _build_main_container(plan, users.get("mainContainer") or {}))
    beside = _frontend_beside(plan, users)
    pod["containers"] = [*_users_containers(plan, users), *beside, launched.container]
    volumes = add_named(_volumes(plan, users.get("volumes") or []), launched.volumes)
    secrets = add_named(
        users.get("imagePullSecrets") or [], ({"name": name} for name in plan.discovered.pull_secrets or ())
    )
    optional = {
        "initContainers": add_named(_init_containers(plan, users), launched.init_containers),
        "volumes": volumes,
        "imagePullSecrets": secrets,
        "serviceAccountName": plan.account or plan.discovered.account,
    }
    pod.update({key: value for key, value in optional.items() if value})
    return BuiltPod(spec=cast("PodSpec", pod), warnings=launched.warnings)


def users_account(spec: ComponentSpec) -> str:
    """The ServiceAccount that the user names, by the field's present or former name; empty for none."""
    named = spec.extra_pod_spec.get("serviceAccountName") or spec.extra_pod_spec.get("serviceAccount")
    return str(named or "")


def _build_main_container(plan: PodPlan, users: Mapping[str, Json]) -> dict[str, Json]:
    defaults = plan.defaults
    base: dict[str, Json] = {"name": contract.MAIN_CONTAINER}
    if defaults.command:
        base["command"] = list(defaults.command)
    if defaults.args:
        base["args"] = list(defaults.args)
    if defaults.ports:
        base["ports"] = list(defaults.ports)
    container = overlay(base, {key: value for key, value in users.items() if key not in _MERGED_ELSEWHERE})
    if env := _env(plan, users.get("env") or []):
        container["env"] = env
    if plan.spec.env_from_secret:
        reference = {"secretRef": {"name": plan.spec.env_from_secret}}
        container["envFrom"] = [*container.get("envFrom", ()), reference]
    mounts = _mounts(plan, container.get("volumeMounts") or [])
    optional = {
        **_probes(plan, users),
        "resources": build_resources(plan.spec.resources, users.get("resources") or {}),
        "volumeMounts": mounts,
    }
    container.update({key: value for key, value in optional.items() if value})
    return container


def _launch(plan: PodPlan, placement: Placement, container: Mapping[str, Json]) -> Launched:
    return launch(
        container,
        placement,
        backend=plan.backend,
        spec=plan.spec,
        mpi_secret=plan.mpi_secret,
    )


def _env(plan: PodPlan, users: Sequence[EnvVar]) -> list[EnvVar]:
    cache = literal_env({"VLLM_CACHE_ROOT": plan.volumes.cache_path})
    defaults = literal_env(plan.defaults.env)
    envs = canonical_fragment(plan.spec.envs)
    try:
        if plan.runtime_container is not None:
            return resolve_plain_env(cache, users, envs)
        version = resolve_runtime_version(plan.spec)
        return resolve_env(plan.subject, plan.settings, cache, defaults, users, envs, version=version)
    except ValueError as error:
        raise InvalidSpec(rules.ENV_REFERENCES.at(SPEC / "envs", why=str(error))) from error


def _probes(plan: PodPlan, users: Mapping[str, Json]) -> dict[str, Json]:
    """Our probes, overridden by the main container's; a probe of the spec itself replaces both."""
    probes = dict(plan.defaults.probes)
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        if users.get(field):
            probes[field] = overlay_probe(probes.get(field), users[field])
    top = {"livenessProbe": plan.spec.liveness_probe, "readinessProbe": plan.spec.readiness_probe}
    probes.update({field: canonical_fragment(probe) for field, probe in top.items() if probe is not None})
    return dict(probes)


def _mounts(plan: PodPlan, users: Sequence[Mapping[str, Json]]) -> list[Json]:
    """The user's mounts, the type's at other paths, those of claims, and last that of shared memory."""
    taken = {mount.get("mountPath") for mount in (*users, *plan.volumes.mounts)}
    mounts: list[Json] = [*users, *(m for m in plan.defaults.mounts if m["mountPath"] not in taken)]
    mounts += plan.volumes.mounts
    if not plan.volumes.shared_memory_size:
        return mounts
    if plan.volumes.replaces_shared_memory:
        mounts = [mount for mount in mounts if not is_shared_memory(mount)]
    elif any(is_shared_memory_path(mount.get("mountPath")) for mount in mounts):
        return mounts
    return [*mounts, {"name": plan.volumes.shared_memory_name, "mountPath": contract.SHARED_MEMORY_PATH}]


def _volumes(plan: PodPlan, users: Sequence[Json]) -> list[Json]:
    volumes = add_named(users, (*plan.defaults.volumes, *plan.volumes.volumes))
    if not plan.volumes.shared_memory_size:
        return volumes
    ours = shared_memory_volume(plan.volumes.shared_memory_name, plan.volumes.shared_memory_size)
    if plan.volumes.replaces_shared_memory:
        return [*without_named(volumes, frozenset({contract.SHARED_MEMORY_VOLUME})), ours]
    return add_named(volumes, (ours,))


def _frontend_beside(plan: PodPlan, users: Mapping[str, Json]) -> list[Json]:
    """The frontend beside the main container, with the user's mounts of the main container; [] without one."""
    sidecar = plan.spec.frontend_sidecar
    return [build_frontend_sidecar(sidecar, _neighbour_of(plan, users))] if sidecar else []


def _users_containers(plan: PodPlan, users: Mapping[str, Json]) -> list[Json]:
    """The user's containers; the one that runs a frontend has a frontend's defaults."""
    containers = _side_containers(users, "containers")
    index = next((i for i, one in enumerate(containers) if one.get("name") == plan.frontend_container), None)
    if index is None or not plan.frontend_container:
        return containers
    path = SPEC / "extraPodSpec.containers" / index
    frontend = overlay_frontend(users["containers"][index], _neighbour_of(plan, users), path)
    return [*containers[:index], frontend, *containers[index + 1 :]]


def _neighbour_of(plan: PodPlan, users: Mapping[str, Json]) -> Neighbour:
    """What a frontend beside the main container gets of it: variables, and the user's mounts."""
    main = users.get("mainContainer") or {}
    dynamo = main if plan.runtime_container is None else users["initContainers"][plan.runtime_container]
    mounts = [*(main.get("volumeMounts") or ()), *plan.volumes.mounts]
    return Neighbour(
        subject=plan.subject,
        settings=plan.settings,
        env=merge_env(dynamo.get("env") or (), canonical_fragment(plan.spec.envs)),
        version=resolve_runtime_version(plan.spec),
        mounts=[mount for mount in mounts if not is_shared_memory(mount)],
    )


def _init_containers(plan: PodPlan, users: Mapping[str, Json]) -> list[Json]:
    containers = _side_containers(users, "initContainers")
    index = plan.runtime_container
    if index is None:
        return containers
    envs = canonical_fragment(list(plan.spec.envs))
    version = resolve_runtime_version(plan.spec)
    neighbour = Neighbour(subject=plan.subject, settings=plan.settings, env=envs, version=version)
    runtime = overlay_runtime(users["initContainers"][index], neighbour, SPEC / "extraPodSpec.initContainers" / index)
    return [*containers[:index], runtime, *containers[index + 1 :]]


def _side_containers(users: Mapping[str, Json], field: str) -> list[Json]:
    """The user's own containers, with references between their variables expanded."""
    path = SPEC / "extraPodSpec" / field
    return [_expanded(container, path / index) for index, container in enumerate(users.get(field) or ())]


def _expanded(container: Mapping[str, Json], path: FieldPath) -> Mapping[str, Json]:
    if "env" not in container:
        return container
    try:
        return {**container, "env": expand_references(container["env"])}
    except ValueError as error:
        raise InvalidSpec(rules.ENV_REFERENCES.at(path / "env", why=str(error))) from error
