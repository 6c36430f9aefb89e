"""ReportedFindings as SARIF 2.1.0, which GitHub's code scanning, Azure DevOps and editors read.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from pathlib import Path
from urllib.parse import quote

from hooks.ground.k8s.types import Json
from hooks.tools.offline.reports.findings import ReportedFinding, ReportedFindings

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def write_sarif(findings: ReportedFindings, version: str) -> Json:
    """One run with all findings; `version` is that of this program."""
    found = list(findings)
    rules = sorted({one.rule for one in found})
    driver = {"name": "dynamo-hooks", "version": version, "rules": [{"id": rule} for rule in rules]}
    results = [_write_result(one, rules.index(one.rule)) for one in found]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _write_result(finding: ReportedFinding, index: int) -> Json:
    region = {} if finding.line is None else {"region": _drop_none(startLine=finding.line, startColumn=finding.column)}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.level.value,
        "message": {"text": finding.sentence},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri_of(finding.file)}, **region}}],
    }


def _uri_of(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _drop_none(**values: int | None) -> dict[str, int]:
    return {key: value for key, value in values.items() if value is not None}
