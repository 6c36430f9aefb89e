"""Rich's console for texts of others: what it writes itself reaches the terminal, their control characters do not."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from hooks.server.commands.terminal import raw_stream, without_controls


class SafeConsole(Console):
    """A console on standard output, or on standard error with `err`."""

    def __init__(self, *, err: bool = False, **options: Any) -> None:
        super().__init__(file=raw_stream(err=err), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The parts of what is shown."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=without_controls(part.text))
