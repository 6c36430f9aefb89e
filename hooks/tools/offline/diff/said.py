"""A difference that was written as JSON before manifests were applied, and what of it came true."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import orjson

from hooks.ground.errors import InvalidRequest
from hooks.ground.k8s.types import Json
from hooks.tools.offline.diff.live_state import Place
from hooks.tools.offline.diff.wording import pods
from hooks.wire.world.objects import ObjectId

_NO_PLAN = "it is no output of diff --from-cluster -o json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What was said of one service: so many of its pods are replaced or stop, and so many run afterwards."""

    place: Place
    gone: int
    after: int
    uids: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """What was said: by object that changes the generation that it must pass (None if that stays), and by service."""

    objects: Mapping[ObjectId, int | None]
    services: tuple[Saying, ...]

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Where the objects and pods are."""
        found = {*(key.namespace for key in self.objects), *(one.place[0] for one in self.services)}
        return tuple(sorted(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of one service; `text` is a sentence."""

    text: str
    is_as_said: bool


def read_said(text: bytes) -> Announced:
    """What a difference said, from its JSON.

    Raises:
        InvalidRequest: the text is something else, or was written without a cluster.
    """
    try:
        found = orjson.loads(text)
        live = found["live"]
        generations = {_id(one): int(one["generation"]) for one in live["generations"]}
        uids = {_place(one): frozenset(map(str, one["uids"])) for one in live["pods"]}
        objects = {
            _id(one): None if _is_only_metadata(one) else generations.get(_id(one), 0)
            for one in found["objects"]
            if one["owner"] is None
        }
        sums: dict[Place, tuple[int, int]] = {place: (0, len(there)) for place, there in uids.items()}
        told: set[Place] = set()
        for one in found["pods"]:
            place = (str(one["workload"]["namespace"]), str(one["graph"]), str(one["service"]))
            gone, after = sums.get(place, (0, 0)) if place in told else (0, 0)
            told.add(place)
            sums[place] = (gone + _gone(one), after + int(one["after"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidRequest(_NO_PLAN) from error
    return Announced(
        objects=objects,
        services=tuple(
            Saying(place=place, gone=gone, after=after, uids=uids.get(place, frozenset()))
            for place, (gone, after) in sorted(sums.items())
            if place[2]
        ),
    )


def compare_said(said: Announced, pods_now: Mapping[Place, Iterable[str]]) -> Iterator[Came]:
    """What came of each service of which something was said or is seen."""
    for one in said.services:
        namespace, graph, service = one.place
        now = frozenset(pods_now.get(one.place, ()))
        gone, title = len(one.uids - now), f"{graph or 'component'} {service} in {namespace}"
        if not one.gone and not gone and len(now) == one.after == len(one.uids):
            continue
        is_as_said = gone == one.gone and len(now) == one.after
        if is_as_said:
            yield Came(text=f"{title}: {_describe(gone, len(now))}, as was said", is_as_said=True)
        else:
            was = _describe(one.gone, one.after)
            yield Came(text=f"{title}: {_describe(gone, len(now))}, but it was said: {was}", is_as_said=False)


def _describe(gone: int, after: int) -> str:
    replaced = f"{pods(gone)} of before {'is' if gone == 1 else 'are'} gone" if gone else "no pod of before is gone"
    return f"{replaced}, {pods(after)} {'runs' if after == 1 else 'run'}"


def _gone(one: Mapping[str, Json]) -> int:
    if restarts := int(one["restarts"]):
        return restarts
    return max(0, int(one["before"]) - int(one["after"]))


def _is_only_metadata(one: Mapping[str, Json]) -> bool:
    """Whether only labels and annotations change, which are no new generation."""
    return bool(one["fields"]) and all(str(field["path"]).startswith("metadata.") for field in one["fields"])


def _id(one: Mapping[str, Json]) -> ObjectId:
    return ObjectId(namespace=one["namespace"], kind=one["kind"], name=one["name"], group=one["group"])


def _place(one: Mapping[str, Json]) -> Place:
    return str(one["namespace"]), str(one["graph"]), str(one["service"])
