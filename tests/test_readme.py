"""The README's commands and settings are real."""

import re
from pathlib import Path

import click
import pytest

from hooks.cli.main import LazyGroup, main
from hooks.settings import Settings

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def settings_table() -> str:
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for key, field in Settings.model_fields.items():
        rows.append(f"| `{key}` | {format_default(field.default)} | {field.description} |")
    return "\n".join(rows)


def format_default(value: object) -> str:
    if value == 16 * 2**20:
        return "`16 MiB`"
    text = ",".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)
    return f"`{text}`" if text else "empty"


def test_settings_table_is_that_of_the_code(request: pytest.FixtureRequest) -> None:
    text = README.read_text()
    pattern = re.compile(r"(<!-- settings -->\n).*?(<!-- /settings -->)", re.DOTALL)
    expected = pattern.sub(lambda m: f"{m[1]}{settings_table()}\n{m[2]}", text)
    if request.config.getoption("--update-golden"):
        README.write_text(expected)
    assert README.read_text() == expected


def test_first_screen_has_the_two_commands() -> None:
    screen = "\n".join(README.read_text().splitlines()[:40])
    assert re.findall(r"^make (\w+)", screen, re.MULTILINE) == ["demo", "test"]


def test_every_command_named_exists() -> None:
    named = set(re.findall(r"(?:^|`)dynamo-hooks ([a-z]+)", README.read_text(), re.MULTILINE))
    assert named <= set(LazyGroup.modules)


@pytest.mark.parametrize("command", sorted(LazyGroup.modules))
def test_every_command_explains_itself_with_examples(command: str) -> None:
    assert isinstance(main, LazyGroup)
    found = main.get_command(click.Context(main), command)
    assert found is not None
    help_text = found.get_help(click.Context(found, info_name=command))
    assert f"dynamo-hooks {command}" in help_text


def test_every_path_named_exists() -> None:
    named = re.findall(r"\]\(([a-zA-Z/.]+)\)|`((?:examples|tests|crds|hooks|chart)/[\w/.-]*)`", README.read_text())
    paths = [first or second for first, second in named]
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
