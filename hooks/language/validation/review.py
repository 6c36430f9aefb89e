"""A write to check (the new object, the old one, the user), and the verdict of the rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks.ground.k8s.types import GroupVersionKind, ReadManifest
from hooks.ground.problems import Problem, reasons_of
from hooks.ground.settings import Settings

GENERATED_SUFFIX = "xxxxx"
"""Placeholder for the five characters that the API server appends to `generateName`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """The user of a request, as the API server authenticated them."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """An object about to be written; `old` is None on create, `user` None if the API server sends none.

    `installed` are the optional kinds of the cluster; None if they are unknown: then rules that need them are skipped.
    `is_offline`: nothing will run the object for now, so what only Grove would refuse is a warning if they are unknown,
    and a person wants to know all at once.
    """

    new: ReadManifest
    old: ReadManifest | None
    user: Requester | None
    settings: Settings
    installed: frozenset[GroupVersionKind] | None
    is_offline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """All problems in upstream's order, and warnings; without problems the object is accepted."""

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of the problems, each once, sorted."""
        return reasons_of(self.problems)
