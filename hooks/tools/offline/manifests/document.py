"""One object of the input, and its problems with their places.

Rules and hooks know v1alpha1 only. Their problems are told in the version that was written: its paths and its words.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.ground.k8s.yaml_reader import Mark, YamlPath
from hooks.ground.problems import Problem
from hooks.language.versions import VERSIONS, written_path
from hooks.wire.metacontroller.controllers import OUR_KINDS

WHOLE = Mark(0, 0)
"""The place of what is wrong with a file as a whole: it has no line."""

Place = tuple[str, Mark]
"""A file, and a place in it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem or warning, and its place in the input; line and column are 1-based, or those of `WHOLE`.

    `about` names the object where the file has none of it.
    """

    file: str
    mark: Mark
    problem: Problem
    about: str = ""

    @property
    def sentence(self) -> str:
        """`field: message`, behind the object where the file does not show which one is meant."""
        return f"{self.about}: {self.problem.sentence}" if self.about else self.problem.sentence

    @property
    def where(self) -> str:
        """`file:line`, or only the file."""
        return f"{self.file}:{self.mark.line}" if self.mark != WHOLE else self.file

    def __str__(self) -> str:
        """`file:line: field: message`, as compilers write it."""
        return f"{self.where}: {self.sentence}"


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
    """The object that was written, if it was in a version beside v1alpha1."""
    elsewhere: Mapping[YamlPath, Place] = field(default_factory=dict, repr=False)
    """The places of fields that another file wrote, such as a patch of Kustomize."""

    @property
    def written(self) -> Manifest:
        """The object in the version that was written."""
        return self.object if self.beta is None else self.beta

    @property
    def where(self) -> str:
        """`file:line` of the place where the object begins, or only the file."""
        mark = self.marks[()]
        return f"{self.file}:{mark.line}" if mark != WHOLE else self.file

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
        word = VERSIONS.rules_of(self.beta or {}).word
        worded = replace(problem, rule=word(problem.rule))
        file, mark = self.find(problem.path.parts)
        return Fault(file, mark, worded, self._title if mark == WHOLE else "")

    def find(self, parts: YamlPath) -> Place:
        """File and place of a field of `written`; for a missing field, of the nearest object around it."""
        for end in range(len(parts), -1, -1):
            if place := self.elsewhere.get(parts[:end]):
                return place
            if mark := self.marks.get(parts[:end]):
                return self.file, mark
        return self.file, self.marks[()]

    @property
    def _title(self) -> str:
        """Kind and name; empty if it has none."""
        metadata = self.object.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return f"{self.object.get('kind')} {name}" if isinstance(name, str) else ""
