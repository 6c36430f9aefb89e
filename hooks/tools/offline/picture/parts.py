"""The parts of a picture, as values that all forms share: boxes, and the links between them.

All texts are already clean: on one line, and without characters that cannot be seen. They are not escaped.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

_NUMBERED = re.compile(r"([^0-9]*)([0-9]*)")


class BoxRole(StrEnum):
    """What a box stands for; the value is the word that the picture shows."""

    GATEWAY = "entry"
    FRONTEND = "frontend"
    PICKER = "endpoint picker"
    PLANNER = "planner"
    OTHER = "service"
    PREFILL = "prefill"
    DECODE = "decode"
    WORKER = "worker"
    ADAPTER = "LoRA adapter"
    MODEL = "model"
    DISCOVERY = "discovery"


COLORS: Mapping[BoxRole, tuple[str, str]] = {
    BoxRole.GATEWAY: ("#d9f3f5", "#0b6470"),
    BoxRole.FRONTEND: ("#ddeafc", "#0b57b0"),
    BoxRole.PICKER: ("#ddeafc", "#0b57b0"),
    BoxRole.PLANNER: ("#ece4fb", "#6f3fc0"),
    BoxRole.OTHER: ("#eceff2", "#57606a"),
    BoxRole.PREFILL: ("#fde7d6", "#9a4100"),
    BoxRole.DECODE: ("#dcf3e0", "#116329"),
    BoxRole.WORKER: ("#dcf3e0", "#116329"),
    BoxRole.ADAPTER: ("#fbe1f0", "#99286e"),
    BoxRole.MODEL: ("#fbe1f0", "#99286e"),
    BoxRole.DISCOVERY: ("#eceff2", "#57606a"),
}
"""By role: the colour that fills a box, and that of its border."""


class LinkKind(StrEnum):
    """What a link means; the value is the word that the picture shows."""

    REQUESTS = "requests"
    PICKING = "asks which worker"
    TRANSFER = "KV transfer"
    SCALING = "scales"
    LOADING = "served by"
    DISCOVERY = "found through"


class Mood(StrEnum):
    """How well something live is; the value is the sign that the picture shows."""

    READY = "✓"
    WAITING = "…"
    UNREADY = "✗"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How well something live is, in a few words, and why; `why` may be empty."""

    mood: Mood
    text: str
    why: str = ""

    @property
    def title(self) -> str:
        """The sign and the few words."""
        return f"{self.mood.value} {self.text}"

    @property
    def line(self) -> str:
        """The title, and why."""
        return f"{self.title}: {self.why}" if self.why else self.title


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One part of a graph. `key` is made by us and unique within a picture; `state` is None without a cluster."""

    key: str
    role: BoxRole
    title: str
    lines: tuple[str, ...]
    state: State | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A relation of each source to each target, by the keys of their boxes."""

    kind: LinkKind
    sources: tuple[str, ...]
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One graph: `subtitle` says in a line what it is; `state` is None without a cluster."""

    title: str
    subtitle: str
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    state: State | None = None


def natural_order(name: str) -> tuple[tuple[str, int], ...]:
    """The key that sorts names as a person does: `worker-2` before `worker-10`."""
    return tuple((text, int(digits or -1)) for text, digits in _NUMBERED.findall(name))


def clean(text: str) -> str:
    """The text on one line; a character that no one sees, such as one that turns the direction, becomes a mark."""
    return " ".join("".join(map(_visible, text)).split())


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    if char.isspace():
        return " "
    return "\N{REPLACEMENT CHARACTER}" if category.startswith("C") else char
