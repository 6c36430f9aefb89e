"""`dynamo-hooks migrate`: takes over what the Go operator left, or says what that would do.

What it does, for who writes the page about it:

* Order: stop the Go operator (`kubectl scale deployment … --replicas=0`), look at the plan, `--apply`, install our
  CRDs, Metacontroller and the hooks. Late is possible too: if our controllers met the graphs first, these say that
  their children are not their own, and the same command mends it.
* No pod restarts as a rule. A workload that the Go operator rendered gets the annotation
  `nvidia.com/dynamo-hooks-rendering: 0.<digest of its spec>` and is held: it stays as it is until its spec changes, or
  the annotation `nvidia.com/dynamo-hooks-rollout: now` on the graph says so. A workload without a ready pod is not
  held, because it has nothing to lose.
* Children get the label `controller-uid` and keep, or get back, their owner reference, so Metacontroller neither
  releases nor recreates them. What our hooks do not render (Services `-p` and `-d`, the model Service that graphs
  share, adapters that no service enables) is neither adopted nor deleted; it goes with its owner.
* An object of another owner is never taken, a claim never deleted, and the replicas of adapters stay.
* `nvidia.com/finalizer` is removed last. The Go operator's webhooks are deleted first, because they refuse every write.
* Every write has preconditions (uid, resourceVersion). After a conflict it is tried again on what is there then, if the
  pods are still made from the same. It may be killed anywhere, and run again.
"""

import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime

import click
import orjson

