"""The question to the rules (an object as it is to be written, as it was, and who asks) and their answer, a verdict."""

from dataclasses import dataclass

from hooks.k8s.types import GroupVersionKind, ReadManifest
from hooks.problems import Problem, reasons_of
from hooks.settings import Settings

GENERATED_SUFFIX = "xxxxx"
"""Stands for the five characters that the API server puts behind `generateName`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who asks, as the API server authenticated them."""

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """An object about to be written; `old` is None on create, `user` None where the API server does not say.

    `installed` are the optional kinds of the cluster; None where that is unknown, and rules that need them are left
    out.
    """

    new: ReadManifest
    old: ReadManifest | None
    user: User | None
    settings: Settings
    installed: frozenset[GroupVersionKind] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """All problems in upstream's order (none: accepted), and warnings."""

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the object is refused, in short words, sorted."""
        return reasons_of(self.problems)
