"""Checks objects that do not fit their model too, so that one problem does not hide others.

The fields that do not fit are replaced (`hooks.language.api.misfits`), the rules check the result, and problems that
follow from a replaced field are left out.
"""

from collections.abc import Callable, Iterable, Iterator

from hooks.ground.k8s.types import ReadManifest
from hooks.ground.problems import METADATA, SPEC, FieldPath, Problem, Reason, Rule
from hooks.language.api.base import Model, read_parent
from hooks.language.rules import graph, topology

_ALSO_READS: dict[Rule, tuple[FieldPath, ...]] = {
    graph.RESTART_COMPLETE: (SPEC / "services",),
    graph.RESTART_UNKNOWN: (SPEC / "services",),
    topology.TOPOLOGY_ANYWHERE: (SPEC / "services",),
}
"""Fields that a rule reads in addition to those that its problems name; all rules of names read `metadata.name`."""


def validate_parent(
    model: type[Model], manifest: ReadManifest, validate: Callable[[Model], Iterable[Problem]]
) -> tuple[Model, tuple[Problem, ...]]:
    """A parent, its unfit fields replaced, and all its problems: fields that do not fit, then broken rules."""
    parent, misfits = read_parent(model, manifest)
    return parent, add_problems(misfits, validate(parent))


def add_problems(misfits: tuple[Problem, ...], problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The fields that do not fit, then the problems that do not follow from them."""
    return (*misfits, *drop_consequences(problems, misfits))


def drop_consequences(problems: Iterable[Problem], misfits: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """The problems that do not follow from one of the fields that do not fit."""
    replaced = [misfit.path for misfit in misfits]
    return tuple(problem for problem in problems if not any(_follows(problem, path) for path in replaced))


def _follows(problem: Problem, replaced: FieldPath) -> bool:
    if any(path.is_within(replaced) for path in _read_paths(problem)):
        return True
    # Rules check a list as a whole, and one of its entries was replaced.
    above, last = FieldPath(replaced.parts[:-1]), replaced.parts[-1]
    return isinstance(last, int) and problem.path == above


def _read_paths(problem: Problem) -> Iterator[FieldPath]:
    """The fields that a rule checked together."""
    yield problem.path
    yield from (value for _, value in problem.values if isinstance(value, FieldPath))
    yield from _ALSO_READS.get(problem.rule, ())
    if problem.rule.reason is Reason.NAME:
        yield METADATA / "name"
