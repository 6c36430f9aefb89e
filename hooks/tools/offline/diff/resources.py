"""GPUs, CPU and memory that pods request: before a change, at most during its rollout, and after it.

The peak is an upper bound: all workloads that change are taken to change at the same time, except where one waits for
the other. Pods that are stopping are not counted.

Source: Kubernetes, pkg/api/v1/resource/helpers.go, PodRequests; pkg/controller/deployment/util, ResolveFenceposts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hooks.ground.k8s.quantities import canonical_quantity, parse_quantity
from hooks.ground.k8s.types import Json
from hooks.tools.offline.diff.pods import PodSet

Amounts = Mapping[str, Fraction]
"""By name of the resource (`nvidia.com/gpu`, `cpu`, `memory`): cores, bytes or pieces."""

BASIC = ("cpu", "memory")
_ZERO = Fraction(0)
_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRow:
    """What all pods together request of one resource; `peak` is the most during the rollout."""

    resource: str
    now: Fraction
    peak: Fraction
    after: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One set of pods before and after; None where it does not exist.

    `moves` names the graph whose new pods wait until all old ones are gone. `in_turn` names the graph that restarts its
    services one after the other. Both are empty otherwise. `mixes` are the numbers of old and new pods at each moment,
    if they are known; else they follow from the surge.
    """

    old: PodSet | None
    new: PodSet | None
    restarts: bool = False
    moves: str = ""
    in_turn: str = ""
    mixes: tuple[tuple[int, int], ...] = ()


def add_up(rollouts: Iterable[Rollout]) -> tuple[ResourceRow, ...]:
    """The rows of all resources that some pod requests: extended ones (GPUs) first, then CPU and memory."""
    found = [_measure(one) for one in rollouts]
    names = sorted({name for one in found for amounts in (one.now, one.after) for name in amounts})
    ordered = [*(name for name in names if name not in BASIC), *(name for name in BASIC if name in names)]
    return tuple(_row(name, found) for name in ordered)


def request_of(pod_spec: Mapping[str, Json]) -> dict[str, Fraction]:
    """What the scheduler counts for one pod: its containers together, or the largest init container if that is more."""
    sidecars, starting = dict[str, Fraction](), dict[str, Fraction]()
    for container in pod_spec.get("initContainers") or ():
        own = _of_container(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _plus(sidecars, own)
            starting = _most(starting, sidecars)
        else:
            starting = _most(starting, _plus(sidecars, own))
    running = sidecars
    for container in pod_spec.get("containers") or ():
        running = _plus(running, _of_container(container))
    return _plus(_most(running, starting), _read(pod_spec.get("overhead") or {}))


def write_amount(resource: str, amount: Fraction) -> str:
    """A number of GPUs or cores, or memory in GiB."""
    if resource == "memory":
        gib = amount / _GIB
        return f"{int(gib)}Gi" if gib.denominator == 1 else f"{float(gib):.1f}Gi"
    return canonical_quantity(str(int(amount))) if amount.denominator == 1 else f"{float(amount):g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    now: Amounts
    after: Amounts
    peak: Amounts
    moves: str
    in_turn: str


def _measure(rollout: Rollout) -> _Measured:
    old, new = rollout.old, rollout.new
    before, after = (request_of(one.pod_spec) if one else {} for one in (old, new))
    had, gets = (one.count if one else 0 for one in (old, new))
    peak: dict[str, Fraction] = {}
    for olds, news in _mixes(rollout, had, gets):
        peak = _most(peak, _plus(_times(before, olds), _times(after, news)))
    return _Measured(
        now=_times(before, had),
        after=_times(after, gets),
        peak=peak,
        moves=rollout.moves,
        in_turn=rollout.in_turn,
    )


def _mixes(rollout: Rollout, had: int, gets: int) -> Sequence[tuple[int, int]]:
    """The extreme numbers of old and new pods at one moment: in a rollout at most `gets` and the surge in all."""
    if rollout.mixes:
        return rollout.mixes
    if not rollout.restarts or rollout.new is None or rollout.new.is_recreated:
        return [(had, 0), (0, gets)]
    room = gets + rollout.new.surge
    return [(had, min(gets, max(0, room - had))), (min(had, max(0, room - gets)), gets)]


def _row(name: str, found: Iterable[_Measured]) -> ResourceRow:
    now = after = peak = _ZERO
    turns: dict[str, Fraction] = {}
    moves: dict[str, tuple[Fraction, Fraction]] = {}
    for one in found:
        had, gets, most = (amounts.get(name, _ZERO) for amounts in (one.now, one.after, one.peak))
        now, after = now + had, after + gets
        if one.moves:
            left, came = moves.get(one.moves, (_ZERO, _ZERO))
            moves[one.moves] = (left + had, came + gets)
        elif one.in_turn:
            peak += max(had, gets)
            turns[one.in_turn] = max(turns.get(one.in_turn, _ZERO), most - max(had, gets))
        else:
            peak += most
    peak += sum(turns.values(), _ZERO) + sum((max(pair) for pair in moves.values()), _ZERO)
    return ResourceRow(resource=name, now=now, peak=peak, after=after)


def _of_container(container: Mapping[str, Json]) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    return _read({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _read(quantities: Mapping[str, Json]) -> dict[str, Fraction]:
    """The amounts that are counted; one that cannot be read is left out, because `validate` says so."""
    found: dict[str, Fraction] = {}
    for name, amount in quantities.items():
        if name in BASIC or "/" in name:
            try:
                found[name] = parse_quantity(str(amount))
            except ValueError:
                continue
    return found


def _plus(one: Amounts, other: Amounts) -> dict[str, Fraction]:
    return {name: one.get(name, _ZERO) + other.get(name, _ZERO) for name in {**one, **other}}


def _most(one: Amounts, other: Amounts) -> dict[str, Fraction]:
    return {name: max(one.get(name, _ZERO), other.get(name, _ZERO)) for name in {**one, **other}}


def _times(amounts: Amounts, count: int) -> dict[str, Fraction]:
    return {name: amount * count for name, amount in amounts.items() if count}
