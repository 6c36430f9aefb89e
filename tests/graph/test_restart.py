"""Restarts: every transition of the phases, who is told when, and what must hold however a restart is disturbed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.graph.change.restart import RestartPhase, RestartPlan, advance, plan_restart
from hooks.ground.k8s.types import Manifest
from hooks.language.api.base import parse_parent
from hooks.language.api.graph import GraphDeployment
from tests import make
from tests.effort import examples

COMPONENT = "DynamoComponentDeployment"
RESTART_AT = "nvidia.com/restartAt"
SERVICES = ("decode", "frontend", "prefill")


def graph_of(services: Iterable[str], asked: Any) -> Manifest:
    restart = {} if asked is None else {"restart": asked}
    return make.graph({service: make.service() for service in services}, **restart)


def decide(
    asked: Any,
    stored: Mapping[str, Any] | None = None,
    observed: Mapping[str, str] | None = None,
    unready: Iterable[str] = (),
    services: Iterable[str] = SERVICES,
) -> RestartPlan:
    """The decision about a graph all of whose services exist, without a restart, unless `observed` says otherwise."""
    graph = parse_parent(GraphDeployment, graph_of(services, asked))
    restart = plan_restart(graph, stored or {}, dict.fromkeys(services, "") if observed is None else observed)
    return advance(restart, frozenset(unready)) if restart.is_running else restart


def status(id_: str, phase: str, *in_progress: str) -> dict[str, Any]:
    return {"observedID": id_, "phase": phase, **({"inProgress": list(in_progress)} if in_progress else {})}


def ask(id_: str = "r2", type_: str = "", order: Iterable[str] = ()) -> dict[str, Any]:
    strategy = {**({"type": type_} if type_ else {}), **({"order": list(order)} if order else {})}
    return {"id": id_, **({"strategy": strategy} if strategy else {})}


def told(**services: str) -> dict[str, str]:
    """By service what its pods were told of; those not named exist and were told of nothing."""
    return {**dict.fromkeys(SERVICES, ""), **services}


DONE = dict.fromkeys(SERVICES, "r2")
BACKWARDS = ("prefill", "frontend", "decode")
PARALLEL = ask(type_="Parallel")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One sync: what is asked, stored and seen; the status and who is told then."""

    name: str
    asked: Any = None
    stored: Mapping[str, Any] = field(default_factory=dict)
    observed: Mapping[str, str] = field(default_factory=told)
    unready: tuple[str, ...] = ()
    expected: Mapping[str, Any] = field(default_factory=dict)
    restart_ids: Mapping[str, str] = field(default_factory=dict)


ENDINGS = [
    Case(name="nothing asked, nothing stored"),
    Case(name="an empty id asks for nothing", asked={"id": ""}),
    Case(
        name="id removed after the end",
        stored=status("r2", "Completed"),
        observed=DONE,
        expected=status("r2", "Completed"),
        restart_ids=DONE,
    ),
    Case(
        name="id removed half-way: given up, told services stay told",
        stored=status("r2", "Restarting", "frontend"),
        observed=told(decode="r2", frontend="r2", prefill="r1"),
        unready=("frontend",),
        restart_ids={"decode": "r2", "frontend": "r2", "prefill": "r1"},
    ),
    Case(
        name="id removed while Pending",
        stored=status("r2", "Pending"),
        observed=told(decode="r1"),
        restart_ids={"decode": "r1"},
    ),
    Case(
        name="same id after the end",
        asked=ask(),
        stored=status("r2", "Completed"),
        observed=DONE,
        unready=SERVICES,
        expected=status("r2", "Completed"),
        restart_ids=DONE,
    ),
    Case(
        name="same id after the end in another order",
        asked=ask(order=BACKWARDS),
        stored=status("r2", "Completed"),
        observed=DONE,
        expected=status("r2", "Completed"),
        restart_ids=DONE,
    ),
    Case(
        name="same id after a failure that another operator wrote: nothing rolls",
        asked=ask(),
        stored=status("r2", "Failed", "frontend"),
        observed=told(decode="r2"),
        expected=status("r2", "Failed", "frontend"),
        restart_ids={"decode": "r2"},
    ),
    Case(
        name="same id that another operator gave up for a rolling update: nothing rolls",
        asked=ask(),
        stored=status("r2", "Superseded"),
        observed=told(decode="r1"),
        expected=status("r2", "Superseded"),
        restart_ids={"decode": "r1"},
    ),
    Case(
        name="service added after the end",
        asked=ask(),
        stored=status("r2", "Completed"),
        observed={"decode": "r2", "frontend": "r2"},
        expected=status("r2", "Completed"),
        restart_ids=DONE,
    ),
    Case(
        name="status of an earlier restart came back: nobody is told of it again",
        stored=status("r1", "Completed"),
        observed={"decode": "r2", "frontend": ""},
        expected=status("r1", "Completed"),
        restart_ids={"decode": "r2", "prefill": "r1"},
    ),
    Case(
        name="status lost after the end: it does not run again",
        asked=ask(),
        observed=DONE,
        expected=status("r2", "Completed"),
        restart_ids=DONE,
    ),
    Case(
        name="status of a former restart after the end",
        asked=ask(),
        stored=status("r1", "Completed"),
        observed=DONE,
        expected=status("r2", "Completed"),
        restart_ids=DONE,
    ),
    Case(
        name="status lost after the end while a service is down: nobody is told again",
        asked=ask(),
        observed=DONE,
        unready=("prefill",),
        expected=status("r2", "Restarting", "prefill"),
        restart_ids=DONE,
    ),
]

