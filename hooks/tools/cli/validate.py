"""`dynamo-hooks validate`: every problem of the manifests, each with file and line."""

import click

from hooks.server.commands.kind_options import known_kinds_option
from hooks.server.commands.settings_options import settings_option
from hooks.tools.cli.build_options import build_options
from hooks.tools.cli.options import namespace_option, origin_option, read_offline_settings
from hooks.tools.offline.manifests.built.building import Building


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks validate graph.yaml
  dynamo-hooks validate --with grove,inference-pool -o json manifests/
  dynamo-hooks validate 'manifests/**/*.yaml' --exclude 'manifests/old'
  dynamo-hooks validate overlays/production charts/llm --values production.yaml
  dynamo-hooks validate --strict -o sarif . > dynamo.sarif
  cat graph.yaml | dynamo-hooks validate -"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@namespace_option
@known_kinds_option
@settings_option
@build_options
@origin_option
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave out files of directories and patterns: a path, a directory, or a name, with * and ?; can be given "
    "several times.",
)
@click.option(
    "--strict",
    "is_strict",
    is_flag=True,
    help="Warnings fail too, but not those about Grove while --with is not given.",
)
@click.option("--allow-none", "allows_none", is_flag=True, help="No manifest of Dynamo at all is no error.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "github", "gitlab", "junit", "sarif"]),
    default="text",
    help="How to print the problems. `github` marks their lines in a pull request on GitHub, `gitlab` is a report of "
    "code quality, `junit` XML, `sarif` SARIF 2.1.0.",
)
def validate(  # noqa: PLR0913 - one for each option
    *,
    files: tuple[str, ...],
    namespace: str,
    installed: frozenset[str] | None,
    set_values: tuple[str, ...],
    building: Building,
    origin: str,
    exclude: tuple[str, ...],
    is_strict: bool,
    allows_none: bool,
    output: str,
) -> None:
    """Check manifests as the API server and admission would. Print every problem and warning with file and line.

    FILE is a file, a directory (read recursively), a pattern such as 'manifests/**/*.yaml', or - for standard input. A
    directory with a Kustomization is built by kustomize or kubectl, a chart by helm, which must be on PATH; lines are
    those of the bases, patches and templates where they are known. Objects of other kinds are not checked. In other
    directories, files that hold no manifest are skipped: values, patches and templates of Helm and Kustomize, and files
    of other programs. Those that contain nvidia.com/ are named.

    The exit status is 1 if there is a problem or nothing was checked, else 0, also with warnings.
    """
    from hooks.tools.cli.validation import Judging, print_findings  # noqa: PLC0415 - loads all rules; `--help` needs none
    from hooks.tools.offline.manifests.inputs import Selection  # noqa: PLC0415

    print_findings(
        files,
        namespace,
        read_offline_settings(set_values),
        installed,
        selection=Selection(exclude=exclude, building=building, origin=origin),
        judging=Judging(output=output, is_strict=is_strict, allows_none=allows_none),
    )
