"""Commands and shells: how a container's command is read, quoted for a shell, and given further flags.

Every text here passes two readers: the kubelet replaces `$(NAME)` wherever it stands, then, in a shell's command line,
the shell parses the result. Quoting keeps both right: a reference stays as it is and its value one word (as long as
that value holds no single quote, since the kubelet knows nothing of quotes).

Source: Dynamo operator, internal/dynamo/backend_common.go, injectFlagsIntoContainerCommand; Kubernetes,
third_party/forked/golang/expansion/expand.go.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import assert_never

from hooks.component.backends.command_line import CommandLine
from hooks.errors import InvalidSpec
from hooks.k8s.types import Json
from hooks.problems import SPEC
from hooks.validation.rules import pod as rules

_MAIN = SPEC / "extraPodSpec.mainContainer"
_PLAIN = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
_DOLLARS = re.compile(r"\$\$|\$\(")
_PYTHON_PROGRAM = re.compile(r"(.*/)?python\d*(\.\d+)*", re.ASCII)
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_SCRIPT_OPTION = re.compile(r"-[A-Za-z]*c[A-Za-z]*")

_SEPARATORS = re.compile(r"([|&;]|(?<!\\)\n)")
_PYTHON = re.compile(r"python[0-9.]*\s")
_BLANK = r"(?:\s|\\\n)"
# A word may be quoted as a whole; a quote inside or behind it belongs to something around it.
_WORD = r"""(["']?)[^\s"'`()<>]*{engine}[^\s"'`()<>]*\1"""
_SHOWN = 200


class Program(StrEnum):
    """What a command line runs: Python itself, a shell with a script, or something that we cannot look into."""

    PYTHON = "python"
    SCRIPT = "script"
    OTHER = "other"


def quote(token: str) -> str:
    """Quote one argument for a shell, in text that the kubelet expands first."""
    if _PLAIN.fullmatch(token):
        return token
    closed, parenthesis, rest = token.replace("'", "'\"'\"'").rpartition(")")
    # The kubelet would look behind the token for the end of a reference that has none here. So that it sees none, the
    # two characters are parted by a pair of quotes, which the shell takes away.
    unclosed = _DOLLARS.sub(lambda found: "$''(" if found[0] == "$(" else found[0], rest)
    return f"'{closed}{parenthesis}{unclosed}'"


def quote_line(tokens: Iterable[str]) -> str:
    """Write a command for a shell: all arguments quoted where they need it, joined by spaces."""
    return " ".join(quote(token) for token in tokens)


def program_of(line: CommandLine, engine: str) -> Program:
    """Say what a command line runs, behind launchers such as `tini --`, `env` or `numactl` too."""
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
    """Whether a program's path is that of a Python interpreter."""
    return _PYTHON_PROGRAM.fullmatch(program) is not None


def add_flags(container: Mapping[str, Json], flags: str, *, engine: str, needs_shell: bool) -> dict[str, Json]:
    """Give the container with flags for the engine; `flags` is text for a shell, quoted where it needs it.

    Python gets them behind the user's own, through a shell where that must compute something. In a shell's script they
    stand right behind the engine's module. A program that we cannot look into is left as it is.

    Raises:
        InvalidSpec: a shell's script in which no Python runs the engine.
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


def warn_of_unread_program(container: Mapping[str, Json], engine: str) -> tuple[str, ...]:
    """Say so where `add_flags` leaves a container as it is; empty where it does not."""
    line = CommandLine.of(container)
    if program_of(line, engine) is not Program.OTHER:
        return ()
    sentence = (
        f"spec.extraPodSpec.mainContainer.command: no Python is seen to run {engine} in {_shorten(line.text)!r}, so "
        "the flags for several nodes are not added; that program must add them itself"
    )
    return (sentence,)


def require_command(container: Mapping[str, Json], engine: str) -> None:
    """Refuse a container that leaves its program to the image: its command cannot be put behind another.

    Raises:
        InvalidSpec: there is no `command`, and `args` hold no program that we know either.
    """
    line = CommandLine.of(container)
    if not line.command and program_of(line, engine) is Program.OTHER:
        raise InvalidSpec(rules.ENGINE_COMMAND.at(_MAIN / "command", engine=engine))


def insert_flags(script: str, flags: str, engine: str) -> str:
    """Give a script with flags behind each module (or, without `-m`, file) of the engine that a Python runs in it.

    The script comes back unchanged where there is none.
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
    """Change the first argument, or else word of the command, that runs the engine."""
    for field, tokens in (("args", line.args), ("command", line.command)):
        changed = _insert_into_first(tokens, flags, engine)
        if changed is not None:
            return {**container, field: changed}
    raise InvalidSpec(rules.ENGINE_IN_SCRIPT.at(_MAIN / "args", engine=engine, command=_shorten(line.text)))


def _insert_into_first(tokens: Sequence[str], flags: str, engine: str) -> list[str] | None:
    for index, token in enumerate(tokens):
        changed = insert_flags(token, flags, engine)
        if changed != token:
            return [*tokens[:index], changed, *tokens[index + 1 :]]
    return None


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
