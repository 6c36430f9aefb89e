"""What decides the exit status of `validate`, and its reports in the forms of other programs."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from hooks.server.commands.main import main

HEADER = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: NAME}\n"
POD = "extraPodSpec: {mainContainer: {image: i:1.5.0}}"
GOOD = f"{HEADER}spec: {{services: {{F: {{componentType: frontend, {POD}}}}}}}\n"
BOTH = f"""\
{HEADER}spec:
  services:
    A:
      dynamoNamespace: mine
      replicas: -1
      {POD}
    B:
      dynamoNamespace: mine
      {POD}
    C:
      componentType: wroker
      dynamoNamespace: mine
      {POD}
"""
IGNORED = "dynamoNamespace is deprecated and ignored."
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name"],
                                "properties": {
                                    "rules": {"uniqueItems": True, "items": {"required": ["id"]}},
                                    "version": {"type": "string"},
                                },
                            }
                        },
                    },
                    "results": {
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"required": ["text"], "properties": {"text": {"type": "string"}}},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "locations": {
                                    "items": {
                                        "required": ["physicalLocation"],
                                        "properties": {
                                            "physicalLocation": {
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "artifactLocation": {
                                                        "properties": {"uri": {"format": "uri-reference"}}
                                                    },
                                                    "region": {
                                                        "properties": {
                                                            "startLine": {"type": "integer", "minimum": 1},
                                                            "startColumn": {"type": "integer", "minimum": 1},
                                                        }
                                                    },
                                                },
                                            }
                                        },
                                    }
                                },
                            },
                        }
                    },
                },
            },
        },
    },
}
"""What SARIF 2.1.0 requires of the members that a report has."""
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "not": {"pattern": "^\\./"}},
                    "lines": {"required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
}
"""What GitLab's page on code quality requires."""


def graph(text: str, name: str = "g") -> str:
    return text.replace("NAME", name)


