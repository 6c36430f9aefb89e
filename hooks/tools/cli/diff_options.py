"""Options of `dynamo-hooks diff` that belong together, each group as one value."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hooks.server.commands.kind_options import with_option
from hooks.server.commands.settings_options import settings_option
from hooks.tools.cli.build_options import build_options
from hooks.tools.cli.options import origin_option
from hooks.tools.cli.values import parse_namespace, parse_positive
from hooks.tools.offline.manifests.built.building import DEFAULT_BUILDING, Building

Command = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OldSide:
    """What is compared with, if not files that are named: the cluster, or a revision of git, empty for none.

    `admission` says whether a webhook judges changes, None for unknown. `is_tried`: the API server tries all objects.
    """

    is_live: bool
    revision: str
    admission: bool | None = None
    is_tried: bool = False

    def check(self, files: tuple[str, ...], reading: "Reading") -> None:
        """Raise UsageError unless these arguments, and what is said of the manifests, fit to it."""
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
        if self.is_live and reading.installed:
            raise click.UsageError("--with contradicts --from-cluster, which asks the cluster for its kinds")
        if self.is_tried and not self.is_live:
            raise click.UsageError("--server-side asks a cluster's API server; give --from-cluster too")
        if reading.origin and self.is_live:
            raise click.UsageError("--origin contradicts --from-cluster, where what runs shows how its graph began")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How manifests are read, and for which installation; `namespace` is empty for the default one."""

    namespace: str = ""
    installed: frozenset[str] = frozenset()
    set_values: tuple[str, ...] = ()
    building: Building = DEFAULT_BUILDING
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of the comparison, and how it is printed; `nodes` is a file, `tells` asks for the exit status."""

    output: str
    shows_values: bool
    tells: bool
    fits: bool
    nodes: Path | None

    def check(self, old: OldSide) -> None:
        """Raise UsageError if there are no nodes to which pods can be fitted, or if nothing is done with them."""
        if self.fits and not old.is_live and self.nodes is None:
            raise click.UsageError("--fit needs nodes; give --nodes FILE or --from-cluster")
        if self.nodes is not None and not self.fits:
            raise click.UsageError("--nodes is for --fit; give both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What is waited for, an earlier answer; None if nothing is. `seconds`: for how long."""

    plan: Path | None
    seconds: float


def old_side_options(command: Command) -> Command:
    """Give a command `old`, in place of the options that make it."""

    @wraps(command)
    def with_old_side(*, is_live: bool, revision: str, admission: bool | None, is_tried: bool, **others: Any) -> None:
        command(old=OldSide(is_live=is_live, revision=revision, admission=admission, is_tried=is_tried), **others)

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
        click.option(
            "--admission/--no-admission",
            default=None,
            help="Whether webhooks of this operator judge changes. Default: with --from-cluster what the cluster says, "
            "else unknown.",
        ),
        click.option(
            "--server-side",
            "is_tried",
            is_flag=True,
            help="With --from-cluster: let the API server try all objects in a dry run, with webhooks and quotas of "
            "others.",
        ),
    )


def reading_options(command: Command) -> Command:
    """Give a command `reading`, in place of the options that make it."""

    @wraps(command)
    def with_reading(
        *,
        namespace: str,
        installed: frozenset[str],
        set_values: tuple[str, ...],
        building: Building,
        origin: str,
        **others: Any,
    ) -> None:
        reading = Reading(
            namespace=namespace, installed=installed, set_values=set_values, building=building, origin=origin
        )
        command(reading=reading, **others)

    namespace_option = click.option(
        "-n",
        "--namespace",
        metavar="NAMESPACE",
        callback=lambda context, parameter, name: parse_namespace(context, parameter, name) if name else "",
        help="Namespace of objects that name none. Default: default; with --from-cluster the namespace of the "
        "kubeconfig's context.",
    )
    return _add(with_reading, namespace_option, with_option, settings_option, build_options, origin_option)


_ANSWER_OPTIONS = (
    click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json", "markdown"]),
        default="text",
        help="How to print the result.",
    ),
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
    click.option("--show-values", "shows_values", is_flag=True, help="Show the values of environment variables too."),
    click.option(
        "--exit-code",
        "tells",
        is_flag=True,
        help="End with status 1 if there is a difference, and with 0 if there is none.",
    ),
)


def answer_options(command: Command) -> Command:
    """Give a command `answer`, in place of the options that make it."""

    @wraps(command)
    def with_answer(
        *, output: str, shows_values: bool, tells: bool, fits: bool, nodes: Path | None, **others: Any
    ) -> None:
        answer = Asked(output=output, shows_values=shows_values, tells=tells, fits=fits, nodes=nodes)
        command(answer=answer, **others)

    return _add(with_answer, *_ANSWER_OPTIONS)


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
