"""What the rules say of manifests, each problem and warning at its line.

Knows no cluster: an object is judged as one about to be created, by nobody in particular.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from hooks import contract
from hooks.admission.rules import RULES
from hooks.cli.manifests import Document, Fault
from hooks.crds import apply_defaults
from hooks.facts import Facts
from hooks.k8s.types import Json
from hooks.k8s.yaml_reader import FieldPath
from hooks.protocol import plural_of
from hooks.rendering import Rendered, declared_kinds
from hooks.rendering import render as render_documents
from hooks.settings import Settings
from hooks.validation.review import Review, Verdict
from hooks.validation.rule_table import rule_of

ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Nothing that is rendered depends on the time; status does, and is not printed."""

_RENDERED = frozenset({contract.GRAPH, contract.COMPONENT})
_MISSING = "is missing"
_PATH = re.compile(r"\b(?:spec|metadata)(?:\.[A-Za-z][A-Za-z0-9]*|\[[^\]]*\])*")
_PART = re.compile(r"\[([^\]]*)\]|([A-Za-z][A-Za-z0-9]*)")
_FIELDS = {"source URI ": "spec.source.uri"}
"""The field of texts that do not name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All that the rules say of some manifests."""

    problems: tuple[Fault, ...]
    warnings: tuple[Fault, ...]


def judge_documents(
    documents: Sequence[Document], schema_faults: Iterable[Fault], settings: Settings, installed: frozenset[str] | None
) -> Judged:
    """Judge our own documents; those of other kinds pass.

    `installed` are the optional kinds of the cluster. None leaves out the rules that need them, as admission does; with
    them, documents that fit their schemas are rendered too, which finds what only shows then. A problem of which a
    fault of the schema speaks already is left out.
    """
    problems: list[Fault] = []
    warnings: list[Fault] = []
    for document in documents:
        if document.is_ours:
            verdict = _judge(document, settings, installed)
            problems += (place(document, problem) for problem in verdict.problems)
            warnings += (place(document, warning) for warning in verdict.warnings)
    faults = frozenset(schema_faults)
    problems = [problem for problem in problems if not _is_told(problem, faults)]
    if installed is not None and not faults:
        problems += _find_rendering_faults(documents, settings, installed)
    return Judged(problems=tuple(sorted(set(problems))), warnings=tuple(sorted(warnings)))


def render_all(documents: Sequence[Document], settings: Settings, installed: frozenset[str]) -> list[Rendered]:
    """Render documents that passed their schemas, with the API server's defaults."""
    objects = [apply_defaults(document.object) if document.is_ours else document.object for document in documents]
    return render_documents(objects, Facts(now=ANY_TIME, settings=settings), installed=installed)


def place(document: Document, text: str) -> Fault:
    """A problem or warning at the field that its text names; at the beginning of the object if it names none."""
    known = next((field for start, field in _FIELDS.items() if text.startswith(start)), "")
    found = _PATH.search(known or text)
    if found is None:
        return Fault(document.file, document.line, "", text)
    fault = document.fault(_read_path(found[0], document.object), text)
    return Fault(fault.file, fault.line, fault.field, text, names_field=True)


def _judge(document: Document, settings: Settings, installed: frozenset[str] | None) -> Verdict:
    review = Review(
        new=apply_defaults(document.object),
        old=None,
        user=None,
        settings=settings,
        installed=None if installed is None else frozenset(declared_kinds(installed)),
    )
    return RULES[plural_of(document.kind)](review)


def _find_rendering_faults(
    documents: Sequence[Document], settings: Settings, installed: frozenset[str]
) -> Iterator[Fault]:
    for document, one in zip(documents, render_all(documents, settings, installed), strict=True):
        if document.kind not in _RENDERED:
            continue  # what a request needs beside its spec is in the cluster and the settings
        yield from (place(document, problem) for problem in one.problems)


def _is_told(problem: Fault, faults: frozenset[Fault]) -> bool:
    """Whether a fault of the schema says the same; a rule's own words stay beside all but "is missing"."""
    here = [fault for fault in faults if (fault.file, fault.field) == (problem.file, problem.field)]
    if rule_of(problem.message) is None:
        return bool(here)
    return any(fault.message == _MISSING for fault in here)


def _read_path(text: str, obj: Json) -> FieldPath:
    """`spec.services[main].envs[0]` to its parts; what stands in brackets is an index where the object has a list."""
    path: list[str | int] = []
    value = obj
    for bracketed, plain in _PART.findall(text):
        if isinstance(value, list) and bracketed.isdigit():
            index = int(bracketed)
            path.append(index)
            value = value[index] if index < len(value) else None
        else:
            path.append(bracketed or plain)
            value = value.get(path[-1]) if isinstance(value, dict) else None
    return tuple(path)
