"""Whether a file is a template: text that another program turns into manifests.

Such a file is unreadable, or its fields are wrong, in as many ways as it has expressions. What to do is the same for
all of them. An expression that breaks nothing, such as `${HF_HOME}` in a shell's command, makes no template.
"""

import re
from collections.abc import Iterator, Sequence

from hooks.ground.k8s.types import Json
from hooks.ground.k8s.yaml_reader import Mark
from hooks.ground.problems import HERE
from hooks.ground.settings import Settings
from hooks.language.rules import reading as rules
from hooks.tools.offline.manifests.checking import examine
from hooks.tools.offline.manifests.directories import has_expression
from hooks.tools.offline.manifests.document import Document, Fault
from hooks.tools.offline.manifests.loaded import Loaded

_ALONE = re.compile(r"\s*(\{\{|\{%|\$\{\w+\}\s*$)")
"""A line of a template's own."""
_VALUE = re.compile(r"\{\{|\{%|[-:,\[{]\s*\$\{")
"""An expression that YAML reads as an object; `${HF_HOME}` within a text is none."""
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_TEXTS = frozenset({"args", "command", "env", "envs", "annotations"})
"""Fields whose texts belong to other programs, for which these signs may have a meaning of their own."""


def find_template(content: str, loaded: Loaded) -> Fault | None:
    """The one problem of a file that is a template, at the first expression that breaks something; None for others."""
    lines = content.split("\n")
    broken = [Mark(line) for fault in _faults_of_text(loaded) if (line := _find_line(fault.mark.line, lines))]
    for document in loaded.documents if not broken else ():
        broken += _find_fields(document) if document.is_ours else ()
    files = [*(one.file for one in loaded.documents), *(one.file for one in loaded.unreadable)]
    return Fault(files[0], min(broken), rules.TEMPLATE.at(HERE)) if broken else None


def _faults_of_text(loaded: Loaded) -> Iterator[Fault]:
    """What is wrong with the text as YAML."""
    faults = (*loaded.unreadable, *(fault for document in loaded.documents for fault in document.faults))
    return (fault for fault in faults if fault.problem.rule in {rules.NOT_YAML, rules.YAML})


def _find_line(at: int, lines: Sequence[str]) -> int | None:
    """The line of the expression that makes the text unreadable at a line, both 1-based; None if none does."""
    before = next((number for number in range(at - 1, 0, -1) if lines[number - 1].strip()), at)
    if before <= len(lines) and _ALONE.match(lines[before - 1]):
        return before
    own = _QUOTED.sub("", lines[at - 1]) if at <= len(lines) else ""
    return at if _ALONE.match(own) or (_VALUE.search(own) and not own.lstrip().startswith("#")) else None


def _find_fields(document: Document) -> Iterator[Mark]:
    """The places of the fields of an object that are wrong because of an expression."""
    found = examine(document, Settings(), None).faults
    yield from (fault.mark for fault in found if _is_expression(fault.problem.path.parts, document.written))
    images = (path for path in document.marks if path[-1:] == ("image",))
    yield from (document.marks[path] for path in images if _is_expression(path, document.written))


def _is_expression(parts: Sequence[str | int], value: Json) -> bool:
    """Whether the name or the value of a field has an expression."""
    if not _TEXTS.isdisjoint(parts):
        return False
    for part in parts:
        if isinstance(part, str) and has_expression(part):
            return True
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return isinstance(value, str) and has_expression(value)
