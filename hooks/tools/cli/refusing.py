"""How commands name the problems of manifests, and end."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hooks.tools.offline.manifests.document import Fault


def refuse(faults: "Iterable[Fault]", skipped: int = 0) -> None:
    """Print the problems and their number to standard error and end with exit status 1."""
    found = list(faults)
    for fault in found:
        click.echo(str(fault), err=True)
    click.echo(f"{count(len(found), 'problem')}{describe_skipped(skipped)}", err=True)
    sys.exit(1)


def count(number: int, word: str) -> str:
    """`1 problem`, `2 problems`."""
    return f"{number} {word}{'s' if number != 1 else ''}"


def describe_skipped(files: int) -> str:
    """`, 2 files without manifests skipped`; nothing for none."""
    return f", {count(files, 'file')} without manifests skipped" if files else ""
