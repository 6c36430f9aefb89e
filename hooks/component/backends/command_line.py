"""A container's command and arguments as one command line; the only way in which a command is read."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.k8s.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """What a user wrote as `command` and `args`."""

    command: tuple[str, ...]
    args: tuple[str, ...]

    @classmethod
    def of(cls, container: Mapping[str, Json]) -> "CommandLine":
        """Read a container's own command and arguments; both may be absent."""
        return cls(
            command=tuple(map(str, container.get("command") or ())),
            args=tuple(map(str, container.get("args") or ())),
        )

    @property
    def text(self) -> str:
        """All words, joined by single spaces."""
        return " ".join((*self.command, *self.args))
