"""Options that several commands for people share, and the messages when a value is refused."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

import hooks
from hooks import contract
from hooks.cli.settings_options import read_settings
from hooks.cli.values import parse_namespace, parse_release
from hooks.metacontroller.controllers import OPTIONAL_KINDS

if TYPE_CHECKING:
    from hooks.settings import Settings


def read_offline_settings(set_values: Iterable[str]) -> "Settings":
    """The settings for a command without a cluster; by default `hooks_image` is the image of this version."""
    settings = read_settings(set_values)
    return settings if settings.hooks_image else _with_own_image(settings)


def _with_own_image(settings: "Settings") -> "Settings":
    return settings.model_copy(update={"hooks_image": f"dynamo-hooks:{hooks.__version__}"})


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

namespace_option = click.option(
    "-n",
    "--namespace",
    default="default",
    show_default=True,
    metavar="NAMESPACE",
    callback=parse_namespace,
    help="Namespace of objects that name none.",
)
"""Gives a command `namespace`, a valid name."""

origin_option = click.option(
    "--origin",
    default="",
    metavar="RELEASE",
    callback=parse_release,
    help="The release with which graphs began that do not say it in the annotation "
    f"{contract.ANNOTATION_ORIGIN_VERSION}. Default: that of their images, as of new graphs.",
)
"""Gives a command `origin`, a release in three numbers, empty if the option is not given."""
