"""What is wrong with an object, as values: which field, which rule, and the sentence that a person reads.

A rule owns its words; nothing reads them back. Whoever decides by a problem decides by its rule.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from string import Formatter
from typing import TypeAlias


class Key(str):
    """The key of a map, as a part of a path: written in brackets."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FieldPath:
    """Where a field stands; `parts` are names of fields, keys of maps (`Key`) and 0-based indices of lists.

    `SPEC / "resources.limits.gpu"` adds names, `SPEC / "services" / Key("main")` a key, `SPEC / "pvcs" / 0` an index.

    Source: Kubernetes, apimachinery pkg/util/validation/field, Path.
    """

    parts: tuple[str | int, ...] = ()

    def __truediv__(self, part: str | int) -> "FieldPath":
        added = tuple(part.split(".")) if isinstance(part, str) and not isinstance(part, Key) else (part,)
        return FieldPath((*self.parts, *added))

    def __str__(self) -> str:
        """`spec.services[main].envs[0].name`."""
        text = "".join(f"[{p}]" if isinstance(p, int | Key) else f".{p}" for p in self.parts)
        return text.removeprefix(".")

    def is_within(self, other: "FieldPath") -> bool:
        """Whether this is the other path, or a field below it."""
        return self.parts[: len(other.parts)] == other.parts

    def under(self, new: "FieldPath", *, instead_of: "FieldPath") -> "FieldPath":
        """The path with `new` in place of its beginning `instead_of`; unchanged where it begins otherwise."""
        if not self.is_within(instead_of):
            return self
        return FieldPath((*new.parts, *self.parts[len(instead_of.parts) :]))


HERE = FieldPath()
SPEC = HERE / "spec"
METADATA = HERE / "metadata"


class Severity(StrEnum):
    """Whether a problem keeps an object out."""

    ERROR = "error"
    WARNING = "warning"


class Reason(StrEnum):
    """Why an object is refused, as a label of metrics."""

    IMMUTABLE = "immutable"
    INVALID = "invalid"
    NAME = "name"
    NOT_INSTALLED = "not_installed"
    REPLICAS_MANAGED = "replicas_managed"
    REQUIRED = "required"
    DEPTH = "depth"


class Place(StrEnum):
    """Who refuses: the API server itself by its schema's rules, the webhook alone, or the hooks when they render.

    The webhook and the hooks know the rules of the API server as well, and the webhook those of the hooks.
    """

    CEL = "cel and webhook"
    WEBHOOK = "webhook"
    HOOKS = "hooks"


Value: TypeAlias = "str | int | FieldPath | Problem"
"""What a text leaves open; a problem as a value is one of another object, which `under` leaves as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule; `text` is what its problems say, with `{path}` and other names in braces for what differs.

    `why` says what keeps a rule of the webhook out of CEL.
    """

    name: str
    text: str
    reason: Reason = Reason.INVALID
    place: Place = Place.HOOKS
    severity: Severity = Severity.ERROR
    why: str = ""

    @property
    def names_field(self) -> bool:
        """Whether the text itself names the field, or the spec that it stands in."""
        named = {name for _, name, _, _ in Formatter().parse(self.text)}
        return bool(named & {"path", "spec"})

    def at(self, path: FieldPath, **values: Value) -> "Problem":
        """The problem that the field breaks this rule; `values` are by name what the text leaves open.

        Raises:
            KeyError: the text names a value that is not given.
        """
        problem = Problem(path=path, rule=self, values=tuple(sorted(values.items(), key=lambda item: item[0])))
        self.text.format(path=path, **values)
        return problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A field that breaks a rule; `values` are what the rule's text leaves open, sorted by name."""

    path: FieldPath
    rule: Rule
    values: tuple[tuple[str, Value], ...] = ()

    @property
    def text(self) -> str:
        """One line for a person, which names the field."""
        values: Mapping[str, Value] = dict(self.values)
        return " ".join(self.rule.text.format(path=self.path, **values).splitlines())

    @property
    def severity(self) -> Severity:
        """Whether it keeps the object out."""
        return self.rule.severity

    def __str__(self) -> str:
        return self.text

    def under(self, new: FieldPath, *, instead_of: FieldPath = HERE) -> "Problem":
        """The same problem of a field that stands elsewhere: `new` takes the place of `instead_of` in all paths."""
        values = tuple(
            (name, value.under(new, instead_of=instead_of) if isinstance(value, FieldPath) else value)
            for name, value in self.values
        )
        return replace(self, path=self.path.under(new, instead_of=instead_of), values=values)


def reasons_of(problems: tuple[Problem, ...]) -> tuple[str, ...]:
    """The reasons of some problems, each once, sorted."""
    return tuple(sorted({problem.rule.reason.value for problem in problems}))


def sort_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems in the order of their texts, which no order of keys in a request changes."""
    return tuple(sorted(problems, key=lambda problem: problem.text))


def texts_of(problems: Iterable[Problem]) -> tuple[str, ...]:
    """What a person reads of each."""
    return tuple(problem.text for problem in problems)


def join_texts(problems: Iterable[Problem]) -> str:
    """All problems as one line, for a condition's message."""
    return "; ".join(problem.text for problem in problems)
