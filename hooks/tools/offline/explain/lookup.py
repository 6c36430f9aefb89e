"""Which leaves a field names that a person typed, and which fields are near if it names none."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import CLIQUES, WORKLOADS
from hooks.ground.problems import SPEC
from hooks.tools.offline.explain.leaves import LeafPlace, ObjectKey, RenderedObjects, is_variable
from hooks.tools.offline.explain.services import service_of

_WORKLOADS = frozenset(kind.kind for kind in WORKLOADS)
_OBJECT = re.compile(r"(?P<kind>[A-Z][A-Za-z]+)/(?P<name>[^:\s]+):\s*(?P<field>.*)")
_PART = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_TEMPLATE = ("spec", "template", "spec")
_CONTAINERS = "containers"
_GROUPS = SPEC / "template" / "podCliqueScalingGroups"
_NEAR = 3


class UnknownField(Exception):
    """A field that no object has; the message names the nearest ones."""


def split_field(field: str) -> tuple[str, ...]:
    """The parts of a field: `a.b[c]` is a, b, c."""
    return tuple(key_part or name for key_part, name in _PART.findall(field))


def split_object(field: str) -> tuple[ObjectKey | None, str]:
    """Kind and name of the object that a field begins with, as in `Service/web: spec.ports`, and the rest."""
    found = _OBJECT.fullmatch(field)
    return ((found["kind"], found["name"]), found["field"]) if found else (None, field)


def find_places(field: str, made: RenderedObjects, *, service: str, key: ObjectKey | None) -> list[LeafPlace]:
    """The leaves that a field names, of the object `key`, by default of the workload of the service.

    A field of a pod needs no path before it, and one of the main container only its own name.

    Raises:
        UnknownField: there is none.
    """
    own = [one for one in made.all_leaves() if (one.object == key if key else _is_of_workload(one, made, service))]
    wanted = split_field(field)
    if wanted == ("replicas",) and (groups := _find_group_replicas(own, made)):
        return groups
    for root in _roots(own):
        for parts in (wanted, wanted[len(_TEMPLATE) :] if wanted[: len(_TEMPLATE)] == _TEMPLATE else ()):
            whole = (*root, *parts)
            found = [one for one in own if parts and _texts(one)[: len(whole)] == whole]
            if found:
                return without_names(_of_first_object(found, made))
    raise UnknownField(_describe(field, own))


def _find_group_replicas(own: Iterable[LeafPlace], made: RenderedObjects) -> list[LeafPlace]:
    """The replicas of the scaling groups whose cliques are among the leaves: a service over several nodes has one."""
    places = list(own)
    cliques = {str(one.path.parts[len(CLIQUES.parts)]) for one in places if one.path.is_within(CLIQUES)}
    of_groups = [one for one in places if one.path.is_within(_GROUPS)]
    named = [one for one in of_groups if "cliqueNames" in one.path.parts and made.value(one) in cliques]
    groups = {one.path.parts[len(_GROUPS.parts)] for one in named}
    replicas = [one for one in of_groups if str(one.path.parts[-1]) == "replicas"]
    return [one for one in replicas if one.path.parts[len(_GROUPS.parts)] in groups]


def _of_first_object(found: Sequence[LeafPlace], made: RenderedObjects) -> list[LeafPlace]:
    """The leaves of the first object of each service: a service over several nodes has one for each replica."""
    first: dict[str, ObjectKey] = {}
    for one in found:
        first.setdefault(service_of(one, made), one.object)
    return [one for one in found if one.object == first[service_of(one, made)]]


def names_place(field: str, place: LeafPlace) -> bool:
    """Whether the field says the name of the variable whose value the leaf is."""
    wanted = split_field(field)
    return is_variable(place) and str(place.path.parts[-2]) in wanted


def _is_of_workload(place: LeafPlace, made: RenderedObjects, service: str) -> bool:
    if place.kind not in _WORKLOADS:
        return False
    is_of_all = place.kind == kinds.POD_CLIQUE_SET.kind and not place.path.is_within(CLIQUES)
    return is_of_all or not service or service_of(place, made) == service


def _roots(own: Sequence[LeafPlace]) -> Iterator[tuple[str, ...]]:
    """What may be left out before a field: the way to the pod, to its template, to its main container."""
    yield ()
    pods = _find_pods(own)
    yield from pods
    for above in (1, 2):  # the template around the spec, and what is around that
        yield from (root[:-above] for root in pods)
        yield from ((*root[:-above], "metadata") for root in pods)
    yield from ((*root, _CONTAINERS, name) for root, name in pods.items())
    yield ("spec",)
    yield ("metadata",)


def _find_pods(own: Iterable[LeafPlace]) -> dict[tuple[str, ...], str]:
    """The paths of all pods, each with the name of its main container, otherwise of its first one."""
    pods: dict[tuple[str, ...], str] = {}
    for texts in map(_texts, own):
        if _CONTAINERS in texts[:-1]:
            at = texts.index(_CONTAINERS)
            name = texts[at + 1]
            pods[texts[:at]] = name if name == contract.MAIN_CONTAINER else pods.get(texts[:at], name)
    return pods


def _texts(place: LeafPlace) -> tuple[str, ...]:
    return tuple(map(str, place.path.parts))


def without_names(found: Sequence[LeafPlace]) -> list[LeafPlace]:
    """The leaves without the name of an item, if they have more than that to say."""
    named = {one for one in found if _is_name(one)}
    return [one for one in found if one not in named] or list(found)


def _is_name(place: LeafPlace) -> bool:
    parts = place.path.parts
    return len(parts) > 1 and parts[-1] == "name" and not isinstance(parts[-2], int) and parts[0] != "metadata"


def _describe(field: str, own: Sequence[LeafPlace]) -> str:
    if not own:
        return "there is no such object"
    found = get_close_matches(field, _names(own), n=_NEAR, cutoff=0.5)
    near = [one for one in found if not any(one.endswith(f".{other}") for other in found)]
    hint = f"; near {'is' if len(near) == 1 else 'are'} {', '.join(near)}" if near else ""
    return f"{own[0].kind} {own[0].name} has no field {field}{hint}"


def _names(own: Iterable[LeafPlace]) -> list[str]:
    """Each field as one may type it: whole, within its pod, within its container."""
    names: dict[str, None] = {}
    for place in own:
        path = str(place.path)
        for mark in ("", ".spec.", "podSpec.", f"{_CONTAINERS}[{contract.MAIN_CONTAINER}]."):
            at = path.rfind(mark) if mark else 0
            if at >= 0:
                names[path[at + len(mark) :]] = None
    return list(names)
