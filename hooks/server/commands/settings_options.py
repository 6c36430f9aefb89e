"""What all commands read alike, those of servers too: settings, tokens, addresses; and what is said of wrong ones."""

import ipaddress
import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from hooks.ground.errors import InvalidSettings
from hooks.server.clients.prober_token import read_token

if TYPE_CHECKING:
    from hooks.ground.settings import Settings

_BIND = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})")


def parse_bind(_context: click.Context, _parameter: click.Parameter, bind: str | None) -> str | None:
    """Check HOST:PORT; port 0 means any free port, None that the option was not given.

    Raises:
        click.BadParameter: it is not of that form.
    """
    if bind is None:
        return None
    match = _BIND.fullmatch(bind)
    if match is None or int(match[2]) > 65535:
        raise click.BadParameter(f"{bind!r} is not an address; write HOST:PORT, such as 127.0.0.1:8080 or [::]:8080")
    return bind


def is_loopback(bind: str) -> bool:
    """Whether HOST:PORT can be reached from this machine only."""
    host = bind.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_set_options(pairs: Iterable[str]) -> dict[str, str]:
    """Read `key=value` pairs; the last value of a key wins, and a value may contain `=`.

    Raises:
        InvalidSettings: a pair without `=`, or without a key before it.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise InvalidSettings(
                f"--set {pair} is not a setting; write --set key=value, such as --set log_level=debug"
            )
        values[key.strip()] = value
    return values


def read_settings(set_values: Iterable[str]) -> "Settings":
    """Settings from the environment and `--set`; if one is wrong, ends the process with a message and exit status 2."""
    from hooks.ground.settings import parse_settings  # noqa: PLC0415 - pydantic takes long, and `--help` needs no value

    try:
        return parse_settings(os.environ, parse_set_options(set_values))
    except InvalidSettings as error:
        click.echo(str(error), err=True)
        sys.exit(2)


def read_prober_token() -> str:
    """The token from the environment; if it is wrong, ends the process with a message and exit status 2."""
    try:
        return read_token(os.environ)
    except InvalidSettings as error:
        click.echo(str(error), err=True)
        sys.exit(2)


settings_option = click.option(
    "--set",
    "set_values",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting; can be given several times. Overrides the environment variable DYNAMO_HOOKS_<KEY>.",
)
"""Gives a command `set_values`, for `read_settings`."""
