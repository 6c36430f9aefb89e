"""All that a run of `validate` found: problems, warnings, and what was not judged, as rows of one form."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hooks.ground.problems import Severity
from hooks.tools.offline.manifests.document import WHOLE, Fault
from hooks.tools.offline.manifests.loaded import LeftOut


class ReportLevel(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    """A file that was not judged."""


NOT_JUDGED = "not-judged"
"""The name of what is a rule for other programs: the file may have to do with Dynamo, and nothing was checked in it."""
SUBJECTS = {NOT_JUDGED: "A file that may have to do with Dynamo and was not judged"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFinding:
    """One finding; line and column are None for a file as a whole."""

    file: str
    line: int | None
    column: int | None
    path: str
    rule: str
    level: ReportLevel
    message: str
    sentence: str
    """The message behind the path of the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFindings:
    """All findings, and the files that were read."""

    files: tuple[str, ...]
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    left_out: tuple[LeftOut, ...]

    def __iter__(self) -> Iterator[ReportedFinding]:
        """Problems, warnings and notes, each by place."""
        yield from map(_of_fault, (*self.faults, *self.warnings))
        yield from map(_of_file, self.left_out)


def _of_fault(fault: Fault) -> ReportedFinding:
    problem, mark = fault.problem, fault.mark
    return ReportedFinding(
        file=fault.file,
        line=None if mark == WHOLE else mark.line,
        column=None if mark == WHOLE else mark.column,
        path=str(problem.path),
        rule=problem.rule.name,
        level=ReportLevel.ERROR if problem.severity is Severity.ERROR else ReportLevel.WARNING,
        message=f"{fault.about}: {problem.text}" if fault.about else problem.text,
        sentence=fault.sentence,
    )


def _of_file(one: LeftOut) -> ReportedFinding:
    said = f"not judged: {one.why}"
    return ReportedFinding(
        file=one.file,
        line=None,
        column=None,
        path="",
        rule=NOT_JUDGED,
        level=ReportLevel.NOTE,
        message=said,
        sentence=said,
    )
