"""Calls to engines and their outcomes, as values between the ledger that decides and the worker that calls."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What is asked of an engine."""

    LIST = "list"
    LOAD = "load"
    UNLOAD = "unload"


class Outcome(StrEnum):
    """How a call ended."""

    OK = "ok"
    NO_LIST = "no_list"
    """The engine has no list of adapters, or answers the question with something else that is well-formed."""
    GONE = "gone"
    """The engine does not know the adapter that was to be unloaded."""
    FAILED = "failed"
    """It may work another time."""
    TERMINAL = "terminal"
    """It cannot work until the spec changes: no such source, a request that the engine refuses."""
    UNSUPPORTED = "unsupported"
    """The worker has no LoRA adapters."""
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call to make now; `timeout` in seconds, `attempt` counts loads and unloads from 1."""

    action: Action
    address: str
    pod: str
    timeout: float
    started: float
    adapter: str = ""
    uri: str = ""
    model: str = ""
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an engine said: `names` are the adapters it lists, `message` one line on what went wrong."""

    outcome: Outcome
    names: frozenset[str] = frozenset()
    message: str = ""
