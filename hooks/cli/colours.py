"""Colours for a terminal; `click.echo` leaves them out where the output is no terminal."""

import os

import click


def colour(text: str, name: str) -> str:
    """The text in a colour, or `bold`; as it is where the user wants none (NO_COLOR) or the terminal has none."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, bold=True) if name == "bold" else click.style(text, fg=name)
