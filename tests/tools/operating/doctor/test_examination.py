"""All checks together: a good installation, an empty cluster, an account that may read nothing; and the report."""

import json

import pytest

from hooks.tools.operating.doctor.examination import CHECKS, examine, has_errors
from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, Level
from hooks.tools.operating.doctor.report import format_json, format_text
from tests.tools.operating.doctor.parts import NOW, good, hooks, problems

EVERYTHING = (
    *("customresourcedefinitions", "discovery", "compositecontrollers", "decoratorcontrollers", "deployments"),
    *("statefulsets", "events", "pods", "secrets", "subjectaccessreviews", "selfsubjectaccessreviews"),
    *("namespaces",),
)


def test_good_installation_has_no_problem() -> None:
    findings = examine(good())
    assert problems(findings) == []
    assert not has_errors(findings)


def test_empty_cluster_says_what_to_install_in_which_order() -> None:
    findings = examine(InstallationFacts(now=NOW, kubernetes="v1.31.0"))
    steps = [(finding.check, finding.level) for finding in problems(findings)]
    assert steps == [(name, Level.ERROR) for name in ("metacontroller", "crds")]
    assert problems(findings)[1].finding == (
        "none of the CRDs is installed; no Deployment of the hooks is in the cluster; "
        "Metacontroller has no controllers for the hooks"
    )
    assert has_errors(findings)
    text = format_text(findings, is_installed=False)
    assert text.startswith(
        "The hooks are not installed. These are the steps, in their order.\n\nerror    metacontroller"
    )


def test_what_is_not_read_is_not_judged() -> None:
    findings = examine(
        InstallationFacts(now=NOW, kubernetes="v1.31.0", unread=dict.fromkeys(EVERYTHING, "403 forbidden"))
    )
    assert {(finding.check, finding.level) for finding in problems(findings)} == {("reading", Level.WARNING)}
    assert {finding.object for finding in problems(findings)} == set(EVERYTHING)
    assert not has_errors(findings)


def test_errors_come_before_warnings_and_these_before_what_is_good() -> None:
    findings = examine(good(workloads=(hooks(ready=1),), kubernetes="v1.2"))
    assert [finding.level for finding in problems(findings)] == [Level.ERROR, Level.WARNING, Level.WARNING]
    assert [finding.check for finding in problems(findings)] == ["kubernetes", "metacontroller", "hooks"]


def test_checks_have_different_names() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)


FINDINGS = [
    Finding(level=Level.ERROR, object="Service a/b", finding="it does not exist", remedy="make it", check="reach"),
    Finding(level=Level.OK, object="API server", finding="Kubernetes v1.31.0", check="kubernetes"),
]


def test_text_shows_problems_with_remedies_then_what_is_good() -> None:
    assert format_text(FINDINGS, is_installed=True) == (
        "error    reach                    Service a/b\n"
        "  1. it does not exist\n"
        "     remedy: make it\n"
        "\n"
        "ok       kubernetes               API server: Kubernetes v1.31.0\n"
        "\n"
        "1 error, 0 warnings, 1 ok\n"
    )


def test_json_has_five_keys_in_each_row() -> None:
    rows = json.loads(format_json(FINDINGS))
    assert rows[0] == {
        "check": "reach",
        "level": "error",
        "object": "Service a/b",
        "finding": "it does not exist",
        "remedy": "make it",
    }
    assert [list(row) for row in rows] == [["check", "level", "object", "finding", "remedy"]] * 2


@pytest.mark.parametrize("count", [0, 2])
def test_summary_counts(count: int) -> None:
    assert format_text(FINDINGS[:1] * count, is_installed=True).endswith(f"{count} errors, 0 warnings, 0 ok\n")
