"""A report of findings: text for a person, or JSON."""

from collections.abc import Sequence
from dataclasses import asdict

import orjson

from hooks.tools.operating.doctor.finding import Finding, Level

_WIDTH = 24


def format_json(findings: Sequence[Finding]) -> str:
    """A list of `{check, level, object, finding, remedy}`, errors first; ends with a newline."""
    keys = ("check", "level", "object", "finding", "remedy")
    rows = [{key: asdict(finding)[key] for key in keys} for finding in findings]
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n"


def format_text(findings: Sequence[Finding], *, is_installed: bool) -> str:
    """What is wrong, each with its remedy; then one line for each thing that is good; a summary at the end."""
    problems = [finding for finding in findings if finding.level is not Level.OK]
    good = [finding for finding in findings if finding.level is Level.OK]
    blocks = [_format_problem(finding, number) for number, finding in enumerate(problems, 1)]
    if problems and not is_installed:
        blocks = ["The hooks are not installed. These are the steps, in their order.", *blocks]
    lines = [f"{'ok':<8} {finding.check:<{_WIDTH}} {finding.object}: {finding.finding}" for finding in good]
    parts = [*blocks, *(["\n".join(lines)] if lines else []), _summarize(findings)]
    return "\n\n".join(parts) + "\n"


def _format_problem(finding: Finding, number: int) -> str:
    head = f"{finding.level.value:<8} {finding.check:<{_WIDTH}} {finding.object}"
    return f"{head}\n  {number}. {finding.finding}\n     remedy: {finding.remedy}"


def _summarize(findings: Sequence[Finding]) -> str:
    numbers = {level: sum(finding.level is level for finding in findings) for level in Level}
    errors, warnings = numbers[Level.ERROR], numbers[Level.WARNING]
    return f"{_count(errors, 'error')}, {_count(warnings, 'warning')}, {numbers[Level.OK]} ok"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
