"""Problems as GitHub Actions reads them from a step's output, to mark lines of a pull request.

Source: GitHub, "Workflow commands for GitHub Actions"; actions/toolkit, packages/core/src/command.ts, which escapes.
"""

from collections.abc import Iterable, Iterator

from hooks.tools.offline.manifests.document import WHOLE, Fault

_IN_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def write_annotations(faults: Iterable[Fault], warnings: Iterable[Fault]) -> str:
    """A line `::error file=…,line=…,col=…::…` for each problem, `::warning` for each warning; "" for none."""
    return "".join(line for found, level in ((faults, "error"), (warnings, "warning")) for line in _write(found, level))


def _write(faults: Iterable[Fault], level: str) -> Iterator[str]:
    for fault in faults:
        file, text = fault.file.translate(_IN_PROPERTY), fault.sentence.translate(_IN_TEXT)
        place = "" if fault.mark == WHOLE else f",line={fault.mark.line},col={fault.mark.column}"
        yield f"::{level} file={file}{place}::{text}\n"
