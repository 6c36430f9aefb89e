"""The child kinds that a request should have keys for: those of the project's own controllers, for error messages."""

from functools import cache

from hooks.k8s.types import GroupVersionKind, plural_of
from hooks.metacontroller import install_files
from hooks.rendering import declared_kinds


@cache
def expected_keys(parent: GroupVersionKind) -> tuple[str, ...]:
    """The keys of the kinds that the controller of a parent kind declares in every cluster, sorted."""
    known = {(kind.api_version, plural_of(kind)): kind.key for kind in declared_kinds()}
    specs = [controller["spec"] for controller in install_files.controllers("")]
    rules = next(
        (
            spec["childResources"]
            for spec in specs
            if spec.get("parentResource", {}).get("resource") == plural_of(parent)
        ),
        (),
    )
    return tuple(sorted(known[rule["apiVersion"], rule["resource"]] for rule in rules))
