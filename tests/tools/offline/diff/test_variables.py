"""Values of environment variables are in no output of a diff unless they are asked for."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hooks.server.commands.main import main
from hooks.tools.offline.diff.variables import NOTE
from tests import make


def write(path: Path, **container: Any) -> str:
    service = make.service()
    spec = {**service["extraPodSpec"], "mainContainer": {**service["extraPodSpec"]["mainContainer"], **container}}
    path.write_text(yaml.safe_dump(make.graph({"Worker": {**service, "extraPodSpec": spec}})))
    return str(path)


def variables(value: str) -> list[dict[str, str]]:
    return [{"name": "TOKEN", "value": value}]


def run(*words: str) -> str:
    done = CliRunner().invoke(main, ["diff", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def changed(tmp_path: Path) -> tuple[str, str]:
    return (
        write(tmp_path / "old.yaml", env=variables("secret-1")),
        write(tmp_path / "new.yaml", env=variables("secret-2")),
    )


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_changed_values_are_shown_only_on_request(changed: tuple[str, str], form: str) -> None:
    hidden = run("-o", form, *changed)
    assert "TOKEN" in hidden
    assert "secret-" not in hidden
    shown = run("-o", form, "--show-values", *changed)
    assert "secret-1" in shown
    assert "secret-2" in shown


def test_text_names_the_variable_and_says_how_to_see_its_value(changed: tuple[str, str]) -> None:
    hidden = run(*changed)
    assert "env[TOKEN].value: (changed)" in hidden
    assert NOTE in hidden
    assert NOTE not in run("--show-values", *changed)


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_value_of_a_new_variable_is_not_shown(tmp_path: Path, form: str) -> None:
    old, new = write(tmp_path / "old.yaml"), write(tmp_path / "new.yaml", env=variables("secret-2"))
    hidden = run("-o", form, old, new)
    assert "TOKEN" in hidden
    assert "secret-" not in hidden


def test_other_fields_are_shown_and_need_no_note(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old.yaml", args=["--a"]), write(tmp_path / "new.yaml", args=["--b"])
    shown = run(old, new)
    assert "--b" in shown
    assert NOTE not in shown
