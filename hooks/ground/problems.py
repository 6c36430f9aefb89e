"""Problems of an object, as values: the field, the rule, and the sentence that a person reads.

Only the rule has the text, and no code parses it. Code that distinguishes problems compares their rules.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from string import Formatter
from typing import TypeAlias


class Key(str):
    """The key of a map, as a part of a path: written in brackets."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FieldPath:
    """The path of a field; `parts` are names of fields, keys of maps (`Key`) and 0-based indices of lists.

    `SPEC / "resources.limits.gpu"` adds names, `SPEC / "services" / Key("main")` a key, `SPEC / "pvcs" / 0` an index.

    Source: Kubernetes, apimachinery pkg/util/validation/field, Path.
    """

    parts: tuple[str | int, ...] = ()

    def __truediv__(self, part: str | int) -> "FieldPath":
        if type(part) is str and "." in part:  # a `Key` keeps its dots
            return FieldPath((*self.parts, *part.split(".")))
        return FieldPath((*self.parts, part))

    def __str__(self) -> str:
        """`spec.services[main].envs[0].name`."""
        text = "".join(f"[{p}]" if isinstance(p, int | Key) else f".{p}" for p in self.parts)
        return text.removeprefix(".")

    def is_within(self, other: "FieldPath") -> bool:
        """Whether this is the other path, or a field below it."""
        return self.parts[: len(other.parts)] == other.parts

    def under(self, new: "FieldPath", *, instead_of: "FieldPath") -> "FieldPath":
        """The path with `new` in place of its beginning `instead_of`; unchanged if it has another beginning."""
        if not self.is_within(instead_of):
            return self
        return FieldPath((*new.parts, *self.parts[len(instead_of.parts) :]))


HERE = FieldPath()
SPEC = HERE / "spec"
METADATA = HERE / "metadata"


@dataclass(frozen=True, slots=True)
class Joined:
    """Text that contains paths, as one value of a problem."""

    parts: tuple[str | FieldPath, ...]

    @classmethod
    def of(cls, paths: Iterable[FieldPath]) -> "Joined":
        """The paths, separated by commas."""
        parts = [part for path in paths for part in (", ", path)]
        return cls(tuple(parts[1:]))

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    def moved(self, move: Callable[[FieldPath], FieldPath]) -> "Joined":
        """The same text with `move` of each path."""
        return Joined(tuple(move(part) if isinstance(part, FieldPath) else part for part in self.parts))


class Severity(StrEnum):
    """Whether an object with the problem is refused."""

    ERROR = "error"
    WARNING = "warning"


class Reason(StrEnum):
    """Why an object is refused, in one word; a label of metrics."""

    IMMUTABLE = "immutable"
    INVALID = "invalid"
    NAME = "name"
    NOT_INSTALLED = "not_installed"
    REPLICAS_MANAGED = "replicas_managed"
    REQUIRED = "required"
    DEPTH = "depth"


class Place(StrEnum):
    """Who refuses: the API server by CEL rules in the schema, only the webhook, or the hooks when they render.

    The webhook and the hooks check the rules of the API server too, and the webhook checks those of the hooks.
    """

    CEL = "cel and webhook"
    WEBHOOK = "webhook"
    HOOKS = "hooks"


Value: TypeAlias = "str | int | FieldPath | Joined | Problem"
"""A value for a name in a rule's text; a problem is one of another object, and `under` does not change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule; `text` is the text of its problems, with `{path}` and other names in braces for the values.

    `why` says why a rule of the webhook cannot be written in CEL. `is_doubtful`: whether an object breaks it depends on
    what the cluster has, which is unknown.
    """

    name: str
    text: str
    reason: Reason = Reason.INVALID
    place: Place = Place.HOOKS
    severity: Severity = Severity.ERROR
    why: str = ""
    is_doubtful: bool = False

    @property
    def names_field(self) -> bool:
        """Whether the text itself names the field, or the spec that contains it."""
        named = {name for _, name, _, _ in Formatter().parse(self.text)}
        return bool(named & {"path", "spec"})

    def at(self, path: FieldPath, **values: Value) -> "Problem":
        """The problem that the field breaks this rule; `values` are those of the names in the text.

        Raises:
            KeyError: a name in the text has no value.
        """
        problem = Problem(path=path, rule=self, values=tuple(sorted(values.items(), key=lambda item: item[0])))
        self.text.format(path=path, **values)
        return problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A field that breaks a rule; `values` are those of the names in the rule's text, sorted by name."""

    path: FieldPath
    rule: Rule
    values: tuple[tuple[str, Value], ...] = ()

    @property
    def sentence(self) -> str:
        """The text, behind the path if it does not name the field itself."""
        return self.text if self.rule.names_field or not self.path.parts else f"{self.path}: {self.text}"

    @property
    def text(self) -> str:
        """One line for a person, which names the field."""
        values: Mapping[str, Value] = dict(self.values)
        return " ".join(self.rule.text.format(path=self.path, **values).splitlines())

    @property
    def severity(self) -> Severity:
        """Whether an object with it is refused."""
        return self.rule.severity

    def __str__(self) -> str:
        return self.text

    def under(self, new: FieldPath, *, instead_of: FieldPath = HERE) -> "Problem":
        """The same problem with other paths: `new` replaces their beginning `instead_of`."""
        return self.moved(lambda path: path.under(new, instead_of=instead_of))

    def moved(self, move: Callable[[FieldPath], FieldPath]) -> "Problem":
        """The same problem with `move` of each path."""
        values = tuple((name, _move(value, move)) for name, value in self.values)
        return replace(self, path=move(self.path), values=values)


def _move(value: Value, move: Callable[[FieldPath], FieldPath]) -> Value:
    match value:
        case FieldPath():
            return move(value)
        case Joined():
            return value.moved(move)
        case _:
            return value


def reasons_of(problems: tuple[Problem, ...]) -> tuple[str, ...]:
    """The reasons of some problems, each once, sorted."""
    return tuple(sorted({problem.rule.reason.value for problem in problems}))


def sort_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems sorted by text, so that the order of keys in a request does not change the order of problems."""
    return tuple(sorted(problems, key=lambda problem: problem.text))


def texts_of(problems: Iterable[Problem]) -> tuple[str, ...]:
    """The text of each problem."""
    return tuple(problem.text for problem in problems)


def describe_problem(problem: Problem) -> dict[str, str]:
    """A problem for a program: its path, the names of its rule and severity, and its text."""
    return {
        "path": str(problem.path),
        "rule": problem.rule.name,
        "severity": problem.severity.value,
        "message": problem.text,
    }


def join_texts(problems: Iterable[Problem]) -> str:
    """All problems as one line, for a condition's message."""
    return "; ".join(problem.text for problem in problems)
