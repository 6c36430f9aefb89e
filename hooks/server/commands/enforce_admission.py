"""`dynamo-hooks enforce-admission`: sets `failurePolicy: Fail` once admission answers; the chart's Job runs it."""

import sys
from collections.abc import Callable

import click

from hooks.server.admission.enforcing import Enforcement, Silent, ask_readiness
from hooks.server.clients.api_server import ApiServer, Refused
from hooks.server.commands.account_options import account_options

_TALK_SECONDS = 60.0
"""For requests to the API server, beside the time in which a server is awaited."""


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks enforce-admission --validating dynamo-hooks --mutating dynamo-hooks
  dynamo-hooks enforce-admission --validating dynamo-hooks --seconds 60 \\
      --server https://10.0.0.1:6443 --token-file token --ca-file ca.crt"""
)
@click.option("--validating", multiple=True, metavar="NAME", help="A ValidatingWebhookConfiguration.")
@click.option("--mutating", multiple=True, metavar="NAME", help="A MutatingWebhookConfiguration.")
@click.option(
    "--seconds",
    type=click.IntRange(1, 3600),
    default=540,
    show_default=True,
    help="How long to wait until admission answers.",
)
@account_options
def enforce_admission(
    *, validating: tuple[str, ...], mutating: tuple[str, ...], seconds: int, find_server: Callable[[], ApiServer]
) -> None:
    """Wait until admission answers with a trusted certificate, and set failurePolicy Fail in its webhooks.

    Until then the webhooks stay as they are: with failurePolicy Ignore, the API server stores objects that admission
    has not checked. Webhooks that have failurePolicy Fail already are left as they are, without waiting. The exit
    status is 1 if admission did not answer in time.
    """
    paths = [f"validatingwebhookconfigurations/{name}" for name in validating]
    paths += [f"mutatingwebhookconfigurations/{name}" for name in mutating]
    if not paths:
        raise click.UsageError("name webhook configurations with --validating or --mutating")
    try:
        with find_server().converse(seconds + _TALK_SECONDS) as talk:
            enforcement = Enforcement(talk=talk, paths=tuple(paths), ask=ask_readiness, say=click.echo)
            said = enforcement.enforce(seconds)
    except Silent as silent:
        kept = "the webhooks keep failurePolicy Ignore, so nothing is refused while admission is down"
        click.echo(f"{silent}; {kept}. Get the pods of the hooks ready, and run helm upgrade again", err=True)
        sys.exit(1)
    except Refused as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    for line in said or ["all webhooks have failurePolicy Fail already; nothing was done"]:
        click.echo(line)
