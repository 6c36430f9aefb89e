"""Checks an object by the rules of its kind: their order, problems that the old object had too, and warnings.

Source: Dynamo operator, internal/webhook/validation/*_handler.go; Kubernetes, "Validation ratcheting" of custom
resources, for updates of an object that has problems already.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hooks.ground.k8s.types import ReadManifest
from hooks.ground.problems import Problem
from hooks.language.api.base import Model, read_parent
from hooks.language.validation.reading import add_problems, drop_consequences
from hooks.language.validation.review import GENERATED_SUFFIX, Review, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The problems and warnings that rules found."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def judge(
    review: Review,
    model: type[Model],
    *,
    of_object: Callable[[Model, Review], Findings],
    of_change: Callable[[Model, ReadManifest, Review], Findings] = lambda _new, _old, _review: Findings(),
    warns_always: bool = False,
) -> Verdict:
    """The problems of the object, then of the change; an object that is being deleted has none.

    A problem that the old object had too does not count: else a new rule would refuse every update of an older object,
    even an annotation. As upstream, if there are problems, there are no warnings about the object, unless
    `warns_always`, or offline: there those about other fields stand beside the problems. Never raises for any object.
    """
    if _is_going(review.new):
        return Verdict(problems=())
    new, misfits = read_parent(model, _prepare(review.new))
    alone = _judge_alone(new, misfits, review, of_object)
    problems = alone.problems
    if problems and review.old is not None:
        old, before = read_parent(model, _prepare(review.old))
        known = frozenset(_judge_alone(old, before, review, of_object).problems)
        problems = tuple(problem for problem in problems if problem not in known)
    change = Findings() if review.old is None else of_change(new, review.old, review)
    problems = (*problems, *drop_consequences(change.problems, misfits))
    warnings = alone.warnings if warns_always or review.is_offline or not problems else ()
    if review.is_offline:
        paths = {problem.path for problem in problems}
        warnings = tuple(warning for warning in warnings if warning.path not in paths)
    return Verdict(problems=problems, warnings=(*warnings, *drop_consequences(change.warnings, misfits)))


def _judge_alone(
    parent: Model, misfits: tuple[Problem, ...], review: Review, of_object: Callable[[Model, Review], Findings]
) -> Findings:
    found = of_object(parent, review)
    return Findings(
        problems=add_problems(misfits, found.problems),
        warnings=drop_consequences(found.warnings, misfits),
    )


def _prepare(manifest: ReadManifest) -> ReadManifest:
    """The object as it will be stored: with a name and a namespace, and without its status."""
    manifest = {key: value for key, value in manifest.items() if key != "status"}
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        return manifest
    prefix = metadata.get("generateName")
    name = f"{prefix}{GENERATED_SUFFIX}" if prefix and not metadata.get("name") else metadata.get("name")
    return {**manifest, "metadata": {**metadata, "name": name, "namespace": metadata.get("namespace") or "default"}}


def _is_going(manifest: ReadManifest) -> bool:
    metadata = manifest.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("deletionTimestamp"))
