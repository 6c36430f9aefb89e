"""Options of `dynamo-hooks diff` that belong together, each group as one value."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hooks.tools.cli.values import parse_positive

Command = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OldSide:
    """What is compared with, if not files that are named: the cluster, or a revision of git, empty for none."""

    is_live: bool
    revision: str

    def check(self, files: tuple[str, ...], installed: frozenset[str]) -> None:
        """Raise UsageError unless these arguments, and the kinds that are said to be installed, fit to it."""
        if self.is_live and self.revision:
            raise click.UsageError("--from-cluster and --from-git both say what OLD is; give one of them")
        if self.is_live and len(files) != 1:
            raise click.UsageError("--from-cluster takes one argument, NEW; what is live is the other side")
        if self.revision and "-" in files:
            raise click.UsageError("--from-git takes files and directories; git does not have standard input")
        if not self.is_live and not self.revision and len(files) != 2:
            raise click.UsageError(
                "give OLD and NEW, two files or directories, or one with --from-cluster or --from-git"
            )
        if files == ("-", "-"):
            raise click.UsageError("only one of OLD and NEW can be standard input")
        if self.is_live and installed:
            raise click.UsageError("--with contradicts --from-cluster, which asks the cluster for its kinds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """Whether pods are fitted to nodes, and the file that has the nodes."""

    is_wanted: bool
    nodes: Path | None

    def check(self, old: OldSide) -> None:
        """Raise UsageError if there are no nodes, or if nothing is done with them."""
        if self.is_wanted and not old.is_live and self.nodes is None:
            raise click.UsageError("--fit needs nodes; give --nodes FILE or --from-cluster")
        if self.nodes is not None and not self.is_wanted:
            raise click.UsageError("--nodes is for --fit; give both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What is waited for, an earlier answer; None if nothing is. `seconds`: for how long."""

    plan: Path | None
    seconds: float


def old_side_options(command: Command) -> Command:
    """Give a command `old`, in place of the options that make it."""

    @wraps(command)
    def with_old_side(*, is_live: bool, revision: str, **others: Any) -> None:
        command(old=OldSide(is_live=is_live, revision=revision), **others)

    return _add(
        with_old_side,
        click.option(
            "--from-cluster", "is_live", is_flag=True, help="Compare with the objects in the cluster; give only NEW."
        ),
        click.option(
            "--from-git",
            "revision",
            default="",
            metavar="REVISION",
            help="Compare with the same files at this Git revision; give one or more NEW.",
        ),
    )


def fit_options(command: Command) -> Command:
    """Give a command `fitting`, in place of the options that make it."""

    @wraps(command)
    def with_fitting(*, fits: bool, nodes: Path | None, **others: Any) -> None:
        command(fitting=Fitting(is_wanted=fits, nodes=nodes), **others)

    return _add(
        with_fitting,
        click.option(
            "--fit",
            "fits",
            is_flag=True,
            help="Estimate whether the pods will find nodes; needs --from-cluster or --nodes.",
        ),
        click.option(
            "--nodes",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="For --fit: the output of `kubectl get nodes -o yaml`, or of `kubectl get nodes,pods -A -o yaml`, so "
            "that the pods that run count too.",
        ),
    )


def wait_options(command: Command) -> Command:
    """Give a command `waiting`, in place of the options that make it."""

    @wraps(command)
    def with_waiting(*, plan: Path | None, wait_seconds: float, **others: Any) -> None:
        command(waiting=Waiting(plan=plan, seconds=wait_seconds), **others)

    return _add(
        with_waiting,
        click.option(
            "--wait",
            "plan",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="After an apply: wait until what FILE says has arrived, and say what restarted. FILE is an earlier "
            "output of --from-cluster -o json.",
        ),
        click.option(
            "--wait-seconds",
            type=float,
            default=600.0,
            show_default=True,
            callback=parse_positive,
            help="For --wait: how long at most.",
        ),
    )


def _add(command: Command, *options: Callable[[Command], Command]) -> Command:
    """The command with these options, in this order."""
    listed: Iterable[Callable[[Command], Command]] = reversed(options)
    for option in listed:
        command = option(command)
    return command
