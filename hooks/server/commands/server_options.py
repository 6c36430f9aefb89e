"""The options that every server of ours has."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hooks.server.serving.standard_input import end_with_stdin_option
from hooks.server.serving.strangers import LEAST_STRANGERS, STRANGERS
from hooks.server.serving.turns import AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """How much a server does at once, and how it comes to its end."""

    workers: int
    at_once: int
    peers: int
    drain_file: Path | None
    end_with_stdin: bool


def capacity_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `capacity`, in place of the options that make it."""

    @wraps(command)
    def with_capacity(
        *, workers: int, threads: int, peers: int, drain_file: Path | None, end_with_stdin: bool, **others: Any
    ) -> None:
        capacity = Capacity(
            workers=workers, at_once=threads, peers=peers, drain_file=drain_file, end_with_stdin=end_with_stdin
        )
        command(capacity=capacity, **others)

    options = (
        click.option(
            "--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Number of processes."
        ),
        click.option(
            "--threads",
            type=click.IntRange(1, 64),
            default=AT_ONCE,
            show_default=True,
            help="Number of calls that each process computes at the same time.",
        ),
        click.option(
            "--peers",
            type=click.IntRange(LEAST_STRANGERS, 16384),
            default=STRANGERS,
            show_default=True,
            help="Number of connections that each process holds for peers that showed no token. For one more, the "
            "connection that has been without a whole request for the longest time is closed.",
        ),
        click.option(
            "--drain-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="While this file exists, /readyz answers 503 and every answer closes its connection. A preStop hook "
            "creates it and waits before SIGTERM. Deleted at the start.",
        ),
        end_with_stdin_option,
    )
    for option in reversed(options):
        with_capacity = option(with_capacity)
    return with_capacity


def retired_option(name: str, instead: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option that a command no longer has: whoever writes it is told what to write `instead`."""

    def refuse(_context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(f"{name} no longer exists: {instead}")

    return click.option(name, hidden=True, expose_value=False, callback=refuse)
