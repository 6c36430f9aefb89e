"""One adapter on one engine: what is wanted, what was heard and tried, and what follows.

Values and pure functions; a moment brings the time (seconds of a monotonic clock) and a number in [0, 1) for jitter.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from hooks.model.prober.calls import Action, Answer, Call, Outcome
from hooks.model.probes import Phase
from hooks.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How often, how long and how many at once; all times in seconds.

    A call counts among the `concurrency` calls of its sort for the first `look_grace` or `change_grace` seconds only,
    so that engines which hang do not take every slot; `most` bounds all of a sort.
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
    change_grace: float = 30.0

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
    `began`: when the first try began that is not crowned yet; `seen_at`: when the engine last listed it.
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
            return _move(replace(wish, accepted=None, source=""), phase, at.now, error)
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
    if wish.uri and (wish.accepted is Action.LOAD or wish.phase.is_ready):
        held = replace(wish, accepted=None, failures=0, source=wish.uri, seen_at=at.now)
        return _move(held, Phase.UNVERIFIED, at.now)
    if not wish.uri and wish.accepted is Action.UNLOAD:
        return _move(replace(wish, accepted=None, source=""), Phase.UNLOADED, at.now)
    return _resume(replace(wish, accepted=None), at)


def _judge_wanted(wish: Wish, at: Moment, *, is_listed: bool) -> Wish:
    settled = replace(wish, accepted=None)
    if is_listed and wish.source in {"", wish.uri}:
        held = replace(settled, source=wish.uri, failures=0, seen_at=at.now, is_terminal=False)
        return _move(held, Phase.LOADED, at.now)
    if is_listed:
        if wish.accepted is Action.UNLOAD:
            return _fail(settled, "the engine still lists the adapter after it was unloaded", at)
        return _resume(settled, at)
    settled = replace(settled, source="")
    if wish.phase.is_ready:
        lost = replace(settled, attempts=0, began=None, next_try=at.now)
        return _move(lost, Phase.PENDING, at.now, "the engine lost the adapter; it is loaded again")
    if wish.accepted is Action.LOAD:
        return _fail(settled, "the engine accepted the load and does not list the adapter", at)
    return _resume(settled, at)


def _judge_unwanted(wish: Wish, at: Moment, *, is_listed: bool) -> Wish:
    settled = replace(wish, accepted=None)
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
    if not wish.uri:
        return Action.UNLOAD
    is_there = known.sight is Sight.NO_LIST or wish.adapter in known.names
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
