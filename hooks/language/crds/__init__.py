"""The custom resource definitions, and what the API server does with them: refuse objects, fill in and drop fields."""

from hooks.language.crds.definitions import build_crds
from hooks.language.crds.faults import find_faults
from hooks.language.crds.stored import apply_defaults, prune

__all__ = ["apply_defaults", "build_crds", "find_faults", "prune"]
