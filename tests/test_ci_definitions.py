"""The files for CI: each hook of pre-commit does its work, and so do the steps of the GitHub Action, without GitHub."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hooks.ground.k8s.yaml_reader import Mark
from hooks.ground.problems import HERE
from hooks.language.rules import reading
from hooks.server.commands.main import main
from hooks.tools.offline.manifests.annotations import write_annotations
from hooks.tools.offline.manifests.document import Fault
from tests import effort, fake_gh
from tests.tools.offline.manifests.test_git_revisions import AGG, GRAPH, SCALED, git, write

ROOT = Path(__file__).parent.parent
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
needs_jq = pytest.mark.skipif(which("jq") is None, reason="jq is missing: apt-get install jq")
BROKEN = AGG.replace("replicas: 2", "replicas: many")
MARK = "<!-- dynamo-hooks -->\n"
BOT = "github-actions[bot]"


@dataclass(frozen=True)
class Runner:
    """A machine that runs jobs of GitHub: a checkout, and the files that steps write to."""

    checkout: Path
    temp: Path

    def run(self, step: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a step of the action as GitHub does; inputs that are not given have their defaults."""
        (found,) = (one for one in ACTION["runs"]["steps"] if one["name"] == step)
        values = {f"inputs.{name}": str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        values |= {f"inputs.{name}": value for name, value in inputs.items()}
        values |= {
            "steps.diff.outputs.markdown": self.outputs().get("markdown", ""),
            "github.event.pull_request.number": "7",
        }
        env = {name: re.sub(r"\$\{\{ (.*?) \}\}", lambda m: values[m[1]], text) for name, text in found["env"].items()}
        github = {
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary"),
            "GITHUB_OUTPUT": str(self.temp / "output"),
            "GITHUB_REPOSITORY": "owner/project",
            "RUNNER_TEMP": str(self.temp),
            "PATH": f"{self.temp}{os.pathsep}{os.environ['PATH']}",
            "FAKE_COMMENTS": str(self.temp / "comments.json"),
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]]
        return subprocess.run(
            command, cwd=self.checkout, env={**os.environ, **github, **env}, capture_output=True, text=True, check=False
        )

    def read(self, name: str) -> str:
        path = self.temp / name
        return path.read_text() if path.exists() else ""

    def comment(self, markdown: str, *comments: tuple[str, str], account: str = BOT) -> list[tuple[str, str]]:
        """All comments, as (account, body), after the action has written with the token of an account."""
        written = [
            {"id": f"IC_{number}", "author": author, "body": body} for number, (author, body) in enumerate(comments)
        ]
        diff, kept = self.temp / "diff.md", self.temp / "comments.json"
        write(self.temp, {"diff.md": markdown, "comments.json": json.dumps(written), "output": f"markdown={diff}\n"})
        done = self.run("Comment", token=account)
        assert done.returncode == 0, done.stderr
        return [(comment["author"], comment["body"]) for comment in json.loads(kept.read_text())]

    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.read("output").splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A checkout with an edited graph; the command is installed, and `gh` is tests/fake_gh.py."""
    checkout, temp = tmp_path / "checkout", tmp_path / "temp"
    write(checkout, {GRAPH: AGG})
    git(checkout, "init")
    git(checkout, "add", ".")
    git(checkout, "commit", "--message", "a graph")
    write(checkout, {GRAPH: SCALED})
    (temp / "dynamo-hooks/bin").mkdir(parents=True)
    (temp / "dynamo-hooks/bin/dynamo-hooks").symlink_to(Path(sys.executable).parent / "dynamo-hooks")
    (temp / "gh").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/tests/fake_gh.py" "$@"\n')
    (temp / "gh").chmod(0o755)
    return Runner(checkout, temp)


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_hook_of_pre_commit_runs_a_command_of_the_wheel(hook: dict[str, Any], runner: Runner, monkeypatch: Any) -> None:
    monkeypatch.chdir(runner.checkout)
    program, *command = shlex.split(hook["entry"])
    assert program == "dynamo-hooks"
    done = CliRunner().invoke(main, [*command, *hook["args"]])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(("1 manifest valid", "~ DynamoGraphDeployment default/mocker-agg changed"))


def test_validate_passes_and_says_so_in_the_summary(runner: Runner) -> None:
    done = runner.run("Validate")
    assert (done.returncode, done.stdout) == (0, "1 manifest valid\n"), done.stderr
    assert runner.read("summary") == "### Dynamo manifests\n\n    1 manifest valid\n\n"


def test_validate_marks_the_line_of_a_problem_and_fails(runner: Runner) -> None:
    write(runner.checkout, {GRAPH: BROKEN})
    line = BROKEN.splitlines().index("      replicas: many") + 1
    done = runner.run("Validate", files=f"\n {GRAPH} \n", settings="log_level=debug\nhooks_image=a:1\n")
    assert done.returncode == 1
    first, last = done.stdout.splitlines()
    path = "spec.services[MockerWorker].replicas"
    assert first.startswith(f"::error file={GRAPH},line={line},col=")
    assert f"::{path}: " in first
    assert last == "1 problem"
    assert f"    {GRAPH}:{line}: {path}" in runner.read("summary")


def test_no_text_of_a_manifest_ends_an_annotation() -> None:
    mark = Mark(3, 5)
    problem = reading.NOT_YAML.at(HERE, why="100%\n::error::x, y: z")
    assert write_annotations([Fault("a,b:c%.yaml", mark, problem)], [Fault("d.yaml", mark, problem)]).splitlines() == [
        f"::error file=a%2Cb%3Ac%25.yaml,line=3,col=5::{problem.sentence.replace('%', '%25').replace(chr(10), '%0A')}",
        f"::warning file=d.yaml,line=3,col=5::{problem.sentence.replace('%', '%25').replace(chr(10), '%0A')}",
    ]


def test_inputs_are_no_commands(runner: Runner) -> None:
    done = runner.run("Validate", files="$(touch pwned)\n`touch pwned`", namespace="a; touch pwned")
    assert done.returncode == 2
    assert not (runner.checkout / "pwned").exists()


@pytest.mark.parametrize("step", ["Validate", "Compare"])
def test_no_tool_runs_for_a_pull_request_if_nothing_is_to_be_built(step: str, runner: Runner) -> None:
    marker = runner.temp / "ran"
    (runner.temp / "kustomize").write_text(f"#!/bin/sh\ntouch '{marker}'\ncat {GRAPH}\n")
    (runner.temp / "kustomize").chmod(0o755)
    folder = Path(GRAPH).parent
    write(runner.checkout, {f"{folder}/kustomization.yaml": "resources: [https://other.example/any]\n"})
    done = runner.run(step, base="HEAD", files=str(folder), build="false")
    assert done.returncode == 0, done.stderr
    assert not marker.exists()
    done = runner.run(step, base="HEAD", files=str(folder))
    assert done.returncode == 0, done.stderr
    assert marker.exists()


def test_diff_is_an_output_and_in_the_summary(runner: Runner) -> None:
    done = runner.run("Compare", base="main")
    assert done.returncode == 0, done.stderr
    assert runner.outputs()["changed"] == "true"
    markdown = Path(runner.outputs()["markdown"]).read_text()
    assert markdown.startswith("**Objects: 3 changed. No pod restarts.**")
    assert runner.read("summary") == f"### What it changes\n\n{markdown}"


@pytest.mark.parametrize(("base", "changed"), [("HEAD", "false"), ("", None), ("0" * 40, None)])
def test_nothing_changes_or_there_is_nothing_to_compare_with(runner: Runner, base: str, changed: str | None) -> None:
    write(runner.checkout, {GRAPH: AGG})
    done = runner.run("Compare", base=base)
    assert done.returncode == 0, done.stderr
    assert runner.outputs().get("changed") == changed


def test_shallow_checkout_fetches_its_base(runner: Runner, tmp_path: Path) -> None:
    git(runner.checkout, "commit", "--all", "--message", "scaled")
    git(tmp_path, "clone", "--depth=1", f"file://{runner.checkout}", "shallow")
    base = subprocess.check_output(["git", "rev-parse", "HEAD~"], cwd=runner.checkout, text=True).strip()
    git(runner.checkout, "config", "uploadpack.allowAnySHA1InWant", "true")
    done = Runner(tmp_path / "shallow", runner.temp).run("Compare", base=base)
    assert done.returncode == 0, done.stderr
    assert runner.outputs()["changed"] == "true"


def test_diff_fails_if_the_two_cannot_be_compared(runner: Runner) -> None:
    write(runner.checkout, {GRAPH: BROKEN})
    done = runner.run("Compare", base="main")
    assert done.returncode == 2
    assert runner.outputs() == {}


NEW, OLD = MARK + "**Objects: none.**\n", MARK + "of the last run"
TALK = [("alice", "Looks good."), (BOT, "Coverage: 90 %"), ("bob", f"What does {MARK}mean?")]
FORGED = ("mallory", MARK + "All is well.")


@needs_jq
@pytest.mark.parametrize("account", [BOT, "alice"], ids=["token of the job", "token of a person"])
@pytest.mark.parametrize("others", [[], TALK, [FORGED], [*TALK, FORGED]], ids=["none", "talk", "forged", "all"])
def test_comment_is_written_once_and_then_changed(runner: Runner, account: str, others: list[tuple[str, str]]) -> None:
    written = runner.comment("**Objects: none.**\n", *others, account=account)
    assert written == [*others, (account, NEW)]
    written = runner.comment("**Objects: none.**\n", *others, (account, OLD), *others, account=account)
    assert written == [*others, (account, NEW), *others]


@needs_jq
def test_comment_of_another_account_is_never_changed(runner: Runner) -> None:
    others = [("alice", OLD), FORGED, ("github-actions", OLD), ("other-app[bot]", OLD)]
    assert runner.comment("**Objects: none.**\n", *others) == [*others, (BOT, NEW)]


@needs_jq
def test_nothing_is_written_if_the_comments_cannot_be_read(runner: Runner) -> None:
    write(runner.temp, {"diff.md": "new", "comments.json": "[]", "output": f"markdown={runner.temp}/diff.md\n"})
    assert runner.run("Comment", token=fake_gh.UNABLE).returncode != 0
    assert runner.read("comments.json") == "[]"


@needs_jq
def test_comment_that_is_too_long_keeps_whole_lines(runner: Runner) -> None:
    [(_, body)] = runner.comment("**é**\n" + f"{'é' * 500}\n" * 100 + "<details>\nfolded\n")
    assert len(body) < 65536
    assert body.endswith(f"{'é' * 500}\n\nThe rest is in the summary of the job.\n")
    assert "folded" not in body


def test_install_takes_what_is_locked(runner: Runner, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    fake = '#!/bin/sh\nif [ "$2" = venv ]; then mkdir -p "$3/bin"; ln -sf "$0" "$3/bin/python"; fi\n'
    write(tmp_path, {"python": f'{fake}echo "$@" >> "{calls}"\n'})
    (tmp_path / "python").chmod(0o755)
    done = runner.run("Install", python=str(tmp_path / "python"))
    assert done.returncode == 0, done.stderr
    _, locked, project = calls.read_text().splitlines()
    locks = [f"--requirement {ROOT}/requirements/{name}.txt" for name in ("build", "package")]
    assert locked.endswith(f"--require-hashes --only-binary :all: {' '.join(locks)}")
    assert project.endswith(f"--no-deps --no-index --no-build-isolation {ROOT}")


@pytest.mark.skipif(not effort.IN_CI, reason="the action installs itself from the network in CI only (CI=true)")
def test_what_the_action_installs_validates(runner: Runner) -> None:
    (runner.temp / "dynamo-hooks/bin/dynamo-hooks").unlink()
    done = runner.run("Install", python=sys.executable)
    assert done.returncode == 0, done.stderr
    assert runner.run("Validate").stdout == "1 manifest valid\n"


def test_every_action_is_pinned_by_commit_and_says_its_version() -> None:
    """An action of this repository is the commit itself; a page says OWNER for whoever reads it."""
    files = [ROOT / "action.yml", *(ROOT / ".github").rglob("*.yml"), *(ROOT / "docs").rglob("*.md")]
    used = [found for path in files for found in re.findall(r"^[ -]*uses: *(.*)$", path.read_text(), re.MULTILINE)]
    foreign = [action for action in used if not action.startswith(("./", "OWNER/"))]
    assert len(foreign) > 10
    assert [text for text in foreign if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", text)] == []
    assert len(set(foreign)) == len({action.partition("@")[0] for action in foreign}), "one version of each action"


def test_every_input_reaches_a_step_and_every_expression_is_an_input_or_of_github() -> None:
    steps = json.dumps(ACTION["runs"]["steps"])
    assert [name for name in ACTION["inputs"] if f"inputs.{name}" not in steps] == []
    for expression in re.findall(r"\b(inputs|steps)\.([\w.]+)", steps):
        names = ACTION["inputs"] if expression[0] == "inputs" else {"diff.outputs.markdown"}
        assert expression[1] in names
    assert all("${{" not in step["run"] for step in ACTION["runs"]["steps"])
