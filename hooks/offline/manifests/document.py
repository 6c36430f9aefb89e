"""One object of the input, and its problems with their places.

Rules and hooks know v1alpha1 only. Their problems are told in the version that was written: its paths and its words.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hooks.api.conversion import written_path
from hooks.k8s.types import GroupVersionKind, Manifest
from hooks.k8s.yaml_reader import Mark, YamlPath
from hooks.metacontroller.controllers import OUR_KINDS
from hooks.problems import Problem
from hooks.rules.v1beta1 import in_v1beta1


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem or warning, and its place in the input; line and column are 1-based."""

    file: str
    mark: Mark
    problem: Problem

    def __str__(self) -> str:
        """`file:line: field: message`, as compilers write it."""
        return f"{self.file}:{self.mark.line}: {self.problem.sentence}"


def sort_faults(faults: Iterable[Fault]) -> list[Fault]:
    """Sort by place, then by field; each text is made once."""
    return sorted(faults, key=lambda one: (one.file, one.mark.line, str(one.problem.path), one.problem.text))


@dataclass(frozen=True, slots=True)
class Document:
    """One object of the input, the places of its fields, and the problems that its schema does not find."""

    file: str
    object: Manifest
    """The object as v1alpha1 if it is one of ours, else as it was written."""
    marks: dict[YamlPath, Mark] = field(repr=False)
    """The places of the fields that were written."""
    faults: tuple[Fault, ...] = ()
    namesake: Fault | None = None
    """An object of the same kind and name in another file: a warning."""
    beta: Manifest | None = None
    """The object that was written, if it was v1beta1."""

    @property
    def written(self) -> Manifest:
        """The object in the version that was written."""
        return self.object if self.beta is None else self.beta

    @property
    def line(self) -> int:
        """Where the object begins."""
        return self.marks[()].line

    @property
    def kind(self) -> GroupVersionKind:
        """The object's kind, in the version of `object`."""
        return GroupVersionKind.of(self.object["apiVersion"], self.object["kind"])

    @property
    def is_ours(self) -> bool:
        """Whether the object is one of the five kinds; others pass through untouched."""
        return self.kind in OUR_KINDS

    def place(self, problem: Problem) -> Fault:
        """A problem of `object` at its field; for a missing field, at the nearest object around it."""
        return self.place_written(self.as_written(problem))

    def as_written(self, problem: Problem) -> Problem:
        """A problem of `object` with the paths of `written`."""
        beta = self.beta
        return problem if beta is None else problem.moved(lambda path: written_path(path, beta))

    def place_written(self, problem: Problem) -> Fault:
        """A problem of `written` at its field, in the words of its version."""
        parts = problem.path.parts
        known = next(parts[:end] for end in range(len(parts), -1, -1) if parts[:end] in self.marks)
        worded = problem if self.beta is None else replace(problem, rule=in_v1beta1(problem.rule))
        return Fault(self.file, self.marks[known], worded)
