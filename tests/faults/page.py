"""The tables of docs/reliability.md."""

import re
from collections.abc import Iterable

from bench.page import RELIABILITY, replace_part
from tests.faults.catalogue import PLAYED
from tests.faults.elsewhere import ELSEWHERE
from tests.faults.fault import Outcome, Verdict
from tests.faults.play import OLD, play

HEAD = ("fault", "what happens", "what users see meanwhile", "pods lost", "recovery", "verdict")
_WORST = (Verdict.RESILIENT, Verdict.DEGRADED, Verdict.FAILED)
_READY = "all_resources_are_ready"


def write_page() -> None:
    """Play all faults, and write both tables into the page."""
    text = RELIABILITY.read_text(encoding="utf-8")
    for name, table in (("faults", write_played(PLAYED)), ("elsewhere", write_elsewhere())):
        text = replace_part(text, name, f"{table}\n")
    RELIABILITY.write_text(text, encoding="utf-8")


def read_table(name: str) -> list[str]:
    """The lines of a table in the page."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", RELIABILITY.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"{RELIABILITY} has no part {name}"
    return found.group(1).splitlines()


def write_played(names: Iterable[str]) -> str:
    """The table of faults that are played in memory."""
    return "\n".join([_line(HEAD), _rule(len(HEAD)), *map(write_row, names)])


def write_row(name: str) -> str:
    """The row of a fault: of all roads the worst."""
    fault = PLAYED[name]
    outcomes = [play(name, road) for road in fault.roads]
    verdict = max((outcome.verdict for outcome in outcomes), key=_WORST.index)
    lasting = [outcome.recovery for outcome in outcomes]
    recovery = "never" if None in lasting else f"{max(filter(None, lasting), default=0.0):.1f} s"
    taken = max(outcome.taken for outcome in outcomes)
    return _line((name, fault.what, _seen(outcomes), f"{taken or 'none'}", recovery, f"{verdict}: {fault.holds}"))


def write_elsewhere() -> str:
    """The table of faults that other tests play."""
    rows = [
        (one.name, one.what, one.holds, f"[`{_function(one.test)}`](../{one.test.partition('::')[0]})")
        for one in ELSEWHERE
    ]
    return "\n".join([_line(("fault", "what happens", "what holds", "test")), _rule(4), *map(_line, rows)])


def _seen(outcomes: Iterable[Outcome]) -> str:
    """What the graph says on any road until it recovers, and Metacontroller's Events."""
    found = dict.fromkeys(reason for outcome in outcomes for reason in outcome.seen if reason != _READY)
    said = ["the status of the old spec" if reason == OLD else f"`{reason}`" for reason in found]
    events = sorted({event for outcome in outcomes for event in outcome.events})
    return ", ".join([*said, *(f"Event `{event}`" for event in events)]) or "nothing"


def _function(test: str) -> str:
    return test.partition("::")[2].removeprefix("test_")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rule(columns: int) -> str:
    return "|" + "---|" * columns