from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.server.clients.api_server import Refused
from hooks.server.commands.settings_options import read_settings, settings_option
from hooks.tools.cli.cluster_options import Connection, connect, connection_options
from hooks.tools.cli.refusals import describe_refusal
from hooks.tools.cli.values import parse_namespace
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.doctor.facts import Right
from hooks.tools.operating.migration.execution import carry_out
from hooks.tools.operating.migration.go_operator import read_go_operator
from hooks.tools.operating.migration.planner import plan_migration
from hooks.tools.operating.migration.reading import read_found
from hooks.tools.operating.migration.report import summarize, write_json, write_text
from hooks.tools.operating.migration.rights import find_lacking, needs_of_plan, needs_of_storage
from hooks.tools.operating.migration.steps import Plan, Step
from hooks.tools.operating.migration.storage import find_drop_obstacle, plan_storage, store_all
from hooks.tools.operating.migration.way_back import write_way_back


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks migrate -n inference                   what would be done, and which pods would restart
  dynamo-hooks migrate -n inference --apply           do it
  dynamo-hooks migrate --all-namespaces -o json | jq '.[] | select(.restarts > 0)'
  dynamo-hooks migrate --all-namespaces --back        how to return to the Go operator
  dynamo-hooks migrate --store-v1alpha1 --apply       store what is stored as v1beta1 as v1alpha1"""
)
@click.option(
    "-n",
    "--namespace",
    metavar="NAMESPACE",
    callback=lambda context, parameter, name: parse_namespace(context, parameter, name) if name else "",
    help="Namespace to migrate. Default: the namespace of the kubeconfig's context.",
)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Migrate all namespaces.")
@click.option("--apply", "applies", is_flag=True, help="Carry out the plan. Without this option nothing is changed.")
@click.option("--force", is_flag=True, help="Continue although the Go operator still runs. It may undo the changes.")
@click.option("--back", "goes_back", is_flag=True, help="Print the steps back to the Go operator. Nothing is changed.")
@click.option(
    "--store-v1alpha1",
    "stores",
    is_flag=True,
    help="Only store all objects of the cluster as v1alpha1; the Go operator stores v1beta1 since 1.0. Either that "
    "operator must still run, or these hooks with v1beta1 switched on.",
)
@click.option(
    "--drop-v1beta1",
    "drops",
    is_flag=True,
    help="As --store-v1alpha1; then the CRDs offer v1alpha1 only and need no webhook.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print every object of the plan, with the reason.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print the plan.")
@settings_option
@connection_options
def migrate(  # noqa: PLR0913 - one for each option
    *,
    namespace: str,
    everywhere: bool,
    applies: bool,
    force: bool,
    goes_back: bool,
    stores: bool,
    drops: bool,
    verbose: bool,
    output: str,
    set_values: tuple[str, ...],
    connection: Connection,
) -> None:
    """Take over the graphs, components, models and requests of a Go operator, without restarting their pods.

    Prints a plan: what will be done to each object, which pods will restart, and why. --apply carries it out; you can
    interrupt it and run it again at any time. Stop the Go operator first (this command says how), and install the
    controllers afterwards. If the hooks run with other settings than the defaults, give the same ones with --set.

    Pods that the Go operator rendered stay as they are until the spec of their graph or component changes. The exit
    status is 1 if --apply is refused, would be refused, or could not do all steps.
    """
    if namespace and everywhere:
        raise click.UsageError("-n and --all-namespaces contradict each other; give one of them")
    if (stores or drops) and namespace:
        raise click.UsageError("-n contradicts --store-v1alpha1 and --drop-v1beta1: a CRD is that of the whole cluster")
    settings = read_settings(set_values)
    try:
        with connect(connection) as cluster:
            if goes_back:
                _print_way_back(cluster, namespace)
                return
            if stores or drops:
                _store(cluster, drops=drops, applies=applies, output=output)
                return
            chosen = "" if everywhere else namespace or cluster.namespace
            plan = _plan(cluster, chosen, settings)
            _print(plan, output=output, verbose=verbose, is_short=applies)
            is_whole = _migrate(cluster, chosen, plan, applies=applies, force=force)
    except Refused as refused:
        click.echo(f"{describe_refusal(refused)}\nNothing is lost: run the same command again.", err=True)
        sys.exit(1)
    if not is_whole:
        sys.exit(1)


def _print_way_back(cluster: Cluster, namespace: str) -> None:
    text = write_way_back(namespace, read_go_operator(cluster, namespace))
    with guard_output():
        click.echo(text, nl=False)


def _store(cluster: Cluster, *, drops: bool, applies: bool, output: str) -> None:
    """Print what is to be done about stored versions and, if wanted, do it."""
    plan = plan_storage(cluster, drops=drops)
    with guard_output():
        if output == "json":
            click.echo(orjson.dumps([one.to_json() for one in plan], option=orjson.OPT_INDENT_2).decode())
        else:
            click.echo("\n".join(one.sentence for one in plan) or "The cluster has no CRD of Dynamo.")
    obstacle = find_drop_obstacle(cluster) if any(one.drops for one in plan) else ""
    if obstacle:
        click.echo(f"{'Refused' if applies else '--apply will be refused'}: {obstacle}", err=True)
        click.echo("Nothing was changed.", err=True)
        sys.exit(1)
    if applies:
        _check_rights(cluster, needs_of_storage([one.kind for one in plan if one.foreign]) if plan else ())
        if not store_all(cluster, plan, lambda line: click.echo(line, err=True), time.sleep):
            sys.exit(1)
    elif any(one.is_work for one in plan):
        click.echo("Nothing was changed; --apply does it.", err=True)


def _plan(cluster: Cluster, namespace: str, settings: Settings) -> Plan:
    facts = Facts(now=datetime.now(UTC), settings=settings)
    return plan_migration(read_found(cluster, namespace, facts), facts)


def _print(plan: Plan, *, output: str, verbose: bool, is_short: bool) -> None:
    """Print the plan; of one that is carried out now, only the summary, unless the whole is asked for."""
    with guard_output():
        if output == "json":
            click.echo(orjson.dumps(write_json(plan), option=orjson.OPT_INDENT_2).decode())
        elif is_short and not verbose:
            click.echo("\n".join([summarize(plan), *(f"Warning: {one}" for one in plan.warnings)]))
        else:
            click.echo("\n".join(write_text(plan, verbose=verbose)))


def _migrate(cluster: Cluster, namespace: str, plan: Plan, *, applies: bool, force: bool) -> bool:
    """Carry out the plan, if wanted and allowed; whether nothing was refused and all was done."""
    if namespace and not plan.steps:
        click.echo(f"Looked in namespace {namespace} only; --all-namespaces looks in all.", err=True)
    is_allowed = _tell_refusals(plan, force=force, refused="Refused" if applies else "--apply will be refused")
    if not applies:
        if plan.work:
            click.echo("Nothing was changed; --apply does it." if is_allowed else "Nothing was changed.", err=True)
        return is_allowed
    if not is_allowed:
        click.echo("Nothing was changed.", err=True)
        return False
    _check_rights(cluster, needs_of_plan(plan))
    return _apply(plan, cluster)


def _check_rights(cluster: Cluster, needs: Iterable[Right]) -> None:
    """End the command before it changes anything if the user lacks a right."""
    if lacking := find_lacking(cluster, needs):
        click.echo(f"Refused: {lacking}.\nNothing was changed.", err=True)
        sys.exit(1)


def _tell_refusals(plan: Plan, *, force: bool, refused: str) -> bool:
    """Print why the plan may not be done; whether it may."""
    for sentence in plan.obstacles:
        click.echo(f"{refused}: {sentence}", err=True)
    for sentence in plan.refusals:
        click.echo(f"{'Overridden by --force' if force else refused}: {sentence}", err=True)
    return not plan.obstacles and (force or not plan.refusals)


def _apply(plan: Plan, cluster: Cluster) -> bool:
    done = carry_out(plan, cluster, _tell_step, time.sleep)
    if not plan.work:
        return True
    if done:
        click.echo("Done.", err=True)
    else:
        click.echo("Not all was done; run the same command again, and look at what it says then.", err=True)
    return done


def _tell_step(step: Step, failure: str) -> None:
    click.echo(f"{step.title}: {f'not done, {failure}' if failure else step.action.value}", err=True)
