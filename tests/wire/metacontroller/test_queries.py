"""A hook that names further objects is asked again with them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer, SyncAnswer, SyncRequest
from hooks.wire.metacontroller.queries import ObjectSource, answer_with, refuse_queries
from tests import make

PODS = ObjectQuery(kinds.POD, "default", labels=(("app", "a"),))
NAMED = ObjectQuery(kinds.SERVICE, "default", "s")
POD: Manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
REQUEST = make.sync_request(make.graph())


class Asked:
    """A hook that wants these objects, and remembers each request; a source with these answers."""

    def __init__(self, answer: SyncAnswer, found: Mapping[ObjectQuery, QueryAnswer], *, is_free: bool = False) -> None:
        self.requests: list[SyncRequest] = []
        self.read: list[ObjectQuery] = []
        self.answer = answer
        self.source = ObjectSource(read=self._read, is_free=is_free)
        self._found = found

    def sync(self, request: SyncRequest, facts: Facts) -> SyncAnswer:  # noqa: ARG002 - a hook's signature
        self.requests.append(request)
        return replace(self.answer, notes=(str(len(self.requests)),))

    def run(self) -> SyncAnswer:
        return answer_with(self.sync, self.source)(REQUEST, make.facts())

    def _read(self, queries: Sequence[ObjectQuery]) -> dict[ObjectQuery, QueryAnswer]:
        self.read += queries
        return {query: self._found.get(query, QueryAnswer()) for query in queries}


def test_hook_is_asked_again_with_what_was_found() -> None:
    asked = Asked(SyncAnswer(queries=(PODS, NAMED)), {PODS: QueryAnswer(objects=(POD,))})
    assert asked.run().notes == ("2",)
    last = asked.requests[-1]
    assert last.related.of(kinds.POD) == (POD,)
    assert last.related.has_kind(kinds.SERVICE)
    assert last.answered == {PODS: "", NAMED: ""}
    assert asked.read == [PODS, NAMED]


def test_kind_that_could_not_be_read_has_no_key_and_the_reason_is_known() -> None:
    asked = Asked(SyncAnswer(queries=(PODS,)), {PODS: QueryAnswer(fault="it is down")})
    asked.run()
    assert not asked.requests[-1].related.has_kind(kinds.POD)
    assert asked.requests[-1].answered == {PODS: "it is down"}


@pytest.mark.parametrize(("waits", "calls"), [(False, 1), (True, 2)], ids=["nothing waits", "something waits"])
def test_where_nothing_is_found_only_a_hook_that_waits_is_asked_again(waits: bool, calls: int) -> None:
    asked = Asked(SyncAnswer(queries=(PODS,), waits=waits), {})
    assert asked.run().notes == (str(calls),)


@pytest.mark.parametrize(("is_free", "read"), [(False, []), (True, [PODS])], ids=["costs", "free"])
def test_what_is_worth_a_later_read_is_read_at_once_where_that_costs_nothing(
    is_free: bool, read: list[ObjectQuery]
) -> None:
    asked = Asked(SyncAnswer(later=(PODS,)), {PODS: QueryAnswer(objects=(POD,))}, is_free=is_free)
    asked.run()
    assert asked.read == read


def test_hook_that_always_wants_more_is_asked_no_more_than_four_times() -> None:
    asked = Asked(SyncAnswer(), {})

    def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
        asked.sync(request, facts)
        return SyncAnswer(queries=(replace(NAMED, name=f"s{len(asked.requests)}"),), waits=True)

    answer_with(sync, asked.source)(REQUEST, make.facts())
    assert len(asked.requests) == 4


def test_source_that_refuses_says_so_of_each_query() -> None:
    answer = refuse_queries("no").read([PODS, NAMED])
    assert answer == dict.fromkeys([PODS, NAMED], QueryAnswer(fault="no"))