def validate(*words: str | Path, text: str = "") -> Result:
    return CliRunner().invoke(main, ["validate", *map(str, words)], input=text)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A good graph, one with a problem and warnings, a template, and a file that is no manifest."""
    files = {
        "good.yaml": graph(GOOD, "good"),
        "a b/both.yaml": graph(BOTH),
        "template.yaml": graph(GOOD).replace("i:1.5.0", "'{{ .Values.image }}'"),
        "values.yaml": "a: 1\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_warnings_stand_beside_problems_and_the_same_one_once_a_file() -> None:
    result = validate("-", text=graph(BOTH))
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert [line.split(": ", 2)[:2] for line in lines[:3]] == [
        ["warning", "<stdin>:7"],
        ["<stdin>:8", "spec.services[A].replicas"],
        ["warning", "<stdin>:14"],
    ]
    assert result.stderr.count(IGNORED) == 1
    assert lines[0].endswith("(2 more in this file)")
    assert lines[-1] == "1 problem, 2 warnings"


def test_nothing_checked_is_an_error_unless_it_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    for words in (["c.yaml"], ["."]):
        result = validate(*(tmp_path / word for word in words))
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("nothing was checked: ")
        allowed = validate(*(tmp_path / word for word in words), "--allow-none")
        assert (allowed.exit_code, allowed.stderr) == (0, "")
    assert validate(tmp_path, "-o", "json").exit_code == 1


def test_strict_fails_for_warnings_but_not_for_those_of_an_unknown_cluster() -> None:
    warned = graph(BOTH).replace("replicas: -1", "replicas: 1")
    assert validate("-", text=warned).exit_code == 0
    strict = validate("-", "--strict", text=warned)
    assert (strict.exit_code, strict.stdout) == (1, "")
    assert strict.stderr.splitlines()[-1] == "2 warnings, and --strict makes it an error"
    of_grove = graph(GOOD, "a.b")
    doubtful = validate("-", "--strict", text=of_grove)
    assert doubtful.exit_code == 0
    assert "under Grove this is refused" in doubtful.stderr
    assert validate("-", "--strict", "--with", "grove", text=of_grove).exit_code == 1


def test_files_that_may_be_of_dynamo_and_are_not_judged_are_named(repository: Path) -> None:
    result = validate(".", "--exclude", "a b")
    assert (result.exit_code, result.stdout) == (0, "1 manifest valid, 2 files without manifests skipped\n")
    said = "not judged: template.yaml: it is a template: render it first (a chart: give its directory)\n"
    assert result.stderr == said
    other = graph(GOOD).replace("DynamoGraphDeployment", "DynamoCheckpoint")
    unknown = validate("-", "--allow-none", text=other)
    assert unknown.stderr == "not judged: <stdin>: the kind DynamoCheckpoint is not checked\n"


@pytest.mark.parametrize(
    ("words", "summary"),
    [
        (["*.yaml"], "1 manifest valid, 2 files without manifests skipped\n"),
        (["**/*.yaml", "--exclude", "a b/both.yaml"], "1 manifest valid, 2 files without manifests skipped\n"),
        (["**/*.yaml", "--exclude", "b*.yaml", "--exclude", "v*"], "1 manifest valid, 1 file without manifests"),
        ([".", "--exclude", "a b", "--exclude", "[tv]*.yaml"], "1 manifest valid\n"),
    ],
)
def test_patterns_choose_and_leave_out(words: list[str], summary: str, repository: Path) -> None:
    assert validate(*words).stdout.startswith(summary)


def test_pattern_without_a_match_is_a_problem(repository: Path) -> None:
    result = validate("nowhere/*.yaml")
    assert (result.exit_code, result.stderr) == (1, "nowhere/*.yaml: matches no file\n1 problem\n")


def test_pvc_of_2025_is_told_what_replaced_it() -> None:
    old = graph(GOOD).replace("F: {", "F: {pvc: {name: models, mountPoint: /models, create: true}, ")
    assert "spec.services[F].pvc: unknown field; use pvcs and volumeMounts" in validate("-", text=old).stderr


def test_file_that_cannot_be_read_has_no_line(repository: Path) -> None:
    result = validate("nope.yaml")
    assert result.stderr.splitlines()[0] == "nope.yaml: cannot be read: No such file or directory"
    [row] = json.loads(validate("nope.yaml", "-o", "json").stdout)
    assert (row["file"], row["line"], row["column"]) == ("nope.yaml", None, None)
    assert validate("nope.yaml", "-o", "github").stdout.startswith("::error file=nope.yaml::cannot be read")


def test_sarif_has_what_its_standard_requires(repository: Path) -> None:
    report = json.loads(validate(".", "nope.yaml", "-o", "sarif").stdout)
    jsonschema_rs.validator_for(SARIF, validate_formats=True).validate(report)
    [run] = report["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    places = [
        (one["level"], place["artifactLocation"]["uri"], place.get("region", {}).get("startLine"))
        for one in run["results"]
        for place in (one["locations"][0]["physicalLocation"],)
    ]
    assert places == [
        ("error", "a%20b/both.yaml", 8),
        ("error", "nope.yaml", None),
        ("warning", "a%20b/both.yaml", 7),
        ("warning", "a%20b/both.yaml", 14),
        ("note", "template.yaml", None),
    ]


def test_gitlab_has_what_its_page_requires(repository: Path) -> None:
    result = validate("./", "nope.yaml", "-o", "gitlab")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    jsonschema_rs.validator_for(GITLAB).validate(report)
    assert len({one["fingerprint"] for one in report}) == len(report) == 5
    assert [one["location"] for one in report][:2] == [
        {"path": "a b/both.yaml", "lines": {"begin": 8}},
        {"path": "nope.yaml", "lines": {"begin": 1}},
    ]
    assert json.loads(validate(".", "--exclude", "a b", "--exclude", "t*", "-o", "gitlab").stdout) == []


def test_junit_has_a_case_for_each_file(repository: Path) -> None:
    (repository / "bad.yaml").write_text("kind: X\nnvidia.com/: \x01<&\n")
    suites = ET.fromstring(  # noqa: S314 - what this project wrote
        validate(".", "nope.yaml", "bad.yaml", "-o", "junit").stdout.encode()
    )
    [suite] = suites
    assert (suites.tag, suite.tag) == ("testsuites", "testsuite")
    cases = {case.get("name"): case for case in suite}
    assert set(cases) == {"a b/both.yaml", "bad.yaml", "good.yaml", "nope.yaml", "template.yaml"}
    assert suite.get("tests") == str(len(suite)) == "5"
    assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == "3"
    assert suite.get("skipped") == str(len(suite.findall("testcase/skipped"))) == "1"
    assert all(case.get("classname") for case in suite)
    assert [len(cases[name]) for name in ("good.yaml", "nope.yaml")] == [0, 1]
    failure = cases["a b/both.yaml"].find("failure")
    assert failure is not None
    assert failure.text == "a b/both.yaml:8: spec.services[A].replicas: is -1, should be at least 0"
    output = cases["a b/both.yaml"].find("system-out")
    assert output is not None
    assert IGNORED in str(output.text)


def test_colours_are_for_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    coloured = CliRunner().invoke(main, ["validate", "-"], input=graph(BOTH), color=True)
    assert "\x1b[33mwarning:\x1b[0m \x1b[1m<stdin>:7:\x1b[0m" in coloured.stderr
    assert "\x1b" not in validate("-", text=graph(BOTH)).stderr
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv(name, value)
            plain = CliRunner().invoke(main, ["validate", "-"], input=graph(BOTH), color=True)
        assert "\x1b" not in plain.stderr
