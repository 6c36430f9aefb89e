"""A component's defaults, by its type and the release that it runs; the user's values override them."""

from dataclasses import replace
from typing import assert_never

from hooks.api.component_spec import ComponentSpec
from hooks.component.defaults import epp, frontend, other, planner, worker
from hooks.component.defaults.base import BARE, ComponentDefaults
from hooks.component.defaults.runtime import ENGINE
from hooks.component.namespace_prefix import frontend_prefix
from hooks.component.runtime_version import RuntimeVersion, find_runtime_container, resolve_runtime_version
from hooks.component.subject import ComponentType, Subject

__all__ = ["ComponentDefaults", "resolve_defaults", "resolve_typical", "typical_defaults"]


def resolve_defaults(spec: ComponentSpec, subject: Subject) -> ComponentDefaults:
    """The defaults of the main container and its pod."""
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
    """The defaults of the main container, without an endpoint picker's flags and volumes, and without accounts."""
    kind = ComponentType.of(spec.component_type)
    if kind.is_worker and find_runtime_container(spec) is not None:
        return ENGINE
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
