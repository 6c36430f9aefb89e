"""All graphs with a question that is not too old, what their frontends said, and which calls are due.

This module and `record` make every decision about frontends. Time is an argument, in seconds of a monotonic clock. Not
thread-safe. Like the reconciler of engines it acts only during a term, and forgets everything when another one begins.

Graphs of one namespace have a few calls at a time, so that frontends that answer nothing do not hold up the others.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from hooks.model.prober.call_queue import CallQueue
from hooks.model.prober.frontends.calls import FrontendAnswer, FrontendCall, write_key
from hooks.model.prober.frontends.record import AGREEING_SECONDS, FrontendRecord
from hooks.model.prober.messages import GraphOffer, Term
from hooks.model.prober.reconciler import FIRST_TERM, NotNow
from hooks.wire.prober.frontends import (
    LONGEST_AWAITED,
    QUESTION_SECONDS,
    SOON_SECONDS,
    TOLD_SECONDS,
    ChangedGraph,
    FrontendQuestion,
    FrontendReport,
    FrontendState,
    FrontendTarget,
)

CALL_SECONDS = 2.0
CONCURRENCY = 16
MOST_CALLS = 160
"""The most calls at one time, hanging ones included."""
CALLS_OF_NAMESPACE = 8
MOST_GRAPHS, MOST_TARGETS = 4096, 16_384
MOST_CHANGES = 64
"""The most graphs that are named at one time as changed."""
_GRACE_SECONDS = 0.5
"""A call that takes longer no longer counts among those of `CONCURRENCY`."""
_DEFERRED_SECONDS = 0.25


@dataclass(slots=True, kw_only=True)
class _Graph:
    """The last question of a graph, its frontends, and when it was last named as changed."""

    question: FrontendQuestion
    asked: float
    records: dict[FrontendTarget, FrontendRecord] = field(default_factory=dict)
    told: float = float("-inf")


class FrontendWatch:
    """The graphs that are asked about, the least recently asked first."""

    def __init__(self, term: Term = FIRST_TERM) -> None:
        """Start with no graph."""
        self._term = term
        self._forget_all()

    def _forget_all(self) -> None:
        self._graphs: OrderedDict[str, _Graph] = OrderedDict()
        self._places: dict[str, tuple[_Graph, FrontendRecord]] = {}
        self._queue: CallQueue[FrontendCall] = CallQueue(
            concurrency=CONCURRENCY, grace=_GRACE_SECONDS, limit=MOST_CALLS
        )
        self._running: Counter[str] = Counter()
        """Calls under way by namespace."""
        self._changed: dict[str, None] = {}
        self._can_push = True

    def set_term(self, term: Term) -> None:
        """Act until the term's end; what was learnt in another term is forgotten."""
        if term.number != self._term.number or not term.until:
            self._forget_all()
        self._term = term

    def ask(self, question: FrontendQuestion, now: float) -> FrontendReport:
        """Store what a graph wants to know, and return what is known.

        Raises:
            NotNow: this prober does not act.
        """
        if now >= self._term.until:
            raise NotNow("the prober of this pod does not act now; another one does, or will soon")
        graph = self._graphs.get(question.key)
        if graph is None or graph.question.uid != question.uid:
            self._forget(question.key)
            graph = self._graphs[question.key] = _Graph(question=question, asked=now)
        self._apply(graph, question, now)
        self._graphs.move_to_end(question.key)
        self._make_room()
        self._changed.pop(question.key, None)
        for record in graph.records.values():
            record.returned = record.describe(question, now)
        return self._report(graph, now)

    def look_up(self, key: str, now: float) -> tuple[FrontendQuestion, FrontendReport] | None:
        """The last question of a graph (`namespace/name`) and what is known; None if there is none."""
        graph = self._graphs.get(key)
        return None if graph is None or _is_over(graph, now) else (graph.question, self._report(graph, now))

    def find_offer(self, key: str, model: str, now: float) -> GraphOffer | None:
        """What a graph's frontends say of a model; None if nothing is known. One that lacks it is asked again soon."""
        graph = self._graphs.get(key)
        if graph is None or _is_over(graph, now):
            return None
        found = {target: graph.records[target].find_offer(model, graph.question, now) for target in graph.records}
        for target, offer in found.items():
            if offer is not None and not offer.is_offered:
                self._ask_soon(graph, target, now)
        frontends = tuple(offer for target in graph.question.targets if (offer := found[target]) is not None)
        if not frontends:
            return None
        chooses = graph.question.chooses_by_adapter
        return GraphOffer(graph=graph.question.name, frontends=frontends, chooses_by_adapter=chooses)

    def keys(self, now: float) -> list[str]:
        """The graphs that are asked about, sorted."""
        return sorted(key for key, graph in self._graphs.items() if not _is_over(graph, now))

    def take_changes(self, now: float, could_write: bool | None = None) -> tuple[ChangedGraph, ...]:
        """Graphs that should be looked at again, at most `MOST_CHANGES`; each at most once in `TOLD_SECONDS`.

        `could_write` says whether the last ones were written, which is reported; None leaves it as it was.
        """
        self._can_push = self._can_push if could_write is None else could_write
        return tuple(self._take_changes(now)) if now < self._term.until else ()

    def count_states(self, now: float) -> dict[FrontendState, int]:
        """How many frontends are in each state."""
        counts = dict.fromkeys(FrontendState, 0)
        for graph in self._graphs.values():
            for record in graph.records.values():
                counts[record.describe(graph.question, now).state] += 1
        return counts

    def due(self, now: float) -> list[FrontendCall]:
        """The calls to make now; a call is under way until `finish` gets its answer."""
        while self._graphs and _is_over(graph := next(iter(self._graphs.values())), now):
            self._forget(graph.question.key)
        return list(self._take_due(now)) if now < self._term.until else []

    def give_up(self, now: float) -> list[FrontendCall]:
        """Calls that run far longer than their timeout; the caller must `finish` them as timed out."""
        return list(self._queue.running.overdue(now))

    def next_due(self, now: float) -> float | None:
        """When `due` may have a call next, unless something else comes first; None for never."""
        return self._queue.next_due(now) if now < self._term.until else None

    def finish(self, call: FrontendCall, answer: FrontendAnswer, now: float, jitter: float) -> None:
        """Store the answer to a call; one that was given up, or of a target that is gone, changes nothing."""
        if not self._queue.running.remove(call):
            return
        self._running[call.namespace] -= 1
        if not self._running[call.namespace]:
            del self._running[call.namespace]
        place = self._places.get(call.key)
        if place is None:
            return
        graph, record = place
        before = record.listed
        record.finish(call, answer, graph.question, now=now, jitter=jitter)
        self._queue.waiting.set(call.key, record.next_at)
        if record.listed != before:
            self._ask_others(graph, record, now)
        if record.describe(graph.question, now) != record.returned:
            self._changed[graph.question.key] = None

    def _ask_others(self, graph: _Graph, changed: FrontendRecord, now: float) -> None:
        """Ask the frontends again whose list is another one by now, as it may be older; each now and then at most."""
        for target, record in graph.records.items():
            is_other = record is not changed and record.has_answered and record.listed != changed.listed
            if is_other and now >= record.behind + SOON_SECONDS:
                record.behind = now
                key = write_key(graph.question.key, target)
                if self._queue.running.get(key) is None:
                    record.next_at = now + AGREEING_SECONDS
                    self._queue.waiting.set(key, record.next_at)

    def _report(self, graph: _Graph, now: float) -> FrontendReport:
        entries = tuple(graph.records[target].describe(graph.question, now) for target in graph.question.targets)
        return FrontendReport(entries=entries, can_push=self._can_push)

    def _apply(self, graph: _Graph, question: FrontendQuestion, now: float) -> None:
        """Take a question, begin to ask new targets at once, and forget those that are gone."""
        wanted = dict.fromkeys(question.targets)
        for target in [target for target in graph.records if target not in wanted]:
            self._forget_target(graph, target)
        begins = question.is_awaited and not graph.question.is_awaited
        graph.question, graph.asked, graph.told = question, now, float("-inf")
        graph.records = {target: graph.records.get(target) or FrontendRecord(target, now) for target in wanted}
        for target, record in graph.records.items():
            key = write_key(question.key, target)
            self._places[key] = graph, record
            if question.is_awaited and (begins or not (record.has_answered or record.failures)):
                record.awaited_until = now + LONGEST_AWAITED
            if self._queue.running.get(key) is None:
                record.hurry(question, now)
                self._queue.waiting.set(key, record.next_at)

    def _ask_soon(self, graph: _Graph, target: FrontendTarget, now: float) -> None:
        key, record = write_key(graph.question.key, target), graph.records[target]
        if self._queue.running.get(key) is None:
            record.ask_soon(now)
            self._queue.waiting.set(key, record.next_at)

    def _take_due(self, now: float) -> Iterator[FrontendCall]:
        for key in self._queue.take(now):
            graph, record = self._places[key]
            if self._running[graph.question.namespace] >= CALLS_OF_NAMESPACE:
                self._queue.waiting.set(key, now + _DEFERRED_SECONDS)
                continue
            call = _build_call(graph.question, record, now)
            record.start(call)
            self._running[call.namespace] += 1
            self._queue.running.add(call)
            yield call

    def _take_changes(self, now: float) -> Iterator[ChangedGraph]:
        named = 0
        for key in list(self._changed):
            graph = self._graphs[key]
            if all(record.describe(graph.question, now) == record.returned for record in graph.records.values()):
                del self._changed[key]
            elif now >= graph.told + TOLD_SECONDS and named < MOST_CHANGES:
                graph.told = now
                named += 1
                yield ChangedGraph(namespace=graph.question.namespace, name=graph.question.name, uid=graph.question.uid)

    def _make_room(self) -> None:
        """Forget the least recently asked graphs if there are too many of them, or too many targets."""
        while len(self._graphs) > MOST_GRAPHS or len(self._places) > MOST_TARGETS:
            self._forget(next(iter(self._graphs)))

    def _forget(self, key: str) -> None:
        graph = self._graphs.pop(key, None)
        self._changed.pop(key, None)
        if graph is not None:
            for target in list(graph.records):
                self._forget_target(graph, target)

    def _forget_target(self, graph: _Graph, target: FrontendTarget) -> None:
        del graph.records[target]
        key = write_key(graph.question.key, target)
        del self._places[key]
        self._queue.waiting.drop(key)


def _build_call(question: FrontendQuestion, record: FrontendRecord, now: float) -> FrontendCall:
    action, model = record.next_action()
    return FrontendCall(
        graph=question.key,
        namespace=question.namespace,
        target=record.target,
        action=action,
        timeout=CALL_SECONDS,
        started=now,
        model=model,
        wanted=record.wanted(question),
        namespaces=question.namespaces,
    )


def _is_over(graph: _Graph, now: float) -> bool:
    return now >= graph.asked + QUESTION_SECONDS
