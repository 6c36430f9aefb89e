"""A component's defaults, by its type; the user's values override them."""

from typing import assert_never

from hooks.api.component_spec import ComponentSpec
from hooks.component.defaults import epp, frontend, planner, worker
from hooks.component.defaults.base import BARE, ComponentDefaults
from hooks.component.subject import ComponentType, Subject

__all__ = ["ComponentDefaults", "resolve_defaults", "typical_defaults"]


def resolve_defaults(spec: ComponentSpec, subject: Subject) -> ComponentDefaults:
    """The defaults of the component's type."""
    match subject.type:
        case ComponentType.FRONTEND:
            return frontend.DEFAULTS
        case ComponentType.WORKER | ComponentType.PREFILL | ComponentType.DECODE:
            return worker.DEFAULTS
        case ComponentType.PLANNER:
            return planner.resolve_defaults(subject)
        case ComponentType.EPP:
            return epp.resolve_defaults(spec, subject)
        case ComponentType.OTHER:
            return BARE
    assert_never(subject.type)


def typical_defaults(kind: ComponentType) -> ComponentDefaults:
    """The defaults that depend on the type alone: all but an endpoint picker's flags and volumes, and accounts."""
    match kind:
        case ComponentType.FRONTEND:
            return frontend.DEFAULTS
        case ComponentType.WORKER | ComponentType.PREFILL | ComponentType.DECODE:
            return worker.DEFAULTS
        case ComponentType.PLANNER:
            return planner.DEFAULTS
        case ComponentType.EPP:
            return epp.DEFAULTS
        case ComponentType.OTHER:
            return BARE
    assert_never(kind)
