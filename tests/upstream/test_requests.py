"""Requests of upstream's repository: each is taken, or refused for a reason that is written here.

The files stand beside the repository, if at all.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hooks.ground.settings import parse_settings
from hooks.language.api.base import parse_parent
from hooks.language.api.graph_request import GraphRequest
from hooks.language.versions import convert
from hooks.request.plan.job_plan import plan_job
from hooks.server.commands.main import main
from tests.language.api.conversion.test_properties import assert_same

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
KIND = "DynamoGraphDeploymentRequest"


def load_files() -> list[Any]:
    files = sorted(CORPUS.glob("v1beta1/*.yaml"))
    return [
        pytest.param(path, document, id=f"{path.stem}-{at}")
        for path in files
        for at, document in enumerate(yaml.safe_load_all(path.read_text()))
        if document and document.get("kind") == KIND
    ]


def load_golden() -> list[Any]:
    path = CORPUS / "upstream-1.5-golden.json.gz"
    if not path.is_file():
        return []
    found = json.loads(gzip.decompress(path.read_bytes()))
    return [pytest.param(one, id=one["case"]) for one in found if one["kind"] == "dgdr"]


FILES, GOLDEN = load_files(), load_golden()
needs_files = pytest.mark.skipif(not FILES, reason="the corpus v1beta1 is not in ../shared/corpus")
needs_golden = pytest.mark.skipif(not GOLDEN, reason="the corpus upstream-1.5-golden is not in ../shared/corpus")

REASONS = {
    "which reads requests of v1alpha1 only": "images of 0.9, from when upstream's pages named no later one",
    "says no release": "placeholders for a tag",
    "is a template": "placeholders for a tag: ${RELEASE_VERSION}",
    "unknown field": "the three dots of a page, as YAML reads them",
}
"""Why documents are refused: a part of the sentence, and what it is about."""


@needs_files
@pytest.mark.parametrize(("path", "document"), FILES)
def test_request_is_taken_or_refused_for_a_written_reason(path: Path, document: Any) -> None:
    result = CliRunner().invoke(main, ["validate", "-"], input=yaml.safe_dump(document))
    lines = [line for line in result.stderr.splitlines() if line.startswith("<stdin>:")]
    assert (result.exit_code == 0) == (not lines), result.output
    assert [line for line in lines if not any(reason in line for reason in REASONS)] == [], path


@needs_files
def test_every_reason_is_that_of_some_request() -> None:
    said = "\n".join(
        CliRunner().invoke(main, ["validate", "-"], input=yaml.safe_dump(case.values[1])).stderr for case in FILES
    )
    assert [reason for reason in REASONS if reason not in said] == []


@needs_files
@pytest.mark.parametrize(("path", "document"), FILES)
def test_request_comes_back_from_the_other_version(path: Path, document: Any) -> None:
    back = convert(convert(document, "v1alpha1"), "v1beta1")
    assert_same(back, {**document, "spec": {"autoApply": True, **document["spec"]}})


@needs_golden
@pytest.mark.parametrize("case", GOLDEN)
def test_golden_request_is_taken_and_its_profiler_gets_what_was_written(case: Any) -> None:
    (document,) = case["input"]
    result = CliRunner().invoke(main, ["render", "-"], input=yaml.safe_dump(document))
    assert result.exit_code == 0, result.output
    (job,) = [one for one in yaml.safe_load_all(result.stdout) if one["kind"] == "Job"]
    profiler = job["spec"]["template"]["spec"]["containers"][0]
    spec = json.loads(profiler["args"][1])
    wanted = {key: value for key, value in document["spec"].items() if key != "overrides"}
    assert spec == wanted
    assert profiler["command"] == ["python", "-m", "dynamo.profiler"]
    assert profiler["args"][2:] == ["--output-dir", "/data"]


@needs_golden
@pytest.mark.parametrize("case", GOLDEN)
def test_golden_request_of_v1alpha1_asks_for_the_same(case: Any) -> None:
    (document,) = case["input"]
    placed = {**document, "metadata": {**document["metadata"], "namespace": "default"}}
    request = parse_parent(GraphRequest, convert(placed, "v1alpha1"))
    settings = parse_settings({}, {"hooks_image": "hooks:1"})
    plan = plan_job(request, settings, hardware=document["spec"]["hardware"])
    assert plan.beta_spec == document["spec"]
