"""A component's defaults, by its type; the user's values override them."""

from typing import assert_never

from hooks.api.component_spec import ComponentSpec
from hooks.component.defaults import epp, frontend, planner, worker
from hooks.component.defaults.base import BARE, GRACE_SECONDS, ComponentDefaults
from hooks.component.subject import ComponentType, Subject

__all__ = ["ComponentDefaults", "default_probes", "grace_seconds", "resolve_defaults"]


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


def default_probes(kind: ComponentType) -> frozenset[str]:
    """The fields of the probes that the type gives, which a user's numbers may change without a handler."""
    if kind is ComponentType.EPP:
        return frozenset(epp.PROBES)
    if kind is ComponentType.FRONTEND:
        return frozenset(frontend.DEFAULTS.probes)
    return frozenset(worker.DEFAULTS.probes) if kind.is_worker else frozenset()


def grace_seconds(kind: ComponentType) -> int:
    """The seconds that a pod of the type has to end, unless the user says otherwise."""
    return epp.GRACE_SECONDS if kind is ComponentType.EPP else GRACE_SECONDS
