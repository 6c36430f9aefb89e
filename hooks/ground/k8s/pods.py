"""Parts of pods by name: environment, volumes, mounts, pull secrets."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from hooks.ground.k8s.types import EnvVar, Json

MAX_ENV_BYTES = 131_072
"""The longest environment variable that Linux allows (MAX_ARG_STRLEN)."""

MAX_REFERENCE_DEPTH = 32
_VARIABLES = frozenset({"env", "envs"})
"""Fields that are lists of variables, of containers and of our kinds."""
_Lookup = Callable[[str, tuple[str, ...]], str | None]
_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)|\$")
_DOLLARS = re.compile(r"\$\$|\$")


def merge_env(*layers: Iterable[EnvVar]) -> list[EnvVar]:
    """The variables of all layers, sorted by name; of those with one name, the last entry of the last layer counts.

    Source: Dynamo operator, internal/dynamo/graph.go, MergeEnvs.
    """
    merged = {entry["name"]: entry for layer in layers for entry in layer}
    return [merged[name] for name in sorted(merged)]


def single_variables(value: Json) -> Json:
    """The value with each name once in all lists `env` and `envs` in it: of equal names the last entry counts.

    It has the place of the first. Kubernetes reads the last one too. Grove refuses a name that is there twice, and
    Metacontroller, which merges such lists by their names, keeps one of the two values, so that the other would be
    wanted for ever. The same object if there is nothing to leave out.
    """
    if isinstance(value, dict):
        changed = {key: left for key, item in value.items() if (left := _of_field(key, item)) is not item}
        return {**value, **changed} if changed else value
    if isinstance(value, list):
        left = [single_variables(item) if isinstance(item, dict | list) else item for item in value]
        return value if all(one is item for one, item in zip(left, value, strict=True)) else left
    return value


def _of_field(key: str, item: Json) -> Json:
    if not isinstance(item, dict | list):
        return item
    return _last_of_names(item) if key in _VARIABLES and isinstance(item, list) else single_variables(item)


def _last_of_names(entries: list[Json]) -> list[Json]:
    if not all(isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries):
        return entries
    last = {entry["name"]: entry for entry in entries}
    return entries if len(last) == len(entries) else list(last.values())


def literal_env(values: Mapping[str, str]) -> list[EnvVar]:
    """Variables with these literal values; empty values are left out."""
    return [{"name": name, "value": value} for name, value in values.items() if value]


def field_env(name: str, field_path: str) -> EnvVar:
    """A variable whose value is a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field_path}}}


def expand_references(env: Sequence[EnvVar]) -> list[EnvVar]:
    """Replace `$(NAME)` in values by the literal value of the variable NAME of the same container.

    The kubelet expands only references to earlier variables, and a new variable is last in a live object's list. So
    without this the result would depend on the order of changes. References to other names, `$$(NAME)` and cycles stay.

    Raises:
        ValueError: a value, or all of them, become longer than Linux allows for one, or references are nested too deep.

    Source: Kubernetes, third_party/forked/golang/expansion/expand.go.
    """
    if not any("$(" in entry.get("value", "") for entry in env):
        return list(env)
    literals = {entry["name"]: entry.get("value", "") for entry in env if "valueFrom" not in entry}
    known: dict[str, str] = {}

    def embed(name: str, active: tuple[str, ...]) -> str | None:
        if name not in literals or name in active:
            return None
        if len(active) > MAX_REFERENCE_DEPTH:
            raise ValueError(f"variable {active[0]}: references are nested more than {MAX_REFERENCE_DEPTH} deep")
        if name not in known:
            known[name] = _substitute(literals[name], (*active, name), embed, embedded=True)
        return known[name]

    expanded = [_expand_entry(entry, embed) for entry in env]
    if sum(len(entry.get("value", "")) for entry in expanded) > MAX_ENV_BYTES:
        raise ValueError(f"all variables grow past {MAX_ENV_BYTES} bytes when their references are expanded")
    return expanded


def referenced_first(env: Sequence[EnvVar]) -> list[EnvVar]:
    """The variables, with those first that have no literal value but are referenced, as in `$(POD_IP)`."""
    unknown = {entry["name"] for entry in env if "valueFrom" in entry}
    texts = (entry.get("value", "") for entry in env)
    found = {match[1] for text in texts if "$(" in text for match in _REFERENCE.finditer(text) if match[1] in unknown}
    return sorted(env, key=lambda entry: entry["name"] not in found) if found else list(env)


def _expand_entry(entry: EnvVar, embed: _Lookup) -> EnvVar:
    value = entry.get("value", "")
    if "$(" not in value:
        return entry
    expanded = _substitute(value, (entry["name"],), embed, embedded=False)
    return {**entry, "value": expanded} if expanded else {"name": entry["name"]}


def _substitute(text: str, active: tuple[str, ...], lookup: _Lookup, *, embedded: bool) -> str:
    """Replace the references in one text; `active` are the variables that led here.

    An embedded text becomes part of another value, which the kubelet expands again, so a single `$` is escaped in it.
    """
    parts: list[str] = []
    size = position = 0
    closed = text.rfind(")") + 1  # no reference ends after it; searching there would take quadratic time
    for match in chain(_REFERENCE.finditer(text, 0, closed), _DOLLARS.finditer(text, closed)):
        name = match[1] if match.lastindex else None
        found = lookup(name, active) if name is not None else ("$$" if embedded else match[0])
        piece = match[0] if found is None else found
        parts += (text[position : match.start()], piece)
        position = match.end()
        size += len(piece)
        if size > MAX_ENV_BYTES:
            raise ValueError(f"variable {active[0]} grows past {MAX_ENV_BYTES} bytes when its references are expanded")
    return "".join((*parts, text[position:]))


def without_named(items: Iterable[Json], names: frozenset[str]) -> list[Json]:
    """The items (volumes, mounts, containers) that have none of these names, in their order."""
    return [item for item in items if item.get("name") not in names]


def add_named(items: Sequence[Json], added: Iterable[Json]) -> list[Json]:
    """The items, then the added ones with new names, each name once."""
    present = frozenset(item.get("name") for item in items)
    new = {item["name"]: item for item in reversed(tuple(added)) if item["name"] not in present}
    return [*items, *reversed(new.values())]
