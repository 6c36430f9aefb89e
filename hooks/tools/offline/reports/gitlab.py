"""ReportedFindings as GitLab's code quality report, which marks lines of a merge request.

Source: GitLab, "Code Quality", report format: a subset of Code Climate's.
"""

import hashlib
import posixpath
from collections import Counter

from hooks.ground.k8s.types import Json
from hooks.tools.offline.reports.findings import ReportedFindings, ReportLevel

_SEVERITIES = {ReportLevel.ERROR: "major", ReportLevel.WARNING: "minor", ReportLevel.NOTE: "info"}


def write_gitlab(findings: ReportedFindings) -> list[Json]:
    """One entry for each finding; a file as a whole is at its first line, as the form needs one."""
    seen: Counter[tuple[str, ...]] = Counter()
    entries: list[Json] = []
    for one in findings:
        path = posixpath.normpath(one.file)
        key = (path, one.path, one.rule, one.message)
        seen[key] += 1
        entries.append(
            {
                "description": one.sentence,
                "check_name": one.rule,
                "fingerprint": hashlib.sha256("\0".join((*key, str(seen[key]))).encode()).hexdigest(),
                "severity": _SEVERITIES[one.level],
                "location": {"path": path, "lines": {"begin": one.line or 1}},
            }
        )
    return entries
