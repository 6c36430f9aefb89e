"""`dynamo-hooks validate`: every problem of the manifests, each with file and line."""

import click

from hooks.cli.options import known_kinds_option, namespace_option, read_offline_settings, settings_option


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks validate graph.yaml
  dynamo-hooks validate --with grove,inference-pool -o json manifests/
  cat graph.yaml | dynamo-hooks validate -"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@namespace_option
@known_kinds_option
@settings_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    help="How to print the problems; `github` marks their lines in a pull request on GitHub.",
)
def validate(
    *,
    files: tuple[str, ...],
    namespace: str,
    installed: frozenset[str] | None,
    set_values: tuple[str, ...],
    output: str,
) -> None:
    """Check manifests as the API server and admission would. Print every problem and warning with file and line.

    FILE is a file, a directory (read recursively) or - for standard input. Objects of other kinds are not checked. In a
    directory, files that hold no manifest are skipped: values, patches and templates of Helm and Kustomize, and files
    of other programs. The exit status is 1 if there is a problem, else 0, also with warnings.
    """
    from hooks.cli.validation import print_findings  # noqa: PLC0415 - loads all rules, of which `--help` needs none

    print_findings(files, namespace, read_offline_settings(set_values), installed, output=output)
