"""Reads on demand: a sync that would say more with further objects is asked again with them.

Metacontroller goes through all parents and all their rules at each event of a kind that any rule names. So no rule
names a kind of which other people's objects change all the time, such as Pod. A sync names what it would like to know,
and stays a pure function of its request, the facts, and what was read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer, SyncAnswer, SyncRequest

if TYPE_CHECKING:
    from hooks.ground.settings.facts import Facts

AnswerQueries = Callable[[Sequence[ObjectQuery]], Mapping[ObjectQuery, QueryAnswer]]
"""Reads objects; every query has an answer, and nothing is raised."""

BUSY = "too much else is being read; it is tried again"
"""The fault of a read that is not made now."""

_ROUNDS = 3
"""What is read may ask for more, as a component that is found shows another one; nothing asks for a fourth round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSource:
    """From where objects are read on demand; `is_free`: a read costs nothing, so nothing waits for a later one."""

    read: AnswerQueries
    is_free: bool = False


def answer_with(
    sync: "Callable[[SyncRequest, Facts], SyncAnswer]", source: ObjectSource
) -> "Callable[[SyncRequest, Facts], SyncAnswer]":
    """The same hook, which is asked again with the objects that its answer names."""

    def asking(request: SyncRequest, facts: "Facts") -> SyncAnswer:
        answer = sync(request, facts)
        for _ in range(_ROUNDS):
            named = (*answer.queries, *(answer.later if source.is_free else ()))
            wanted = [query for query in named if query not in request.answered]
            if not wanted:
                break
            found = source.read(wanted)
            if not answer.waits and not any(one.objects or one.fault for one in found.values()):
                break  # the answer would be the same
            request = request.with_answers(found)
            answer = sync(request, facts)
        return answer

    return asking


def refuse_queries(fault: str) -> ObjectSource:
    """A source that reads nothing; `fault` says why, in half a sentence."""
    return ObjectSource(read=lambda queries: dict.fromkeys(queries, QueryAnswer(fault=fault)))
