"""Requests and limits of the main container.

Source: Dynamo operator, internal/controller_common/resource.go, GetResourcesConfig; Kubernetes,
pkg/apis/core/validation/validation.go, ValidateContainerResourceRequirements, and pkg/apis/core/helper/helpers.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from hooks import contract
from hooks.api.component_spec import ResourceItem, Resources
from hooks.k8s.canonical import canonical_fragment
from hooks.k8s.quantities import canonical_quantity, parse_quantity
from hooks.k8s.types import Json

_HUGE_PAGES = "hugepages-"


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


def find_resource_problems(
    container: Mapping[str, Json], at: str, *, over: Resources | None = None, path: str = ""
) -> Iterator[str]:
    """What the API server refuses in the resources of the container at `at`, laid under those of the spec at `path`.

    What cannot be read is told elsewhere.
    """
    requests = _read_sizes([*_written(container, "requests", at), *_laid_over(over, "requests", path)])
    limits = _read_sizes([*_written(container, "limits", at), *_laid_over(over, "limits", path)])
    for name, one in (*limits.items(), *requests.items()):
        if one.size < 0:
            yield f"{one.path}: is {one.text}, must not be negative"
        elif _is_extended(name) and one.size.denominator != 1:
            yield f"{one.path}: is {one.text}, must be a whole number"
    for name, wanted in requests.items():
        limit, is_fixed = limits.get(name), _is_extended(name) or name.startswith(_HUGE_PAGES)
        if limit is None:
            if is_fixed:
                yield f"{wanted.path}: {name} needs a limit too, equal to the request"
        elif is_fixed and wanted.size != limit.size:
            yield f"{wanted.path}: is {wanted.text}, must be equal to the limit, which is {limit.text}"
        elif wanted.size > limit.size:
            yield f"{wanted.path}: is {wanted.text}, must be at most the limit, which is {limit.text}"


@dataclass(frozen=True, slots=True)
class _Amount:
    """An amount of a resource, where it is written and how; `size` is as the API server rounds it."""

    path: str
    text: str
    size: Fraction


def _written(container: Mapping[str, Json], side: str, path: str) -> Iterator[tuple[str, str, Json]]:
    amounts = (container.get("resources") or {}).get(side) or {}
    return ((f"{path}.resources.{side}.{name}", name, amount) for name, amount in sorted(amounts.items()))


def _laid_over(resources: Resources | None, side: str, path: str) -> Iterator[tuple[str, str, Json]]:
    item: ResourceItem | None = getattr(resources, side, None)
    return ((f"{path}.resources.{side}.{field}", name, amount) for field, name, amount in _amounts(item))


def _read_sizes(amounts: Iterable[tuple[str, str, Json]]) -> dict[str, _Amount]:
    """Amounts by resource name, a later one over an earlier; those that cannot be read are left out."""
    laid: dict[str, _Amount] = {}
    for at, name, amount in amounts:
        try:
            size = parse_quantity(canonical_quantity(str(amount)))
        except ValueError:
            continue
        laid[name] = _Amount(at, str(amount), size)
    return laid


def _is_extended(name: str) -> bool:
    """Whether a resource is a device of some kind, of which nobody can be given more than there is, or a part."""
    return "/" in name and "kubernetes.io/" not in name


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
