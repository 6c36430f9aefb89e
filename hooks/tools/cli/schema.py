"""`dynamo-hooks schema`: JSON Schemas of the kinds, for editors and for programs that check files."""

from pathlib import Path

import click

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.api.resources import CustomResource
from hooks.language.crds.definitions import all_resources, suggest_kind
from hooks.language.crds.json_schema import build_file, build_files, format_schema
from hooks.language.versions import VERSIONS
from hooks.tools.offline.manifests.writing import guard_output

_COMMANDS = ("diff", "upgrade-plan")
"""Commands whose output has a schema."""


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks schema DynamoGraphDeployment > graph.json
  dynamo-hooks schema dgd --version v1beta1 > graph-v1beta1.json
  dynamo-hooks schema diff > diff.schema.json
  dynamo-hooks schema --directory schemas
\b
Then:
  kubeconform -schema-location default \\
    -schema-location 'schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json' graph.yaml
  # yaml-language-server: $schema=schemas/all.json"""
)
@click.argument("kind", required=False)
@click.option(
    "--version",
    type=click.Choice(list(VERSIONS.names)),
    default=contract.VERSION,
    show_default=True,
    help="The version of KIND; only graphs, components and scaling adapters have v1beta1.",
)
@click.option(
    "-d",
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one file for each kind and version, and all.json for documents of any kind, into this directory.",
)
def schema(*, kind: str | None, version: str, directory: Path | None) -> None:
    """Print the JSON Schema of KIND, or write those of all kinds into a directory.

    KIND is a kind or its short name: DynamoGraphDeployment, dgd. Or it is a command, diff or upgrade-plan, whose
    `-o json` is described. Editors complete and check fields by such a schema. It knows every field with its type,
    limits and description; rules between fields are left to `dynamo-hooks validate`.
    """
    if (kind is None) is (directory is None):
        raise click.UsageError("give either KIND or --directory")
    if directory is not None:
        _write_files(directory)
    elif kind is not None:
        with guard_output():
            click.echo(format_schema(_build(kind, version)), nl=False)


def _build(kind: str, version: str) -> dict[str, Json]:
    if kind not in _COMMANDS:
        return build_file(_find_resource(kind, version))
    from hooks.tools.offline.diff import json_schema  # noqa: PLC0415 - loads all that compares

    return json_schema.build_diff_schema() if kind == "diff" else json_schema.build_upgrade_schema()


def _find_resource(kind: str, version: str) -> CustomResource:
    named = [found for found in all_resources() if kind.lower() in {found.kind.lower(), found.short_name, found.plural}]
    if not named:
        raise click.BadParameter(f"there is no kind {kind!r}; {suggest_kind(kind)}", param_hint="KIND")
    found = next((found for found in named if found.version == version), None)
    if found is None:
        raise click.BadParameter(f"{named[0].kind} has no version {version}", param_hint="--version")
    return found


def _write_files(directory: Path) -> None:
    try:
        for name, found in build_files().items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(format_schema(found), encoding="utf-8")
            click.echo(f"wrote {path}", err=True)
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be written: {error.strerror}") from error
