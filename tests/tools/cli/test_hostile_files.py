"""Files that once ended a command, or kept it busy for long: each gets one sentence, and the exit status is 1."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile_yaml import DEEP, DEPTH, NUMBERS, WIDE
from tests.tools.offline.manifests.test_directories import graph
from tests.waiting import PATIENCE

BOUND = "is not read: it is nested more than 100 deep, or an alias contains itself"
WRONG = sorted(NUMBERS.keys() - {"fraction"})
"""Numbers that are no count; the fraction is 0.0."""
SAID = {
    "aliases of aliases": "is not read: its aliases stand for more than 100000 values; use fewer aliases",
    "pairs of aliases": "is not read: its aliases stand for more than 100000 values; use fewer aliases",
    "wide aliases": "is not read: its aliases stand for more than 100000 values; use fewer aliases",
    "directives": "is not read: it has %TAG more than 100 times; Kubernetes needs none",
    "same key": "is not read: it has more than 1000 faults, such as keys given twice; mend those before this line",
    "documents": "is not read: it has more than 10000 documents; split it",
    "values": "is an array, should be an object with apiVersion, kind and metadata",
}


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which a signal may end."""
    command = [sys.executable, "-m", "hooks", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def write(folder: Path, texts: dict[str, str], suffix: str = ".yaml") -> dict[str, Path]:
    found = {name: folder / f"{name.replace(' ', '-')}{suffix}" for name in texts}
    for name, path in found.items():
        path.write_text(texts[name])
    return found


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_deep_files_have_one_sentence_each(tmp_path: Path, suffix: str) -> None:
    files = write(tmp_path, DEEP, suffix)
    done = run("validate", *files.values())
    assert (done.returncode, done.stdout) == (1, "")
    *lines, count = sorted(done.stderr.splitlines(), key=lambda line: line == f"{len(DEEP)} problems")
    assert count == f"{len(DEEP)} problems"
    found = {re.sub(r":\d+: ", " ", line) for line in lines}
    assert found == {f"{path} {BOUND}" for path in files.values()}


@pytest.mark.parametrize("command", [["render"], ["convert", "--to", "v1beta1"], ["graph"], ["explain"]], ids=" ".join)
def test_other_commands_refuse_a_deep_file(tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text("[" * DEPTH)
    done = run(*command, path)
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr
    assert BOUND in done.stderr


def test_wide_files_have_one_sentence_each(tmp_path: Path) -> None:
    files = write(tmp_path, {name: WIDE[name] for name in SAID})
    done = run("validate", *files.values())
    assert done.returncode == 1
    found = [re.sub(r":\d+: ", " ", line) for line in done.stderr.splitlines()[: len(SAID)]]
    assert sorted(found) == sorted(f"{files[name]} {said}" for name, said in SAID.items())


@pytest.mark.parametrize("number", [NUMBERS[name] for name in WRONG], ids=WRONG)
def test_number_of_any_length_has_a_short_sentence(tmp_path: Path, number: str) -> None:
    path = tmp_path / "graph.yaml"
    path.write_text(graph().replace("componentType: frontend", f"componentType: frontend, replicas: {number}"))
    done = run("validate", path)
    assert done.returncode == 1
    sentence, count = done.stderr.splitlines()
    assert sentence.startswith(f"{path}:4: spec.services[F].replicas: is ")
    assert len(sentence) < len(str(path)) + 300
    assert count == "1 problem"


def test_kubeconfig_that_is_nested_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("[" * DEPTH)
    done = run("doctor", "--kubeconfig", path)
    assert done.returncode not in {0, 139, -11}
    assert f"{path}:1 cannot be read: it is nested more than 100 deep, or an alias contains itself" in done.stderr
