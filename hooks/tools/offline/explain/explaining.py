"""Explains leaves of the objects that one document renders to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hooks.tools.offline.explain.build import Build
from hooks.tools.offline.explain.experiments import find_changes, measure
from hooks.tools.offline.explain.inputs import Input, list_inputs
from hooks.tools.offline.explain.leaf_sources import Influence, LeafSources, Lever, Mode, SourceKind
from hooks.tools.offline.explain.leaves import NOTHING, LeafPlace, RenderedObjects
from hooks.tools.offline.explain.levers import find_levers, find_switches
from hooks.tools.offline.explain.overridden import Measure, find_overridden
from hooks.tools.offline.explain.releases import find_releases
from hooks.tools.offline.explain.services import places_of_services, service_of, without_services
from hooks.tools.offline.manifests.document import Document


@dataclass(frozen=True, slots=True)
class BuiltDocument:
    """A document, its build, and what that makes."""

    document: Document
    build: Build
    made: RenderedObjects

    @classmethod
    def of(cls, document: Document, build: Build) -> "BuiltDocument":
        """The case of a build that is not refused."""
        return cls(document, build, build.make() or NOTHING)


def explain_all(case: BuiltDocument, places: Sequence[LeafPlace]) -> list[LeafSources]:
    """The origins of leaves: their inputs."""
    influences = measure(case.made, _inputs(case, places), places)
    return [
        LeafSources(place=place, value=case.made.value(place), influences=influences.get(place, ())) for place in places
    ]


def explain_one(case: BuiltDocument, place: LeafPlace) -> LeafSources:
    """The origin of one leaf, with what it overrides and the fields that would change it."""
    [origin] = explain_all(case, [place])
    influences = tuple(_with_releases(case, place, one) for one in origin.influences)
    origin = replace(origin, influences=influences)
    overridden = find_overridden(case.build, origin, case.document, _measure_in(case))
    return replace(origin, overridden=tuple(overridden), levers=tuple(_levers(case, origin)))


def _with_releases(case: BuiltDocument, place: LeafPlace, influence: Influence) -> Influence:
    if influence.mode is not Mode.DECIDES:
        return influence
    return replace(influence, releases=find_releases(case.build, case.made, place, influence.source))


def _levers(case: BuiltDocument, origin: LeafSources) -> list[Lever]:
    service = service_of(origin.place, case.made)
    followed = find_levers(case.build, case.made, origin.place, service=service)
    known = {one.name for one in followed}
    values = [one.tried for one in origin.by(Mode.COPIED) if one.source.kind is SourceKind.SETTING]
    switches = find_switches(case.build, case.made, origin.place, service=service, values=values)
    return [*followed, *(one for one in switches if one.name not in known)]


def _inputs(case: BuiltDocument, places: Sequence[LeafPlace]) -> list[Input]:
    """The inputs; without the fields of services that none of the leaves needs."""
    return list(list_inputs(case.build, case.document, without=_unneeded(case, places)))


def _unneeded(case: BuiltDocument, places: Sequence[LeafPlace]) -> list[str]:
    """The services without which all leaves stay as they are, each taken away alone."""
    services = places_of_services(case.build.written)
    if len(services) < 2:
        return []
    own = {service_of(place, case.made) for place in places}
    return [name for name in services if name not in own and _is_unneeded(case, places, name)]


def _is_unneeded(case: BuiltDocument, places: Sequence[LeafPlace], service: str) -> bool:
    changed = case.build.with_written(without_services(case.build.written, {service})).make()
    if changed is None or not {place.object for place in places} <= changed.objects.keys():
        return False
    return next(find_changes(case.made, changed, places), None) is None


def _measure_in(case: BuiltDocument) -> Measure:
    """The influences on one leaf in another build of the same document."""

    def measure_one(build: Build, place: LeafPlace) -> tuple[Influence, ...]:
        now = BuiltDocument.of(case.document, build)
        return measure(now.made, _inputs(now, [place]), [place]).get(place, ())

    return measure_one
