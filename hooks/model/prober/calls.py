"""Calls to engines and their answers, as values: the reconciler decides on calls, and the dispatcher makes them."""

from dataclasses import dataclass
from enum import StrEnum


class EngineAction(StrEnum):
    """What an engine is asked to do."""

    LIST = "list"
    LOAD = "load"
    UNLOAD = "unload"


class CallOutcome(StrEnum):
    """How a call ended."""

    OK = "ok"
    NO_LIST = "no_list"
    """The engine has no list of adapters, or answers with another well-formed document."""
    GONE = "gone"
    """The engine does not know the adapter that it was asked to unload."""
    FAILED = "failed"
    """The call may succeed another time."""
    TERMINAL = "terminal"
    """Trying again soon does not help: the source does not exist, or the engine refuses the request."""
    UNSUPPORTED = "unsupported"
    """The engine has no LoRA support."""
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCall:
    """One call to make now; `timeout` in seconds, `started` by a monotonic clock, `attempt` counts from 1."""

    action: EngineAction
    address: str
    pod: str
    timeout: float
    started: float
    adapter: str = ""
    uri: str = ""
    model: str = ""
    attempt: int = 0
    traceparent: str = ""

    @property
    def key(self) -> str:
        """Who is called: the engine's address."""
        return self.address


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAnswer:
    """How a call ended: `names` are the adapters that the engine lists, `message` is the error in one line."""

    outcome: CallOutcome
    names: frozenset[str] = frozenset()
    message: str = ""
