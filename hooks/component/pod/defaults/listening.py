"""At which ports the programs of a container listen: as the user writes it, otherwise by default.

A user writes a port in up to three places. In this order they count, and where two are known they must be the same
(`hooks.component.pod.port_rules`): a container's variable (`DYN_HTTP_PORT`), its command (`--http-port`, or the
variable set by a shell), and its port of that name (`http`).

Source: Dynamo 1.5.0, dynamo/frontend/frontend_args.py and lib/runtime/src/config.rs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hooks.component.pod.defaults.base import ComponentDefaults, Knob
from hooks.ground.k8s.pods import expand_references, merge_env
from hooks.ground.k8s.types import ContainerPort, EnvVar, Json
from hooks.ground.problems import FieldPath

_MAX_PORT = 65_535
_NUMBER = re.compile(r"\s*\+?0*([1-9][0-9]{0,4})\s*", re.ASCII)
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_PYTHON = re.compile(r"(?<![\w.-])python[0-9.]*(?=\s|$)", re.ASCII)
_REFERENCE = re.compile(r"\$\((\w+)\)|\$\{(\w+)\b[^}]*\}|\$(\w+)", re.ASCII)
_VALUE = r"""["']?([^\s"',;&|]+)"""
_LATER = "its value is known only to the running container"
_SEVERAL = "the command has several ports or programs"
_OWN = "its program knows no other without a flag"


@dataclass(frozen=True, slots=True)
class Written:
    """What a user writes about a container at a path; of the lists of variables, each at its path, the last wins."""

    path: FieldPath
    container: Mapping[str, Json]
    variables: tuple[tuple[FieldPath, Sequence[EnvVar]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSource:
    """One place that says a port; `number` is None if it cannot be read, and `why` says why."""

    path: FieldPath
    number: int | None
    why: str = ""


def follow_ports(defaults: ComponentDefaults, written: Written) -> ComponentDefaults:
    """The defaults with the user's ports, in everything that names a port; the same object if no port differs."""
    numbers = {port["name"]: choose_number(find_said(defaults, port, written), port) for port in defaults.ports}
    moved = {port["containerPort"]: numbers[port["name"]] for port in defaults.ports}
    if all(old == new for old, new in moved.items()):
        return defaults
    texts: dict[str, str] = {}
    args = defaults.args
    for port in defaults.ports:
        knob, number = defaults.knobs.get(port["name"], Knob()), numbers[port["name"]]
        if number == port["containerPort"]:
            continue
        if knob.variable:
            texts[knob.variable] = str(number)
        args = _with_flag(args, knob, number)
    return replace(
        defaults,
        args=args,
        ports=tuple({**port, "containerPort": numbers[port["name"]]} for port in defaults.ports),
        env={**defaults.env, **texts},
        probes={field: _move_probe(probe, moved) for field, probe in defaults.probes.items()},
    )


def _with_flag(args: tuple[str, ...], knob: Knob, number: int) -> tuple[str, ...]:
    """Our arguments with another value of the flag, which a program without a variable needs."""
    if knob.flag in args:
        value = args.index(knob.flag) + 1
        return (*args[:value], str(number), *args[value + 1 :])
    return args if knob.variable else (*args, knob.flag, str(number))


def choose_number(said: Iterable[PortSource], port: ContainerPort) -> int:
    """The number of a default port, by what is said of it, the strongest first."""
    return next((one.number for one in said if one.number is not None), port["containerPort"])


def find_said(defaults: ComponentDefaults, port: ContainerPort, written: Written) -> tuple[PortSource, ...]:
    """Every place where the user says the number of a default port, the strongest first; () for none.

    The types of the container's fields must be right.
    """
    knob = defaults.knobs.get(port["name"])
    if knob is None:
        return ()
    found = (*_find_variable(knob, written), *_find_in_command(knob, written), *_find_named(port["name"], written))
    return (*_stay(knob, port, written), *found) if len(found) == 1 else found


def find_served(defaults: ComponentDefaults, name: str, written: Written) -> PortSource | None:
    """What a program takes for the number of its port of that name: a flag before a variable; None for its default."""
    knob = defaults.knobs[name]
    found = (*_find_variable(knob, written), *_find_in_command(knob, written))
    return found[-1] if found else None


def _stay(knob: Knob, port: ContainerPort, written: Written) -> Iterator[PortSource]:
    """The default, if nothing else than the user's own arguments, without the flag, could set another number."""
    container = written.container
    field = next((name for name in ("args", "command") if container.get(name)), "")
    if not knob.variable and field and not any(_find_values(knob, written)):
        yield PortSource(path=written.path / field, number=port["containerPort"], why=_OWN)


def _read_literals(written: Written) -> dict[str, str]:
    """The variables with a literal value, references between them expanded; {} if they cannot be expanded."""
    merged = merge_env(*(entries for _, entries in written.variables))
    try:
        return {one["name"]: one.get("value", "") for one in expand_references(merged) if not one.get("valueFrom")}
    except ValueError:
        return {}  # another rule reports it


def _find_variable(knob: Knob, written: Written) -> Iterator[PortSource]:
    located = [
        (path / index, entry)
        for path, entries in written.variables
        for index, entry in enumerate(entries)
        if entry["name"] == knob.variable
    ]
    if located:
        path, entry = located[-1]
        value = _read_literals(written).get(entry["name"], "")
        if entry.get("valueFrom") or value:
            yield PortSource(path=path, number=None, why=_LATER) if entry.get("valueFrom") else _parse(path, value)


def _find_in_command(knob: Knob, written: Written) -> Iterator[PortSource]:
    values = _find_values(knob, written)
    if not values:
        return
    literals = _read_literals(written)
    said = [
        one for path, value in values if (one := _resolve(path, _without_closing(value), knob, literals)) is not None
    ]
    if said:
        is_one = len({one.number for one in said}) == 1
        yield said[-1] if is_one else PortSource(path=said[-1].path, number=None, why=_SEVERAL)


def _find_values(knob: Knob, written: Written) -> list[tuple[FieldPath, str]]:
    """The values of the flag in the command, otherwise those that a shell gives to the variable; each with its word.

    Of several programs in one command, a shell gives the variable perhaps to one alone; then there is a second, empty
    value.
    """
    names = [name for name in (knob.flag.removeprefix("--"), knob.variable) if name]
    fields = {field: written.container.get(field) or () for field in ("command", "args")}
    if not any(name in word for words in fields.values() for word in words for name in names):
        return []
    words = [
        (written.path / field / index, _COMMENT.sub("", word).replace("\\\n", " "))
        for field, given in fields.items()
        for index, word in enumerate(given)
    ]
    if flagged := _find_flag(knob.flag, words):
        return flagged
    if not knob.variable:
        return []
    pattern = re.compile(rf"(?<![\w-]){re.escape(knob.variable)}={_VALUE}", re.ASCII)
    found = [(path, match[1]) for path, word in words for match in pattern.finditer(word)]
    has_several = sum(len(_PYTHON.findall(word)) for _, word in words) > 1
    return [*found, (found[-1][0], "")] if found and has_several else found


def _find_flag(flag: str, words: Sequence[tuple[FieldPath, str]]) -> list[tuple[FieldPath, str]]:
    """The values of a flag, in its own word or in the next one; Go's programs take it with one dash, too."""
    if not flag:
        return []
    name = f"--?{re.escape(flag.removeprefix('--'))}" if flag.startswith("--") else re.escape(flag)
    together = re.compile(rf"""(?<![\w-]){name}["']?(?:\s*[=:]\s*|\s+){_VALUE}""", re.ASCII)
    apart = re.compile(name, re.ASCII)
    found = [(path, match[1]) for path, word in words for match in together.finditer(word)]
    following = (word for _, word in words[1:])
    return [
        *found,
        *((path, after) for (path, word), after in zip(words, following, strict=False) if apart.fullmatch(word)),
    ]


def _without_closing(value: str) -> str:
    """The value without a bracket that closes what is around it: a subshell, or a planner's configuration."""
    for opening, closing in ("()", "{}"):
        value = value if opening in value else value.rstrip(closing)
    return value


def _resolve(path: FieldPath, value: str, knob: Knob, literals: Mapping[str, str]) -> PortSource | None:
    """What a value says, which may refer to a variable; None if it refers to the port's own."""
    reference = _REFERENCE.fullmatch(value)
    name = reference[reference.lastindex or 0] if reference else ""
    if name and name == knob.variable:
        return None
    if name in literals:
        return _parse(path, literals[name])
    return PortSource(path=path, number=None, why=_LATER) if "$" in value or "`" in value else _parse(path, value)


def _find_named(name: str, written: Written) -> Iterator[PortSource]:
    for index, port in enumerate(written.container.get("ports") or ()):
        number = port.get("containerPort")
        if port.get("name") == name and isinstance(number, int | float):
            yield PortSource(path=written.path / "ports" / index / "containerPort", number=int(number))


def _parse(path: FieldPath, value: str) -> PortSource:
    if "$(" in value:
        return PortSource(path=path, number=None, why=_LATER)
    found = _NUMBER.fullmatch(value)
    number = int(found[1]) if found else 0
    if 0 < number <= _MAX_PORT:
        return PortSource(path=path, number=number)
    return PortSource(path=path, number=None, why=f"{value[:20]!r} is no port")


def _move_probe(probe: Mapping[str, Json], moved: Mapping[int, int]) -> dict[str, Json]:
    """The probe with the user's number of the port at which it asks; a port's name stays."""
    return {
        field: {**value, "port": moved.get(value["port"], value["port"])}
        if isinstance(value, Mapping) and "port" in value
        else value
        for field, value in probe.items()
    }
