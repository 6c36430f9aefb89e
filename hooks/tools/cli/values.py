"""Checks of single values on the command line. They load no settings, so that short commands start fast."""

import math
import re

import click

from hooks.ground.k8s.names import is_dns_label

_RELEASE = re.compile(r"v?(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8}))?")


def parse_release(_context: click.Context, _parameter: click.Parameter, release: str) -> str:
    """Read a release of Dynamo, `0.9` or `1.5.1`, as three numbers; empty if the option was not given.

    Raises:
        click.BadParameter: it is none.
    """
    found = _RELEASE.fullmatch(release)
    if found is None:
        if not release:
            return ""
        raise click.BadParameter(f"{release!r} is not a release; write two or three numbers, such as 0.9 or 1.5.1")
    return f"{found[1]}.{found[2]}.{found[3] or 0}"


def parse_positive(_context: click.Context, _parameter: click.Parameter, text: str) -> float:
    """Read a finite number above 0.

    Raises:
        click.BadParameter: it is not a finite number above 0.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise click.BadParameter(f"{text!r} is not a number above 0; write a number such as 0.5 or 120")
    return number


def parse_namespace(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    """Check the name of a namespace.

    Raises:
        click.BadParameter: no namespace can have it.
    """
    if not is_dns_label(name):
        raise click.BadParameter(
            f"{name!r} is not a namespace; write at most 63 of a-z, 0-9 and '-', with a letter or digit at both ends"
        )
    return name
