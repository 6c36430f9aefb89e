"""`DYN_DEPLOYMENT_CONFIG`: a JSON document in an environment variable that overrides replicas and resources.

It is read and written like Go's encoding/json, so that the variable gets the same text as from upstream.

Source: Dynamo operator, internal/dynamo/graph.go, updateDynDeploymentConfig and overrideWithDynDeploymentConfig.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NoReturn

from hooks.ground.k8s.types import Json

VARIABLE = "DYN_DEPLOYMENT_CONFIG"
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ESCAPES = str.maketrans(_ESCAPED)
_MAX_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """One service's entry in the document: `workers`, and `resources` for both requests and limits.

    `resources` is None if absent; its keys are `cpu`, `memory`, `gpu` (texts) and `custom` (map of texts).
    """

    workers: int | None = None
    resources: Mapping[str, Json] | None = field(default=None)


class UnreadableConfig(Exception):
    """The document cannot be read; the message is half a sentence that says why."""


def rewrite_port(text: str, service: str, port: int) -> str:
    """The document with the service's `port` set to the frontend's HTTP port, if it has an entry for the service.

    Raises:
        UnreadableConfig: the text is not a JSON object.
    """
    document = _parse(text, parse_int=_to_double)
    entries = _fields(document, "it", fold=False)
    entry = entries.get(service)
    if isinstance(entry, dict):
        return _write({**entries, service: {**entry, "port": float(port)}})
    return _write(document)


def read_overrides(text: str, service: str) -> Overrides:
    """Read a service's entry in the document; its name must match exactly, field names match in any case.

    Raises:
        UnreadableConfig: the text is not JSON, or the entry of any service has another shape.
    """
    fields = _fields(_parse(text, parse_int=int), "it", fold=False)
    entries = {name: _read_entry(_shown(name), entry) for name, entry in fields.items()}
    return entries.get(service, Overrides())


def _shown(name: str) -> str:
    """A name without characters that would break a message of one line."""
    return name if name.isprintable() else ascii(name)


def _read_entry(name: str, entry: Json) -> Overrides:
    arguments = _fields(_fields(entry, name).get("serviceargs"), f"{name}.ServiceArgs")
    workers, resources = arguments.get("workers"), arguments.get("resources")
    if workers is not None and (type(workers) is not int or not 0 <= workers <= _MAX_INT32):
        raise UnreadableConfig(f"{name}.ServiceArgs.workers is {_describe(workers)}, should be an integer from 0 on")
    if resources is None:
        return Overrides(workers=workers)
    return Overrides(workers=workers, resources=_read_resources(resources, f"{name}.ServiceArgs.resources"))


def _read_resources(value: Json, path: str) -> dict[str, Json]:
    fields = _fields(value, path)
    given = {key: fields[key] for key in ("cpu", "memory", "gpu") if fields.get(key) is not None}
    for key, text in given.items():
        if not isinstance(text, str):
            raise UnreadableConfig(f'{path}.{key} is {_describe(text)}, should be a text such as "2"')
    custom = _fields(fields.get("custom"), f"{path}.custom", fold=False)
    for key, text in custom.items():
        if not isinstance(text, str):
            raise UnreadableConfig(f'{path}.custom[{_shown(key)}] is {_describe(text)}, should be a text such as "2"')
    return {**given, **({"custom": custom} if custom else {})}


def _fields(value: Json, path: str, *, fold: bool = True) -> dict[str, Json]:
    """The object's entries, by lower-cased name as Go matches them; null is an empty object."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnreadableConfig(f"{path} is {_describe(value)}, should be an object")
    return {name.casefold(): item for name, item in value.items()} if fold else value


def _describe(value: Json) -> str:
    shapes = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return shapes.get(type(value)) or f"the number {value}"


def _parse(text: str, *, parse_int: Callable[[str], float]) -> Json:
    try:
        return json.loads(text, parse_int=parse_int, parse_float=_to_double, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise UnreadableConfig("it is nested too deeply") from error
    except ValueError as error:
        raise UnreadableConfig(f"it is not JSON: {error}") from error


def _to_double(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _write(value: Json) -> str:
    """Write as Go does: sorted keys, no spaces, numbers in their shortest form, HTML's characters escaped."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_write_text(key)}:{_write(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_write(item) for item in value) + "]"
    if isinstance(value, float):
        return _write_number(value)
    return _write_text(value) if isinstance(value, str) else json.dumps(value)


def _write_text(text: str) -> str:
    sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.dumps(sound, ensure_ascii=False).translate(_ESCAPES)


def _write_number(number: float) -> str:
    if number and not 1e-6 <= abs(number) < 1e21:
        return repr(number).replace(".0e", "e").replace("e-0", "e-")
    return format(Decimal(repr(number)), "f").removesuffix(".0")
