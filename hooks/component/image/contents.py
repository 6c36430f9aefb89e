"""What the images of a release of Dynamo have: programs, modules, flags. What an image can run is asked here.

An entry says for which releases it holds, and where that is written. An image under a name that is none of Dynamo's may
have been built from one and have more, so nobody knows which programs it lacks; its modules of Dynamo are those of the
release that its tag names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.component.image.flags import (
    ADDED_FLAGS,
    FRONTEND,
    RETIRED_FLAGS,
    RETIRED_VARIABLES,
    SGLANG,
    TOKENSPEED,
    TRTLLM,
    VLLM,
    Added,
    Retired,
)
from hooks.component.image.names import Image, image_of
from hooks.component.image.runtime_version import RuntimeVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The releases that have something: `since` is the first, `until` the first that lacks it; None is open.

    `instead` is what a release has in its place; empty if nothing replaces it, or if nothing needs to.
    """

    since: RuntimeVersion | None = None
    until: RuntimeVersion | None = None
    back: RuntimeVersion | None = None
    instead: str = ""

    def has(self, version: RuntimeVersion) -> bool:
        """Whether that release has it."""
        if self.back is not None and version >= self.back:
            return True
        return (self.since is None or version >= self.since) and (self.until is None or version < self.until)

    def __str__(self) -> str:
        """`only before 1.4.0`; empty if no release has it."""
        if self.back is not None:
            return f"before {self.until}, and again from {self.back} on"
        if self.until is not None and self.until > RuntimeVersion(0, 0):
            return f"only before {self.until}"
        return f"only from {self.since} on" if self.since is not None else ""


RAY = "ray"
_NEVER = Span(until=RuntimeVersion(0, 0))

PROGRAMS: Mapping[tuple[Image, str], Span] = {
    (Image.VLLM, RAY): Span(until=RuntimeVersion(1, 3)),
}
"""Programs on the PATH that not all releases of an image have.

Source: ai-dynamo/dynamo#14020 (Ray: found in the image of 1.2.0, neither in that of 1.3.0 nor of 1.4.2), #8515.
"""
MODULES: Mapping[str, Span] = {
    "dynamo.global_planner": Span(since=RuntimeVersion(1, 0)),
    "dynamo.global_router": Span(since=RuntimeVersion(1, 0)),
    "dynamo.kv_dc_relay": Span(since=RuntimeVersion(1, 4)),
    "dynamo.kv_state_agent": Span(since=RuntimeVersion(1, 5)),
    "dynamo.llama_cpp": Span(until=RuntimeVersion(0, 6)),
    "dynamo.planner": Span(since=RuntimeVersion(1, 0)),
    "dynamo.planner.planner_sla": Span(until=RuntimeVersion(1, 0), instead="dynamo.planner --config"),
    "dynamo.profiler": Span(since=RuntimeVersion(1, 0)),
    "dynamo.replay": Span(since=RuntimeVersion(1, 3), until=RuntimeVersion(1, 5)),
    "dynamo.router": Span(since=RuntimeVersion(0, 6)),
    "dynamo.sglang.decode_worker": Span(until=RuntimeVersion(0, 6), instead=SGLANG),
    "dynamo.sglang.worker": Span(until=RuntimeVersion(0, 6), instead=SGLANG),
    "dynamo.squeeze_evolve": Span(since=RuntimeVersion(1, 4)),
    "dynamo.thunderagent_router": Span(since=RuntimeVersion(1, 3)),
    "dynamo.tokenspeed": Span(since=RuntimeVersion(1, 2)),
    "dynamo.triton": Span(since=RuntimeVersion(1, 5)),
    "dynamo.vllm.omni": Span(since=RuntimeVersion(1, 1), instead=f"{VLLM} --omni"),
    "dynamo.vllm_prefill_router": Span(until=RuntimeVersion(0, 6), instead="dynamo.router"),
}
"""Modules that Python runs with `-m`, and that not all releases have.

Source: the wheels of ai-dynamo 0.5.1 to 1.6.1.
"""
ENGINE_OF: Mapping[str, Image] = {
    VLLM: Image.VLLM,
    SGLANG: Image.SGLANG,
    TRTLLM: Image.TRTLLM,
    TOKENSPEED: Image.TOKENSPEED,
}
"""By module the one image that has its engine. Source: Dynamo 1.5, container/templates."""
MODULE_OF: Mapping[Image, str] = {
    **{image: module for module, image in ENGINE_OF.items()},
    Image.FRONTEND: FRONTEND,
    Image.PLANNER: "dynamo.planner",
}
"""By image what it is made to run."""


def find_program(program: str, image: str) -> Span | None:
    """The releases of this image that have the program; None if nobody knows."""
    named = image_of(image)
    return PROGRAMS.get((named, program)) if named is not None else None


def has_program(program: str, image: str, version: RuntimeVersion | None) -> bool | None:
    """Whether an image of that release has the program; None if nobody knows."""
    span = find_program(program, image)
    return None if span is None or version is None else span.has(version)


def find_module(module: str, image: str) -> Span | None:
    """The releases of this image that can run the module; None if all can, or nobody knows."""
    named, engine = image_of(image), ENGINE_OF.get(".".join(module.split(".")[:2]))
    if named is not None and engine is not None and engine is not named:
        return _NEVER
    return MODULES.get(module)


def find_flag(module: str, flag: str) -> Span | None:
    """The releases whose module takes the flag; None if all do, or nobody knows."""
    return _FLAGS.get((module, f"--{flag.removeprefix('--no-')}" if flag.startswith("--no-") else flag))


def find_variable(module: str, name: str) -> Span | None:
    """The releases whose module reads the variable; None if all do, or nobody knows."""
    return _VARIABLES.get((module, name))


_BY_SUFFIX = Span(since=RuntimeVersion(1, 5))
ROUTERS: Mapping[str, Span] = {
    "dynamo.router": _BY_SUFFIX,
    "dynamo.thunderagent_router": _BY_SUFFIX,
    "dynamo.global_router": _NEVER,
    "dynamo.squeeze_evolve": _NEVER,
}
"""By module that sends requests on: the releases that look where workers of its own generation register.

Others look in the Dynamo namespace that their arguments name, and find no worker of a generation there.

Source: ai-dynamo/dynamo#7770, #12160; the wheels of 1.4.2 and 1.5.0, dynamo/router/args.py; of 1.6.1,
dynamo/global_router, dynamo/squeeze_evolve.
"""


def _version(minor: tuple[int, int] | None) -> RuntimeVersion | None:
    return None if minor is None else RuntimeVersion(*minor)


def _index(added: tuple[Added, ...], retired: tuple[Retired, ...]) -> dict[tuple[str, str], Span]:
    begins = {key: _version(one.since) for one in added for key in _keys(one)}
    ends = {key: one for one in retired for key in _keys(one)}
    return {key: _span(begins.get(key), ends.get(key)) for key in {**begins, **ends}}


def _keys(one: Added | Retired) -> Iterator[tuple[str, str]]:
    return ((module, name) for module in one.modules for name in one.names.split())


def _span(since: RuntimeVersion | None, retired: Retired | None) -> Span:
    if retired is None:
        return Span(since=since)
    return Span(since=since, until=_version(retired.gone), back=_version(retired.back), instead=retired.instead)


_FLAGS = _index(ADDED_FLAGS, RETIRED_FLAGS)
_VARIABLES = _index((), RETIRED_VARIABLES)
