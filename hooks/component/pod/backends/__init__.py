"""Decides which inference engine a worker runs, from its command line or `backendFramework`.

Source: Dynamo operator, internal/dynamo/graph.go, detectBackendFrameworkFromArgs and determineBackendFramework.
"""

import re
from enum import StrEnum

from hooks.component.image.command_line import CommandLine
from hooks.component.spec.subject import ComponentType
from hooks.ground.contract import Engine
from hooks.ground.errors import InvalidSpec
from hooks.ground.problems import SPEC
from hooks.language.rules import spec as rules

# Parts of `python[0-9.]*\s+[^|&;]*-m\s+[^|&;]*dynamo\.<engine>`: the time of the whole expression would grow with the
# cube of the command's length.
_SEPARATORS = re.compile(r"[|&;]")
_PYTHON = re.compile(r"python[0-9.]*\s")
_COMMAND = SPEC / "extraPodSpec.mainContainer"
_MODULE = re.compile(r"-m\s")


class Backend(StrEnum):
    """An inference engine; `noop` is any other program, which has no launch rules."""

    VLLM = Engine.VLLM.value
    SGLANG = Engine.SGLANG.value
    TRTLLM = Engine.TRTLLM.value
    NOOP = "noop"


_ENGINES = tuple(Backend(engine.value) for engine in Engine)


def resolve_backend(component_type: ComponentType, command_line: CommandLine, explicit: str) -> Backend:
    """The engine that a component runs; `explicit` is `spec.backendFramework` of the component or its graph, or empty.

    Raises:
        InvalidSpec: the command runs several engines, or one other than the explicit one; or the explicit one is
            unknown.
    """
    if not component_type.is_worker:
        return Backend.NOOP
    found = detect_backends(command_line.text)
    if len(found) == 1:
        return _agree(found[0], explicit)
    if explicit:
        return _explicit_backend(explicit)
    if found:
        raise InvalidSpec(rules.SEVERAL_ENGINES.at(_COMMAND, found=" ".join(found), command=command_line.text))
    return Backend.NOOP


def detect_backends(text: str) -> tuple[Backend, ...]:
    """All engines that this command line runs as a module of Python."""
    if "dynamo." not in text:
        return ()
    segments = _SEPARATORS.split(text)
    return tuple(engine for engine in _ENGINES if any(_runs(engine, segment) for segment in segments))


def _runs(engine: Backend, segment: str) -> bool:
    python = _PYTHON.search(segment)
    module = _MODULE.search(segment, python.end()) if python else None
    return module is not None and segment.find(f"dynamo.{engine}", module.end()) >= 0


def _agree(found: Backend, explicit: str) -> Backend:
    if explicit and explicit != found:
        raise InvalidSpec(rules.ENGINE_MISMATCH.at(_COMMAND, found=found.value, engine=explicit))
    return found


def _explicit_backend(explicit: str) -> Backend:
    if explicit not in list(Backend):
        raise InvalidSpec(rules.ENGINE_UNKNOWN.at(SPEC / "backendFramework", engine=explicit))
    return Backend(explicit)
