"""Which programs a command line runs, with their words: also those of a shell's script, and behind a launcher.

What cannot be read runs nothing here, so that nobody is warned of what only looks like a program.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hooks.component.image.command_line import CommandLine
from hooks.component.image.shell import is_python

_MAX_READ = 20_000
"""Characters of a command line that are read; a longer one runs nothing here."""
_MAX_DEPTH = 3
"""Shells in a shell that are read."""
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_SCRIPT_OPTION = re.compile(r"-[A-Za-z]*c")
_SHELL_OPTION = re.compile(r"-[aCefnuvx]+|-[A-Za-z]*c|-[oO]")
"""Options of a shell before its script."""
_PYTHON_OPTIONS = frozenset({"--help", "--help-all", "--help-env", "--help-xoptions", "--version"})
_USAGE = 2
_OPERATORS = frozenset(";&|()\n")
_BEFORE = frozenset({"exec", "nohup", "time", "env", "do", "then", "else", "until", "while", "if", "!", "{"})
"""Words after which a program's name may come."""
_ASKING = frozenset({"until", "while", "if", "!"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One program; `module` is what Python runs with `-m`, `words` are the program's or the module's arguments.

    `is_asked`: a script only asks whether it succeeds, and goes on if it does not. `in_script`: a shell runs it.
    """

    program: str
    module: str = ""
    words: tuple[str, ...] = ()
    is_asked: bool = False
    in_script: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """The arguments that begin with two dashes, without values."""
        return tuple(word.partition("=")[0] for word in self.words if word.startswith("--") and len(word) > 2)

    def value_of(self, flag: str) -> str | None:
        """The last value of a flag, `--flag value` or `--flag=value`; None if it has none."""
        found = None
        for index, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if name == flag:
                found = value if equals else next(iter(self.words[index + 1 :]), None)
        return found


def read_runs(line: CommandLine) -> tuple[Run, ...]:
    """All programs of a command line, in order."""
    words = (*line.command, *line.args)
    return _read(words) if sum(map(len, words)) <= _MAX_READ else ()


@lru_cache(maxsize=1024)
def _read(words: tuple[str, ...]) -> tuple[Run, ...]:
    return tuple(_of_words(words, 0))


def _of_words(words: Sequence[str], depth: int) -> Iterator[Run]:
    """The program of one command: a shell's are those of its script."""
    start = next((index for index, word in enumerate(words) if not _comes_before(word)), len(words))
    is_asked, in_script = not _ASKING.isdisjoint(words[:start]), depth > 0
    words = words[start:]
    if not words:
        return
    script = _script_of(words)
    if script is not None:
        if depth < _MAX_DEPTH:
            yield from _of_script(script, depth + 1)
        return
    python = next((index for index, word in enumerate(words) if is_python(word)), None)
    if python is not None and "-m" in words[python:-1]:
        module = words.index("-m", python) + 1
        name, rest = words[module], tuple(words[module + 1 :])
    else:
        name, rest = "", tuple(words[1:])
    yield Run(program=words[0], module=name, words=rest, is_asked=is_asked, in_script=in_script)


def _comes_before(word: str) -> bool:
    """Whether a program may come after the word: a keyword of the shell, or a variable for the program."""
    name, equals, _ = word.partition("=")
    return word in _BEFORE or (bool(equals) and name.isidentifier())


def _script_of(words: Sequence[str]) -> str | None:
    """The script that a shell among the words runs, also behind a launcher; None if there is no shell."""
    for index, word in enumerate(words):
        if word.rpartition("/")[2] in _SHELLS:
            for at, option in enumerate(words[index + 1 :], index + 1):
                if not option.startswith("-"):
                    break
                if "c" in option[1:] and not option.startswith("--"):
                    return words[at + 1] if at + 1 < len(words) else ""
    return None


def _of_script(script: str, depth: int) -> Iterator[Run]:
    if "<<" in script:  # the lines of a document are no commands
        return
    lexer = shlex.shlex(script.replace("\\\n", " "), posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:  # a quote that is not closed
        return
    command: list[str] = []
    for token in (*tokens, ";"):
        if token and _OPERATORS.issuperset(token):
            yield from _of_words(command, depth)
            command = []
        else:
            command.append(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Misreading:
    """Why a container ends at once: `program` reads `word` as an option of its own, or as its whole script.

    `alone`: it runs the word as a script, and the words after it are no arguments of that.
    """

    program: str
    word: str
    alone: bool
    exit_code: int


def find_misreading(line: CommandLine) -> Misreading | None:
    """What a shell or Python misreads, as it does if the arguments were meant for another program; None for nothing.

    Source: POSIX, sh; CPython, Python/getopt.c. Both end with status 2 at an option that they do not know.
    """
    words = (*line.command, *line.args)
    program = words[0].rpartition("/")[2] if words else ""
    if program in _SHELLS and len(words) > 2 and _SCRIPT_OPTION.fullmatch(words[1]):
        first, shown = words[2], " ".join(words[:2])
        if first.startswith("-") and not _SHELL_OPTION.fullmatch(first):
            return Misreading(program=shown, word=first, alone=False, exit_code=_USAGE)
        if len(words) > 3 and is_python(first):
            return Misreading(program=shown, word=first, alone=True, exit_code=0)
    elif len(words) > 1 and is_python(words[0]) and words[1].startswith("--") and words[1] not in _PYTHON_OPTIONS:
        return Misreading(program=words[0], word=words[1], alone=False, exit_code=_USAGE)
    return None
