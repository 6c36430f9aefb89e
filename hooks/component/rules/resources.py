"""Finds what is wrong with requests and limits of a container, those of the spec included.

Source: Kubernetes, pkg/apis/core/validation/validation.go, ValidateContainerResourceRequirements, and
pkg/apis/core/helper/helpers.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from hooks.component.pod.resources import list_amounts
from hooks.component.rules.pod_rules.amounts import check_huge_pages, check_resource_name
from hooks.ground.k8s.quantities import canonical_quantity, parse_quantity
from hooks.ground.k8s.types import Json
from hooks.ground.problems import HERE, FieldPath, Key, Problem
from hooks.language.api.component_spec import ResourceItem, Resources
from hooks.language.rules import pod as rules

_HUGE_PAGES = "hugepages-"


def find_unreadable_amounts(resources: Resources | None, path: FieldPath) -> Iterator[Problem]:
    """All quantities in a spec's resources that cannot be read; `path` is that of the spec."""
    items = (("limits", resources.limits), ("requests", resources.requests)) if resources else ()
    for side, item in items:
        for at, _, amount in list_amounts(item, path / "resources" / side):
            try:
                parse_quantity(amount)
            except ValueError as error:
                yield rules.RESOURCE_QUANTITY.at(at, side=side, name=at.parts[-1], why=str(error))


def find_resource_problems(
    container: Mapping[str, Json], at: FieldPath, *, over: Resources | None = None, path: FieldPath = HERE
) -> Iterator[Problem]:
    """What the API server refuses in the resources of the container at `at`, overridden by those `over` at `path`.

    Quantities that cannot be read are not reported here; other rules report them.
    """
    requests = _read_sizes([*_written(container, "requests", at), *_laid_over(over, "requests", path)])
    limits = _read_sizes([*_written(container, "limits", at), *_laid_over(over, "limits", path)])
    for name, one in (*limits.items(), *requests.items()):
        yield from check_resource_name(name, _path_of_name(one.path))
        if one.size < 0:
            yield rules.NEGATIVE.at(one.path, amount=one.text)
        elif _is_extended(name) and one.size.denominator != 1:
            yield rules.WHOLE.at(one.path, amount=one.text)
    for name, wanted in requests.items():
        limit, is_fixed = limits.get(name), _is_extended(name) or name.startswith(_HUGE_PAGES)
        if limit is None:
            if is_fixed:
                yield rules.LIMIT_MISSING.at(wanted.path, name=name)
        elif is_fixed and wanted.size != limit.size:
            yield rules.REQUEST_UNEQUAL.at(wanted.path, amount=wanted.text, limit=limit.text)
        elif wanted.size > limit.size:
            yield rules.REQUEST_ABOVE_LIMIT.at(wanted.path, amount=wanted.text, limit=limit.text)
    yield from check_huge_pages({name: (one.path, one.text) for name, one in (*requests.items(), *limits.items())})


def _path_of_name(amount: FieldPath) -> FieldPath:
    """The path of the field that names the resource: GPUs are named by `gpuType`."""
    return FieldPath((*amount.parts[:-1], "gpuType")) if amount.parts[-1] == "gpu" else amount


@dataclass(frozen=True, slots=True)
class _Amount:
    """An amount of a resource: its path and text in the spec, and its `size` as the API server rounds it."""

    path: FieldPath
    text: str
    size: Fraction


def _written(container: Mapping[str, Json], side: str, path: FieldPath) -> Iterator[tuple[FieldPath, str, Json]]:
    resources = container.get("resources")
    amounts = resources.get(side) if isinstance(resources, Mapping) else None
    if not isinstance(amounts, Mapping):  # the schema's rules report another type
        return iter(())
    return ((path / "resources" / side / Key(name), name, amount) for name, amount in sorted(amounts.items()))


def _laid_over(resources: Resources | None, side: str, path: FieldPath) -> Iterator[tuple[FieldPath, str, Json]]:
    item: ResourceItem | None = getattr(resources, side, None)
    return list_amounts(item, path / "resources" / side)


def _read_sizes(amounts: Iterable[tuple[FieldPath, str, Json]]) -> dict[str, _Amount]:
    """Amounts by resource name; the last one of a name counts, and those that cannot be read are left out."""
    laid: dict[str, _Amount] = {}
    for at, name, amount in amounts:
        try:
            size = parse_quantity(canonical_quantity(str(amount)))
        except ValueError:
            continue
        laid[name] = _Amount(at, str(amount), size)
    return laid


def _is_extended(name: str) -> bool:
    """Whether this is an extended resource: whole units, never overcommitted."""
    return "/" in name and "kubernetes.io/" not in name