SEQUENTIAL = [
    Case(name="new id", asked=ask(), expected=status("r2", "Restarting", "decode"), restart_ids={"decode": "r2"}),
    Case(
        name="type Sequential is the default",
        asked=ask(type_="Sequential"),
        expected=status("r2", "Restarting", "decode"),
        restart_ids={"decode": "r2"},
    ),
    Case(
        name="new id in a given order",
        asked=ask(order=BACKWARDS),
        expected=status("r2", "Restarting", "prefill"),
        restart_ids={"prefill": "r2"},
    ),
    Case(
        name="new id after another restart: the others keep its annotation",
        asked=ask(),
        stored=status("r1", "Completed"),
        observed=dict.fromkeys(SERVICES, "r1"),
        expected=status("r2", "Restarting", "decode"),
        restart_ids={"decode": "r2", "frontend": "r1", "prefill": "r1"},
    ),
    Case(
        name="told but not seen to carry it yet: unchanged",
        asked=ask(),
        stored=status("r2", "Restarting", "decode"),
        unready=("decode",),
        expected=status("r2", "Restarting", "decode"),
        restart_ids={"decode": "r2"},
    ),
    Case(
        name="first not ready: unchanged",
        asked=ask(),
        stored=status("r2", "Restarting", "decode"),
        observed=told(decode="r2"),
        unready=("decode",),
        expected=status("r2", "Restarting", "decode"),
        restart_ids={"decode": "r2"},
    ),
    Case(
        name="first ready: the second is next",
        asked=ask(),
        stored=status("r2", "Restarting", "decode"),
        observed=told(decode="r2"),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids={"decode": "r2", "frontend": "r2"},
    ),
    Case(
        name="first ready in a given order",
        asked=ask(order=BACKWARDS),
        stored=status("r2", "Restarting", "prefill"),
        observed=told(prefill="r2"),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids={"prefill": "r2", "frontend": "r2"},
    ),
    Case(
        name="last not ready",
        asked=ask(),
        stored=status("r2", "Restarting", "prefill"),
        observed=DONE,
        unready=("prefill",),
        expected=status("r2", "Restarting", "prefill"),
        restart_ids=DONE,
    ),
    Case(
        name="last ready",
        asked=ask(),
        stored=status("r2", "Restarting", "prefill"),
        observed=DONE,
        expected=status("r2", "Completed"),
        restart_ids=DONE,
    ),
    Case(
        name="stored Pending goes on like Restarting",
        asked=ask(),
        stored=status("r2", "Pending"),
        expected=status("r2", "Restarting", "decode"),
        restart_ids={"decode": "r2"},
    ),
    Case(
        name="stored without anything in progress",
        asked=ask(),
        stored=status("r2", "Restarting"),
        observed=told(decode="r2"),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids={"decode": "r2", "frontend": "r2"},
    ),
    Case(
        name="status lost half-way: goes on where it was",
        asked=ask(),
        observed=told(decode="r2", frontend="r2"),
        unready=("frontend",),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids={"decode": "r2", "frontend": "r2"},
    ),
    Case(
        name="service that was not its turn is down: it holds nobody up",
        asked=ask(),
        stored=status("r2", "Restarting", "decode"),
        observed=told(decode="r2"),
        unready=("prefill",),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids={"decode": "r2", "frontend": "r2"},
    ),
    Case(
        name="service that was restarted fails again: it holds the rest up",
        asked=ask(),
        stored=status("r2", "Restarting", "frontend"),
        observed=told(decode="r2", frontend="r2"),
        unready=("decode",),
        expected=status("r2", "Restarting", "decode"),
        restart_ids={"decode": "r2", "frontend": "r2"},
    ),
    Case(
        name="two are down: the one in progress stays so",
        asked=ask(),
        stored=status("r2", "Restarting", "frontend"),
        observed=told(decode="r2", frontend="r2"),
        unready=("decode", "frontend"),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids={"decode": "r2", "frontend": "r2"},
    ),
    Case(
        name="new id half-way starts over",
        asked=ask("r3"),
        stored=status("r2", "Restarting", "frontend"),
        observed=told(decode="r2", frontend="r2"),
        unready=("frontend",),
        expected=status("r3", "Restarting", "decode"),
        restart_ids={"decode": "r3", "frontend": "r2"},
    ),
    Case(
        name="former id once more is another restart",
        asked=ask("r1"),
        stored=status("r2", "Completed"),
        observed=DONE,
        expected=status("r1", "Restarting", "decode"),
        restart_ids={**DONE, "decode": "r1"},
    ),
    Case(
        name="given up, then the same id again: who was told is not told again",
        asked=ask(),
        observed=told(decode="r2"),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids={"decode": "r2", "frontend": "r2"},
    ),
    Case(
        name="other order half-way: who rolls is waited for",
        asked=ask(order=BACKWARDS),
        stored=status("r2", "Restarting", "decode"),
        observed=told(decode="r2"),
        unready=("decode",),
        expected=status("r2", "Restarting", "decode"),
        restart_ids={"decode": "r2"},
    ),
    Case(
        name="other order half-way and the status lost: who rolls is waited for",
        asked=ask(order=BACKWARDS),
        observed=told(decode="r2"),
        unready=("decode",),
        expected=status("r2", "Restarting", "decode"),
        restart_ids={"decode": "r2"},
    ),
    Case(
        name="other order half-way: the rest takes it",
        asked=ask(order=BACKWARDS),
        stored=status("r2", "Restarting", "decode"),
        observed=told(decode="r2"),
        expected=status("r2", "Restarting", "prefill"),
        restart_ids={"decode": "r2", "prefill": "r2"},
    ),
    Case(
        name="service in progress was removed: the rest still restarts one by one",
        asked=ask(),
        stored=status("r2", "Restarting", "gone"),
        observed=told(decode="r2", gone="r2"),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids={"decode": "r2", "frontend": "r2"},
    ),
    Case(
        name="service added half-way is made with the id and waited for",
        asked=ask(),
        stored=status("r2", "Restarting", "frontend"),
        observed={"frontend": "r2", "prefill": ""},
        unready=("decode", "frontend"),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids={"decode": "r2", "frontend": "r2"},
    ),
    Case(
        name="order names a service that does not exist and leaves one out",
        asked=ask(order=("ghost", "prefill", "prefill", "decode")),
        stored=status("r2", "Restarting", "decode"),
        observed=told(prefill="r2", decode="r2"),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids=DONE,
    ),
    Case(
        name="graph made together with an id: its first pods need no restart",
        asked=ask(),
        observed={},
        unready=SERVICES,
        expected=status("r2", "Restarting", "decode"),
        restart_ids=DONE,
    ),
]

