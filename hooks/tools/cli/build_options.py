"""The options of commands that read manifests: how directories of Kustomize and Helm are built."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from hooks.tools.offline.manifests.built.building import Building


def build_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `building`, in place of the options that make it."""

    @wraps(command)
    def with_building(*, values: tuple[str, ...], no_build: bool, **others: Any) -> None:
        command(building=Building(values=values, is_off=no_build), **others)

    options = (
        click.option(
            "--values",
            multiple=True,
            metavar="FILE",
            help="A file of values for `helm template`, if FILE is a chart; can be given several times.",
        ),
        click.option(
            "--no-build",
            is_flag=True,
            help="Run neither Kustomize nor Helm; read their directories as those of files: for manifests of people "
            "that you do not trust.",
        ),
    )
    for option in reversed(options):
        with_building = option(with_building)
    return with_building
