"""What `dynamo-hooks validate` does with its arguments: checks the manifests and prints what was found."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click
import orjson

import hooks
from hooks.ground import contract
from hooks.ground.settings import Settings
from hooks.server.commands.terminal import echo_painted, without_controls
from hooks.tools.cli.colours import paint
from hooks.tools.cli.refusing import count, describe_skipped
from hooks.tools.offline.manifests.annotations import write_annotations
from hooks.tools.offline.manifests.checking import Checked, check_manifests, check_rendered
from hooks.tools.offline.manifests.document import Fault
from hooks.tools.offline.manifests.inputs import Selection
from hooks.tools.offline.manifests.loaded import LeftOut, Loaded
from hooks.tools.offline.manifests.reading import load_manifests
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.offline.processes import spread_over_processes
from hooks.tools.offline.reports.findings import ReportedFindings
from hooks.tools.offline.reports.gitlab import write_gitlab
from hooks.tools.offline.reports.junit import write_junit
from hooks.tools.offline.reports.sarif import write_sarif

_SELF_CONTAINED = frozenset({contract.GRAPH, contract.COMPONENT})
"""Kinds that manifests alone can render; a request also needs the cluster and its settings."""
_MOST_LEFT_OUT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How the result is judged and printed: what else makes the command fail, and the form."""

    output: str = "text"
    is_strict: bool = False
    allows_none: bool = False


def print_findings(
    files: Sequence[str],
    namespace: str,
    settings: Settings,
    installed: frozenset[str] | None,
    *,
    selection: Selection,
    judging: Judging,
) -> None:
    """Print every problem and warning; if there is a problem, or nothing was checked, ends with status 1."""
    loaded = load_manifests(files, namespace, selection)
    if installed is None:
        checked = check_manifests(loaded, settings, installed, spread_over_processes)
    else:
        checked = check_rendered(loaded, settings, installed, _SELF_CONTAINED, spread=spread_over_processes)
    strict = [one for one in checked.warnings if judging.is_strict and not one.problem.rule.is_doubtful]
    has_none = not judging.allows_none and not any(one.is_ours for one in loaded.documents)
    if judging.output in {"text", "github"}:
        _print_text(loaded, checked, judging, strict=len(strict), has_none=has_none)
    else:
        _print_report(loaded, checked, judging.output, strict)
        if has_none and not checked.faults:
            click.echo(_NOTHING, err=True)
    if checked.faults or strict or has_none:
        sys.exit(1)


_NOTHING = (
    "nothing was checked: there is no graph, component, model, request or scaling adapter here; give --allow-none if "
    "that is as it should be"
)


def _print_text(loaded: Loaded, checked: Checked, judging: Judging, *, strict: int, has_none: bool) -> None:
    faults, warnings = checked.faults, checked.warnings
    if judging.output == "github":
        with guard_output():
            click.echo(write_annotations(faults, warnings), nl=False)
    said = sorted([*((one, True) for one in faults), *((one, False) for one in warnings)], key=_order)
    for one, is_error in said:
        echo_painted(_describe(one, is_error=is_error))
    _print_left_out(loaded.left_out)
    if faults:
        rest = f", {count(len(warnings), 'warning')}" if warnings else ""
        summary = f"{count(len(faults), 'problem')}{rest}{describe_skipped(loaded.skipped)}"
        echo_painted(paint(summary, "red"))
    elif has_none:
        echo_painted(paint(f"{_NOTHING}{describe_skipped(loaded.skipped)}", "red"))
    elif strict:
        echo_painted(paint(f"{count(strict, 'warning')}, and --strict makes it an error", "red"))
    else:
        with guard_output():
            echo_painted(paint(_summary(loaded, len(warnings)), "green"), err=judging.output == "github")


def _order(item: tuple[Fault, bool]) -> tuple[str, int, bool, str]:
    fault, is_error = item
    return fault.file, fault.mark.line, not is_error, fault.sentence


def _describe(fault: Fault, *, is_error: bool) -> str:
    where, sentence = paint(f"{without_controls(fault.where)}:", "bold"), without_controls(fault.sentence)
    return f"{where} {sentence}" if is_error else f"{paint('warning:', 'yellow')} {where} {sentence}"


def _print_left_out(left_out: Sequence[LeftOut]) -> None:
    for one in left_out[:_MOST_LEFT_OUT]:
        echo_painted(f"{paint('not judged:', 'cyan')} {without_controls(str(one))}")
    if len(left_out) > _MOST_LEFT_OUT:
        click.echo(f"not judged: {len(left_out) - _MOST_LEFT_OUT} more; -o json names all", err=True)


def _print_report(loaded: Loaded, checked: Checked, output: str, strict: Sequence[Fault]) -> None:
    findings = ReportedFindings(
        files=tuple(dict.fromkeys(one.file for one in loaded.documents if one.is_ours)),
        faults=checked.faults,
        warnings=checked.warnings,
        left_out=loaded.left_out,
    )
    with guard_output():
        click.echo(_write(findings, output, strict), nl=False)


def _write(findings: ReportedFindings, output: str, strict: Sequence[Fault]) -> str:
    match output:
        case "junit":
            return write_junit(findings, strict=frozenset(one.sentence for one in strict))
        case "sarif":
            value = write_sarif(findings, hooks.__version__)
        case "gitlab":
            value = write_gitlab(findings)
        case _:
            value = [
                {
                    "file": one.file,
                    "line": one.line,
                    "column": one.column,
                    "path": one.path,
                    "rule": one.rule,
                    "severity": one.level.value,
                    "message": one.message,
                }
                for one in findings
            ]
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n"


def _summary(loaded: Loaded, warnings: int) -> str:
    ours = sum(document.is_ours for document in loaded.documents)
    others = len(loaded.documents) - ours + loaded.unchecked
    passed = f", {others} of other kinds not checked" if others else ""
    warned = f", {count(warnings, 'warning')}" if warnings else ""
    return f"{count(ours, 'manifest')} valid{passed}{warned}{describe_skipped(loaded.skipped)}"