AT_ONCE = [
    Case(name="new id", asked=PARALLEL, expected=status("r2", "Restarting", *SERVICES), restart_ids=DONE),
    Case(
        name="told but not seen to carry it yet",
        asked=PARALLEL,
        stored=status("r2", "Restarting", *SERVICES),
        unready=SERVICES,
        expected=status("r2", "Restarting", *SERVICES),
        restart_ids=DONE,
    ),
    Case(
        name="one ready",
        asked=PARALLEL,
        stored=status("r2", "Restarting", *SERVICES),
        observed=DONE,
        unready=("decode", "prefill"),
        expected=status("r2", "Restarting", "decode", "prefill"),
        restart_ids=DONE,
    ),
    Case(
        name="all ready",
        asked=PARALLEL,
        stored=status("r2", "Restarting", "decode"),
        observed=DONE,
        expected=status("r2", "Completed"),
        restart_ids=DONE,
    ),
    Case(
        name="new id half-way",
        asked=ask("r3", "Parallel"),
        stored=status("r2", "Restarting", "decode"),
        observed=DONE,
        expected=status("r3", "Restarting", *SERVICES),
        restart_ids=dict.fromkeys(SERVICES, "r3"),
    ),
    Case(
        name="sequential becomes parallel half-way",
        asked=PARALLEL,
        stored=status("r2", "Restarting", "decode"),
        observed=told(decode="r2"),
        unready=("decode",),
        expected=status("r2", "Restarting", *SERVICES),
        restart_ids=DONE,
    ),
    Case(
        name="parallel becomes sequential half-way: nobody is told twice",
        asked=ask(),
        stored=status("r2", "Restarting", "frontend", "prefill"),
        observed=DONE,
        unready=("frontend", "prefill"),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids=DONE,
    ),
    Case(
        name="status lost half-way",
        asked=PARALLEL,
        observed=DONE,
        unready=("frontend",),
        expected=status("r2", "Restarting", "frontend"),
        restart_ids=DONE,
    ),
    Case(
        name="service removed half-way",
        asked=PARALLEL,
        stored=status("r2", "Restarting", "gone", "prefill"),
        observed={**DONE, "gone": "r2"},
        unready=("prefill",),
        expected=status("r2", "Restarting", "prefill"),
        restart_ids=DONE,
    ),
]


