"""`dynamo-hooks self-test`: asks running hooks and admission as their callers do; `helm test` runs it."""

import sys
from pathlib import Path

import click

from hooks.server.self_test import list_checks, run_check


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks self-test --url http://127.0.0.1:8080
  dynamo-hooks self-test --url http://dynamo-hooks.dynamo-system --token-file /etc/dynamo-hooks/callers/token \\
      --admission-url https://dynamo-hooks-admission.dynamo-system.svc --ca-file ca.crt"""
)
@click.option("--url", required=True, metavar="URL", help="Where the hooks listen.")
@click.option("--token-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Token of callers.")
@click.option("--admission-url", default="", metavar="URL", help="Where admission listens. Default: it is not asked.")
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Authorities that the webhooks trust. Default: those of this machine.",
)
def self_test(*, url: str, token_file: Path | None, admission_url: str, ca_file: Path | None) -> None:
    """Ask running hooks, and admission, as Metacontroller and the API server do; print one line for each check.

    Nothing is written anywhere. The exit status is 1 if a check fails.
    """
    token = token_file.read_text().strip() if token_file else ""
    failed = False
    trusted = str(ca_file) if ca_file else True
    for check in list_checks(url.rstrip("/"), token, admission_url=admission_url.rstrip("/"), trusted=trusted):
        fault = run_check(check)
        failed = failed or bool(fault)
        click.echo(f"failed: {check.name}: {fault}" if fault else f"ok: {check.name}")
    sys.exit(1 if failed else 0)
