"""ReportedFindings as JUnit's XML, which most CI systems show: each file is a test case.

Source: the form that Jenkins' plugin and GitLab read.
"""

from xml.sax.saxutils import escape, quoteattr

from hooks.tools.offline.reports.findings import ReportedFinding, ReportedFindings, ReportLevel

_NAME = "dynamo-hooks validate"
_NOT_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")
"""What XML cannot say, as what stands in its place."""


def write_junit(findings: ReportedFindings, *, strict: frozenset[str] = frozenset()) -> str:
    """The whole document. Warnings are output of a case; those whose sentences are in `strict` make it fail."""
    by_file: dict[str, list[ReportedFinding]] = {file: [] for file in findings.files}
    for one in findings:
        by_file.setdefault(one.file, []).append(one)
    cases = [_write_case(file, found, strict) for file, found in sorted(by_file.items())]
    failed = sum("<failure" in case for case in cases)
    skipped = sum("<skipped" in case for case in cases)
    counts = f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="{skipped}"'
    suite = f'  <testsuite name="{_NAME}" {counts} time="0">\n{"".join(cases)}  </testsuite>\n'
    total = f'tests="{len(cases)}" failures="{failed}" errors="0"'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="{_NAME}" {total}>\n{suite}</testsuites>\n'


def _write_case(file: str, found: list[ReportedFinding], strict: frozenset[str]) -> str:
    head = f'    <testcase name={_quote(file)} classname="{_NAME}" time="0"'
    failing = [one for one in found if one.level is ReportLevel.ERROR or one.sentence in strict]
    warnings = [one for one in found if one.level is ReportLevel.WARNING and one not in failing]
    notes = [one for one in found if one.level is ReportLevel.NOTE]
    parts: list[str] = []
    if failing:
        text = "\n".join(map(_describe, failing))
        parts.append(f'      <failure message={_quote(failing[0].sentence)} type="problem">{_escape(text)}</failure>\n')
    elif notes:
        parts.append(f"      <skipped message={_quote(notes[0].sentence)}/>\n")
    if warnings:
        parts.append(f"      <system-out>{_escape(chr(10).join(map(_describe, warnings)))}</system-out>\n")
    return f"{head}>\n{''.join(parts)}    </testcase>\n" if parts else f"{head}/>\n"


def _describe(one: ReportedFinding) -> str:
    place = one.file if one.line is None else f"{one.file}:{one.line}"
    return f"{place}: {one.sentence}"


def _escape(text: str) -> str:
    return escape(text.translate(_NOT_XML))


def _quote(text: str) -> str:
    return quoteattr(text.translate(_NOT_XML))
