"""What schemas and rules find in manifests, each problem and warning with its file and line.

Knows no cluster: every object is checked as if an unknown user created it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Manifest, plural_of
from hooks.ground.problems import Problem
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.language.crds import apply_defaults, find_faults
from hooks.language.rules.grove import as_warning
from hooks.language.rules.offline import OFFLINE, ONCE_A_FILE
from hooks.language.validation.overlap import drop_repetitions
from hooks.language.validation.review import Review, Verdict
from hooks.language.versions import VERSIONS
from hooks.server.admission.rules import RULES
from hooks.tools.offline.manifests.across import find_collisions, find_services, find_shared_sets, find_shared_slips
from hooks.tools.offline.manifests.adapters import find_adapter_slips
from hooks.tools.offline.manifests.document import Document, Fault, sort_faults
from hooks.tools.offline.manifests.loaded import Loaded
from hooks.tools.offline.manifests.two_meanings import find_two_meanings
from hooks.tools.offline.rendering import Rendered, render
from hooks.wire.metacontroller.controllers import OUR_KINDS, declared_kinds
from hooks.wire.world.spreading import Spread, in_one_part

ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Only the status depends on the time, and the status is not printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """All problems and warnings of some manifests, and the children of those that fit their schemas."""

    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    rendered: tuple[Rendered, ...] = ()


def check_manifests(
    loaded: Loaded,
    settings: Settings,
    installed: frozenset[str] | None,
    spread: Spread = in_one_part,
    *,
    is_sound: Callable[[Document], bool] = lambda _document: False,
) -> Checked:
    """Check manifests by schemas and rules; each problem is named once. Documents of other kinds only need a name.

    `installed` are the optional kinds of the cluster. None skips the rules that need them, as admission does.
    `is_sound` says that the same object was checked before and had no problem; it is not checked again, and has no
    warnings.
    """
    unknown = [one for one in loaded.documents if one.faults or not is_sound(one)]
    examined = spread(partial(_examine, settings=settings, installed=installed), unknown)
    return _sum_up(loaded, settings, examined, installed)


def check_rendered(
    loaded: Loaded,
    settings: Settings,
    installed: frozenset[str],
    kinds: Collection[GroupVersionKind] = OUR_KINDS,
    *,
    spread: Spread = in_one_part,
) -> Checked:
    """Check, then render the documents of these `kinds` that fit their schemas; rendering finds further problems."""
    examined = spread(partial(_examine, settings=settings, installed=installed), loaded.documents)
    checked = _sum_up(loaded, settings, examined, installed)
    sound = [document for document, one in zip(loaded.documents, examined, strict=True) if one.fits]
    rendered = _render(sound, settings, installed, spread)
    shown = {
        document.place_written(problem)
        for document, one in zip(sound, rendered, strict=True)
        if document.kind in kinds
        for problem in _as_written(document, one.problems)
    }
    return replace(checked, faults=_reword({*checked.faults, *shown}), rendered=tuple(rendered))


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What was found in one document; `fits` says that its schema has nothing against it."""

    faults: frozenset[Fault]
    warnings: frozenset[Fault]
    fits: bool


def _examine(documents: Sequence[Document], *, settings: Settings, installed: frozenset[str] | None) -> list[Examined]:
    return [examine(document, settings, installed) for document in documents]


def examine(document: Document, settings: Settings, installed: frozenset[str] | None) -> Examined:
    """What its schema and the rules find in one document."""
    of_schema = check_document(document)
    verdict = _judge(document, settings, installed) if document.is_ours else Verdict(problems=())
    of_rules = drop_repetitions(verdict.problems, (fault.problem for fault in of_schema))
    warnings = (*verdict.warnings, *find_two_meanings(document))
    return Examined(
        faults=frozenset({*of_schema, *map(document.place_written, of_rules)}),
        warnings=frozenset(map(document.place_written, warnings)),
        fits=not of_schema,
    )


def _sum_up(
    loaded: Loaded, settings: Settings, examined: Iterable[Examined], installed: frozenset[str] | None
) -> Checked:
    """The problems of all documents, and those between documents."""
    faults, warnings = set(loaded.unreadable), set(loaded.namesakes)
    for one in examined:
        faults |= one.faults
        warnings |= one.warnings
    services = tuple(find_services(loaded.documents))
    faults |= set(find_collisions(services))
    warnings |= set(find_shared_slips(services, loaded.documents, settings))
    warnings |= set(find_adapter_slips(services, loaded.documents))
    if installed is None:
        warnings |= {_as_warning(fault) for fault in find_shared_sets(loaded.documents)}
    elif "grove" in installed:
        faults |= set(find_shared_sets(loaded.documents))
    return Checked(faults=_reword(faults), warnings=_say_once(_reword(warnings)))


