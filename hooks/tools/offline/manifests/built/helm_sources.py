"""Where the lines that Helm printed stand in a chart's templates.

Helm says the template of each document, `# Source: chart/templates/graph.yaml`, and nothing about lines. A line of the
output is found again by its key: `replicas: 3` is `replicas: {{ .Values.replicas }}`. A line of an included template
has no line of its own; it is at the nearest line above.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

from hooks.ground.k8s.yaml_reader import Mark, YamlDocument
from hooks.tools.offline.manifests.built.tools import CHART
from hooks.tools.offline.manifests.document import WHOLE

_SOURCE = "# Source: "
_KEY = re.compile(r"\s*(?:- )*\s*(?P<key>[\w./\"'-]+:)(?=\s|$)")


@dataclass(frozen=True)
class HelmSources:
    """The output of Helm for a chart, by the lines of its templates."""

    folder: Path
    text: str

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def _parts(self) -> list[tuple[int, Path | None]]:
        """The line at which the output of each template begins, 1-based, and the template; None if it is not here."""
        return [
            (number, self._find(line.removeprefix(_SOURCE).strip()))
            for number, line in enumerate(self._lines, 1)
            if line.startswith(_SOURCE)
        ]

    @property
    def used(self) -> set[Path]:
        """The templates that printed something."""
        return {path.resolve() for _, path in self._parts if path is not None}

    def locate(self, document: YamlDocument) -> tuple[Path, YamlDocument]:
        """The file of a document, and the document with the places of that file; without a template, of the chart."""
        start = document.start.line
        begin, path = next(((at, path) for at, path in reversed(self._parts) if at <= start), (1, None))
        if path is None:
            return self.folder / CHART, _moved(document, {})
        end = next((at for at, _ in self._parts if at > start), len(self._lines) + 1)
        template = path.read_text("utf-8-sig", errors="replace").splitlines()
        lines = dict(_align(self._lines[begin : end - 1], template, begin + 1))
        return path, _moved(document, lines)

    def _find(self, source: str) -> Path | None:
        """The file of `chart/templates/graph.yaml`; a packed chart inside has none."""
        path = self.folder.joinpath(*Path(source).parts[1:])
        return path if ".." not in Path(source).parts and path.is_file() else None


def _moved(document: YamlDocument, lines: Mapping[int, int]) -> YamlDocument:
    def move(mark: Mark) -> Mark:
        return Mark(lines[mark.line], mark.column) if mark.line in lines else WHOLE

    return replace(
        document,
        marks={path: move(mark) for path, mark in document.marks.items()},
        faults=tuple(replace(fault, mark=move(fault.mark)) for fault in document.faults),
    )


def _align(printed: Sequence[str], template: Sequence[str], first: int) -> Iterator[tuple[int, int]]:
    """Pairs of lines, 1-based: of the output, whose first line is `first`, and of the template."""
    printed_signs, signs = [_sign(line) for line in printed], [_sign(line) for line in template]
    blocks = SequenceMatcher(None, printed_signs, signs, autojunk=False).get_matching_blocks()
    known = {block.a + at: block.b + at for block in blocks for at in range(block.size)}
    last = 0
    for at, sign in enumerate(printed_signs):
        only = signs.index(sign) if signs.count(sign) == 1 else last  # of a loop that is printed several times
        last = known.get(at, only)
        yield first + at, last + 1


def _sign(line: str) -> str:
    """What a line of a template and what Helm makes of it have in common: the key, else the whole line."""
    found = _KEY.match(line)
    return found["key"] if found else line.strip()
