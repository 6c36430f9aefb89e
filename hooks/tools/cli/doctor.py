"""`dynamo-hooks doctor`: what is wrong with an installation, or missing for one, each with its remedy."""

import sys
from datetime import UTC, datetime

import click

from hooks.ground.k8s.names import is_dns_label
from hooks.server.clients.api_server import Refused
from hooks.tools.cli.cluster_options import Connection, connect, connection_options
from hooks.tools.cli.refusals import describe_refusal
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.operating.doctor.examination import examine, has_errors
from hooks.tools.operating.doctor.reading import read_facts
from hooks.tools.operating.doctor.report import format_json, format_text


def _parse_namespace(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    if name and not is_dns_label(name):
        raise click.BadParameter(f"{name!r} is not a namespace; write at most 63 of a-z, 0-9 and '-'")
    return name


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks doctor
  dynamo-hooks doctor --context production -n dynamo-system
  dynamo-hooks doctor -o json | jq '.[] | select(.level == "error")'
  dynamo-hooks doctor --server https://192.0.2.1:6443 --token-file token --ca-file ca.crt"""
)
@click.option(
    "-n",
    "--namespace",
    default="",
    metavar="NAMESPACE",
    callback=_parse_namespace,
    help="Namespace in which the hooks run. Default: all namespaces are searched.",
)
@connection_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How to print the findings.",
)
def doctor(*, namespace: str, connection: Connection, output: str) -> None:
    """Check an installation, or list what a new one still needs. Nothing in the cluster is changed.

    It checks the versions of Kubernetes and Metacontroller, Metacontroller's flags, CRDs, controllers, optional kinds,
    Grove, certificates and rights; whether the hooks and the prober can be reached and objects are synced; and whether
    other controllers, such as the Go operator, manage the same objects. For each problem it prints the command that
    solves it. Checks that your account has no rights for are listed and skipped. The exit status is 1 if there is an
    error, and 0 if there are only warnings.
    """
    try:
        with connect(connection) as cluster:
            facts = read_facts(cluster, datetime.now(UTC), namespace)
    except Refused as refused:
        click.echo(describe_refusal(refused), err=True)
        sys.exit(1)
    findings = examine(facts)
    text = format_json(findings) if output == "json" else format_text(findings, is_installed=facts.is_installed)
    with guard_output():
        click.echo(text, nl=False)
    sys.exit(1 if has_errors(findings) else 0)
