"""What is known of one frontend of a graph, and when it is asked next for what.

A round is one list of models, and then what `/ready` says of some of them. A frontend has one round in `SOON_SECONDS`
at most; only a list that lacks a model is confirmed after `SETTLED_SECONDS`, once.

The frontend logs an error for each question about a model that it does not know. So a name that is not listed is asked
about once in `MISSING_SECONDS`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hooks.model.prober.frontends.calls import FrontendAction, FrontendAnswer, FrontendCall, FrontendEnd
from hooks.model.prober.messages import FrontendOffer
from hooks.wire.prober.frontends import (
    AWAITED_SECONDS,
    MOST_MODELS,
    RESTING_SECONDS,
    SETTLED_SECONDS,
    SOON_SECONDS,
    FrontendEntry,
    FrontendQuestion,
    FrontendState,
    FrontendTarget,
    MissingModel,
    NamespaceReadiness,
)

MISSING_SECONDS = 15.0
MOST_READY = 8
"""Questions about single models in one round."""
AGREEING_SECONDS = 1.0
"""Frontends of a graph learn of a worker within this time of each other."""
_OLD_PERIODS = 3
"""After so many periods without an answer, the last one is too old."""
_JITTER = 0.1
"""The part of a period by which it is longer at most, so that rounds spread over time."""
_FEW_FAILURES, _MANY_FAILURES, _LONG_PAUSE = 6, 20, 60.0
"""After more than few failures in a row a frontend is asked as at rest, after more than many once in a long pause."""


@dataclass(slots=True)
class FrontendRecord:
    """What one target said. Times are seconds of a monotonic clock; `next_at` is that of the next call.

    `models` is what is reported; those in `gone` were absent since that time. `pending` are the models to ask about in
    this round. `needs` are what `/ready` said of models, by name; `asked_ready` is when it was last asked about each,
    and `unknown` are those that it did not know. `namespaces` are what it said, and when, about the model `about`.
    Until `awaited_until` it is asked very often. `listed` is its last list as it was; since `behind`
    another frontend of the graph has another one, with which an older list is not compared.
    """

    target: FrontendTarget
    next_at: float
    began: float = float("-inf")
    answered: float = float("-inf")
    failures: int = 0
    error: str = ""
    models: tuple[str, ...] = ()
    has_more: bool = False
    gone: dict[str, float] = field(default_factory=dict)
    is_confirming: bool = False
    pending: list[str] = field(default_factory=list)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    asked_ready: dict[str, float] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    about: str = ""
    awaited_until: float = float("-inf")
    namespaces: tuple[tuple[float, NamespaceReadiness], ...] = ()
    listed: frozenset[str] = frozenset()
    behind: float = float("-inf")
    returned: FrontendEntry | None = None
    """What was last returned to a question."""

    @property
    def has_answered(self) -> bool:
        """Whether it ever answered."""
        return self.answered > float("-inf")

    @property
    def is_behind(self) -> bool:
        """Whether it has not been asked since another frontend's list became different, and a moment more."""
        return self.has_answered and self.answered < self.behind + AGREEING_SECONDS

    def describe(self, question: FrontendQuestion, now: float) -> FrontendEntry:
        """What is known now; an answer that is too old is none."""
        state, error = self._find_state(question, now)
        if state is not FrontendState.ANSWERED:
            return FrontendEntry(address=self.target.address, pod=self.target.pod, state=state, error=error)
        missing = self._find_missing(question)
        return FrontendEntry(
            address=self.target.address,
            pod=self.target.pod,
            state=state,
            models=self.models,
            has_more=self.has_more,
            missing=tuple(MissingModel(name=name, needs=self.needs.get(name, ())) for name in missing),
            namespaces=self._find_namespaces(question, now),
            is_doubted=bool(self.gone) or self.is_behind,
        )

    def find_offer(self, model: str, question: FrontendQuestion, now: float) -> FrontendOffer | None:
        """Whether it offers a model; None if that is not known."""
        is_offered = model in self.models
        if self._find_state(question, now)[0] is not FrontendState.ANSWERED or (self.has_more and not is_offered):
            return None
        return FrontendOffer(pod=self.target.pod, is_offered=is_offered, age=now - self.answered)

    def next_action(self) -> tuple[FrontendAction, str]:
        """What it is asked for next, and about which model."""
        return (FrontendAction.READY, self.pending[0]) if self.pending else (FrontendAction.LIST, "")

    def wanted(self, question: FrontendQuestion) -> frozenset[str]:
        """The names that a list must not leave out."""
        return frozenset((*question.expected, *self.models))

    def start(self, call: FrontendCall) -> None:
        """A call starts."""
        self.next_at = float("inf")
        if call.action is FrontendAction.LIST:
            self.began = call.started
        else:
            self.pending.remove(call.model)
            self.asked_ready[call.model] = call.started

    def finish(
        self, call: FrontendCall, answer: FrontendAnswer, question: FrontendQuestion, *, now: float, jitter: float
    ) -> None:
        """A call ended: take what it says, and set the time of the next one; `jitter` is in [0, 1)."""
        if call.action is FrontendAction.LIST:
            self._take_list(answer, question, now)
        else:
            self._take_ready(call.model, answer, now)
        self.next_at = now if self.pending else self._next_round(question, now, jitter)

    def hurry(self, question: FrontendQuestion, now: float) -> None:
        """Another question: if it wants an answer soon, the next round is not later than that."""
        if self._is_restless(question):
            self.ask_soon(now, self._find_period(question, now))

    def ask_soon(self, now: float, period: float = SOON_SECONDS) -> None:
        """Begin the next round so long after the last one at the latest, if it answers."""
        if self.next_at < float("inf") and self.failures <= _FEW_FAILURES:
            self.next_at = min(self.next_at, max(now, self.began + period))

    def _take_list(self, answer: FrontendAnswer, question: FrontendQuestion, now: float) -> None:
        if answer.outcome is not FrontendEnd.OK:
            self.failures += 1
            self.error = answer.error
            return
        if self._find_state(question, now)[0] is not FrontendState.ANSWERED:
            self.models, self.gone = (), {}  # an answer that was too old is not doubted, it is none
        self.answered, self.failures, self.error = now, 0, ""
        listed = set(answer.models)
        self.listed = frozenset(listed)
        absent = [name for name in self.models if name not in listed]
        since = {name: self.gone.get(name, now) for name in absent}
        self.gone = {name: at for name, at in since.items() if now < at + SETTLED_SECONDS}
        self.has_more = answer.has_more
        self.models = _cut({*listed, *self.gone}, question.expected)
        self.gone = {name: at for name, at in self.gone.items() if name in self.models}
        self.pending = self._choose_pending(question, now)

    def _take_ready(self, model: str, answer: FrontendAnswer, now: float) -> None:
        if answer.outcome not in {FrontendEnd.OK, FrontendEnd.NOT_KNOWN}:
            self.pending.clear()  # the next list shows whether it answers at all
            return
        self.needs[model] = answer.needs
        is_unknown = answer.outcome is FrontendEnd.NOT_KNOWN
        self.unknown = self.unknown | {model} if is_unknown else self.unknown - {model}
        if model == self.about:
            self.namespaces = tuple((now, one) for one in answer.namespaces)

    def _choose_pending(self, question: FrontendQuestion, now: float) -> list[str]:
        """The models to ask about in this round; forgets what is known of others."""
        missing = self._find_missing(question)
        self.about = self._choose_of_namespaces(question, missing)
        names = dict.fromkeys((*([self.about] if self.about else ()), *missing))
        self.needs = {name: found for name, found in self.needs.items() if name in names}
        recent = now - MISSING_SECONDS
        self.asked_ready = {name: at for name, at in self.asked_ready.items() if name in names or at > recent}
        self.unknown &= names.keys()
        due = [name for name in names if self._may_ask(name, now)]
        oldest = sorted(due, key=lambda name: (name != self.about, self.asked_ready.get(name, float("-inf"))))
        return oldest[:MOST_READY]

    def _may_ask(self, name: str, now: float) -> bool:
        """Whether a name may be asked about now: one that the frontend knows in each round."""
        is_known = name in self.models and name not in self.unknown
        return is_known or now >= self.asked_ready.get(name, float("-inf")) + MISSING_SECONDS

    def _choose_of_namespaces(self, question: FrontendQuestion, missing: Sequence[str]) -> str:
        """The model of which the namespaces are asked: an expected one that is listed, else another one; "" for none.

        What the frontend says about a model that is not listed is true as well.
        """
        if not question.namespaces:
            return ""
        listed = next((name for name in question.expected if name in self.models), "")
        return listed or next(iter((*self.models, *missing)), "")

    def _find_namespaces(self, question: FrontendQuestion, now: float) -> tuple[NamespaceReadiness, ...]:
        period = SOON_SECONDS if self.about in self.models else MISSING_SECONDS
        youngest = [one for at, one in self.namespaces if now - at <= _OLD_PERIODS * period]
        return tuple(one for one in youngest if one.namespace in question.namespaces and one.model == self.about)

    def _find_missing(self, question: FrontendQuestion) -> list[str]:
        if not self.has_answered:
            return []
        return [name for name in dict.fromkeys(question.expected) if name not in self.models]

    def _find_state(self, question: FrontendQuestion, now: float) -> tuple[FrontendState, str]:
        if not self.has_answered:
            return (FrontendState.UNANSWERED, self.error) if self.failures else (FrontendState.UNASKED, "")
        period = SOON_SECONDS if self._wants_soon(question) else RESTING_SECONDS
        if now - self.answered <= _OLD_PERIODS * period:
            return FrontendState.ANSWERED, ""
        return FrontendState.UNANSWERED, self.error or "it was not asked in time, because too many others are asked"

    def _wants_soon(self, question: FrontendQuestion) -> bool:
        is_empty = question.is_awaited and not self.models
        return (
            question.is_changing or is_empty or bool(question.namespaces or self.gone or self._find_missing(question))
        )

    def _is_restless(self, question: FrontendQuestion) -> bool:
        return self._wants_soon(question) or not self.has_answered or bool(self.failures)

    def _next_round(self, question: FrontendQuestion, now: float, jitter: float) -> float:
        is_confirm = bool(self.gone) and not self.is_confirming
        self.is_confirming = is_confirm
        if now < self.behind + AGREEING_SECONDS:
            return max(self.behind, self.began) + AGREEING_SECONDS
        if is_confirm:
            return now + SETTLED_SECONDS
        return max(now, self.began + self._find_period(question, now) * (1 + _JITTER * jitter))

    def _find_period(self, question: FrontendQuestion, now: float) -> float:
        if now < self.awaited_until and self._is_restless(question):
            return AWAITED_SECONDS
        if self.failures > _MANY_FAILURES:
            return _LONG_PAUSE
        is_soon = self._is_restless(question) and self.failures <= _FEW_FAILURES
        return SOON_SECONDS if is_soon else RESTING_SECONDS


def _cut(names: set[str], expected: Iterable[str]) -> tuple[str, ...]:
    """At most `MOST_MODELS` names, sorted; expected ones stay before others."""
    if len(names) <= MOST_MODELS:
        return tuple(sorted(names))
    first = [name for name in dict.fromkeys(expected) if name in names][:MOST_MODELS]
    others = sorted(names.difference(first))[: MOST_MODELS - len(first)]
    return tuple(sorted([*first, *others]))
