"""`dynamo-hooks upgrade-plan`: what this version of the hooks does to what runs."""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import click
import orjson

import hooks
from hooks.ground.errors import InvalidSettings
from hooks.ground.k8s.types import Manifest, ReadManifest
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.server.clients.api_server import Refused
from hooks.server.commands.kind_options import with_option
from hooks.server.commands.settings_options import parse_set_options, settings_option
from hooks.tools.cli.cluster_options import Connection, connect, connection_options
from hooks.tools.cli.colours import paint
from hooks.tools.cli.refusals import describe_refusal
from hooks.tools.cli.sides import fail
from hooks.tools.cli.values import parse_namespace
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.offline.processes import spread_over_processes, without_collections
from hooks.tools.operating.upgrade.as_json import write_plan
from hooks.tools.operating.upgrade.dump import MOST_BYTES, InvalidDump, build_world, read_dump
from hooks.tools.operating.upgrade.plan import UpgradePlan, hide_values, plan_upgrade
from hooks.tools.operating.upgrade.running_settings import (
    PlannedSettings,
    find_hooks,
    read_deployment,
    read_rendered,
)
from hooks.tools.operating.upgrade.running_world import read_hooks, read_running
from hooks.tools.operating.upgrade.wording import describe_source
from hooks.tools.operating.upgrade.written import write_markdown, write_text
from hooks.tools.world.settling import Grounds
from hooks.wire.world.objects import World

_INSTALLATION = "installation"
_PATH = click.Path(path_type=Path, exists=True, allow_dash=True)


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks upgrade-plan                           all graphs of the cluster
  dynamo-hooks upgrade-plan -n team-a --exit-code
  helm template dynamo-hooks chart/ -n dynamo-system -f values.yaml |
    dynamo-hooks upgrade-plan --chart -               with the settings of these values
  dynamo-hooks upgrade-plan --set nats_address=nats://new:4222
  dynamo-hooks upgrade-plan -o json | jq '.graphs[] | select(.restarts > 0)'
  dynamo-hooks upgrade-plan dump/                     what kubectl get … -o yaml wrote"""
)
@click.argument("files", nargs=-1, type=_PATH, metavar="[FILE]…")
@click.option(
    "-n",
    "--namespace",
    metavar="NAMESPACE",
    callback=lambda context, parameter, name: parse_namespace(context, parameter, name) if name else "",
    help="Look only at this namespace. Default: all namespaces.",
)
@click.option(
    "--chart",
    type=_PATH,
    metavar="FILE",
    help="Take the settings of the new installation: what `helm template` prints. Default: the settings of the hooks "
    "that run.",
)
@settings_option
@with_option
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "markdown"]), default="text", help="How to print the plan."
)
@click.option("--show-values", "shows_values", is_flag=True, help="Show the values of environment variables too.")
@click.option(
    "--exit-code",
    "tells",
    is_flag=True,
    help="End with status 1 if there is a difference, and with 0 if there is none.",
)
@connection_options
def upgrade_plan(  # noqa: PLR0913 - one for each option
    *,
    files: tuple[Path, ...],
    namespace: str,
    chart: Path | None,
    set_values: tuple[str, ...],
    installed: frozenset[str],
    output: str,
    shows_values: bool,
    tells: bool,
    connection: Connection,
) -> None:
    """Show what this version of the hooks, with these settings, does to what runs, graph by graph.

    The first line counts the workloads that restart, those that are held (their pods keep running, because new defaults
    wait), and the objects with another status. Below stand the fields that change, and what statuses say meanwhile.
    Nothing is changed anywhere.

    What runs is read from the cluster, in all namespaces. FILE is read instead: a file or a folder of what kubectl get
    -o yaml or -o json wrote, or - for standard input. Then --with names optional kinds that the cluster has, and of
    which the files have no object.

    The settings are those of the hooks that run, or with --chart those of a rendered chart; --set changes single ones.
    The exit status is 2 if something cannot be read; with --exit-code it is 1 if there is a difference; in all other
    cases it is 0.
    """
    if installed and not files:
        raise click.UsageError("--with is for files; a cluster is asked for its kinds")
    if [str(one) for one in (*files, chart)].count("-") > 1:
        raise click.UsageError("only one of FILE and --chart can be standard input")
    try:
        given = parse_set_options(set_values)
        rendered = read_rendered(_read([chart]), given) if chart else None
        with without_collections():
            if files:
                found = _read_files(files, namespace, installed, rendered=rendered, given=given)
            else:
                found = _read_cluster(connection, namespace, rendered=rendered, given=given)
            plan = found.plan()
    except Refused as refused:
        fail([describe_refusal(refused)])
    except (InvalidDump, InvalidSettings) as error:
        fail([str(error)])
    shown = plan if shows_values else hide_values(plan)
    with guard_output():
        click.echo(_write(shown, found.settings.source, output), nl=False)
    if tells and not plan.is_empty:
        sys.exit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What runs, and the settings."""

    world: World
    settings: PlannedSettings
    facts: Facts
    unread: tuple[str, ...] = ()
    is_whole: bool = True

    def plan(self) -> UpgradePlan:
        grounds = Grounds(facts=self.facts, world=self.world, spread=spread_over_processes)
        plan = plan_upgrade(self.world, grounds, is_whole=self.is_whole)
        return replace(plan, unread=(*self.unread, *plan.unread), notes=(*self.settings.notes, *plan.notes))


def _read_cluster(
    connection: Connection, namespace: str, *, rendered: PlannedSettings | None, given: Mapping[str, str]
) -> _Found:
    unread: tuple[str, ...] = ()
    with connect(connection) as cluster:
        if rendered is None:
            running, unread = read_hooks(cluster, given.get(_INSTALLATION, ""))
            rendered = _settle_settings(running, given)
        facts = Facts(now=datetime.now(UTC), settings=rendered.settings)
        world = read_running(cluster, namespace, facts)
    return _Found(world=world, settings=rendered, facts=facts, unread=unread)


def _read_files(
    files: tuple[Path, ...],
    namespace: str,
    installed: frozenset[str],
    *,
    rendered: PlannedSettings | None,
    given: Mapping[str, str],
) -> _Found:
    objects = _read(files)
    settings = rendered or _settle_settings(find_hooks(objects, given.get(_INSTALLATION, "")), given)
    facts = Facts(now=datetime.now(UTC), settings=settings.settings)
    world = build_world(objects, installed, namespace)
    return _Found(world=world, settings=settings, facts=facts, is_whole=False)


def _read(paths: Iterable[Path]) -> tuple[Manifest, ...]:
    given = [*paths]
    is_piped = any(str(one) == "-" for one in given)
    return read_dump(given, sys.stdin.buffer.read(MOST_BYTES + 1) if is_piped else None)


def _settle_settings(running: ReadManifest | None, given: Mapping[str, str]) -> PlannedSettings:
    """The settings of the hooks that run; if there are none, those of the environment."""
    if running is not None:
        return read_deployment(running, given, runs=True)
    settings = parse_settings(os.environ, given)
    return PlannedSettings(settings=settings, source="the default settings" if not given else "the settings of --set")


def _write(plan: UpgradePlan, settings: str, output: str) -> str:
    source = describe_source(plan, hooks.__version__, settings)
    match output:
        case "json":
            found = write_plan(plan, hooks.__version__, settings)
            return orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n"
        case "markdown":
            return write_markdown(plan, source)
        case _:
            return write_text(plan, source, paint)
