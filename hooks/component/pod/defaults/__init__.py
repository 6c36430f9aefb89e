"""A component's defaults, by its type and the release that it runs; the user's values override them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from hooks.component.image.runtime_version import RuntimeVersion, find_runtime_container, resolve_runtime_version
from hooks.component.pod.defaults import epp, frontend, other, planner, worker
from hooks.component.pod.defaults.base import BARE, ComponentDefaults
from hooks.component.pod.defaults.listening import Written, follow_ports
from hooks.component.pod.defaults.runtime import ENGINE
from hooks.component.spec.namespace_prefix import frontend_prefix
from hooks.component.spec.subject import ComponentType, Subject
from hooks.ground.k8s.types import EnvVar
from hooks.ground.problems import SPEC, FieldPath
from hooks.language.api.component_spec import ComponentSpec

__all__ = [
    "ComponentDefaults",
    "resolve_defaults",
    "resolve_typical",
    "resolve_without_ports",
    "typical_defaults",
    "written_of_main",
]


def resolve_defaults(spec: ComponentSpec, subject: Subject) -> ComponentDefaults:
    """The defaults of the main container and its pod, with the ports that the user writes."""
    return follow_ports(resolve_without_ports(spec, subject), written_of_main(spec))


def written_of_main(spec: ComponentSpec, at: FieldPath = SPEC, common: Sequence[EnvVar] = ()) -> Written:
    """What the user writes about the main container; `at` is the path of the spec, `common` the graph's `envs`."""
    main = at / "extraPodSpec.mainContainer"
    own = (main / "env", spec.main_container.get("env") or ())
    variables = (own, (SPEC / "envs", common), (at / "envs", spec.envs))
    return Written(path=main, container=spec.main_container, variables=variables)


def resolve_without_ports(spec: ComponentSpec, subject: Subject) -> ComponentDefaults:
    """The same with the ports of the type; fragments of the spec may have any shape."""
    version = resolve_runtime_version(spec)
    match subject.type:
        case ComponentType.FRONTEND:
            defaults = frontend.resolve_defaults(version)
            return replace(defaults, env={**defaults.env, **frontend_prefix(subject, version)})
        case ComponentType.PLANNER:
            return planner.resolve_defaults(subject, version)
        case ComponentType.EPP:
            return epp.resolve_defaults(spec, subject)
        case ComponentType.OTHER:
            return other.resolve_defaults(spec)
        case _:
            return resolve_typical(spec)


def resolve_typical(spec: ComponentSpec) -> ComponentDefaults:
    """The main container's defaults, without an endpoint picker's flags and volumes, accounts, and the user's ports."""
    kind = ComponentType.of(spec.component_type)
    if kind.is_worker and find_runtime_container(spec) is not None:
        return ENGINE
    if kind is ComponentType.EPP and spec.epp_config is None:
        return epp.NATIVE
    return typical_defaults(kind, resolve_runtime_version(spec))


def typical_defaults(kind: ComponentType, version: RuntimeVersion | None) -> ComponentDefaults:
    """The defaults that depend on the type and the release alone."""
    match kind:
        case ComponentType.FRONTEND:
            return frontend.resolve_defaults(version)
        case ComponentType.WORKER | ComponentType.PREFILL | ComponentType.DECODE:
            return worker.resolve_defaults(version)
        case ComponentType.PLANNER:
            return planner.typical_defaults(version)
        case ComponentType.EPP:
            return epp.DEFAULTS
        case ComponentType.OTHER:
            return BARE
    assert_never(kind)
