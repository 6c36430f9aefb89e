"""The alerts of the chart as data: their runbooks, their words, and what promtool says of them."""

import re
import shutil
import subprocess

import pytest

from hooks.ground.k8s.not_ready import NotReadyReason
from tests.installation import ROOT
from tests.monitoring.prometheus import MISSING
from tests.monitoring.queries import ALERTS, alerts

RUNBOOKS = ROOT / "docs" / "runbooks.md"
ANCHOR = "docs/runbooks.md#"


def sections() -> dict[str, str]:
    """The text of each section by the name of its alert."""
    parts = re.split(r"^### (\w+)\n", RUNBOOKS.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_alert_has_a_section_and_every_section_an_alert() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names)) > 10
    assert sections().keys() == set(names)
    for rule in alerts():
        assert rule["annotations"]["runbook_url"] == f"{ANCHOR}{rule['alert'].lower()}"


@pytest.mark.parametrize("name", sorted(sections()))
def test_section_says_how_to_see_why_and_what_to_do(name: str) -> None:
    text = sections()[name]
    assert "See why: " in text or "See why:\n" in text
    assert re.search(r"\bWhat to do[,:]", text)


def test_runbook_explains_every_reason() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", sections()["DynamoResourceNotReady"], re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"\w+", row)}
    assert {reason.value for reason in NotReadyReason} <= explained


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_alert_has_a_severity_and_a_summary(rule: dict[str, dict[str, str]]) -> None:
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert set(rule["annotations"]) == {"summary", "runbook_url"}


def test_promtool_accepts_the_rules() -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip(MISSING)
    run = subprocess.run([program, "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert f"{len(alerts())} rules found" in run.stdout
