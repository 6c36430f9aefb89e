"""Names that the processes of a component have for others: the model that they serve, their name in the runtime.

Both are read from the main container's command line, as Dynamo's planner did until release 1.5.

Source: Dynamo planner 1.5.1, dynamo/planner/monitoring/dgd_services.py.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from hooks.component.image.command_line import CommandLine
from hooks.ground.k8s.pods import expand_references, merge_env
from hooks.ground.k8s.types import EnvVar
from hooks.language.api.component_spec import ComponentSpec

_MODEL_FLAGS = ("--served-model-name", "--model-name", "--model", "--model-path")
"""Flags that name the model, the strongest first; SGLang and the mocker serve `--model-path` if they get no name."""

_MODE_FLAG = "--disaggregation-mode"
_MODES = ("prefill", "decode")
_ENDPOINT_FLAG = "--endpoint"
_SCHEME = "dyn://"
_REFERENCE = re.compile(r"\$(?:\((?P<kubelet>[^()]+)\)|\{(?P<braced>\w+)\}|(?P<shell>\w+))")
_UNKNOWN = re.compile(r"[$`]")
_NEEDS_SHELL_RULES = re.compile(r"[\"'\\;&|]")
_BLANKS = re.compile(r"[\s;&|]+")
_CACHED_TEXTS = 1024


def find_served_model(spec: ComponentSpec) -> str:
    """The name under which the component serves its model; empty if the command line does not say it.

    A name that contains a reference to a variable without a literal value is not known: no name is better than a
    wrong one, because a planner then takes the name of its own configuration.
    """
    words = _words_of(spec)
    found = next((value for flag in _MODEL_FLAGS if (value := _value_of(words, flag))), "")
    return "" if _UNKNOWN.search(found) else found


def find_disaggregation_mode(spec: ComponentSpec) -> str:
    """`prefill` or `decode` if the command line lets the engine do only that; empty otherwise."""
    words = _words_of(spec)
    found = next((mode for mode in _MODES if f"--is-{mode}-worker" in words), _value_of(words, _MODE_FLAG))
    return found if found in _MODES else ""


def find_runtime_component(spec: ComponentSpec) -> str:
    """The component in `--endpoint [dyn://]namespace.component.endpoint`; empty without such a flag."""
    parts = _value_of(_words_of(spec), _ENDPOINT_FLAG).removeprefix(_SCHEME).split(".")
    return parts[1] if len(parts) == 3 and not _UNKNOWN.search(parts[1]) else ""


def find_value(spec: ComponentSpec, flag: str = "", variable: str = "") -> str:
    """What the main container's command line says by a flag, otherwise a literal variable; empty for neither."""
    said = _value_of(_words_of(spec), flag) if flag else ""
    return said or _literals(spec.main_container.get("env") or (), spec.envs).get(variable, "")


def _words_of(spec: ComponentSpec) -> tuple[str, ...]:
    """The words of the main container's command line, with literal variables in place of references to them."""
    container = spec.main_container
    line = CommandLine.of(container)
    texts = (*line.command, *line.args)
    if any("$" in text for text in texts):
        literals = _literals(container.get("env") or (), spec.envs)
        texts = tuple(_expand(text, literals) for text in texts)
    return tuple(word for text in texts for word in _split(text))


def _literals(*layers: Iterable[EnvVar]) -> dict[str, str]:
    """Literal values by the variable's name; none of entries that the API server, or the pod's plan, refuses."""
    try:
        env = expand_references(merge_env(*layers))
    except (ValueError, KeyError, TypeError):
        return {}
    values = {entry["name"]: entry.get("value", "") for entry in env if "valueFrom" not in entry}
    return {name: value for name, value in values.items() if isinstance(value, str)}


def _expand(text: str, literals: Mapping[str, str]) -> str:
    """The text with the values of known variables, for the kubelet's references and for a shell's."""
    return _REFERENCE.sub(lambda found: literals.get(next(filter(None, found.groups()), ""), found[0]), text)


def _split(text: str) -> tuple[str, ...]:
    """The words of a text as a shell splits it; at blanks and operators if its quotes are not closed."""
    return _split_by_shell(text) if _NEEDS_SHELL_RULES.search(text) else tuple(text.split())


@lru_cache(maxsize=_CACHED_TEXTS)
def _split_by_shell(text: str) -> tuple[str, ...]:
    one_line = text.replace("\\\n", " ")
    lexer = shlex.shlex(one_line, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return tuple(lexer)
    except ValueError:
        return tuple(filter(None, _BLANKS.split(one_line)))


def _value_of(words: Sequence[str], flag: str) -> str:
    """The value of the flag's first use, as `--flag value` or `--flag=value`; empty if there is none."""
    return next((value for value in _values(words, flag) if value and not value.startswith("-")), "")


def _values(words: Sequence[str], flag: str) -> Iterator[str]:
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == flag:
            yield value if equals else "".join(words[index + 1 : index + 2])
