"""The options by which servers and commands for people learn which optional kinds a cluster has."""

import click

from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS


def _parse_kinds(_context: click.Context, _parameter: click.Parameter, lists: tuple[str, ...]) -> frozenset[str]:
    chosen = [name.strip() for names in lists for name in names.split(",") if name.strip()]
    unknown = next((name for name in chosen if name not in OPTIONAL_KINDS), None)
    if unknown is not None:
        raise click.BadParameter(f"{unknown} is not an optional kind; choose from {', '.join(OPTIONAL_KINDS)}")
    return frozenset(chosen)


with_option = click.option(
    "--with",
    "installed",
    multiple=True,
    metavar="LIST",
    callback=_parse_kinds,
    help=f"Optional kinds that count as installed, separated by commas: {', '.join(OPTIONAL_KINDS)}. Default: none.",
)
"""Gives a command `installed`, a frozenset of keys of `OPTIONAL_KINDS`."""

known_kinds_option = click.option(
    "--with",
    "installed",
    multiple=True,
    metavar="LIST",
    callback=lambda context, parameter, lists: _parse_kinds(context, parameter, lists) if lists else None,
    help=(
        f"Optional kinds that the cluster has, separated by commas: {', '.join(OPTIONAL_KINDS)}; '' for none. "
        "Without this option, rules that depend on them are not checked."
    ),
)
"""Gives a command `installed`, a frozenset of keys of `OPTIONAL_KINDS`, or None if the option is not given."""
