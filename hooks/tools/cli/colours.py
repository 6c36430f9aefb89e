"""Colours on a terminal; none in a pipe, which click sees, nor where a user wants none."""

import os

import click


def paint(text: str, colour: str) -> str:
    """The text in a colour, or bold; as it is where $NO_COLOR is set or the terminal has none.

    Source: https://no-color.org.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, bold=True) if colour == "bold" else click.style(text, fg=colour)
