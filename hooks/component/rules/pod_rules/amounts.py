"""Problems of the names of resources, of huge pages, and of the claims of devices that a container uses."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from hooks.component.rules.pod_rules.forms import check_form
from hooks.ground.k8s.names import is_label_key
from hooks.ground.k8s.quantities import parse_quantity
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem
from hooks.language.rules import pod_values as rules

_HUGE_PAGES = "hugepages-"
_NATIVE = "kubernetes.io/"
_OF_QUOTA = "requests."
_OF_KUBERNETES = frozenset({"cpu", "memory", "ephemeral-storage"})


def check_resource_name(name: str, path: FieldPath) -> Iterator[Problem]:
    """The problem of a resource that a container cannot have."""
    if "/" not in name:
        is_right = name in _OF_KUBERNETES or (name.startswith(_HUGE_PAGES) and is_label_key(name))
    elif _NATIVE in name:
        is_right = is_label_key(name)
    else:
        is_right = not name.startswith(_OF_QUOTA) and is_label_key(name) and is_label_key(f"{_OF_QUOTA}{name}")
    if not is_right:
        yield rules.RESOURCE_NAME.at(path, found=repr(name))


def check_huge_pages(amounts: Mapping[str, tuple[FieldPath, str]]) -> Iterator[Problem]:
    """Problems of huge pages among all amounts of a container, by resource: the path and the quantity.

    They need processors or memory beside them, and come in whole pages.
    """
    pages = {name: amount for name, amount in amounts.items() if name.startswith(_HUGE_PAGES)}
    if pages and not {"cpu", "memory"} & amounts.keys():
        path, _ = next(iter(pages.values()))
        yield rules.HUGE_PAGES_ALONE.at(path)
    for name, (path, text) in pages.items():
        try:
            size, page = parse_quantity(text), parse_quantity(name.removeprefix(_HUGE_PAGES))
        except ValueError:
            continue
        if page > 0 and (size / page).denominator != 1:
            yield rules.FIXED.at(path, found=text, wanted=f"a multiple of {name.removeprefix(_HUGE_PAGES)}")


def find_used_claim_problems(
    claims: Sequence[tuple[FieldPath, Mapping[str, Json]]], known: Collection[str], of_pod: FieldPath
) -> Iterator[Problem]:
    """Problems of the claims that a container uses, each with its path; `known` are those of the pod, at `of_pod`."""
    seen: dict[tuple[str, str], FieldPath] = {}
    for path, claim in claims:
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            yield rules.EMPTY.at(path / "name")
            continue
        if name not in known:
            yield rules.UNKNOWN_NAME.at(path / "name", found=repr(name), other=of_pod)
        if request:
            yield from check_form(request, rules.DNS_LABEL, path / "request")
        overlapping = [
            at for (used, part), at in seen.items() if used == name and (not part or not request or part == request)
        ]
        if overlapping:
            yield rules.REPEATED.at(path / "name", found=repr(name), other=overlapping[0])
        seen.setdefault((name, request), path)
