"""What rolls pods at an upgrade stands in the changelog; and the comparison with the last release, on repositories."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from flask.testing import FlaskClient

from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import Settings
from hooks.server.app import create_app
from hooks.tools.offline.manifests.reading import ManifestFaults
from tests import make
from tests.releases import Corpus, find_changed_templates, find_last_release, read_restart_notes
from tests.test_golden import ORCHESTRATORS, render_example

ROOT = Path(__file__).parent.parent
NO_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
EXAMPLE = "tests/golden/examples/a.yaml"
RESPONSE = "tests/golden/graph/sync/case/response.yaml"


def test_changelog_names_what_restarts_pods_since_the_last_release(tmp_path: Path) -> None:
    tag = find_last_release(ROOT)
    if tag is None:
        pytest.skip("no tag v* is known here, so there is no release to compare pod templates with")
    client = create_app(Settings(new_defaults="now"), lambda: make.NOW).test_client()  # what is held is not rendered
    corpus = Corpus(
        render=lambda text, folder: render_text(tmp_path, text, folder),
        call=lambda hook, body: post(client, hook, body),
    )
    changed = find_changed_templates(ROOT, tag, corpus)
    notes = read_restart_notes((ROOT / "CHANGELOG.md").read_text(), tag)
    assert notes or not changed, "\n".join(
        [f"templates differ from {tag}, and CHANGELOG.md has no line under '### Restarts pods':", *changed]
    )


def render_text(folder: Path, text: str, orchestrator: str) -> list[Manifest] | None:
    example = folder / "example.yaml"
    example.write_text(text)
    try:
        return render_example(example, ORCHESTRATORS.get(orchestrator, frozenset()))
    except ManifestFaults:
        return None


def post(client: FlaskClient, hook: str, body: Mapping[str, Any]) -> list[Manifest] | None:
    answer = client.post(f"/{hook}/sync", data=json.dumps(body), content_type="application/json")
    children: list[Manifest] = answer.json.get("children", []) if answer.json else []
    return children if answer.status_code == 200 else None


def test_present_code_renders_the_present_corpus_as_recorded(tmp_path: Path) -> None:
    """The functions by which a release is compared, tried on what is recorded now."""
    client = create_app(Settings(), lambda: make.NOW).test_client()
    golden = ROOT / "tests" / "golden"
    example = (ROOT / "examples" / "vllm-disagg.yaml").read_text()
    recorded = list(yaml.load_all((golden / "examples" / "vllm-disagg.yaml").read_text(), yaml.CSafeLoader))
    assert render_text(tmp_path, example, "") == recorded
    of_grove = (ROOT / "examples" / "grove" / "vllm-topology.yaml").read_text()
    recorded = list(yaml.load_all((golden / "examples" / "grove" / "vllm-topology.yaml").read_text(), yaml.CSafeLoader))
    assert render_text(tmp_path, of_grove, "grove") == recorded
    call = golden / "component" / "sync" / "worker-new"
    children = yaml.load((call / "response.yaml").read_text(), yaml.CSafeLoader)["children"]
    assert post(client, "component", yaml.load((call / "request.yaml").read_text(), yaml.CSafeLoader)) == children
    assert render_text(tmp_path, example.replace("componentType", "componentKind"), "") is None
    assert post(client, "component", {}) is None


# Repositories


def git(repository: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", *identity, "-C", str(repository), *arguments]
    subprocess.run(command, check=True, capture_output=True, env=environment)


def write(repository: Path, file: str, content: Any) -> None:
    path = repository / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))


def commit(repository: Path, *tags: str) -> None:
    git(repository, "add", "-A")
    git(repository, "commit", "--allow-empty", "-m", "x")
    for tag in tags:
        git(repository, "tag", tag)


def workload(image: str, kind: str = "Deployment", replicas: int = 1) -> Manifest:
    spec = {"replicas": replicas, "template": {"spec": {"containers": [{"image": image}]}}}
    return {"kind": kind, "metadata": {"name": "d"}, "spec": spec}


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A repository whose release v1.0.0 has a golden example, a golden call, and a recorded call without children."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--initial-branch", "main")
    write(repository, "examples/a.yaml", {"image": "1"})
    write(repository, EXAMPLE, workload("1"))
    write(repository, RESPONSE, {"children": [workload("1", "Job")]})
    write(repository, RESPONSE.replace("response", "request"), {"image": "1"})
    write(repository, "tests/golden/graph/customize/c/response.yaml", {"relatedResources": []})
    write(repository, "tests/golden/graph/sync/none/response.yaml", {"status": {}})
    write(repository, "tests/golden/graph/sync/none/request.yaml", {})
    commit(repository, "v1.0.0")
    return repository


def rendering(suffix: str = "", replicas: int = 1) -> Corpus:
    """Code that runs the image that it is given, with something behind its name."""
    return Corpus(
        render=lambda text, _folder: [workload(yaml.load(text, yaml.CSafeLoader)["image"] + suffix, replicas=replicas)],
        call=lambda _hook, body: [workload(body["image"] + suffix, "Job")] if body else [],
    )


@NO_GIT
@pytest.mark.parametrize("corpus", [rendering(), rendering(replicas=7)], ids=["same", "other replicas"])
def test_same_templates_are_no_change(released: Path, corpus: Corpus) -> None:
    assert find_changed_templates(released, "v1.0.0", corpus) == []


@NO_GIT
def test_every_template_that_the_code_makes_otherwise_is_named(released: Path) -> None:
    changed = find_changed_templates(released, "v1.0.0", rendering("-new"))
    assert changed == [f"{EXAMPLE}: Deployment/d", f"{RESPONSE}: Job/d"]


@NO_GIT
def test_workload_that_is_gone_is_a_change(released: Path) -> None:
    corpus = Corpus(render=lambda *_: [], call=lambda *_: [])
    assert len(find_changed_templates(released, "v1.0.0", corpus)) == 2


@NO_GIT
def test_input_that_is_refused_now_is_no_change(released: Path) -> None:
    corpus = Corpus(render=lambda *_: None, call=lambda *_: None)
    assert find_changed_templates(released, "v1.0.0", corpus) == []


@NO_GIT
def test_examples_that_changed_since_are_compared_as_they_were(released: Path) -> None:
    write(released, "examples/a.yaml", {"image": "2"})
    write(released, EXAMPLE, workload("2"))
    write(released, "tests/golden/examples/b.yaml", workload("3"))
    commit(released)
    assert find_changed_templates(released, "v1.0.0", rendering()) == []


@NO_GIT
def test_rendering_over_several_nodes_is_that_of_its_folder(released: Path) -> None:
    write(released, "tests/golden/examples/grove/a.yaml", workload("1"))
    commit(released, "v1.1.0")
    seen = []

    def render(_text: str, folder: str) -> list[Manifest]:
        seen.append(folder)
        return [workload("1")]

    find_changed_templates(released, "v1.1.0", Corpus(render=render, call=rendering().call))
    assert seen == ["", "grove"]


@NO_GIT
def test_example_for_one_orchestrator_alone_is_found_in_its_folder(released: Path) -> None:
    write(released, "examples/grove/g.yaml", {"image": "1"})
    write(released, "tests/golden/examples/grove/g.yaml", workload("1"))
    commit(released, "v1.1.0")
    assert find_changed_templates(released, "v1.1.0", rendering()) == []
    changed = find_changed_templates(released, "v1.1.0", rendering("-new"))
    assert "tests/golden/examples/grove/g.yaml: Deployment/d" in changed


@NO_GIT
def test_last_release_is_the_highest_version_behind_the_commit(released: Path) -> None:
    commit(released, "v1.9.0", "v1.10.0-rc.1", "other")
    assert find_last_release(released) == "v1.10.0-rc.1"
    commit(released, "v1.10.0")
    git(released, "checkout", "-b", "next")
    commit(released, "v2.0.0")
    git(released, "checkout", "main")
    assert find_last_release(released) == "v1.10.0"


@NO_GIT
def test_folder_without_git_and_repository_without_tags_have_no_release(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init")
    assert find_last_release(bare) is None
    write(bare, "file", "x")
    commit(bare, "other")
    assert find_last_release(bare) is None
    assert find_last_release(tmp_path / "nothing") is None


@NO_GIT
@pytest.mark.parametrize(("option", "expected"), [("--no-tags", None), ("--tags", "v1.0.0")])
def test_shallow_clone_compares_with_the_tags_that_it_has(released: Path, option: str, expected: str | None) -> None:
    commit(released)
    clone = released.parent / "clone"
    git(released.parent, "clone", "--depth", "1", "--no-tags", released.as_uri(), str(clone))
    if option == "--tags":
        git(clone, "fetch", "--depth", "1", "--tags", "origin")
    assert find_last_release(clone) == expected
    if expected:
        assert find_changed_templates(clone, expected, rendering("-new"))


CHANGELOGS = {
    "nothing said": ("## Unreleased\n\n### Added\n\n- x\n\n## 1.0.0\n\n### Restarts pods\n\n- old\n", []),
    "said": (
        "## Unreleased\n\n### Restarts pods\n\n- a new\n  probe\n* other\n\n### Added\n\n- x\n",
        ["a new", "other"],
    ),
    "said for the release to come": ("## 1.1.0\n\n### Restarts pods\n\n- new\n\n## 1.0.0 (2026)\n", ["new"]),
    "said before the release": ("## Unreleased\n\n## v1.0.0\n\n### Restarts pods\n\n- old\n", []),
    "another version with the same beginning": ("## 1.0.0-hotfix\n\n### Restarts pods\n\n- new\n", ["new"]),
    "heading alone": ("## Unreleased\n\n### Restarts pods\n\n### Added\n\n- x\n\n## [1.0.0]\n", []),
}


@pytest.mark.parametrize(("text", "notes"), CHANGELOGS.values(), ids=CHANGELOGS)
def test_notes_are_those_above_the_release(text: str, notes: list[str]) -> None:
    assert read_restart_notes(f"# Changelog\n\n**Restarts pods**\n\n{text}", "v1.0.0") == notes
