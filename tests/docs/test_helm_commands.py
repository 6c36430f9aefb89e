"""Every helm command of a page that installs our chart gives values that the chart takes; where helm is found."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.docs.markdown import read_blocks
from tests.docs.test_commands import PAGES, ROOT
from tests.installation import program

_OURS = re.compile(r"^helm (?:install|upgrade(?: --install)?) (?P<release>\S+) chart/ (?P<rest>.*)$", re.MULTILINE)
_WITH_VALUE = frozenset({"--set", "--set-string", "--values", "--namespace"})
_VARIABLES = {"$REGISTRY": "registry.example.com/ai", "NEW_VERSION": "0.1.0"}


def helm_commands() -> Iterator[Any]:
    for page in (*PAGES, ROOT / "chart/README.md"):
        for block in read_blocks(page):
            for found in _OURS.finditer(block.text.replace("\\\n", " ")):
                name = f"{page.relative_to(ROOT)}:{block.line}"
                yield pytest.param(found["release"], found["rest"], id=name)


def kept_options(rest: str) -> list[str]:
    """The options that say what is rendered, with the variables of the pages filled in."""
    for variable, value in _VARIABLES.items():
        rest = rest.replace(variable, value)
    words = iter(shlex.split(rest, comments=True))
    return [part for word in words if word in _WITH_VALUE for part in (word, next(words))]


@pytest.mark.parametrize(("release", "rest"), list(helm_commands()))
def test_chart_takes_the_values_of_the_command(release: str, rest: str) -> None:
    command = [program("helm"), "template", release, str(ROOT / "chart"), "--kube-version", "1.36.0"]
    done = subprocess.run([*command, *kept_options(rest)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    kind = "CustomResourceDefinition" if "crds.only=true" in rest else "Deployment"
    assert f"kind: {kind}\n" in done.stdout


def test_commands_are_found_with_their_options() -> None:
    assert len(list(helm_commands())) > 5
    rest = '--namespace n --create-namespace --set image.repository="$REGISTRY/x" --wait'
    assert kept_options(rest) == ["--namespace", "n", "--set", "image.repository=registry.example.com/ai/x"]


def test_values_for_metacontroller_are_those_that_the_chart_expects() -> None:
    values = yaml.safe_load((ROOT / "docs/files/metacontroller-values.yaml").read_text())
    ours = yaml.safe_load((ROOT / "chart/values.yaml").read_text())
    assert values["serviceAccount"]["name"] == ours["metacontroller"]["serviceAccount"]
    flags = {flag.partition("=")[0] for flag in values["commandArgs"]}
    assert {"--client-go-qps", "--client-go-burst", "--workers"} <= flags