@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, id=f"end: {case.name}") for case in ENDINGS),
        *(pytest.param(case, id=f"sequential: {case.name}") for case in SEQUENTIAL),
        *(pytest.param(case, id=f"parallel: {case.name}") for case in AT_ONCE),
    ],
)
def test_restart_moves_as_the_table_says(case: Case) -> None:
    restart = decide(case.asked, case.stored, case.observed, case.unready)
    assert (restart.status, restart.restart_ids) == (case.expected, case.restart_ids)


@pytest.mark.parametrize("strategy", ["", "Parallel"])
def test_graph_without_services_is_restarted_at_once(strategy: str) -> None:
    assert decide(ask(type_=strategy), services=()).status == status("r2", "Completed")


def test_remark_says_which_service_holds_a_restart() -> None:
    stored = status("r2", "Restarting", "decode")
    held = decide(ask(), stored, told(decode="r2"), ["decode"])
    assert held.remarks == ("restart r2 waits for decode, then restarts frontend, prefill",)
    assert decide(PARALLEL).remarks == ("restart r2 waits for decode, frontend, prefill",)
    assert decide(ask(), stored, DONE).remarks == ()


ids = st.sampled_from(["", "r1", "r2"])
some = st.lists(st.sampled_from([*SERVICES, "gone"]), max_size=4)
asks = st.none() | st.builds(ask, ids, st.sampled_from(["", "Sequential", "Parallel"]), some)
statuses: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.builds(
    lambda i, p, s: status(i, p.value, *s), ids, st.sampled_from(RestartPhase), some
)
marks = st.dictionaries(st.sampled_from([*SERVICES, "gone"]), ids)


@settings(max_examples=examples(300), deadline=None)
@given(asks, statuses, marks, st.frozensets(st.sampled_from(SERVICES)))
def test_decision_whose_outcome_is_seen_is_taken_again(
    asked: Any, stored: Any, observed: dict[str, str], unready: frozenset[str]
) -> None:
    first = decide(asked, stored, observed, unready)
    seen = {service: first.restart_ids.get(service, "") for service in SERVICES}
    newly = {service for service in first.restart_ids if first.restart_ids[service] != observed.get(service)}
    again = decide(asked, first.status, seen, unready | newly)
    assert (again.status, again.restart_ids) == (first.status, first.restart_ids)


@settings(max_examples=examples(300), deadline=None)
@given(asks, statuses, marks, st.frozensets(st.sampled_from(SERVICES)))
def test_sequential_restart_tells_nobody_while_another_that_was_told_is_not_ready(
    asked: Any, stored: Any, observed: dict[str, str], unready: frozenset[str]
) -> None:
    restart = decide(asked, stored, observed, unready)
    if not restart.is_running or restart.is_parallel or restart.status["phase"] == "Completed":
        return
    held = set(stored.get("inProgress", ())) if stored.get("observedID") == restart.id else set()
    before = {s for s in SERVICES if s not in observed or observed[s] == restart.id or s in held}
    newly = {service for service in restart.restart_ids if restart.restart_ids[service] == restart.id} - before
    assert len(newly) <= (0 if before & unready else 1)
    assert {service: was for service, was in observed.items() if was == restart.id}.items() <= (
        restart.restart_ids.items() | {("gone", restart.id)}
    )
