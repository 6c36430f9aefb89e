"""Texts that are nested or multiplied without end: they leak no secret, cost little, and end no process."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hooks.ground.k8s.nesting import MOST_LISTS
from hooks.ground.settings import parse_settings
from hooks.server.commands.main import main
from hooks.server.recording.answering import Heard
from hooks.server.recording.blanking import Blanks, blank
from hooks.server.recording.keeping import Keeper
from tests import make
from tests.hostile_yaml import DEEP, NUMBERS, WIDE
from tests.server.serving.servers import SYNC, SYNC_PATH

SECRET = "s3cr3t-value"
BLANKS = Blanks(b"key")


def blank_text(text: str) -> str:
    (found,) = blank({"kind": "ConfigMap", "data": {"a": text}}, BLANKS)["data"].values()
    return str(found)


@pytest.mark.parametrize("text", [*DEEP.values(), *WIDE.values()], ids=[*DEEP, *WIDE])
def test_text_beyond_a_bound_is_one_placeholder(text: str) -> None:
    holding = f"x: {{env: [{{name: P, value: {SECRET}}}]}}\n---\n{text}"
    assert blank_text(holding) == BLANKS.text(holding)


@pytest.mark.parametrize("depth", [MOST_LISTS + 1, 150, 260, 290, 320, 600, 1_000, 5_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_deep_json_shows_no_secret(opening: str, closing: str, depth: int) -> None:
    inner = json.dumps({"env": [{"name": "P", "value": SECRET}]})
    assert SECRET not in blank_text(f"{opening * depth}{inner}{closing * depth}")


@pytest.mark.parametrize("scalar", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_any_length_are_blanked(scalar: str) -> None:
    found = blank_text(f"a: {scalar}\nenv:\n- {{name: P, value: {SECRET}}}\n")
    assert SECRET not in found
    assert "blank-" in found


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The file of one call."""
    Keeper(tmp_path, parse_settings({}), lambda: make.NOW).keep(Heard(SYNC_PATH, SYNC, b"{}", b""))
    (file,) = tmp_path.iterdir()
    return file


def replay(directory: Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["replay", str(directory)])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[" * 60 + "]" * 60, "the file holds no recorded call: its lists are nested too deeply"),
        ('{"a":' * 300 + "1" + "}" * 300, "the file holds no recorded call"),
        ("[" * 40_000, "the file holds no recorded call"),
    ],
    ids=["lists", "objects", "open"],
)
def test_deep_recording_is_refused(recorded: Path, value: str, said: str) -> None:
    call: dict[str, Any] = json.loads(recorded.read_text())
    call["request"]["parent"]["spec"]["deep"] = "HERE"
    recorded.write_text(json.dumps(call).replace('"HERE"', value))
    assert replay(recorded.parent) == (1, f"Error: {recorded.parent}: {recorded.name}: {said}\n")


def test_pipe_among_recordings_is_refused(recorded: Path) -> None:
    os.mkfifo(recorded.with_name("b.call.json"))
    said = f"Error: {recorded.parent}: b.call.json is no file; take it out of the directory\n"
    assert replay(recorded.parent) == (1, said)
