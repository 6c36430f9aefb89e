"""`dynamo-hooks simulate`: from manifest to Ready with the real hooks server and an in-memory cluster."""

import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from types import FrameType
from typing import TextIO

import click

from hooks.ground import contract
from hooks.server.commands.kind_options import with_option
from hooks.server.commands.settings_options import settings_option
from hooks.tools.cli.build_options import build_options
from hooks.tools.cli.console import SafeConsole
from hooks.tools.cli.options import namespace_option, origin_option, read_offline_settings
from hooks.tools.cli.refusing import refuse
from hooks.tools.cli.values import parse_positive
from hooks.tools.offline.manifests.built.building import Building
from hooks.tools.offline.manifests.inputs import Selection
from hooks.tools.offline.manifests.reading import ManifestFaults
from hooks.tools.offline.manifests.together import check_whole, load_together
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.offline.rendering import every_child
from hooks.tools.offline.simulation.applied_documents import DocumentRefused
from hooks.tools.offline.simulation.gpu_node import NODE_NOTE, add_gpu_node, needs_node
from hooks.tools.offline.simulation.plan import SimulationPlan
from hooks.tools.offline.simulation.processes import ServerFailed
from hooks.tools.offline.simulation.report import (
    ProgressView,
    explain,
    format_json,
    format_statuses,
    print_trees,
    summarize_result,
)
from hooks.tools.offline.simulation.run import run_programs, run_simulation
from hooks.tools.offline.simulation.snapshots import Snapshot
from hooks.tools.offline.simulation.targets import find_never_matched, find_unmatched
from hooks.tools.offline.simulator.cluster import NeverSettles
from hooks.tools.offline.simulator.engines import EngineFailed
from hooks.tools.offline.simulator.metacontroller.controller_spec import ControllerNotStarted
from hooks.tools.offline.simulator.metacontroller.webhook import MetacontrollerWouldCrash
from hooks.tools.offline.simulator.workloads.pods import PodFault

_INTERRUPTED = 128 + signal.SIGINT
_GIVEN_KINDS = ("Secret", "ConfigMap", "PersistentVolumeClaim")

NO_EFFECTS = (
    "effect_scale=off",
    "effect_events=off",
    "effect_etcd=off",
    "effect_write_back=off",
    "effect_go_back=off",
    "namespace_locks=off",
)
"""A simulation never acts on a real cluster, not even with settings for one in the environment."""


def _parse_faults(_context: click.Context, _parameter: click.Parameter, rules: tuple[str, ...]) -> dict[str, PodFault]:
    known = ", ".join(PodFault)
    faults = {}
    for rule in rules:
        glob, sign, reason = rule.rpartition("=")
        if not sign or not glob or reason not in list(PodFault):
            raise click.BadParameter(f"{rule!r} is not a rule; write GLOB=REASON with one of the reasons {known}")
        faults[glob] = PodFault(reason)
    return faults


