"""What a container's command asks of its image that the image lacks: a program, a module, a flag, a variable.

Only what the table of `image_contents` knows counts: of any other image or release nothing is said.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hooks.component.image.command_line import CommandLine
from hooks.component.image.contents import Span, find_flag, find_module, find_program, find_variable
from hooks.component.image.flags import FATAL_VARIABLES, FRONTEND, TRTLLM
from hooks.component.image.programs import Run, read_runs
from hooks.component.image.runtime_version import RuntimeVersion
from hooks.ground.k8s.types import Json

NOT_FOUND = 127
_NO_MODULE = 1
_USAGE = 2
_LOOKING = frozenset({"command", "which", "type", "hash"})
"""Programs that ask whether there is another one: a script that asks knows what to do without."""
_OWN_STATUS = frozenset({FRONTEND, TRTLLM})
"""Modules that end with status 1 at a flag that they do not know; the others leave it to their parser."""


class LackKind(StrEnum):
    """What an image can lack."""

    PROGRAM = "program"
    MODULE = "module"
    FLAG = "flag"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """One thing that the image lacks; `by` is what asks for it: a module, empty for a program.

    `span` says which releases have it. `exit_code` is how the container ends; 0 if it runs on.
    """

    part: LackKind
    name: str
    by: str
    span: Span
    exit_code: int


def find_lacks(
    container: Mapping[str, Json], version: RuntimeVersion | None, env: Iterable[Mapping[str, Json]] = ()
) -> tuple[Lack, ...]:
    """What the container's image lacks in that release; `env` are its variables. () if nothing is known to lack."""
    image = container.get("image")
    if version is None or not isinstance(image, str):
        return ()
    runs = read_runs(CommandLine.of(container))
    names = [str(entry.get("name")) for entry in env]
    found = (lack for run in runs for lack in _of_run(run, image, names, runs) if not lack.span.has(version))
    return tuple(dict.fromkeys(found))


def _of_run(run: Run, image: str, names: Iterable[str], runs: Iterable[Run]) -> Iterator[Lack]:
    """All that the run asks for and that some releases lack."""
    program = run.program.rpartition("/")[2]
    is_asked = run.is_asked or any(one.program in _LOOKING and program in one.words for one in runs)
    if (span := find_program(program, image)) is not None and not is_asked:
        yield Lack(part=LackKind.PROGRAM, name=program, by="", span=span, exit_code=NOT_FOUND)
    if not run.module:
        return
    if (span := find_module(run.module, image)) is not None:
        yield Lack(part=LackKind.MODULE, name=run.module, by=run.module, span=span, exit_code=_NO_MODULE)
    status = _NO_MODULE if run.module in _OWN_STATUS else _USAGE
    for flag in run.flags:
        if (span := find_flag(run.module, flag)) is not None:
            yield Lack(part=LackKind.FLAG, name=flag, by=run.module, span=span, exit_code=status)
    for name in names:
        if (span := find_variable(run.module, name)) is not None:
            code = _NO_MODULE if name in FATAL_VARIABLES else 0
            yield Lack(part=LackKind.VARIABLE, name=name, by=run.module, span=span, exit_code=code)