def _say_once(warnings: Iterable[Fault]) -> tuple[Fault, ...]:
    """The warnings; of those that are said once for a file, the first of each file with the number of the others."""
    said: dict[tuple[str, str], list[Fault]] = {}
    kept: list[Fault] = []
    for one in warnings:
        alike = said.setdefault((one.file, one.problem.rule.name), [])
        if not alike or one.problem.rule not in ONCE_A_FILE:
            kept.append(one)
        alike.append(one)
    return tuple(_count(one, len(said[one.file, one.problem.rule.name]) - 1) for one in kept)


def _count(warning: Fault, others: int) -> Fault:
    problem = warning.problem
    rule = ONCE_A_FILE.get(problem.rule)
    if rule is None or not others:
        return warning
    return replace(warning, problem=rule.at(problem.path, **{**dict(problem.values), "count": others}))


def _as_warning(fault: Fault) -> Fault:
    return replace(fault, problem=replace(fault.problem, rule=as_warning(fault.problem.rule)))


def check_document(document: Document) -> list[Fault]:
    """All problems of a document except those that rules find; other kinds have no schema here."""
    of_schema = _find_schema_problems(document) if document.is_ours else []
    return [*document.faults, *(document.place_written(problem) for problem in of_schema)]


def _find_schema_problems(document: Document) -> list[Problem]:
    """What the schema of the written version finds, and what only the schema of v1alpha1 finds."""
    if document.beta is None:
        return find_faults(document.object)
    of_written = find_faults(document.beta)
    converted = (document.as_written(problem) for problem in find_faults(document.object))
    return [*of_written, *(one for one in converted if not any(_overlap(one, other) for other in of_written))]


def _overlap(problem: Problem, other: Problem) -> bool:
    return problem.path.is_within(other.path) or other.path.is_within(problem.path)


def _reword(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """The problems in the words for a person without a cluster, sorted."""
    found = (
        replace(one, problem=replace(one.problem, rule=OFFLINE.get(one.problem.rule, one.problem.rule)))
        for one in faults
    )
    return tuple(sort_faults(set(found)))


def _judge(document: Document, settings: Settings, installed: frozenset[str] | None) -> Verdict:
    """The rules' problems and warnings, with the paths of the version that was written."""
    review = Review(
        new=apply_defaults(document.object),
        old=None,
        user=None,
        settings=settings,
        installed=None if installed is None else frozenset(declared_kinds(installed)),
        is_offline=True,
    )
    verdict = RULES[plural_of(document.kind)](review)
    if document.beta is None:
        return verdict
    return Verdict(
        problems=(*find_beta_problems(document.beta), *_as_written(document, verdict.problems)),
        warnings=(
            *VERSIONS.rules_of(document.beta).find_warnings(document.beta),
            *map(document.as_written, verdict.warnings),
        ),
    )


def find_beta_problems(beta: Manifest) -> Iterator[Problem]:
    """The problems of an object that is not written in v1alpha1 by the rules that only its version has."""
    yield from VERSIONS.rules_of(beta).find_problems(beta)
    if beta["kind"] == contract.GRAPH_REQUEST.kind:
        from hooks.request.rules.profiler_rules import find_written_problems  # noqa: PLC0415 - few manifests are requests

        yield from find_written_problems(beta)


def _as_written(document: Document, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems of the object as v1alpha1, with the paths that were written; the version's own rules leave some out."""
    if document.beta is None:
        return tuple(problems)
    return drop_repetitions(map(document.as_written, problems), find_beta_problems(document.beta))


def _render(
    documents: Sequence[Document], settings: Settings, installed: frozenset[str], spread: Spread
) -> list[Rendered]:
    objects = [store(document.object) if document.is_ours else document.object for document in documents]
    return render(objects, Facts(now=ANY_TIME, settings=settings), installed=installed, spread=spread)


def store(obj: Manifest) -> Manifest:
    """The object as the API server creates it: with defaults, and without the status that a user wrote."""
    return {key: value for key, value in apply_defaults(obj).items() if key != "status"}
