"""What is wanted, set against what the engines say: who is looked at, and what is loaded or unloaded, when.

Holds every decision of the prober and none of its threads: time comes as an argument, in seconds of a monotonic clock.
Not thread-safe. A model is acted for while its mandate lasts, counted from the last time it was asked about.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hooks.model.prober.calls import Action, Answer, Call
from hooks.model.prober.engine import Engine, Turn
from hooks.model.prober.lanes import Track
from hooks.model.prober.wish import Limits, Moment, Wish, begin
from hooks.model.probes import EndpointReport, LoadReport, LoadRequest, Phase, Target


@dataclass(slots=True, kw_only=True)
class _Held:
    """What a model asked for; `is_taken_up` says that the last question brought nothing new and nothing to undo."""

    request: LoadRequest
    is_taken_up: bool
    asked_first: float
    asked_last: float


class Ledger:
    """The table of models and engines."""

    def __init__(self, limits: Limits) -> None:
        """Start with nothing known."""
        self._limits = limits
        self._models: dict[str, _Held] = {}
        self._engines: dict[str, Engine] = {}
        self._looks = Track(concurrency=limits.concurrency, grace=limits.look_grace, most=limits.most)
        self._changes = Track(concurrency=limits.concurrency, grace=limits.change_grace, most=limits.most)
        self._reloads = Track(concurrency=limits.concurrency, grace=limits.change_grace, most=limits.most)

    def ask(self, request: LoadRequest, now: float) -> LoadReport:
        """Take up what a model wants, renew its mandate, and say what is known."""
        held = self._models.get(request.key)
        first = held.asked_first if held and self._has_mandate(held, now) else now
        is_taken_up = self._is_taken_up(held, request) or self._take_up(held, request, now)
        self._models[request.key] = _Held(request=request, is_taken_up=is_taken_up, asked_first=first, asked_last=now)
        return self._report(request, first, now)

    def look_up(self, key: str, now: float) -> tuple[LoadRequest, LoadReport] | None:
        """The last request of a model (`namespace/name`) and what is known; None without a mandate."""
        held = self._models.get(key)
        if held is None or not self._has_mandate(held, now):
            return None
        return held.request, self._report(held.request, held.asked_first, now)

    def keys(self, now: float) -> list[str]:
        """The models that there is a mandate for, sorted."""
        return sorted(key for key, held in self._models.items() if self._has_mandate(held, now))

    def count_phases(self) -> dict[Phase, int]:
        """How many pairs of engine and wanted adapter there are in each phase."""
        counts = dict.fromkeys(Phase, 0)
        for engine in self._engines.values():
            for wish in engine.wishes.values():
                if wish.uri:
                    counts[wish.phase] += 1
        return counts

    def due(self, now: float) -> list[Call]:
        """The calls to start now; each is under way until `finish` is called with it."""
        self._end_mandates(now)
        return [*self._due_looks(now), *self._due_changes(self._reloads, now), *self._due_changes(self._changes, now)]

    def give_up(self, now: float) -> list[Call]:
        """Calls that should have ended long ago; the caller finishes them with an answer of its own."""
        return [call for track in self._tracks for call in track.lane.overdue(now)]

    def next_due(self, now: float) -> float | None:
        """When `due` may have something next, if nothing is finished or asked before; None for never."""
        times = [time for track in self._tracks if (time := track.next_due(now)) is not None]
        return min(times, default=None)

    def finish(self, call: Call, answer: Answer, now: float, jitter: float) -> list[Turn]:
        """Take the answer to a call; an answer that comes after its call was given up changes nothing."""
        if not any(track.lane.leave(call) for track in self._tracks):
            return []
        engine = self._engines.get(call.address)
        if engine is None or engine.pod != call.pod:
            return []
        at = self._moment(now, jitter)
        if call.action is Action.LIST:
            turns = engine.finish_look(call, answer, at, self._changing(engine))
            self._looks.agenda.set(engine.address, engine.next_look(call, answer, at))
        else:
            turns = engine.finish_change(call, answer, at)
            self._looks.agenda.set(engine.address, now)  # only a look says whether the answer is true
        self._schedule_change(engine)
        return turns

    @property
    def _tracks(self) -> tuple[Track, Track, Track]:
        return self._looks, self._reloads, self._changes

    def _has_mandate(self, held: _Held, now: float) -> bool:
        return now < held.asked_last + self._limits.mandate

    def _is_taken_up(self, held: _Held | None, request: LoadRequest) -> bool:
        """Whether it is the very question of before, and every engine still has its wish."""
        if held is None or held.request is not request or not held.is_taken_up:
            return False
        return all(self._has_wish(target, request) for target in request.targets)

    def _has_wish(self, target: Target, request: LoadRequest) -> bool:
        engine, adapter = self._engines.get(target.address), request.adapter
        wish = engine.wishes.get(adapter.name) if engine is not None and adapter is not None else None
        return wish is not None and wish.model == request.key

    def _take_up(self, held: _Held | None, request: LoadRequest, now: float) -> bool:
        """Give every engine its wishes and take them from those that are no targets any more; True if none was new."""
        at = self._moment(now)
        is_old = not [target for target in request.targets if self._want(target, request, at)]
        kept = {target.address for target in request.targets}
        for target in held.request.targets if held else ():
            if target.address not in kept:
                self._forget(target.address, request.key)
        return is_old

    def _want(self, target: Target, request: LoadRequest, at: Moment) -> bool:
        engine = self._meet(target, at.now)
        is_new = engine.want(request, target, at, self._changing(engine))
        if is_new:
            self._schedule_change(engine)
        return is_new

    def _moment(self, now: float, jitter: float = 0.0) -> Moment:
        return Moment(now=now, jitter=jitter, limits=self._limits)

    def _meet(self, target: Target, now: float) -> Engine:
        """The engine at an address, known anew when another pod is behind it, looked at when its pod gets ready."""
        engine = self._engines.get(target.address)
        if engine is None or engine.pod != target.pod:
            engine = Engine(address=target.address, pod=target.pod, is_pod_ready=target.ready)
            self._engines[target.address] = engine
            self._looks.agenda.set(target.address, now)
        elif target.ready and not engine.is_pod_ready:
            engine.failures = 0
            if self._looks.lane.get(target.address) is None:
                self._looks.agenda.set(target.address, now)
        engine.is_pod_ready = target.ready
        return engine

    def _changing(self, engine: Engine) -> str:
        """The adapter that a call under way to the engine is about; empty for none."""
        call = self._change_at(engine.address)
        return call.adapter if call is not None and call.pod == engine.pod else ""

    def _change_at(self, address: str) -> Call | None:
        """The load or unload under way to an engine; it has one at a time, of whichever sort."""
        return self._reloads.lane.get(address) or self._changes.lane.get(address)

    def _forget(self, address: str, key: str) -> None:
        """Drop a model's wishes at an engine, and the engine when nobody else has any."""
        engine = self._engines.get(address)
        if engine is None:
            return
        engine.drop(key)
        if engine.wishes:
            self._schedule_change(engine)
            return
        del self._engines[address]
        for track in self._tracks:
            track.agenda.drop(address)

    def _end_mandates(self, now: float) -> None:
        for key, held in list(self._models.items()):
            if self._has_mandate(held, now):
                continue
            if self._has_late_load(held):
                held.asked_last = now
                continue
            del self._models[key]
            for target in held.request.targets:
                self._forget(target.address, key)

    def _has_late_load(self, held: _Held) -> bool:
        """Whether a load is under way that the model has withdrawn since: what it brings must still be undone."""
        for target in held.request.targets:
            call, engine = self._change_at(target.address), self._engines.get(target.address)
            if call is None or engine is None or call.action is not Action.LOAD or call.model != held.request.key:
                continue
            wish = engine.wishes.get(call.adapter)
            if wish is not None and not wish.uri:
                return True
        return False

    def _due_looks(self, now: float) -> Iterator[Call]:
        for address in self._looks.take(now):
            if self._looks.lane.get(address) is not None:
                self._looks.agenda.set(address, now + self._limits.list_timeout)
                continue
            call = Call(
                action=Action.LIST,
                address=address,
                pod=self._engines[address].pod,
                timeout=self._limits.list_timeout,
                started=now,
            )
            self._looks.lane.enter(call)
            yield call

    def _due_changes(self, track: Track, now: float) -> Iterator[Call]:
        for address in track.take(now):
            engine = self._engines[address]
            chosen = engine.choose()
            if chosen is None:
                continue
            wish, action = chosen
            started = engine.wishes[wish.adapter] = begin(wish, action, now)
            is_load = action is Action.LOAD
            call = Call(
                action=action,
                address=address,
                pod=engine.pod,
                timeout=self._limits.load_timeout if is_load else self._limits.unload_timeout,
                started=now,
                adapter=wish.adapter,
                uri=wish.uri if is_load else "",
                model=wish.model,
                attempt=started.attempts,
            )
            track.lane.enter(call)
            yield call

    def _schedule_change(self, engine: Engine) -> None:
        """Put an engine's next change on the track that it belongs to, and off the other."""
        chosen = engine.choose() if self._change_at(engine.address) is None else None
        for track in (self._reloads, self._changes):
            if chosen is not None and chosen[0].is_reload == (track is self._reloads):
                track.agenda.set(engine.address, chosen[0].next_try)
            else:
                track.agenda.drop(engine.address)

    def _report(self, request: LoadRequest, asked_first: float, now: float) -> LoadReport:
        endpoints = tuple(self._report_one(target, request, now) for target in request.targets)
        sweep = len(request.targets) * self._limits.look_grace / self._limits.concurrency
        patience = self._limits.verify_interval + self._limits.list_timeout + sweep
        is_new = now < asked_first + patience
        return LoadReport(starting=is_new and any(e.phase is Phase.UNKNOWN for e in endpoints), endpoints=endpoints)

    def _report_one(self, target: Target, request: LoadRequest, now: float) -> EndpointReport:
        engine = self._engines.get(target.address)
        wishes = engine.wishes if engine is not None else {}
        gone = [wish for wish in wishes.values() if wish.model == request.key and not wish.uri]
        left = tuple(sorted(wish.adapter for wish in gone if wish.phase is not Phase.UNLOADED))
        if request.adapter is None:
            return _report_unloading(target, gone, left, now)
        wish = wishes.get(request.adapter.name)
        if wish is None or wish.model != request.key:
            owner = f"DynamoModel {wish.model}" if wish is not None else "another DynamoModel"
            error = f"{owner} has an adapter of this name on the engine"
            return EndpointReport(address=target.address, phase=Phase.PENDING, last_error=error, left=left)
        return _report_wish(target, wish, left, now)


def _report_unloading(target: Target, gone: list[Wish], left: tuple[str, ...], now: float) -> EndpointReport:
    """The unloading that is furthest from done; done where the model has nothing on the engine."""
    if not gone:
        return EndpointReport(address=target.address, phase=Phase.UNLOADED, left=left)
    slowest = max(gone, key=lambda wish: (wish.phase is not Phase.UNLOADED, wish.since))
    return _report_wish(target, slowest, left, now)


def _report_wish(target: Target, wish: Wish, left: tuple[str, ...], now: float) -> EndpointReport:
    return EndpointReport(
        address=target.address,
        phase=wish.phase,
        attempts=wish.attempts,
        last_error=wish.last_error,
        age=max(0.0, now - wish.since),
        source=wish.source if wish.phase.is_ready else "",
        left=left,
    )
