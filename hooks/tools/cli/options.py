"""Options that several commands for people share, and the messages when a value is refused."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

import hooks
from hooks.ground import contract
from hooks.server.commands.settings_options import read_settings
from hooks.tools.cli.values import parse_namespace, parse_release

if TYPE_CHECKING:
    from hooks.ground.settings import Settings


def read_offline_settings(set_values: Iterable[str]) -> "Settings":
    """The settings for a command without a cluster; by default `hooks_image` is the image of this version."""
    settings = read_settings(set_values)
    return settings if settings.hooks_image else _with_own_image(settings)


def _with_own_image(settings: "Settings") -> "Settings":
    return settings.model_copy(update={"hooks_image": f"dynamo-hooks:{hooks.__version__}"})


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
