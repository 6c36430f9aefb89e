"""At which port a program serves, as its flags and variables say."""

import re
from collections.abc import Iterable, Mapping

from hooks.component.image.contents import LISTENING, SYSTEM, Listening
from hooks.component.image.programs import Run
from hooks.ground.k8s.types import Json

_NUMBER = re.compile(r"-?[0-9]{1,6}")
"""A negative number is for no server at all."""


def find_ports(run: Run, env: Iterable[Mapping[str, Json]]) -> frozenset[int] | None:
    """The ports at which a module of Dynamo answers HTTP; None if the command or a variable does not show them all."""
    if not run.module.startswith("dynamo."):
        return None
    entries = [*env]
    ways = LISTENING.get(run.module, (SYSTEM,))
    found = [find_port(way, run, entries) for way in ways if _is_said(way, run, entries)]
    return None if None in found else frozenset(port for port in found if port is not None and port > 0)


def find_port(way: Listening, run: Run, env: Iterable[Mapping[str, Json]]) -> int | None:
    """The port of one way; None if it cannot be read, or if nothing says one."""
    said = run.value_of(way.flag) if way.flag else None
    if said is None:
        entry = next((one for one in env if one.get("name") == way.variable), None)
        if entry is None:
            return way.default
        said = entry.get("value")
    return int(said) if isinstance(said, str) and _NUMBER.fullmatch(said) else None


def _is_said(way: Listening, run: Run, env: Iterable[Mapping[str, Json]]) -> bool:
    """Whether the module serves in this way at all."""
    return way.default is not None or any(one.get("name") == way.variable for one in env) or way.flag in run.flags
