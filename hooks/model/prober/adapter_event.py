"""What can happen to an adapter on an engine, as the phase table names it."""

from dataclasses import dataclass
from enum import StrEnum

from hooks.model.prober.limits import Moment


class AdapterEvent(StrEnum):
    """A new goal, a call sent, the end of a load or unload, or what a list call says about the adapter."""

    NEW_GOAL = "the model wants another source, or tries again after a final failure"
    LOAD_SENT = "a load is sent"
    UNLOAD_SENT = "an unload is sent"
    LOAD_ACCEPTED = "the engine accepted the load"
    UNLOAD_ACCEPTED = "the engine accepted the unload"
    CALL_FAILED = "the call failed and may succeed another time"
    CALL_REFUSED = "the engine refuses the call, and always will"
    LOAD_UNSUPPORTED = "the engine answers a load that it has no LoRA support"
    LISTED = "the engine lists the adapter"
    LISTED_AS_OTHER = "after a load, the engine lists a name that it was not asked for"
    NOT_LISTED = "the engine lists its adapters without this one"
    NO_LIST = "the engine answers, but has no list of adapters"
    NO_LORA = "the engine answers a list call that it has no LoRA support"
    LIST_FAILED = "the list call failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """An event, when it happened, and the error that came with it."""

    event: AdapterEvent
    at: Moment
    error: str = ""
