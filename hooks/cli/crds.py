"""`dynamo-hooks crds`: the CustomResourceDefinitions, for `kubectl apply`."""

import click

from hooks.manifests.writing import format_documents, guard_output
from hooks.metacontroller import install_files


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks crds | kubectl apply -f -
  dynamo-hooks crds -o json > crds.json"""
)
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="YAML documents or a JSON list."
)
def crds(*, output: str) -> None:
    """Print the CustomResourceDefinitions: the five kinds, and DynamoWorkerMetadata, which workers write."""
    with guard_output():
        click.echo(format_documents(install_files.crds(), output), nl=False)
