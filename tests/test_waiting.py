"""Waiting ends as soon as something is so, and at last with a sentence; no test gives a program a few seconds."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import waiting
from tests.waiting import stretch, wait_for

TESTS = Path(__file__).parent

APART = ("compatibility", "docs/pictures", "e2e", "fuzzing")
"""Programs that measure, draw or wait for real engines, which `make test` does not run."""

ENDING = frozenset({"acquire", "create_connection", "delete", "get", "join", "patch", "post", "request", "run", "wait"})
"""Methods of processes, threads and calls whose `timeout` says when they are given up."""


def test_waiting_gives_what_came() -> None:
    answers = iter([None, "", "here"])
    assert wait_for(lambda: next(answers), "it comes") == "here"


@pytest.mark.parametrize("what", ["it comes", lambda: "it comes"], ids=["text", "made when it is needed"])
def test_what_never_happens_is_said(what: str) -> None:
    with pytest.raises(AssertionError, match="never happened in 0 s: it comes"):
        wait_for(lambda: None, what, 0.1)


def test_silence_is_longer_on_a_busy_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "loadavg"
    monkeypatch.setattr(waiting, "LOAD", file)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for text, seconds in {
        "0.10 0.1 0.1 1/300 9": 1.5,
        "8.00 2.0 1.0 1/300 9": 6.0,
        "0.10 0.1 0.1 9/300 9": 6.75,
    }.items():
        file.write_text(text)
        assert stretch(1.5) == seconds


def few_seconds(file: Path) -> Iterator[str]:
    """Where a test gives something that ends by itself a number of seconds that a busy machine may need longer for."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in ENDING:
            continue
        for keyword in node.keywords:
            value = keyword.value
            if (
                keyword.arg != "timeout"
                or not isinstance(value, ast.Constant)
                or not isinstance(value.value, int | float)
            ):
                continue
            if 1 < value.value < waiting.PATIENCE:
                yield f"{file.relative_to(TESTS)}:{value.lineno}"


def test_nothing_that_ends_by_itself_gets_a_few_seconds() -> None:
    files = [file for file in TESTS.rglob("*.py") if not file.relative_to(TESTS).as_posix().startswith(APART)]
    assert [place for file in files for place in few_seconds(file)] == []
