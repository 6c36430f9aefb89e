"""The pods of a worker that rolls, by generation, as they were read: groups of them if it runs over several nodes.

A pod that was ready a moment ago counts as serving: a probe that fails once gives nothing up.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from hooks.component.plan.strategy import find_spare, find_surge, with_amounts
from hooks.component.report.progress import has_ended, suffix_of
from hooks.graph.change.complete_sets import WorkerPods
from hooks.graph.change.shares import variable_of
from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, find_condition, is_pod_ready, is_true
from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.pod_reasons import SUMMARY, revision_of
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of, is_deleting, labels_of, name_of
from hooks.ground.settings.facts import Facts

_RESTARTS = (contract.ANNOTATION_RESTART_AT, contract.ANNOTATION_RESTARTED_AT)
_SCHEDULED = "PodScheduled"
_LWS = "leaderworkerset.sigs.k8s.io"
_SET, _INDEX = f"{_LWS}/name", f"{_LWS}/group-index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What serves as one of a worker's replicas: a pod, or all pods of a group, which has `size` of them.

    `generation` is what its pods say of it. `place` is its index in its LeaderWorkerSet.
    """

    pods: tuple[ReadManifest, ...]
    size: int = 1
    is_new: bool = False
    generation: str = ""
    place: int = 0

    @property
    def is_ready(self) -> bool:
        """Whether it serves: all its pods are there, and ready."""
        return len(self.pods) >= self.size and all(map(is_pod_ready, self.pods))

    @property
    def has_room(self) -> bool:
        """Whether all its pods have a node."""
        return len(self.pods) >= self.size and all(map(_has_node, self.pods))

    def is_intact(self, now: datetime, patience: float) -> bool:
        """Whether it serves, or has not for less than so many seconds."""
        return len(self.pods) >= self.size and all(_is_intact(pod, now, patience) for pod in self.pods)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWorker:
    """A worker that rolls: its component's spec, and its units if its pods were read (`is_known`)."""

    spec: Mapping[str, Json]
    wanted: int
    units: tuple[Unit, ...] = ()
    is_known: bool = False

    @property
    def newest(self) -> tuple[Unit, ...]:
        """Those of the newest generation."""
        return tuple(one for one in self.units if one.is_new)

    @property
    def old(self) -> tuple[Unit, ...]:
        """The others."""
        return tuple(one for one in self.units if not one.is_new)

    @property
    def progress(self) -> Iterator[str]:
        """When something of the new generation was made or became ready, as Kubernetes writes times."""
        for unit in self.newest:
            for pod in unit.pods:
                yield str(pod["metadata"].get("creationTimestamp") or "")
                ready = _condition(pod, READY)
                if ready.get("status") == "True":
                    yield str(ready.get("lastTransitionTime") or "")

    @property
    def without_room(self) -> Iterator[str]:
        """Since when new pods have no node; empty where that is not known."""
        for unit in self.newest:
            for pod in unit.pods:
                if _condition(pod, _SCHEDULED).get("status") == "False":
                    yield str(_condition(pod, _SCHEDULED).get("lastTransitionTime") or "")


def see_worker(worker: Manifest, pods: Iterable[ReadManifest], *, is_known: bool) -> SeenWorker:
    """The units of a worker; those of the newest generation and the last restart are new."""
    spec = worker["spec"]
    living = [pod for pod in pods if not is_deleting(pod) and not has_ended(pod)] if is_known else []
    new = {id(pod) for pod in _choose_new(spec, living)}
    groups: dict[tuple[str, str], list[ReadManifest]] = {}
    for pod in living:
        groups.setdefault(_group_of(pod), []).append(pod)
    units = tuple(_read_unit(found, spec, new) for _, found in sorted(groups.items(), key=lambda item: item[0]))
    return SeenWorker(
        spec=spec,
        wanted=wanted_of(worker),
        is_known=is_known,
        units=units,
    )


def count_pods(seen: SeenWorker, facts: Facts) -> WorkerPods:
    """What the pace of a worker follows from; what is not known of pods counts as old.

    Each replica has a LeaderWorkerSet, whose number is a label of its pods, or one has all of them.
    """
    now, patience = facts.now, facts.settings.rollout_room_after
    annotations, wanted = with_amounts(seen.spec.get("annotations") or {}, facts.settings), seen.wanted
    asked, surge = find_spare(annotations, wanted), find_surge(annotations, wanted)
    is_numbered = nodes_of(seen.spec) > 1
    if not seen.is_known:
        return WorkerPods(wanted=wanted, ready=0, spare=asked, surge=surge, is_numbered=is_numbered)
    ready = [one for one in seen.newest if one.is_ready]
    places = 1 if any(contract.LABEL_INSTANCE in labels_of(one.pods[0]) for one in seen.units) else wanted
    return WorkerPods(
        wanted=wanted,
        ready=len(ready),
        old=len(seen.old),
        intact=sum(one.is_intact(now, patience) for one in seen.old),
        spare=asked,
        surge=surge,
        is_numbered=is_numbered,
        surplus=sum(one.place >= places for one in ready) if is_numbered else 0,
        settled=sum(one.place < places for one in ready),
    )


