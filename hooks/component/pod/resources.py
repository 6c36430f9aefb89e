"""Requests and limits of the main container; `resource_rules` finds what is wrong with them.

Source: Dynamo operator, internal/controller_common/resource.go, GetResourcesConfig.
"""

from collections.abc import Iterator, Mapping

from hooks.ground import contract
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.types import Json
from hooks.ground.problems import HERE, FieldPath, Key
from hooks.language.api.component_spec import ResourceItem, Resources


def build_resources(resources: Resources | None, base: Mapping[str, Json]) -> dict[str, Json]:
    """The main container's resources, overridden name by name by those of the spec; claims are appended.

    A GPU in `requests` counts too, as in newer versions of the operator; older ones ignore it.
    """
    if resources is None:
        return dict(base)
    laid = dict(base)
    for key, item in (("limits", resources.limits), ("requests", resources.requests)):
        amounts = {name: canonical_quantity(amount) for _, name, amount in list_amounts(item, HERE)}
        if amounts:
            laid[key] = {**base.get(key, {}), **amounts}
    if resources.claims:
        laid["claims"] = [*base.get("claims", ()), *canonical_fragment(resources.claims)]
    return laid


def list_amounts(item: ResourceItem | None, path: FieldPath) -> Iterator[tuple[FieldPath, str, str]]:
    """Each amount of an item as path, resource name and quantity; empty ones are left out."""
    if item is None:
        return
    if item.cpu:
        yield path / "cpu", "cpu", item.cpu
    if item.memory:
        yield path / "memory", "memory", item.memory
    if item.gpu:
        yield path / "gpu", item.gpu_type or contract.GPU_RESOURCE, item.gpu
    for name, amount in sorted(item.custom.items()):
        if amount:
            yield path / "custom" / Key(name), name, amount
