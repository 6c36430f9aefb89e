"""`dynamo-hooks replay`: what this version answers to calls that a server recorded."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import orjson

from hooks.ground.errors import InvalidRequest
from hooks.server.commands.settings_options import read_settings, settings_option
from hooks.server.recording.answering import replay_call
from hooks.server.recording.calls import RecordedCall
from hooks.server.recording.keeping import read_calls
from hooks.tools.cli.colours import paint
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.offline.other_version import NotInstalled, installed, read_requirement, run_command
from hooks.tools.offline.replay.as_json import write_replay
from hooks.tools.offline.replay.judging import Ask
from hooks.tools.offline.replay.markdown import write_markdown
from hooks.tools.offline.replay.plan import Replay, plan_replay
from hooks.tools.offline.replay.text import write_text
from hooks.wire.policy.holding import NOW


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
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "markdown"]), default="text", help="How to print the result."
)
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

    The first line counts the workloads that restart, those that are held (their pods keep running, because new defaults
    wait), and the objects with another status. `dynamo-hooks serve --record DIR` records calls into DIR, and so does
    the chart with recording.enabled; calls of several pods stand in directories below DIR. With --against or --python
    another version answers. No server is called and nothing is changed. The settings are those of the recording server;
    --set changes single ones.
    """
    if against and python:
        raise click.UsageError("--against and --python name two versions; give one of them")
    if against or python:
        given = [*(f"--set={pair}" for pair in set_values), *(["--exit-code"] if exit_code else [])]
        raise SystemExit(
            _replay_elsewhere(against, python, ["replay", f"--output={output}", *given, "--", str(directory)])
        )
    read_settings(set_values)  # refused here, with its sentence
    overrides = dict(pair.partition("=")[::2] for pair in set_values)
    found = plan_replay(_read(directory), _asking(overrides))
    with guard_output():
        click.echo(_write(found, output), nl=False)
    if exit_code and not found.is_empty:
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


def _read(directory: Path) -> list[list[RecordedCall]]:
    """The calls of each server: those of the directory, and of the directories in it."""
    places = [directory, *sorted(path for path in directory.iterdir() if path.is_dir() and not path.is_symlink())]
    found = []
    for place in places:
        try:
            found.append([call for _, call in read_calls(place)])
        except InvalidRequest as error:
            raise click.ClickException(f"{place}: {error}") from error
    if not any(found):
        raise click.ClickException(
            f"{directory} holds no recorded call; record some with dynamo-hooks serve --record DIR"
        )
    return [calls for calls in found if calls]


def _asking(overrides: Mapping[str, str]) -> Ask:
    """Asks this version, under the recorded settings and the given ones."""
    return Ask(
        lambda call: replay_call(call, overrides),
        lambda call: replay_call(call, {**overrides, "new_defaults": NOW}),
    )


def _write(found: Replay, output: str) -> str:
    match output:
        case "json":
            return orjson.dumps(write_replay(found), option=orjson.OPT_INDENT_2).decode() + "\n"
        case "markdown":
            return write_markdown(found)
        case _:
            return write_text(found, paint)
