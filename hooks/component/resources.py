"""Requests and limits of the main container.

Source: Dynamo operator, internal/controller_common/resource.go, GetResourcesConfig.
"""

from collections.abc import Iterator, Mapping

from hooks import contract
from hooks.api.component_spec import ResourceItem, Resources
from hooks.k8s.canonical import canonical_fragment
from hooks.k8s.quantities import canonical_quantity, parse_quantity
from hooks.k8s.types import Json


def build_resources(resources: Resources | None, base: Mapping[str, Json]) -> dict[str, Json]:
    """Lay a spec's resources over those of the main container, name by name; claims are appended.

    A GPU in `requests` counts too, as in the newer operator; older ones leave it out.
    """
    if resources is None:
        return dict(base)
    laid = dict(base)
    for key, item in (("limits", resources.limits), ("requests", resources.requests)):
        amounts = {name: canonical_quantity(amount) for _, name, amount in _amounts(item)}
        if amounts:
            laid[key] = {**base.get(key, {}), **amounts}
    if resources.claims:
        laid["claims"] = [*base.get("claims", ()), *canonical_fragment(resources.claims)]
    return laid


def validate_resources(resources: Resources | None, path: str) -> Iterator[str]:
    """All quantities of a spec at that path that cannot be read."""
    items = (("limits", resources.limits), ("requests", resources.requests)) if resources else ()
    for key, item in items:
        for field, name, amount in _amounts(item):
            try:
                parse_quantity(amount)
            except ValueError as error:
                what = name if field.startswith("custom") else field
                fault = f"failed to get resources config: parse {key} {what} quantity: {error}"
                yield f"{path}.resources.{key}.{field}: {fault}"


def _amounts(item: ResourceItem | None) -> Iterator[tuple[str, str, str]]:
    """Each amount as field, resource name and quantity; empty ones are skipped."""
    if item is None:
        return
    if item.cpu:
        yield "cpu", "cpu", item.cpu
    if item.memory:
        yield "memory", "memory", item.memory
    if item.gpu:
        yield "gpu", item.gpu_type or contract.GPU_RESOURCE, item.gpu
    for name, amount in sorted(item.custom.items()):
        if amount:
            yield f"custom.{name}", name, amount
