"""`dynamo-hooks prepare-uninstall`: what must be done before an installation is removed; the chart's Job runs it."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from hooks.server.clients.api_server import ApiServer, Refused
from hooks.tools.cli.cluster_options import Connection, connect, connection_options
from hooks.tools.operating.departure import Departure, Talk

_SECONDS = 540.0


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks prepare-uninstall --context my-cluster
  dynamo-hooks prepare-uninstall --installation team-a --namespace team-a --webhooks dynamo-hooks
  dynamo-hooks prepare-uninstall --server https://10.0.0.1:6443 --token-file token --ca-file ca.crt"""
)
@click.option(
    "--installation",
    default="",
    metavar="NAME",
    help="The setting `installation` of a namespace-restricted installation. Default: the whole cluster.",
)
@click.option("--namespace", default="", metavar="NAME", help="Only parents in this namespace. Default: in all.")
@click.option("--webhooks", default="", metavar="NAME", help="Name of the webhook configurations to delete.")
@click.option(
    "--crd",
    "definitions",
    multiple=True,
    metavar="NAME",
    help="A CustomResourceDefinition that these hooks convert. It serves v1alpha1 only afterwards.",
)
@connection_options
def prepare_uninstall(
    *,
    installation: str,
    namespace: str,
    webhooks: str,
    definitions: tuple[str, ...],
    connection: Connection,
) -> None:
    """Delete the installation's controllers and remove their finalizers from all objects of Dynamo.

    Otherwise an object that has such a finalizer could never be deleted once the controllers are gone. Nothing else
    changes: graphs, their children and their pods stay. Objects that keep the label of a namespace-restricted
    installation are named, with the command that removes it. The command may be run again at any time.
    """
    try:
        with _open(connection) as talk:
            departure = Departure(
                talk=talk,
                installation=installation,
                namespace=namespace,
                webhooks=webhooks,
                definitions=definitions,
                wait=time.sleep,
            )
            for line in departure.prepare():
                click.echo(line)
    except Refused as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    click.echo("nothing waits for these hooks any more")


@contextmanager
def _open(connection: Connection) -> Iterator[Talk]:
    """The API server that the options name; if they name none, the pod's with its account, or the kubeconfig's."""
    account = ApiServer.in_cluster()
    if account is not None and connection == Connection():
        with account.converse(_SECONDS) as talk:
            yield talk
    else:
        with connect(connection) as cluster:
            yield cluster
