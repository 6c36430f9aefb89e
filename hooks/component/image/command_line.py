"""A container's command and arguments as one command line; all other modules read commands through it."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.ground.k8s.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The user's `command` and `args`."""

    command: tuple[str, ...]
    args: tuple[str, ...]

    @classmethod
    def of(cls, container: Mapping[str, Json]) -> "CommandLine":
        """The command line of a container; `command` and `args` may be absent."""
        return cls(
            command=tuple(map(str, container.get("command") or ())),
            args=tuple(map(str, container.get("args") or ())),
        )

    @property
    def text(self) -> str:
        """All words, joined by single spaces."""
        return " ".join((*self.command, *self.args))
