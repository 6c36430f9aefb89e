"""`dynamo-hooks replay`: what this version answers to calls that a server recorded."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
import orjson

from hooks.cli.options import read_settings, settings_option
from hooks.errors import InvalidRequest
from hooks.offline.manifests.writing import guard_output
from hooks.offline.other_version import NotInstalled, installed, read_requirement, run_command
from hooks.offline.replay import AnswerGroup, group_differences
from hooks.recording.answering import replay_call
from hooks.recording.calls import RecordedCall
from hooks.recording.keeping import read_calls

_PARENTS = 5


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks serve --record /var/tmp/calls      # for some hours, in a cluster
  dynamo-hooks replay /var/tmp/calls              # what this version answers, anywhere
  dynamo-hooks replay --against 1.1.0 /var/tmp/calls
  dynamo-hooks replay --against ../checkout --exit-code /var/tmp/calls
  dynamo-hooks replay --exit-code -o json /var/tmp/calls"""
)
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR")
@settings_option
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print the result.")
@click.option("--exit-code", is_flag=True, help="End with status 1 if an answer differs.")
@click.option(
    "--against",
    metavar="VERSION",
    help="Compare with the answers of another version: its number, a wheel, or the folder of a checkout. pip installs "
    "it for this command only.",
)
@click.option(
    "--python",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Compare with the answers of the version that this Python interpreter has installed.",
)
def replay(
    *,
    directory: Path,
    set_values: tuple[str, ...],
    output: str,
    exit_code: bool,
    against: str | None,
    python: Path | None,
) -> None:
    """Answer recorded calls again, and show where this version's answers differ from the recorded ones.

    `dynamo-hooks serve --record DIR` records calls into DIR. With --against or --python another version answers them.
    No server is called and nothing is changed. The settings are those of the recording server; --set changes single
    ones.
    """
    if against and python:
        raise click.UsageError("--against and --python name two versions; give one of them")
    if against or python:
        given = [*(f"--set={pair}" for pair in set_values), *(["--exit-code"] if exit_code else [])]
        raise SystemExit(_replay_elsewhere(against, python, ["replay", str(directory), f"--output={output}", *given]))
    read_settings(set_values)  # refused here, with its sentence
    overrides = dict(pair.partition("=")[::2] for pair in set_values)
    try:
        calls = [call for _, call in read_calls(directory)]
    except InvalidRequest as error:
        raise click.ClickException(f"{directory}: {error}") from error
    if not calls:
        raise click.ClickException(
            f"{directory} holds no recorded call; record some with dynamo-hooks serve --record DIR"
        )
    replayed = [(call, replay_call(call, overrides)) for call in calls]
    groups = group_differences(replayed)
    with guard_output():
        click.echo(_as_json(groups) if output == "json" else _as_text(calls, groups))
    if exit_code and groups:
        raise SystemExit(1)


def _replay_elsewhere(against: str | None, python: Path | None, arguments: Sequence[str]) -> int:
    """Let another version do it; returns its exit status."""
    try:
        if python is not None:
            return run_command(python, arguments)
        with installed(read_requirement(against or "")) as found:
            return run_command(found, arguments)
    except NotInstalled as error:
        raise click.ClickException(str(error)) from error


def _as_json(groups: Sequence[AnswerGroup]) -> str:
    return orjson.dumps([asdict(group) for group in groups], option=orjson.OPT_INDENT_2).decode()


def _as_text(calls: Sequence[RecordedCall], groups: Sequence[AnswerGroup]) -> str:
    versions, parents = sorted({call.version for call in calls}), {call.parent for call in calls}
    head = f"{_count(len(calls), 'call')} about {_count(len(parents), 'object')}, recorded by {', '.join(versions)}"
    if not groups:
        return f"{head}: all answers are the same."
    lines = [f"{head}: {_count(len(groups), 'difference')}."]
    for group in groups:
        more = f" and {len(group.parents) - _PARENTS} more" if len(group.parents) > _PARENTS else ""
        lines += [
            "",
            f"{group.path}, {group.about}: {group.what}",
            f"  in {_count(group.calls, 'call')}: {', '.join(group.parents[:_PARENTS])}{more}",
        ]
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
