"""What the pages and the map of the code name is really there."""

import re
from pathlib import Path

import click
import pytest

import hooks
from hooks.ground.settings import Settings
from hooks.server.commands.main import LazyGroup, main
from tests.docs.worker_tables import write_worker_tables

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SETTINGS = ROOT / "docs/reference/settings.md"
ARCHITECTURE = ROOT / "docs/architecture.md"
PAGES = (README, ROOT / "CONTRIBUTING.md", ROOT / "crds/README.md", *sorted((ROOT / "docs").rglob("*.md")))
FOLDERS = "bench|chart|crds|docs|examples|hooks|metacontroller|tests"


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
    text = SETTINGS.read_text()
    pattern = re.compile(r"(<!-- settings -->\n).*?(<!-- /settings -->)", re.DOTALL)
    expected = pattern.sub(lambda m: f"{m[1]}{settings_table()}\n{m[2]}", text)
    if request.config.getoption("--update-golden"):
        SETTINGS.write_text(expected)
    assert SETTINGS.read_text() == expected


def test_tables_of_workers_are_those_of_the_code(request: pytest.FixtureRequest) -> None:
    text = ARCHITECTURE.read_text()
    pattern = re.compile(r"(<!-- workers -->\n).*?(<!-- /workers -->)", re.DOTALL)
    expected = pattern.sub(lambda m: f"{m[1]}{write_worker_tables()}\n{m[2]}", text)
    assert write_worker_tables() in expected
    if request.config.getoption("--update-golden"):
        ARCHITECTURE.write_text(expected)
    assert ARCHITECTURE.read_text() == expected, "make golden writes the tables again"


def test_first_screen_has_the_two_commands() -> None:
    lines = README.read_text().splitlines()
    assert len(lines) <= 60, "README is one screen: move the rest to a page of docs/"
    screen = "\n".join(lines[:40])
    assert re.findall(r"^make (\w+)", screen, re.MULTILINE) == ["demo", "test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_named_exists(page: Path) -> None:
    code = code_in(page.read_text())
    named = set(re.findall(r"^(?:\.venv/bin/)?dynamo-hooks ([a-z-]+)", code, re.MULTILINE))
    assert named <= set(LazyGroup.modules)
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z0-9-]+)", code, re.MULTILINE)) <= targets


@pytest.mark.parametrize("command", sorted(LazyGroup.modules))
def test_every_command_explains_itself_with_examples(command: str) -> None:
    assert isinstance(main, LazyGroup)
    found = main.get_command(click.Context(main), command)
    assert found is not None
    help_text = found.get_help(click.Context(found, info_name=command))
    assert f"dynamo-hooks {command}" in help_text


def code_in(text: str) -> str:
    """What a page shows as code, in the text or as a block."""
    blocks = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    return "\n".join([*blocks.findall(text), *re.findall(r"`([^`]+)`", blocks.sub("", text))])


def paths_of(page: Path) -> list[Path]:
    """The files that a page links to, from where it stands, and those that its code names, from the root."""
    text = page.read_text()
    linked = [page.parent / path for path in re.findall(r"\]\(([\w/.-]+)(?:#[\w-]*)?\)", text)]
    named = re.findall(rf"(?<![\w/.<-])((?:{FOLDERS})/[\w/.*-]*)", code_in(text))
    return [*linked, *(ROOT / path for path in named)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_named_exists(page: Path) -> None:
    paths = paths_of(page)
    assert [path for path in paths if not list(ROOT.glob(str(path.resolve().relative_to(ROOT)).rstrip("/")))] == []


def test_map_answers_where_things_are() -> None:
    assert hooks.__doc__ is not None
    _, _, table = hooks.__doc__.partition("Where is …?")
    answers = [line.removeprefix("* ").split(": ") for line in table.strip().splitlines()]
    assert len(answers) > 20
    assert [path for _, paths in answers for path in paths.split(", ") if not (ROOT / path).exists()] == []


def test_map_names_every_package() -> None:
    assert hooks.__doc__ is not None
    top = ROOT / "hooks"
    rooms = [top, *(path for path in sorted(top.iterdir()) if path.is_dir())]
    packages = {path.parent.name for room in rooms for path in room.glob("*/__init__.py")}
    modules = {path.stem for path in rooms[0].glob("*.py")} - {"__init__", "__main__", "pytest_plugin"}
    named = set(re.findall(r"`([a-z0-9_]+)`", hooks.__doc__))
    assert (packages | modules) - named == set()
    assert {name for name in named if not any(list(room.glob(f"{name}*")) for room in rooms)} == set()
