"""One engine: what the last look at it gave, what is wanted of it, and what to do there next.

Knows no other engine and starts no call; the ledger does.
"""

from dataclasses import dataclass, field, replace

from hooks.model.prober.calls import Action, Answer, Call, Outcome
from hooks.model.prober.wish import Knowledge, Moment, Sight, Wish, judge_change, judge_look, next_action, renew
from hooks.model.probes import Adapter, LoadRequest, Phase, Target

_SIGHTS = {Outcome.OK: Sight.LISTED, Outcome.NO_LIST: Sight.NO_LIST, Outcome.UNSUPPORTED: Sight.UNSUPPORTED}
_SLOWEST_LOOK, _SLOWEST_RESTART = 6.0, 1.5
"""An engine that times out is looked at less and less often, down to once in 6 intervals: each such look holds a
connection for seconds. One that refuses the connection may be restarting: at least once in 1.5 intervals."""

_STARTING_TRIES = 5
"""Refusals of an engine that lists adapters until it counts as one without LoRA for good: half a minute or so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """An adapter on an engine came from one phase into another; `seconds` since it was begun, or last seen if lost."""

    model: str
    pod: str
    address: str
    adapter: str
    attempt: int
    before: Phase
    after: Phase
    error: str
    seconds: float

    @property
    def is_loss(self) -> bool:
        """Whether the engine lost an adapter that it had."""
        return self.before.is_ready and self.after is Phase.PENDING


@dataclass(slots=True, kw_only=True)
class Engine:
    """An engine as the prober knows it; `wishes` by the adapter's name, `failures` of looks in a row.

    `has_listed`: it has a list of adapters, so an answer without one is a fault and no proof that an adapter is there.
    """

    address: str
    pod: str
    is_pod_ready: bool
    known: Knowledge = field(default_factory=Knowledge)
    failures: int = 0
    has_listed: bool = False
    wishes: dict[str, Wish] = field(default_factory=dict)

    def want(self, request: LoadRequest, target: Target, at: Moment, changing: str) -> bool:
        """Take up what a model wants here, and say whether anything of it is new.

        `changing` is the adapter that a call under way is about, or empty.
        """
        adapter, unwanted = request.adapter, self._unwanted(request)
        is_new = adapter is not None and self._want_loaded(adapter, request, target, at=at, changing=changing)
        for name in unwanted:
            self._want_gone(name, request, target, at=at, changing=changing)
        return is_new or bool(unwanted)

    def _want_loaded(
        self, adapter: Adapter, request: LoadRequest, target: Target, *, at: Moment, changing: str
    ) -> bool:
        key, generation = request.key, request.generation
        held = self.wishes.get(adapter.name)
        if held is None:
            wish = Wish(
                adapter=adapter.name,
                model=key,
                uri=adapter.uri,
                generation=generation,
                since=at.now,
                source=target.recorded,
                late=_late_loads(target),
                late_until=at.now + at.limits.late,
            )
            if target.failed:
                wish = replace(wish, phase=Phase.FAILED, last_error=target.failed, is_terminal=True)
            self._put(wish, at, changing)
        elif held.model == key and held.uri == adapter.uri and held.generation == generation:
            return False
        elif held.model == key or not held.uri:
            self._put(renew(held, model=key, uri=adapter.uri, generation=generation, now=at.now), at, changing)
        return True

    def _unwanted(self, request: LoadRequest) -> list[str]:
        """Names to be absent: those of the request, and what this prober held for the model before."""
        current = request.adapter.name if request.adapter else None
        if not request.former and self.wishes.keys() == {current}:
            return []
        own = {wish.adapter for wish in self.wishes.values() if wish.model == request.key}
        return sorted((own | set(request.former)) - {current})

    def _want_gone(self, name: str, request: LoadRequest, target: Target, *, at: Moment, changing: str) -> None:
        wish = self.wishes.get(name)
        if wish is None:
            wish = Wish(
                adapter=name,
                model=request.key,
                uri="",
                generation=request.generation,
                since=at.now,
                late=_late_loads(target),
                late_until=at.now + at.limits.late,
            )
            self._put(wish, at, changing)
        elif wish.model != request.key:
            return
        elif not wish.uri and wish.phase is Phase.UNLOADED and name not in request.former:
            del self.wishes[name]
        else:
            gone = renew(wish, model=request.key, uri="", generation=request.generation, now=at.now)
            self._put(gone, at, changing)

    def _put(self, wish: Wish, at: Moment, changing: str) -> None:
        """Hold a wish, judged by what is known of the engine already."""
        self.wishes[wish.adapter] = wish if wish.adapter == changing else judge_look(wish, self.known, at)

    def drop(self, model: str) -> None:
        """Forget what a model wants here; nothing is undone."""
        self.wishes = {name: wish for name, wish in self.wishes.items() if wish.model != model}

    def choose(self) -> tuple[Wish, Action] | None:
        """The change to make next: the one that has waited longest; None when nothing is to be done."""
        open_ones = [
            (wish.next_try, wish.adapter, wish, action)
            for wish in self.wishes.values()
            if (action := next_action(wish, self.known)) is not None
        ]
        if not open_ones:
            return None
        _, _, wish, action = min(open_ones, key=lambda item: item[:2])
        return wish, action

    def finish_look(self, call: Call, answer: Answer, at: Moment, changing: str) -> list[Turn]:
        """Take a list of adapters, or the failure to get one."""
        sight, error = _SIGHTS.get(answer.outcome, Sight.DOWN), answer.message
        if sight is Sight.NO_LIST and self.has_listed:
            sight, error = Sight.DOWN, "the engine listed its adapters before and does not now"
        self.has_listed |= sight is Sight.LISTED
        self.known = Knowledge(sight=sight, began=call.started, names=answer.names, error=error)
        self.failures = self.failures + 1 if sight is Sight.DOWN else 0
        turns = []
        for name, wish in list(self.wishes.items()):
            if name != changing:
                turns += self._turn(wish, judge_look(wish, self.known, at), at.now)
        return turns

    def finish_change(self, call: Call, answer: Answer, at: Moment) -> list[Turn]:
        """Take the answer to a load or unload."""
        wish = self.wishes.get(call.adapter)
        if wish is not None and wish.failures < _STARTING_TRIES and self._may_be_starting(call, answer):
            answer = replace(answer, outcome=Outcome.FAILED, message=f"{answer.message}; the engine may be starting")
        return [] if wish is None else self._turn(wish, judge_change(wish, call, answer, at), at.now)

    def _may_be_starting(self, call: Call, answer: Answer) -> bool:
        """Whether the engine takes no loads although it lists adapters: its handlers are registered one by one."""
        is_refused = call.action is Action.LOAD and answer.outcome is Outcome.UNSUPPORTED
        return is_refused and self.known.sight is Sight.LISTED

    def next_look(self, call: Call, answer: Answer, at: Moment) -> float:
        """When to look again after a look: at once when something changed meanwhile."""
        interval = at.limits.verify_interval
        if any(wish.changed_at > call.started for wish in self.wishes.values()):
            return at.now
        if not self.failures:
            return at.now + interval * (0.9 + 0.2 * at.jitter)
        ceiling = interval * (_SLOWEST_LOOK if answer.outcome is Outcome.TIMEOUT else _SLOWEST_RESTART)
        return at.now + at.jitter * min(ceiling, at.limits.first_backoff * 2.0 ** min(self.failures, 20))

    def _turn(self, before: Wish, after: Wish, now: float) -> list[Turn]:
        self.wishes[after.adapter] = replace(after, began=None) if after.phase.is_final else after
        if before.phase is after.phase:
            return []
        start = before.seen_at if before.phase.is_ready else after.began
        turn = Turn(
            model=after.model,
            pod=self.pod,
            address=self.address,
            adapter=after.adapter,
            attempt=after.attempts,
            before=before.phase,
            after=after.phase,
            error=after.last_error,
            seconds=now - start if start is not None else 0.0,
        )
        return [turn]


def _late_loads(target: Target) -> frozenset[str]:
    return frozenset({target.loading} - {""})
