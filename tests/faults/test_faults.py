"""Every fault is survived, and docs/reliability.md says what it came to: `make faults` writes the page again."""

import importlib
from dataclasses import replace

import pytest

from bench.page import RELIABILITY
from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind
from tests.faults.attempts import ATTEMPTS, CASES, play_attempt
from tests.faults.catalogue import PLAYED, THEIRS
from tests.faults.cluster.catalogue import PLAYED as ON_CLUSTER
from tests.faults.elsewhere import ELSEWHERE, NOT_PLAYED, HeldElsewhere
from tests.faults.fault import Fault, Verdict
from tests.faults.page import list_attempt_cells, list_cells, read_rows, read_table, write_elsewhere
from tests.faults.play import play, play_fault
from tests.faults.stage import Stage
from tests.sequences.truth import is_condition_true
from tests.sequences.wishes import graph, service
from tests.sequences.world import Violation
from tests.tools.offline.simulator.hooked import build_cluster

ROW_OF = {cells[0]: cells for cells in read_table("faults")}
ATTEMPT_OF = {(cells[0], cells[1]): cells for cells in read_table("attempts")}
GRAPHS = 50


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", PLAYED)
def test_fault_is_survived_as_the_page_says(name: str) -> None:
    fault = PLAYED[name]
    verdicts = {play(name, road).verdict for road in fault.roads}
    assert verdicts == {Verdict.DEGRADED if fault.by_person else Verdict.RESILIENT}
    assert ROW_OF.get(name) == list_cells(name), "run `make faults`, and read the difference"


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda one: one if isinstance(one, str) else one.kind)
def test_attempt_on_a_child_is_survived_as_the_page_says(kind: GroupVersionKind, name: str) -> None:
    outcome, *_ = play_attempt(kind, name)
    assert (outcome.unasked, outcome.lost) == (0, ())
    assert outcome.recovery is not None
    row = ATTEMPT_OF.get((kind.kind, ATTEMPTS[name].what))
    assert row == list_attempt_cells(kind, name), "run `make faults`, and read the difference"


def test_page_has_a_row_for_each_attempt() -> None:
    assert list(ATTEMPT_OF) == [(kind.kind, ATTEMPTS[name].what) for kind, name in CASES]


def test_page_has_a_row_for_each_fault_in_their_order() -> None:
    assert list(ROW_OF) == list(PLAYED)
    assert read_table("elsewhere") == read_rows(write_elsewhere())


def test_page_has_a_row_for_each_fault_of_a_control_plane() -> None:
    """The figures are those of the run that wrote them; `python -m tests.faults --cluster` writes them again."""
    rows = {cells[0]: (cells[1], cells[-1]) for cells in read_table("cluster-faults")}
    assert rows == {fault.name: (fault.what, f"{Verdict.RESILIENT}: {fault.holds}") for fault in ON_CLUSTER.values()}


@pytest.mark.parametrize("held", ELSEWHERE, ids=lambda held: held.name)
def test_test_that_holds_a_fault_exists(held: HeldElsewhere) -> None:
    path, _, function = held.test.partition("::")
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    assert callable(getattr(module, function, None))


def test_every_name_of_the_list_has_a_row_or_a_reason() -> None:
    ours = {name.partition(":")[0] for name in (*PLAYED, *(held.name for held in ELSEWHERE))}
    assert sorted(THEIRS - ours) == sorted(NOT_PLAYED)
    text = RELIABILITY.read_text(encoding="utf-8")
    assert [why for name, why in NOT_PLAYED.items() if f"| {name} | {why} |" not in text] == []


def test_fault_that_nobody_ends_is_failed() -> None:
    def refuse_all(stage: Stage) -> None:
        PLAYED["HooksBroken"].begin(stage)

    fault = replace(PLAYED["HooksBroken"], begin=refuse_all, end=lambda _stage: None, seconds=0)
    outcome = play_fault(fault, "components")
    assert (outcome.recovery, outcome.verdict) == (None, Verdict.FAILED)


def test_pods_that_are_replaced_unasked_are_seen() -> None:
    def take_pods_unannounced(stage: Stage) -> None:
        stage.take_pods()
        stage.pods_lost.clear()

    fault = Fault(name="f", what="", begin=take_pods_unannounced, holds="")
    outcome = play_fault(fault, "components")
    assert (outcome.unasked, outcome.verdict) == (3, Verdict.FAILED)


def test_refusal_that_is_not_the_faults_is_a_violation() -> None:
    def refuse_unannounced(stage: Stage) -> None:
        PLAYED["RBACRevoke: workloads"].begin(stage)
        stage.was_obstructed = lambda write: False  # type: ignore[method-assign]  # noqa: ARG005

    with pytest.raises(Violation, match="was refused with 403"):
        play_fault(replace(PLAYED["RBACRevoke: workloads"], begin=refuse_unannounced), "components")


def test_restart_of_metacontroller_writes_nothing_of_fifty_graphs_at_rest() -> None:
    cluster = build_cluster()
    for number in range(GRAPHS):
        found = graph({"Frontend": service("frontend", replicas=int(number % 10 == 0))})
        cluster.create({**found, "metadata": {**found["metadata"], "name": f"g{number}"}})
    cluster.settle()
    written = len(cluster.writes)

    cluster.restart_metacontroller()
    done = list(iter(cluster.step, ""))

    assert cluster.writes[written:] == []
    assert sum(label.startswith("dynamo-graph syncs") for label in done) == GRAPHS
    assert all(is_condition_true(found, "Ready") for found in cluster.list_kind(contract.GRAPH))
