"""Commands and shells: reads a container's command, quotes it for a shell, and adds flags to it.

Two programs read every text: first the kubelet replaces each `$(NAME)`, then the shell, if there is one, parses the
result. Our quoting suits both: it keeps references, and the value of a reference stays one word. The exception is a
value with a single quote, because the kubelet knows no quotes.

Source: Dynamo operator, internal/dynamo/backend_common.go, injectFlagsIntoContainerCommand; Kubernetes,
third_party/forked/golang/expansion/expand.go.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import assert_never

from hooks.component.image.command_line import CommandLine
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, Problem
from hooks.language.rules import pod as rules

_MAIN = SPEC / "extraPodSpec.mainContainer"
_PLAIN = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
_DOLLARS = re.compile(r"\$\$|\$\(")
_PYTHON_PROGRAM = re.compile(r"(.*/)?python\d*(\.\d+)*", re.ASCII)
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_SCRIPT_OPTION = re.compile(r"-[A-Za-z]*c[A-Za-z]*")

_SEPARATORS = re.compile(r"([|&;]|(?<!\\)\n)")
_PYTHON = re.compile(r"python[0-9.]*\s")
_BLANK = r"(?:\s|\\\n)"
# A word may be quoted as a whole; a quote inside or after it belongs to the text around it.
_WORD = r"""(["']?)[^\s"'`()<>]*{engine}[^\s"'`()<>]*\1"""
_SHOWN = 200


class Program(StrEnum):
    """The program of a command line: Python, a shell with a script, or another one, whose arguments we cannot read."""

    PYTHON = "python"
    SCRIPT = "script"
    OTHER = "other"


def quote(token: str) -> str:
    """Quote one argument for a shell; the kubelet expands the text before the shell reads it."""
    if _PLAIN.fullmatch(token):
        return token
    closed, parenthesis, rest = token.replace("'", "'\"'\"'").rpartition(")")
    # A `$(` without a `)` in this token: the kubelet would search the following tokens for the `)`. A pair of quotes
    # between the two characters hides the reference, and the shell removes the quotes.
    unclosed = _DOLLARS.sub(lambda found: "$''(" if found[0] == "$(" else found[0], rest)
    return f"'{closed}{parenthesis}{unclosed}'"


def quote_line(tokens: Iterable[str]) -> str:
    """A command as one line for a shell: the arguments, quoted if necessary, joined by spaces."""
    return " ".join(quote(token) for token in tokens)


def program_of(line: CommandLine, engine: str) -> Program:
    """The program that a command line runs, also after launchers such as `tini --`, `env` or `numactl`."""
    tokens = (*line.command, *line.args)
    last_named = max((index for index, token in enumerate(tokens) if engine in token), default=0)
    last_option = max((index for index, token in enumerate(tokens) if _SCRIPT_OPTION.fullmatch(token)), default=0)
    for index, token in enumerate(tokens):
        if is_python(token) and (index == 0 or index < last_named):
            return Program.PYTHON
        if token.rpartition("/")[2] in _SHELLS and index < last_option:
            return Program.SCRIPT
    return Program.OTHER


def is_python(program: str) -> bool:
    """Whether the path is that of a Python interpreter."""
    return _PYTHON_PROGRAM.fullmatch(program) is not None


def add_flags(container: Mapping[str, Json], flags: str, *, engine: str, needs_shell: bool) -> dict[str, Json]:
    """The container with flags for the engine; `flags` is text for a shell, already quoted.

    If the program is Python, the flags come after the user's; with `needs_shell` a shell runs it, because the flags
    contain arithmetic. In a shell script, the flags come right after the engine's module. Any other program, and a
    script in which no Python runs the engine, gets no flags: it may launch the engine in its own way.
    """
    line = CommandLine.of(container)
    match program_of(line, engine):
        case Program.PYTHON if needs_shell:
            words = quote_line((*line.command, *line.args))
            return {**container, "command": ["sh", "-c"], "args": [f"exec {words} {flags}"]}
        case Program.PYTHON:
            return {**container, "args": [*line.args, *flags.split()]}
        case Program.SCRIPT:
            return _add_to_script(container, line, flags, engine)
        case Program.OTHER:
            return dict(container)
        case never:
            assert_never(never)


def warn_of_unread_program(container: Mapping[str, Json], engine: str) -> tuple[Problem, ...]:
    """The warning that `add_flags` does not change the container; () if it does."""
    line = CommandLine.of(container)
    if runs_engine(line, engine):
        return ()
    return (rules.UNREAD_PROGRAM.at(_MAIN / "command", engine=engine, command=_shorten(line.text)),)


def warn_of_script(container: Mapping[str, Json], engine: str) -> tuple[Problem, ...]:
    """The warning that a shell script does not run the engine, so it gets no flags; () for any other program."""
    is_script = program_of(CommandLine.of(container), engine) is Program.SCRIPT
    return warn_of_unread_program(container, engine) if is_script else ()


def runs_engine(line: CommandLine, engine: str) -> bool:
    """Whether `add_flags` finds the place for flags."""
    match program_of(line, engine):
        case Program.PYTHON:
            return True
        case Program.SCRIPT:
            return any(_insert_into_first(tokens, "-", engine) is not None for tokens in (line.args, line.command))
        case Program.OTHER:
            return False
        case never:
            assert_never(never)


def require_command(container: Mapping[str, Json], engine: str) -> None:
    """Check that the spec, not the image, has the container's command: another command will run it.

    Raises:
        InvalidSpec: there is no `command`, and `args` contain no program that we know.
    """
    line = CommandLine.of(container)
    if not line.command and program_of(line, engine) is Program.OTHER:
        raise InvalidSpec(rules.ENGINE_COMMAND.at(_MAIN / "command", engine=engine))


def insert_flags(script: str, flags: str, engine: str) -> str:
    """The script with flags after each module of the engine that Python runs with `-m`; if there is none, each file.

    If the script runs neither, it is unchanged.
    """
    parts = _SEPARATORS.split(script)
    for before in (rf"\s-m{_BLANK}+", r"\s"):
        word = re.compile(before + _WORD.format(engine=re.escape(engine)))
        ends = [_word_end(part, word) for part in parts]
        if any(end is not None for end in ends):
            return "".join(
                part if end is None else f"{part[:end]} {flags}{part[end:]}"
                for part, end in zip(parts, ends, strict=True)
            )
    return script


def _word_end(part: str, word: re.Pattern[str]) -> int | None:
    python = _PYTHON.search(part)
    found = word.search(part, python.end() - 1) if python else None
    return found.end() if found else None


def _add_to_script(container: Mapping[str, Json], line: CommandLine, flags: str, engine: str) -> dict[str, Json]:
    """The container with flags in its first argument, otherwise the first word of its command, that runs the engine."""
    for field, tokens in (("args", line.args), ("command", line.command)):
        changed = _insert_into_first(tokens, flags, engine)
        if changed is not None:
            return {**container, field: changed}
    return dict(container)


def _insert_into_first(tokens: Sequence[str], flags: str, engine: str) -> list[str] | None:
    for index, token in enumerate(tokens):
        changed = insert_flags(token, flags, engine)
        if changed != token:
            return [*tokens[:index], changed, *tokens[index + 1 :]]
    return None


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
