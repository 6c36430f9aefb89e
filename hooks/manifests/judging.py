"""What schemas and rules say of manifests, each problem and warning at its line.

Knows no cluster: an object is judged as one about to be created, by nobody in particular.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hooks.admission.rules import RULES
from hooks.crds import apply_defaults, find_faults
from hooks.facts import Facts
from hooks.k8s.types import GroupVersionKind, Manifest
from hooks.manifests.object_header import OUR_KINDS
from hooks.manifests.reading import Document, Fault, Loaded
from hooks.metacontroller.protocol import plural_of
from hooks.problems import Problem
from hooks.rendering import Rendered, declared_kinds, render
from hooks.settings import Settings
from hooks.validation.review import Review, Verdict

ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Nothing that is rendered depends on the time; status does, and is not printed."""

_MISSING = "is missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All that is said of some manifests, and what those that fit their schemas turn into."""

    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    rendered: tuple[Rendered, ...] = ()


def judge_manifests(loaded: Loaded, settings: Settings, installed: frozenset[str] | None) -> Judged:
    """Judge what was read by schemas and rules; each fault is told once. Foreign documents only need a name.

    `installed` are the optional kinds of the cluster. None leaves out the rules that need them, as admission does.
    """
    faults, warnings = set(loaded.unreadable), set[Fault]()
    for document in loaded.documents:
        told = _check_schema(document)
        verdict = _judge(document, settings, installed) if document.is_ours else Verdict(problems=())
        problems = [place(document, problem) for problem in verdict.problems]
        faults |= {*document.faults, *told, *(problem for problem in problems if not _is_told(problem, told, document))}
        warnings |= {place(document, warning) for warning in verdict.warnings}
    return Judged(faults=tuple(sorted(faults)), warnings=tuple(sorted(warnings)))


def judge_rendered(
    loaded: Loaded, settings: Settings, installed: frozenset[str], kinds: frozenset[GroupVersionKind] = OUR_KINDS
) -> Judged:
    """Judge, and render the documents that fit their schemas, which finds what only shows then, in these `kinds`."""
    judged = judge_manifests(loaded, settings, installed)
    sound = [document for document in loaded.documents if not check_document(document)]
    rendered = _render(sound, settings, installed)
    shown = {
        place(document, problem)
        for document, one in zip(sound, rendered, strict=True)
        if document.kind in kinds
        for problem in one.problems
    }
    return replace(judged, faults=tuple(sorted({*judged.faults, *shown})), rendered=tuple(rendered))


def check_document(document: Document) -> list[Fault]:
    """All faults of a document but those that the rules find; foreign kinds have no schema here."""
    return [*document.faults, *_check_schema(document)]


def place(document: Document, problem: Problem) -> Fault:
    """A problem or warning at its field; at the beginning of the object if it has none."""
    if not problem.path.parts:
        return Fault(document.file, document.line, "", problem.text)
    fault = document.fault(problem.path.parts, problem.text)
    return Fault(fault.file, fault.line, fault.field, problem.text, names_field=True)


def _judge(document: Document, settings: Settings, installed: frozenset[str] | None) -> Verdict:
    review = Review(
        new=apply_defaults(document.object),
        old=None,
        user=None,
        settings=settings,
        installed=None if installed is None else frozenset(declared_kinds(installed)),
    )
    return RULES[plural_of(document.kind)](review)


def _check_schema(document: Document) -> list[Fault]:
    found = find_faults(document.object) if document.is_ours else []
    return [document.fault(fault.path, fault.message) for fault in found]


def _render(documents: Sequence[Document], settings: Settings, installed: frozenset[str]) -> list[Rendered]:
    objects = [_store(document.object) if document.is_ours else document.object for document in documents]
    return render(objects, Facts(now=ANY_TIME, settings=settings), installed=installed)


def _store(obj: Manifest) -> Manifest:
    """The object as the API server creates it: with defaults, and without the status that a user wrote."""
    return {key: value for key, value in apply_defaults(obj).items() if key != "status"}


def _is_told(problem: Fault, told: Iterable[Fault], document: Document) -> bool:
    """Whether a fault of the schema says the same: one of that field, or that a field above it is missing.

    What no rule says comes from reading the object: whatever else is wrong with that field explains it too.
    """
    if True and any(fault.field == problem.field for fault in document.faults):
        return True
    return any(
        problem.field == fault.field or (fault.message == _MISSING and problem.field.startswith(f"{fault.field}."))
        for fault in told
    )
