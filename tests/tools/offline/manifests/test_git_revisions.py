"""`dynamo-hooks diff --from-git`: the files at a revision of a repository against the files as they are now."""

import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.server.commands.main import main
from tests.tools.offline.manifests.build_tools import play

AGG = (Path(__file__).parents[4] / "examples/mocker-agg.yaml").read_text()
SCALED = AGG.replace("replicas: 2", "replicas: 3")
GRAPH = "manifests/graph.yaml"


def git(folder: Path, *arguments: str) -> None:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *named, *arguments], cwd=folder, check=True, capture_output=True)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose only commit has a graph, a patch of Kustomize, and a page."""
    patch = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: mocker-agg}\n"
    files = {
        GRAPH: AGG,
        "manifests/overlay/kustomization.yaml": "resources: [../graph.yaml]\npatches: [{path: patch.yaml}]\n",
        "manifests/overlay/patch.yaml": patch,
        "page.md": "{{ kind: Dynamo",
    }
    write(tmp_path, files)
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message", "a graph")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def diff(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["diff", "--from-git", "HEAD", "--exit-code", *arguments])


@pytest.mark.parametrize("path", [".", "manifests", GRAPH])
def test_edit_is_compared_with_the_revision(repository: Path, path: str) -> None:
    assert (diff(path).exit_code, diff(path).output) == (0, "No difference.\n")
    write(repository, {GRAPH: SCALED})
    changed = diff(path)
    assert changed.exit_code == 1
    assert "spec.services[MockerWorker].replicas: 2 → 3" in changed.output


def test_paths_are_relative_to_the_current_directory(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {GRAPH: SCALED})
    monkeypatch.chdir(repository / "manifests")
    assert "2 → 3" in diff("graph.yaml").output
    monkeypatch.chdir(repository)
    assert "2 → 3" in diff(str(repository / GRAPH)).output


def test_new_file_is_added_and_one_that_is_gone_removed(repository: Path) -> None:
    write(repository, {"other/graph.yaml": AGG.replace("name: mocker-agg", "name: other")})
    assert "+ DynamoGraphDeployment default/other added" in diff("manifests", "other").output
    (repository / GRAPH).unlink()
    for path in (GRAPH, "manifests"):
        assert "- DynamoGraphDeployment default/mocker-agg removed" in diff(path).output


def test_problem_of_an_old_file_names_the_revision(repository: Path) -> None:
    write(repository, {GRAPH: AGG.replace("replicas: 2", "replicas: many")})
    git(repository, "commit", "--all", "--message", "a mistake")
    write(repository, {GRAPH: AGG})
    found = diff("manifests")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"HEAD:{GRAPH}:")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from-git", "v9", "manifests"], "the repository has no revision v9; git fetch may bring it\n"),
        (["--from-git", "--output=x", "manifests"], "the repository has no revision --output=x; git fetch may bring"),
        (["--from-git", "HEAD", "/"], "/ is outside of the repository"),
        (["--from-git", "HEAD", "nowhere.yaml"], "nowhere.yaml: cannot be read: No such file or directory"),
        (["--from-git", "HEAD", "-"], "--from-git takes files and directories"),
        (["--from-git", "HEAD", "--from-cluster", "a"], "give one of them"),
    ],
    ids=lambda value: value[1] if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("repository")
def test_what_cannot_be_compared_is_one_sentence(arguments: list[str], said: str) -> None:
    found = CliRunner().invoke(main, ["diff", *arguments])
    assert (found.exit_code, found.stdout) == (2, "")
    assert said in found.stderr


def test_outside_of_a_repository_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    found = diff(".")
    assert found.exit_code == 2
    assert "not a git repository" in found.stderr


def test_without_git_a_sentence_says_so(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    found = diff(".")
    assert (found.exit_code, found.stderr) == (2, "there is no program git; --from-git needs it\n")


def test_kustomization_is_built_at_the_revision_too(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.environ["PATH"]
    code = "print(open(f'{sys.argv[2]}/../graph.yaml').read())"
    play("kustomize", code, repository.parent / f"{repository.name}-tools", monkeypatch)
    monkeypatch.setenv("PATH", os.pathsep.join((os.environ["PATH"], path)))
    write(repository, {GRAPH: SCALED})
    assert "spec.services[MockerWorker].replicas: 2 → 3" in diff("manifests/overlay").output
    git(repository, "commit", "--all", "--message", "scaled")
    write(repository, {GRAPH: AGG.replace("replicas: 2", "replicas: many")})
    git(repository, "commit", "--all", "--message", "a mistake")
    write(repository, {GRAPH: AGG})
    found = diff("manifests/overlay")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"HEAD:{GRAPH}:"), "the base outside of the directory is that of the revision"


def test_chart_is_built_with_the_values_of_the_revision(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.environ["PATH"]
    code = "print(open('manifests/graph.yaml').read().replace('replicas: 2', open(sys.argv[-1]).read()))"
    play("helm", code, repository.parent / f"{repository.name}-tools", monkeypatch)
    monkeypatch.setenv("PATH", os.pathsep.join((os.environ["PATH"], path)))
    write(repository, {"chart/Chart.yaml": "name: llm\nversion: 0.1.0\n", "values/few.yaml": "replicas: 4"})
    git(repository, "add", ".")
    git(repository, "commit", "--message", "a chart")
    write(repository, {"values/few.yaml": "replicas: 6", "values/many.yaml": "replicas: 8"})
    assert "spec.services[MockerWorker].replicas: 4 → 6" in diff("chart", "--values", "values/few.yaml").output
    new = diff("chart", "--values", "values/many.yaml")
    assert new.output == "No difference.\n", "a file that the revision does not have is as it is now on both sides"


@pytest.mark.parametrize("name", [":(top)manifests", ":/manifests", "--full-name", "man*"])
def test_name_of_a_directory_is_no_pattern_and_no_option_of_git(repository: Path, name: str) -> None:
    write(repository, {f"{name}/own.yaml": AGG.replace("mocker-agg", "own")})
    git(repository, "add", ".")
    git(repository, "commit", "--message", "another graph")
    assert (diff(f"./{name}").exit_code, diff(f"./{name}").output) == (0, "No difference.\n")
    write(repository, {f"{name}/own.yaml": SCALED.replace("mocker-agg", "own")})
    changed = diff(f"./{name}").output
    assert "DynamoGraphDeployment default/own changed" in changed
    assert "mocker-agg" not in changed


def test_file_of_a_revision_is_written_nowhere_else(repository: Path) -> None:
    def make(command: str, text: str) -> str:
        named = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *command.split()]
        done = subprocess.run(named, cwd=repository, check=True, capture_output=True, input=text, text=True)
        return done.stdout.strip()

    blob = make("hash-object -w --stdin", AGG)
    inner = make("mktree", f"100644 blob {blob}\tevil.yaml\n")
    outer = make("mktree", f"040000 tree {inner}\t..\n")
    commit = make(f"commit-tree {outer} -m evil", "")
    result = CliRunner().invoke(main, ["diff", "--from-git", commit, "."])
    assert result.exit_code == 2
    assert "the revision has a file '../evil.yaml' outside of its folder" in result.stderr
