"""What `dynamo-hooks diff` does with its arguments: compares two sides, and writes the answer or why there is none."""

import click
import orjson

from hooks.tools.cli.colours import paint
from hooks.tools.cli.options import read_offline_settings
from hooks.tools.cli.sides import ComparedSides, compare_sides, fail
from hooks.tools.offline.diff.as_json import write_json
from hooks.tools.offline.diff.markdown import write_markdown
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.diff.text import write_text
from hooks.tools.offline.diff.variables import without_values
from hooks.tools.offline.manifests.reading import ManifestFaults
from hooks.tools.offline.manifests.writing import guard_output


def compare(sides: ComparedSides) -> Difference:
    """The difference; if there can be none, ends the process with a message and exit status 2."""
    settings = read_offline_settings(sides.reading.set_values)
    try:
        if not sides.old.is_live and sides.answer.nodes is None:
            return compare_sides(sides, settings)
        from hooks.tools.cli.live_comparison import compare_on_nodes  # noqa: PLC0415 - files alone need no API server

        return compare_on_nodes(sides, settings)
    except ManifestFaults as error:
        fail(map(str, error.faults))


def show(found: Difference, output: str, *, shows_values: bool) -> None:
    """Print the difference in the form that the user chose; values of environment variables only if asked for."""
    shown = found if shows_values else without_values(found)
    with guard_output():
        click.echo(_write(shown, output), nl=False)


def _write(difference: Difference, output: str) -> str:
    match output:
        case "json":
            return orjson.dumps(write_json(difference), option=orjson.OPT_INDENT_2).decode() + "\n"
        case "markdown":
            return write_markdown(difference)
        case _:
            return write_text(difference, paint)
