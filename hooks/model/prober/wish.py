"""One adapter on one engine: what is wanted, what was heard and tried, and what follows.

Values and pure functions; a moment brings the time (seconds of a monotonic clock) and a number in [0, 1) for jitter.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from hooks.model.prober.calls import Action, Answer, Call, Outcome
from hooks.model.probes import Phase
from hooks.settings import Settings

_UNHEARD = frozenset({Outcome.TIMEOUT, Outcome.UNREACHABLE})
"""Ends of a call that do not say what the engine made of it."""
_LATE = "a load that was under way may still arrive; it is unloaded then"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How often, how long and how many at once; all times in seconds.

    A call counts among the `concurrency` calls of its sort for the first `look_grace` or `change_grace` seconds only,
    so that engines which hang do not take every slot; `most` bounds all of a sort. Looks, changes and the first reload
    of a lost adapter are the sorts. An adapter that stayed for `steady` is no longer one that the engine keeps losing.
    """

    concurrency: int = 10
    verify_interval: float = 5.0
    load_timeout: float = 600.0
    list_timeout: float = 3.0
    unload_timeout: float = 30.0
    mandate: float = 30.0
    first_backoff: float = 1.0
    longest_backoff: float = 120.0
    look_grace: float = 0.5
    change_grace: float = 10.0

    @property
    def steady(self) -> float:
        """How long an adapter must be listed without a break until an earlier loss is forgotten."""
        return 10 * self.verify_interval

    @property
    def late(self) -> float:
        """How long a load may still arrive whose end nobody heard."""
        return 2 * self.load_timeout

    @property
    def most(self) -> int:
        """Calls of one sort at one time, those included that hang."""
        return 10 * self.concurrency

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """Take what can be set from the settings."""
        return cls(
            concurrency=settings.lora_concurrency,
            verify_interval=settings.lora_verify_interval,
            load_timeout=settings.lora_request_timeout,
            mandate=settings.lora_mandate,
            first_backoff=min(1.0, settings.lora_verify_interval / 5),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When something happens, with the draw that spreads what follows, and the limits in force."""

    now: float
    jitter: float
    limits: Limits

    def next_try(self, failures: int) -> float:
        """When to try again after so many failures in a row: exponential back-off with full jitter."""
        ceiling = min(self.limits.longest_backoff, self.limits.first_backoff * 2.0 ** min(failures, 20))
        return self.now + self.jitter * ceiling


class Sight(StrEnum):
    """What the last look at an engine gave."""

    NONE = "none"
    LISTED = "listed"
    NO_LIST = "no list"
    UNSUPPORTED = "unsupported"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The last look: when it began, the adapters listed, and what went wrong."""

    sight: Sight = Sight.NONE
    began: float = 0.0
    names: frozenset[str] = field(default_factory=frozenset)
    error: str = ""

    @property
    def takes_changes(self) -> bool:
        """Whether it makes sense to ask the engine for a load or an unload."""
        return self.sight in {Sight.LISTED, Sight.NO_LIST}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """An adapter that a model wants on an engine, or wants gone where `uri` is empty.

    `source` is where the engine has it from as far as we know, empty if it has none or we do not know. `accepted` is
    the change that the engine took and no look has confirmed yet. `is_terminal`: not tried again for this generation.
    `began`: when the first try began that is not crowned yet; `seen_at`: when the engine last listed it. `losses`: how
    often the engine dropped it in a row.

    `late` are the sources of loads whose end nobody heard, until `late_until`: the engine may go on with them after the
    caller is gone, and so bring an adapter that is not wanted any more.
    """

    adapter: str
    model: str
    uri: str
    generation: int
    since: float
    phase: Phase = Phase.UNKNOWN
    source: str = ""
    attempts: int = 0
    failures: int = 0
    last_error: str = ""
    next_try: float = 0.0
    accepted: Action | None = None
    is_terminal: bool = False
    began: float | None = None
    changed_at: float = 0.0
    seen_at: float = 0.0
    losses: int = 0
    late: frozenset[str] = frozenset()
    late_until: float = 0.0

    @property
    def is_reload(self) -> bool:
        """Whether the engine had the adapter, lost it, and has not been asked for it since."""
        return self.losses == 1 and self.phase is Phase.PENDING and not self.attempts

    def find_late_load(self, now: float) -> str:
        """A source other than the wanted one of which a load may still arrive; empty for none."""
        return min(self.late - {self.uri}, default="") if now < self.late_until else ""


def renew(wish: Wish, *, model: str, uri: str, generation: int, now: float) -> Wish:
    """The wish as it is wanted now; a new source or generation ends back-off and terminal failure."""
    if wish.uri == uri and wish.generation == generation:
        return replace(wish, model=model)
    if wish.uri == uri and not wish.is_terminal:
        return replace(wish, model=model, generation=generation, next_try=now)
    fresh = Wish(
        adapter=wish.adapter,
        model=model,
        uri=uri,
        generation=generation,
        since=now,
        phase=Phase.PENDING if uri else Phase.UNLOADING,
        source=wish.source,
        next_try=now,
        changed_at=wish.changed_at,
        late=wish.late,
        late_until=wish.late_until,
    )
    return replace(fresh, phase=Phase.UNKNOWN) if wish.phase is Phase.UNKNOWN else fresh


def judge_look(wish: Wish, known: Knowledge, at: Moment) -> Wish:
    """What a look says about an adapter; a look that began before the last change ended says nothing."""
    if known.sight is Sight.NONE or (known.sight is Sight.LISTED and known.began < wish.changed_at):
        return wish
    match known.sight:
        case Sight.DOWN:
            return _judge_down(wish, known, at)
        case Sight.UNSUPPORTED:
            phase, error = (Phase.UNSUPPORTED, known.error) if wish.uri else (Phase.UNLOADED, "")
            return _move(replace(wish, accepted=None, source="", failures=0, late=frozenset()), phase, at.now, error)
        case Sight.NO_LIST:
            return _judge_unlisted(wish, at)
        case Sight.LISTED:
            judge = _judge_wanted if wish.uri else _judge_unwanted
            return judge(wish, at, is_listed=wish.adapter in known.names)


def _judge_down(wish: Wish, known: Knowledge, at: Moment) -> Wish:
    """An engine that misses one look is not taken for lost at once: it may only be busy."""
    if wish.is_terminal or wish.phase is Phase.UNLOADED:
        return wish
    if wish.phase.is_ready and at.now - wish.seen_at <= 2 * at.limits.verify_interval:
        return wish
    return _move(replace(wish, accepted=None), Phase.RETRYING, at.now, known.error)


def _judge_unlisted(wish: Wish, at: Moment) -> Wish:
    if wish.is_terminal or (not wish.uri and wish.phase is Phase.UNLOADED):
        return wish
    is_recorded = wish.phase is Phase.UNKNOWN and wish.source == wish.uri
    if wish.uri and (wish.accepted is Action.LOAD or wish.phase.is_ready or is_recorded):
        held = replace(wish, accepted=None, failures=0, source=wish.uri, seen_at=at.now)
        return _move(held, Phase.UNVERIFIED, at.now)
    if not wish.uri and wish.accepted is Action.UNLOAD:
        if wish.find_late_load(at.now):
            return _fail(replace(wish, accepted=None), _LATE, at)
        return _move(replace(wish, accepted=None, source=""), Phase.UNLOADED, at.now)
    return _resume(replace(wish, accepted=None), at)


def _judge_wanted(wish: Wish, at: Moment, *, is_listed: bool) -> Wish:
    if is_listed and (other := wish.find_late_load(at.now)):
        wish = replace(wish, source=other)  # of two loads nobody knows which one this is: neither is taken for good
    settled = replace(wish, accepted=None)
    if is_listed and wish.source in {"", wish.uri}:
        is_steady = wish.phase is Phase.LOADED and at.now - wish.since >= at.limits.steady
        losses = 0 if is_steady else wish.losses
        held = replace(settled, source=wish.uri, failures=0, seen_at=at.now, is_terminal=False, losses=losses)
        return _move(replace(held, late=frozenset()), Phase.LOADED, at.now)
    if is_listed:
        if wish.accepted is Action.UNLOAD:
            return _fail(settled, "the engine still lists the adapter after it was unloaded", at)
        return _resume(settled, at)
    settled = replace(settled, source="")
    if wish.phase.is_ready:
        return _lose(settled, at)
    if wish.accepted is Action.LOAD:
        return _fail(settled, "the engine accepted the load and does not list the adapter", at)
    return _resume(settled, at)


def _lose(wish: Wish, at: Moment) -> Wish:
    """The first loss is made good at once; an engine that goes on dropping the adapter is left in peace for longer."""
    losses = wish.losses + 1
    lost = replace(wish, attempts=0, began=None, losses=losses, next_try=at.now)
    if losses == 1:
        return _move(lost, Phase.PENDING, at.now, "the engine lost the adapter; it is loaded again")
    error = f"the engine dropped the adapter {losses} times; see that it has room for all adapters and does not restart"
    return _move(replace(lost, next_try=at.next_try(losses)), Phase.PENDING, at.now, error)


def _judge_unwanted(wish: Wish, at: Moment, *, is_listed: bool) -> Wish:
    settled = replace(wish, accepted=None)
    if not is_listed and wish.find_late_load(at.now):
        return _move(settled, Phase.UNLOADING, at.now, _LATE)
    if not is_listed:
        return _move(replace(settled, source="", failures=0), Phase.UNLOADED, at.now)
    if wish.accepted is Action.UNLOAD:
        return _fail(settled, "the engine still lists the adapter after it was unloaded", at)
    if wish.phase is Phase.UNLOADED:
        settled = replace(settled, next_try=at.now)
    return _resume(settled, at)


def _resume(wish: Wish, at: Moment) -> Wish:
    """Work goes on: a failed try stays visible as such until one succeeds."""
    if wish.is_terminal or (wish.phase is Phase.RETRYING and wish.failures):
        return wish
    return _move(wish, Phase.PENDING if wish.uri else Phase.UNLOADING, at.now, wish.last_error)


def judge_change(wish: Wish, call: Call, answer: Answer, at: Moment) -> Wish:
    """What the answer to a load or unload means; the next look confirms what the engine accepted."""
    is_done = answer.outcome in {Outcome.OK, Outcome.GONE}
    source = wish.source
    if is_done:
        source = call.uri if call.action is Action.LOAD else ""
    wish = replace(wish, changed_at=at.now, source=source, accepted=None)
    if call.action is Action.LOAD and answer.outcome in _UNHEARD:
        wish = replace(wish, late=wish.late | {call.uri}, late_until=at.now + at.limits.late)
    if call.action is Action.UNLOAD and answer.outcome is Outcome.OK:
        wish = replace(wish, late=frozenset())
    if call.action is Action.LOAD and call.uri != wish.uri:
        return wish
    if is_done:
        return replace(wish, accepted=call.action, last_error="")
    if call.action is Action.UNLOAD and answer.outcome is Outcome.UNSUPPORTED:
        return replace(wish, accepted=call.action, source="")
    match answer.outcome:
        case Outcome.TERMINAL:
            return _move(replace(wish, is_terminal=True), Phase.FAILED, at.now, answer.message)
        case Outcome.UNSUPPORTED:
            return _move(replace(wish, is_terminal=True), Phase.UNSUPPORTED, at.now, answer.message)
        case _:
            return _fail(wish, answer.message, at)


def next_action(wish: Wish, known: Knowledge) -> Action | None:
    """What to ask of the engine, at `next_try`; None when there is nothing to do, or nothing that makes sense.

    After a change the next one waits for a look: what the engine holds now decides between load and unload.
    """
    is_idle = wish.phase.is_final or wish.phase is Phase.UNKNOWN or wish.accepted is not None
    is_stale = known.sight is Sight.LISTED and known.began < wish.changed_at
    if is_idle or is_stale or wish.is_terminal or not known.takes_changes:
        return None
    is_there = known.sight is Sight.NO_LIST or wish.adapter in known.names
    if not wish.uri:
        return Action.UNLOAD if is_there else None
    return Action.UNLOAD if is_there and wish.source not in {"", wish.uri} else Action.LOAD


def begin(wish: Wish, action: Action, now: float) -> Wish:
    """The wish while a call for it is under way."""
    counted = 1 if action is Action.LOAD or not wish.uri else 0
    phase = Phase.LOADING if action is Action.LOAD else Phase.UNLOADING
    started = replace(wish, attempts=wish.attempts + counted, began=now if wish.began is None else wish.began)
    return _move(started, phase, now, wish.last_error)


def _fail(wish: Wish, error: str, at: Moment) -> Wish:
    failures = wish.failures + 1
    failed = replace(wish, failures=failures, next_try=at.next_try(failures))
    return _move(failed, Phase.RETRYING, at.now, error)


def _move(wish: Wish, phase: Phase, now: float, error: str = "") -> Wish:
    since = wish.since if wish.phase is phase else now
    if wish.phase is phase and wish.last_error == error:
        return wish
    return replace(wish, phase=phase, since=since, last_error=error)