def _parse_given(_context: click.Context, _parameter: click.Parameter, globs: tuple[str, ...]) -> tuple[str, ...]:
    for glob in globs:
        kind, sign, name = glob.partition("/")
        if not sign or not name or not any(fnmatchcase(known, kind) for known in _GIVEN_KINDS):
            raise click.BadParameter(
                f"{glob!r} is not an object; write KIND/NAME with one of {', '.join(_GIVEN_KINDS)}"
            )
    return globs


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks simulate --given Secret/hf-token-secret examples/vllm-disagg.yaml
  dynamo-hooks simulate --break '*decode*=ImagePullBackOff' --timeout 60 graph.yaml
  dynamo-hooks simulate --hold Frontend -o json graph.yaml | jq '.objects[].reasons'
  dynamo-hooks simulate --given 'Secret/*' examples/vllm-lora.yaml
  dynamo-hooks simulate --profiler-output graph.yaml examples/request-aic.yaml
  dynamo-hooks simulate --break 'profile-*=CrashLoopBackOff' examples/request-online.yaml
  dynamo-hooks simulate --speed 100 manifests/"""
)
@click.argument("paths", nargs=-1, required=True, metavar="FILE…")
@namespace_option
@with_option
@settings_option
@build_options
@origin_option
@click.option(
    "--timeout",
    callback=parse_positive,
    default="120",
    show_default=True,
    metavar="SECONDS",
    help="How many simulated seconds to wait for Ready.",
)
@click.option(
    "--speed",
    callback=parse_positive,
    default="5",
    show_default=True,
    metavar="N",
    help="How many simulated seconds pass in one real second; fewer on a machine that is too busy.",
)
@click.option(
    "--hold",
    "blocked",
    multiple=True,
    metavar="GLOB",
    help="Keep these pods from becoming ready. The glob is compared with the pod's name, its owners' names and its "
    "label values.",
)
@click.option(
    "--break",
    "broken",
    multiple=True,
    metavar="GLOB=REASON",
    callback=_parse_faults,
    help=f"Let these pods fail: {', '.join(PodFault)}. With the last two, workers become ready, and frontends "
    "list them never, or 30 s later. The pod of a Job is not restarted, so the Job fails after a crash.",
)
@click.option(
    "--profiler-output",
    type=click.File(),
    metavar="FILE",
    help="What simulated profilers write: one or more YAML documents. Default: a generated graph.",
)
@click.option(
    "--given",
    multiple=True,
    metavar="KIND/NAME",
    callback=_parse_given,
    help="A Secret, ConfigMap or claim that the cluster has but the manifests do not; may be a glob, such as Secret/*.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "yaml", "json"]),
    default="text",
    help="How to print the result: as a tree of objects, the statuses as YAML, or everything as JSON.",
)
def simulate(  # noqa: PLR0913, PLR0917 - one parameter for each option
    paths: tuple[str, ...],
    namespace: str,
    installed: frozenset[str],
    set_values: tuple[str, ...],
    building: Building,
    origin: str,
    timeout: float,
    speed: float,
    blocked: tuple[str, ...],
    broken: dict[str, PodFault],
    profiler_output: TextIO | None,
    given: tuple[str, ...],
    output: str,
) -> None:
    """Run manifests in an in-memory cluster, with the real hooks, until all is Ready.

    FILE is a file, a directory (read recursively) or - for standard input. The cluster calls the hooks as
    Metacontroller does; they run as a server in a process of its own. Pods are simulated. The prober runs too, and pods
    answer it on loopback addresses as frontends and engines do: a frontend lists the models of ready workers, so --hold
    and --break also play workers that never register. A simulated profiler takes ten seconds and measures nothing.

    A pod waits for a Secret, ConfigMap or claim that neither a manifest nor --given has. Progress is printed to
    standard error, the tree of objects to standard output. The exit status is 0 if all is Ready, else 1; then the
    reasons are printed. After Ctrl-C it is 130.
    """
    settings = read_offline_settings(set_values)
    loaded = load_together(paths, namespace, Selection(building=building, origin=origin))
    if needs_node(loaded.documents):
        click.echo(NODE_NOTE, err=True)
        loaded = add_gpu_node(loaded)
    try:
        checked = check_whole(loaded, settings, installed)
    except ManifestFaults as error:
        refuse(error.faults)
        return
    if not any(document.is_ours for document in loaded.documents):
        click.echo("nothing to simulate: no document is of one of the five Dynamo kinds", err=True)
        sys.exit(1)
    for warning in checked.warnings:
        click.echo(f"warning: {warning}", err=True)
    has_request = any(document.kind == contract.GRAPH_REQUEST for document in loaded.documents)
    if not has_request:
        children = list(every_child(checked.rendered))
        _check_rules(blocked, broken, lambda globs: find_unmatched(globs, children))
    plan = SimulationPlan(
        documents=loaded.documents,
        installed=installed,
        timeout=timeout,
        speed=speed,
        blocked=blocked,
        broken=broken,
        given=given,
        profiler_output=profiler_output.read() if profiler_output else "",
    )
    given_settings = [f"hooks_image={settings.hooks_image}", *set_values, *NO_EFFECTS]
    snapshot = _run_or_exit(plan, given_settings, engine_port=settings.engine_port)
    if has_request:
        objects = snapshot.tree.by_uid.values()
        _check_rules(blocked, broken, lambda globs: find_never_matched(globs, objects))
    _finish(snapshot, output)


def _run_or_exit(plan: SimulationPlan, settings: list[str], *, engine_port: int) -> Snapshot:
    """The end of a simulation; where it has none, a sentence that says why, and the exit status."""
    try:
        return _run(plan, settings, engine_port=engine_port)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except (
        DocumentRefused,
        ServerFailed,
        EngineFailed,
        ControllerNotStarted,
        MetacontrollerWouldCrash,
        NeverSettles,
    ) as error:
        click.echo(str(error), err=True)
        sys.exit(1)


def _run(plan: SimulationPlan, settings: list[str], *, engine_port: int) -> Snapshot:
    live = sys.stdout.isatty() and sys.stderr.isatty()
    with (
        _signals_noted() as heed,
        run_programs(plan, settings, engine_port=engine_port, heed=heed, say=partial(click.echo, err=True)) as programs,
        ProgressView(SafeConsole(err=True), live=live) as view,
    ):
        return run_simulation(plan, programs, view)


def _finish(snapshot: Snapshot, output: str) -> None:
    with guard_output():
        match output:
            case "json":
                click.echo(format_json(snapshot))
            case "yaml":
                click.echo(format_statuses(snapshot), nl=False)
            case _:
                print_trees(SafeConsole() if sys.stdout.isatty() else SafeConsole(width=200), snapshot)
    for line in explain(snapshot.progress):
        click.echo(line, err=True)
    click.echo(summarize_result(snapshot), err=True)
    if not snapshot.ready:
        sys.exit(1)


def _check_rules(
    blocked: Sequence[str], broken: Mapping[str, PodFault], find: Callable[[Collection[str]], str]
) -> None:
    """Refuse a rule that matches no pod.

    Raises:
        click.UsageError: there is one; the message names it and what it may have meant.
    """
    for option, globs in (("--hold", blocked), ("--break", broken)):
        if finding := find(globs):
            raise click.UsageError(f"{option} {finding}")


@contextmanager
def _signals_noted() -> Iterator[Callable[[], None]]:
    """Note Ctrl-C, SIGTERM, and SIGHUP unless nohup ignores it; what is yielded raises what the first one asks for.

    So nothing is interrupted where it would be left half done, and further signals do not interrupt the end.
    """
    received: list[int] = []

    def heed() -> None:
        if received:
            raise KeyboardInterrupt if received[0] == signal.SIGINT else SystemExit(128 + received[0])

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield heed
        heed()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
