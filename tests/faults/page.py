"""The tables of docs/reliability.md."""

import re
from collections.abc import Iterable, Mapping

from bench.page import RELIABILITY, replace_part, write_table
from hooks.ground.k8s.types import GroupVersionKind
from tests.faults.attempts import ATTEMPTS, CASES, play_attempt
from tests.faults.catalogue import PLAYED
from tests.faults.cluster.catalogue import PLAYED as PLAYED_ON_CLUSTER
from tests.faults.cluster.fault import ClusterOutcome
from tests.faults.elsewhere import ELSEWHERE
from tests.faults.fault import Outcome, Verdict
from tests.faults.play import OLD, play

HEAD = ("fault", "what happens", "what users see meanwhile", "pods lost", "recovery", "verdict")
ATTEMPTS_HEAD = ("child", "what happens", "the graph's Ready says for longest", "pods lost", "whole again after")
CLUSTER_HEAD = (*HEAD[:4], "writes: children", "statuses", "refused", *HEAD[4:])
_WORST = (Verdict.RESILIENT, Verdict.DEGRADED, Verdict.FAILED)
_READY = "all_resources_are_ready"


def write_page() -> None:
    """Play all faults in memory, and write their table and that of faults that other tests play into the page."""
    attempts = write_table(ATTEMPTS_HEAD, (list_attempt_cells(kind, name) for kind, name in CASES))
    _replace({"faults": write_played(PLAYED), "attempts": attempts, "elsewhere": write_elsewhere()})


def write_cluster_page(said: str, outcomes: Mapping[str, ClusterOutcome]) -> None:
    """Write what came of faults on a real control plane into the page; `said` tells where that was.

    The rows of faults that were not played stay.
    """
    rows = {cells[0]: cells for cells in read_table("cluster-faults")}
    rows |= {name: list_cluster_cells(name, outcome) for name, outcome in outcomes.items()}
    kept = [rows[name] for name in PLAYED_ON_CLUSTER if name in rows]
    _replace({"cluster-faults": f"{said}\n\n{write_table(CLUSTER_HEAD, kept)}"})


def _replace(parts: Mapping[str, str]) -> None:
    text = RELIABILITY.read_text(encoding="utf-8")
    for name, content in parts.items():
        text = replace_part(text, name, content)
    RELIABILITY.write_text(text, encoding="utf-8")


def read_table(name: str) -> list[list[str]]:
    """The cells of each row of a table in the page."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", RELIABILITY.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"{RELIABILITY} has no part {name}"
    return read_rows(found.group(1))


def read_rows(text: str) -> list[list[str]]:
    """The cells of each row of the table in a text."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines[2:]]


def write_played(names: Iterable[str]) -> str:
    """The table of faults that are played in memory."""
    return write_table(HEAD, map(list_cells, names))


def list_cells(name: str) -> list[str]:
    """The row of a fault that is played in memory: of all roads the worst."""
    fault = PLAYED[name]
    outcomes = [play(name, road) for road in fault.roads]
    verdict = max((outcome.verdict for outcome in outcomes), key=_WORST.index)
    lasting = [outcome.recovery for outcome in outcomes]
    recovery = "never" if None in lasting else _say_seconds(max(filter(None, lasting), default=0.0))
    taken = max(outcome.taken for outcome in outcomes)
    return [name, fault.what, _seen(outcomes), f"{taken or 'none'}", recovery, f"{verdict}: {fault.holds}"]


def list_attempt_cells(kind: GroupVersionKind, name: str) -> list[str]:
    """The row of what somebody does to one kind of child."""
    outcome, message, seconds = play_attempt(kind, name)
    recovery = "never" if outcome.recovery is None else _say_seconds(outcome.recovery)
    said = f"`{_shorten(message)}`, for {_say_seconds(seconds)}" if message else "nothing: it stays Ready"
    return [kind.kind, ATTEMPTS[name].what, said, f"{outcome.taken or 'none'}", recovery]


def _shorten(message: str) -> str:
    """The first cause, without its remedy and what comes after."""
    first = message.partition("; ")[0]
    return re.sub(r" - .*?(?= \(|$)", " - …", first).replace("|", "/")


def list_cluster_cells(name: str, outcome: ClusterOutcome) -> list[str]:
    """The row of a fault that was played on a real control plane."""
    fault = PLAYED_ON_CLUSTER[name]
    writes = [f"{number}" for number in (outcome.children, outcome.statuses, outcome.refused)]
    recovery = "never" if outcome.recovery is None else _say_seconds(outcome.recovery)
    holds = "; ".join(outcome.wrongs) or fault.holds
    seen = _seen([outcome])
    return [name, fault.what, seen, f"{outcome.taken or 'none'}", *writes, recovery, f"{outcome.verdict}: {holds}"]


def write_elsewhere() -> str:
    """The table of faults that other tests play."""
    rows = [
        (one.name, one.what, one.holds, f"[`{_function(one.test)}`](../{one.test.partition('::')[0]})")
        for one in ELSEWHERE
    ]
    return write_table(("fault", "what happens", "what holds", "test"), rows)


def _say_seconds(seconds: float) -> str:
    return f"{seconds:.1f} s"


def _seen(outcomes: Iterable[Outcome | ClusterOutcome]) -> str:
    """What the graph says on any road until it recovers, and Metacontroller's Events."""
    found = dict.fromkeys(reason for outcome in outcomes for reason in outcome.seen if reason != _READY)
    said = ["the status of the old spec" if reason == OLD else f"`{reason}`" for reason in found]
    events = sorted({event for outcome in outcomes for event in outcome.events})
    return ", ".join([*said, *(f"Event `{event}`" for event in events)]) or "nothing"


def _function(test: str) -> str:
    return test.partition("::")[2].removeprefix("test_")