def find_complete(seen: Iterable[SeenWorker], now: datetime, patience: float) -> Fraction | None:
    """The part of the wanted sets that old generations have whole, all together; None if pods are not known."""
    parts = _find_parts(seen, now, patience)
    return None if parts is None else min(Fraction(1), sum(parts.values(), Fraction(0)))


def find_serving(seen: Iterable[SeenWorker], now: datetime, patience: float) -> tuple[str, Fraction] | None:
    """The old generation that has most of the wanted sets whole, and that part; None without, or if it is not known."""
    parts = [
        (generation, part) for generation, part in sorted((_find_parts(seen, now, patience) or {}).items()) if part
    ]
    return max(parts, key=lambda one: one[1], default=None)


def _find_parts(seen: Iterable[SeenWorker], now: datetime, patience: float) -> Mapping[str, Fraction] | None:
    """By old generation the part of the wanted sets that it has whole."""
    workers = [one for one in seen if one.wanted]
    if not all(one.is_known for one in workers):
        return None
    counts = [Counter(unit.generation for unit in one.old if unit.is_intact(now, patience)) for one in workers]
    return {
        generation: min(Fraction(count[generation], one.wanted) for one, count in zip(workers, counts, strict=True))
        for generation in {generation for count in counts for generation in count}
    }


def nodes_of(spec: Mapping[str, Json]) -> int:
    """Over how many nodes each replica of a component runs."""
    return int((spec.get("multinode") or {}).get("nodeCount") or 1)


def wanted_of(worker: Manifest) -> int:
    """How many replicas of a component are wanted."""
    replicas = worker["spec"].get("replicas")
    return replicas if isinstance(replicas, int) else 1


def _read_unit(pods: list[ReadManifest], spec: Mapping[str, Json], new: Collection[int]) -> Unit:
    """The unit of these pods; a group of which a pod is of an older generation is an old one."""
    labels = labels_of(pods[0])
    place = labels.get(_INDEX, "0")
    return Unit(
        pods=tuple(pods),
        size=nodes_of(spec) if _SET in labels else 1,
        is_new=all(id(pod) in new for pod in pods),
        generation=suffix_of(pods[0].get("spec") or {}),
        place=int(place) if place.isdecimal() else 0,
    )


def _group_of(pod: ReadManifest) -> tuple[str, str]:
    """What its labels say of its group; a pod of none is alone."""
    labels = labels_of(pod)
    return (labels[_SET], labels.get(_INDEX, "")) if _SET in labels else ("", name_of(pod))


def _choose_new(spec: Mapping[str, Json], pods: Collection[ReadManifest]) -> list[ReadManifest]:
    """The pods of the newest generation and the last restart; for a mere row a pod of its template speaks."""
    wanted = _restarts_of(spec)

    def is_new(pod: ReadManifest) -> bool:
        said = {key: annotations_of(pod).get(key, "") for key in _RESTARTS}
        return suffix_of(pod.get("spec") or {}) == variable_of(spec) and said == wanted

    known = {revision_of(pod): is_new(pod) for pod in pods if SUMMARY not in pod}
    return [pod for pod in pods if (known.get(revision_of(pod), False) if SUMMARY in pod else is_new(pod))]


def _restarts_of(spec: Mapping[str, Json]) -> dict[str, str]:
    of_pods = (spec.get("extraPodMetadata") or {}).get("annotations") or {}
    of_service = spec.get("annotations") or {}
    return {
        contract.ANNOTATION_RESTART_AT: str(of_service.get(contract.ANNOTATION_RESTART_AT) or ""),
        contract.ANNOTATION_RESTARTED_AT: str(of_pods.get(contract.ANNOTATION_RESTARTED_AT) or ""),
    }


def _is_intact(pod: ReadManifest, now: datetime, patience: float) -> bool:
    ready = _condition(pod, READY)
    since = str(ready.get("lastTransitionTime") or "")
    return ready.get("status") == "True" or not since or seconds_since(since, now) < patience


def _has_node(pod: ReadManifest) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return is_pod_ready(pod) or is_true(conditions, _SCHEDULED)


def _condition(pod: ReadManifest, type_: str) -> Mapping[str, Json]:
    return find_condition((pod.get("status") or {}).get("conditions") or (), type_) or {}
