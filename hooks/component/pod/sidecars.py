"""Containers that run Dynamo beside the main container: a frontend, and the runtime of an engine without Dynamo.

Both are what a process of their type is as a main container: the same variables, ports and probes.

Source: Dynamo operator 1.6, internal/dynamo/graph.go, mergeFrontendSidecarDefaults, and component_dynamo_sidecar.go.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hooks.component.image.runtime_version import RUNTIME_CONTAINER, RuntimeVersion, resolve_sidecar_version
from hooks.component.pod.defaults import frontend, runtime
from hooks.component.pod.defaults.listening import Written, follow_ports
from hooks.component.pod.environment import resolve_env, select_shared
from hooks.component.spec.namespace_prefix import frontend_prefix
from hooks.component.spec.subject import ComponentType, Subject
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.overlay import overlay, overlay_probe
from hooks.ground.k8s.pods import literal_env
from hooks.ground.k8s.types import EnvVar, Json
from hooks.ground.problems import SPEC, FieldPath
from hooks.ground.settings import Settings
from hooks.language.api.component_spec import ComponentSpec, FrontendSidecar
from hooks.language.rules import pod as rules

FRONTEND_SIDECAR = "sidecar-frontend"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """What a container beside the main container needs to know of the component.

    `env` are the user's variables of the process beside which it runs, `mounts` those of the main container. `version`
    is the release that the component runs; a frontend has one of its own if the tag of its image names one.
    """

    subject: Subject
    settings: Settings
    env: Sequence[EnvVar]
    mounts: Sequence[Mapping[str, Json]] = ()
    version: RuntimeVersion | None = None


def write_sidecar(sidecar: FrontendSidecar) -> dict[str, Json]:
    """The frontend's container as a user would write it."""
    container: dict[str, Json] = {"name": FRONTEND_SIDECAR, "image": sidecar.image}
    if sidecar.args:
        container["args"] = list(sidecar.args)
    if sidecar.envs:
        container["env"] = list(sidecar.envs)
    return container


def written_of_sidecar(sidecar: FrontendSidecar, at: FieldPath = SPEC) -> Written:
    """What the user writes about the frontend of `frontendSidecar`; `at` is the path of the spec."""
    path = at / "frontendSidecar"
    return Written(path=path, container=write_sidecar(sidecar), variables=((path / "envs", sidecar.envs),))


def written_of_container(
    users: Mapping[str, Json], path: FieldPath, *, beneath: Sequence[EnvVar] = (), at: FieldPath = SPEC
) -> Written:
    """What the user writes about the container at that path; `beneath` are the `envs` of the spec, if it gets them."""
    return Written(
        path=path, container=users, variables=((at / "envs", beneath), (path / "env", users.get("env") or ()))
    )


def build_frontend_sidecar(sidecar: FrontendSidecar, beside: Neighbour) -> dict[str, Json]:
    """Build the frontend's container; the release in its image's tag, or else the component's, chooses its defaults.

    Raises:
        InvalidSpec: references between its variables cannot be expanded.
    """
    version = resolve_sidecar_version(sidecar.image, beside.version)
    defaults = follow_ports(frontend.resolve_defaults(version), written_of_sidecar(sidecar))
    shared, own = select_shared(beside.env), canonical_fragment(sidecar.envs)
    where, named = SPEC / "frontendSidecar.envs", _as_frontend(beside)
    ours = literal_env({**defaults.env, **frontend_prefix(beside.subject, version)})
    container: dict[str, Json] = {
        "name": FRONTEND_SIDECAR,
        "image": sidecar.image,
        "command": list(defaults.command),
        "args": list(sidecar.args or defaults.args),
        "ports": list(defaults.ports),
        "env": _resolve(named, where, shared, ours, own, container=FRONTEND_SIDECAR, version=version),
        **defaults.probes,
    }
    if sidecar.env_from_secret:
        container["envFrom"] = [{"secretRef": {"name": sidecar.env_from_secret}}]
    if beside.mounts:
        container["volumeMounts"] = list(beside.mounts)
    return container


def overlay_frontend(users: Mapping[str, Json], beside: Neighbour, path: FieldPath) -> dict[str, Json]:
    """The user's container that runs a frontend, which is at that path, over the defaults of a frontend.

    It also has the mounts of the main container whose volumes it does not mount itself.

    Raises:
        InvalidSpec: references between its variables cannot be expanded.
    """
    version = resolve_sidecar_version(users.get("image"), beside.version)
    defaults = follow_ports(frontend.resolve_defaults(version), written_of_container(users, path))
    base = {"command": list(defaults.command), "args": list(defaults.args), "ports": list(defaults.ports)}
    merged = {"env", *_PROBES}
    container = overlay(base, {key: value for key, value in users.items() if key not in merged})
    ours = literal_env({**defaults.env, **frontend_prefix(beside.subject, version)})
    layers = (select_shared(beside.env), ours, users.get("env") or ())
    container["env"] = _resolve(
        _as_frontend(beside), path / "env", *layers, container=str(users["name"]), version=version
    )
    probes = {field: overlay_probe(defaults.probes.get(field), users.get(field) or {}) for field in _PROBES}
    own = users.get("volumeMounts") or []
    mounted = {mount.get("name") for mount in own}
    mounts = [*own, *(mount for mount in beside.mounts if mount.get("name") not in mounted)]
    filled = {**probes, "volumeMounts": mounts}
    return {**container, **{field: value for field, value in filled.items() if value}}


def _as_frontend(beside: Neighbour) -> Neighbour:
    kind = ComponentType.FRONTEND
    return replace(beside, subject=replace(beside.subject, type=kind, type_text=kind.value, sub_type=""))


def overlay_runtime(users: Mapping[str, Json], beside: Neighbour, path: FieldPath) -> dict[str, Json]:
    """The user's container `runtime`, which is at that path, over the defaults of a runtime without an engine.

    Raises:
        InvalidSpec: references between its variables cannot be expanded.
    """
    merged = {"env", *_PROBES}
    defaults = follow_ports(runtime.DEFAULTS, written_of_container(users, path, beneath=beside.env))
    base: dict[str, Json] = {"ports": list(defaults.ports)}
    container = overlay(base, {key: value for key, value in users.items() if key not in merged})
    layers = (literal_env(defaults.env), beside.env, users.get("env") or ())
    container["env"] = _resolve(beside, path / "env", *layers, container=RUNTIME_CONTAINER, version=beside.version)
    probes = {field: overlay_probe(defaults.probes.get(field), users.get(field) or {}) for field in _PROBES}
    return {**container, **probes}


def images_of_sidecars(spec: ComponentSpec) -> tuple[str, ...]:
    """The images of containers that the spec does not have among its containers."""
    return (spec.frontend_sidecar.image,) if spec.frontend_sidecar else ()


def _resolve(
    beside: Neighbour, path: FieldPath, *layers: Iterable[EnvVar], container: str, version: RuntimeVersion | None
) -> list[EnvVar]:
    try:
        return resolve_env(beside.subject, beside.settings, *layers, version=version, container=container)
    except ValueError as error:
        raise InvalidSpec(rules.ENV_REFERENCES.at(path, why=str(error))) from error
