"""The program `kubectl_complete-dynamo`, which kubectl runs for the shell's completion of `kubectl dynamo …`.

It gets the words after `kubectl dynamo`; the last one is what is being typed, perhaps "". It prints a line for each
completion, with a tab and a description where there is one, and a last line with a number that says what the shell does
beside it: 4 offers no files, 0 does.

Source: Kubernetes, kubectl pkg/cmd/plugin/plugin_completion.go; Cobra, ShellCompDirective.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from io import StringIO

import click
from click.shell_completion import CompletionItem, ShellComplete

from hooks.tools.cli.kubectl.main import group

_NO_FILES, _FILES = 4, 0
_OF_FILES = frozenset({"file", "dir"})
_TAKE_FILES = frozenset({"diff", "explain", "graph"})
"""Commands whose arguments are files."""


def main() -> None:
    """Print the completions of the words in the arguments."""
    for line in complete(sys.argv[1:]):
        click.echo(line)


def complete(words: Sequence[str]) -> Iterator[str]:
    """The lines for some words, of which the last one is incomplete."""
    before, incomplete = list(words[:-1]), words[-1] if words else ""
    with redirect_stderr(StringIO()):  # the shell shows it in the middle of the line
        found = ShellComplete(group, {}, "kubectl dynamo", "").get_completions(before, incomplete)
    named = [one for one in found if one.type not in _OF_FILES]
    yield from map(_describe, named)
    takes_files = len(named) < len(found) or (not named and not _TAKE_FILES.isdisjoint(before))
    yield f":{_FILES if takes_files else _NO_FILES}"


def _describe(item: CompletionItem) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)
