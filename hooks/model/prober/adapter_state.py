"""The state of one adapter on one engine: what is wanted, what the engine listed, and how the calls ended.

Values only; `phases` says how they change.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from hooks.model.prober.calls import EngineAction
from hooks.model.prober.messages import AdapterPhase


class ListResult(StrEnum):
    """How the last list call to an engine ended."""

    NONE = "none"
    """No list call has ended yet."""
    LISTED = "listed"
    NO_LIST = "no list"
    """The engine answers, but has no list of adapters."""
    UNSUPPORTED = "unsupported"
    """The engine has no LoRA support."""
    DOWN = "down"
    """The call failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The last list call to an engine: its result, when it was sent, the adapters listed, and the error."""

    result: ListResult = ListResult.NONE
    sent: float = 0.0
    names: frozenset[str] = frozenset()
    error: str = ""

    @property
    def takes_changes(self) -> bool:
        """Whether the engine can be asked to load or unload."""
        return self.result in {ListResult.LISTED, ListResult.NO_LIST}


class Goal(StrEnum):
    """What a model wants of an adapter on an engine."""

    LOADED = "loaded"
    UNLOADED = "unloaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedAdapter:
    """An adapter that a model wants loaded from `uri`, or unloaded where `uri` is empty.

    `is_recorded`: the model's status says so, and a prober after this one will know; until then nothing is changed.
    """

    name: str
    model: str
    uri: str
    generation: int
    is_recorded: bool = True

    @property
    def goal(self) -> Goal:
        """Whether the adapter is to be loaded or unloaded."""
        return Goal.LOADED if self.uri else Goal.UNLOADED


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """The calls made so far towards the goal: all `attempts`, and the `failures` in a row.

    The next call is made at `next_at`. `began` is when the first one was made; None once the goal is reached.
    `losses` counts how often in a row the engine dropped the adapter after a load.
    """

    attempts: int = 0
    failures: int = 0
    losses: int = 0
    next_at: float = 0.0
    began: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LateLoads:
    """Sources of loads without an answer; the engine may still finish them until `until`.

    `is_over`: the engine has answered a later load. It loads a name once at a time, in the order of the requests, so
    the earlier loads are over, and what they brought is on the list.
    """

    sources: frozenset[str] = frozenset()
    until: float = 0.0
    is_over: bool = False

    def may_bring_other(self, uri: str, now: float) -> bool:
        """Whether the engine may still load from a source other than `uri`."""
        return bool(self.at(now) - {uri})

    def may_come(self, now: float) -> bool:
        """Whether one may still be under way, of whatever source."""
        return bool(self.at(now)) and not self.is_over

    def at(self, now: float) -> frozenset[str]:
        """The sources that the engine may still load from."""
        return self.sources if now < self.until else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterState:
    """One adapter on one engine.

    `since` is when the phase began. `source` is where the engine loaded the adapter from; empty if it has none, or if
    no list has said yet whether it has. `accepted` is the change that the engine accepted and no list has confirmed
    yet. `is_terminal`: no call is made for this generation, or not for a long time. `is_misnamed`: never again for this
    generation, because the engine lists another name. `changed_at` is when the last load or unload ended, `seen_at`
    when the engine last had the adapter. `known_names` are the names that were known when the last load was sent: those
    on the engine's list, and those of other adapters that models want there.
    """

    wanted: WantedAdapter
    since: float
    phase: AdapterPhase = AdapterPhase.UNKNOWN
    last_error: str = ""
    source: str = ""
    accepted: EngineAction | None = None
    is_terminal: bool = False
    is_misnamed: bool = False
    changed_at: float = 0.0
    seen_at: float = 0.0
    known_names: frozenset[str] = frozenset()
    tries: Tries = field(default_factory=Tries)
    late_loads: LateLoads = field(default_factory=LateLoads)

    def possible_sources(self, now: float) -> frozenset[str]:
        """Where the adapter may come from if the engine has it; empty if no known load can have brought it."""
        late = self.late_loads.at(now)
        return late | {self.source} if self.source else late

    @property
    def is_first_reload(self) -> bool:
        """Whether the engine lost the adapter for the first time and has not been asked to load it again."""
        return self.tries.losses == 1 and self.phase is AdapterPhase.PENDING and not self.tries.attempts
