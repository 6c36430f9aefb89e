"""What the model hook and the prober say to each other.

`PUT /v1/models/<namespace>/<name>` carries a LoadRequest: everything that one DynamoModel wants of its engines. It
replaces what was asked before, renews the prober's mandate for the model, and is answered at once, without a call to
any engine, by a LoadReport: what the prober knows now. `GET` of the same path answers the last request and report, for
debugging, and renews nothing. A body that does not fit gets 400, a wrong token 401, each with one line of text.

A LoadRequest with `adapter` null asks for nothing but the absence of the `former` adapters: finalize does so.
"""

from enum import StrEnum
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field


class AdapterPhase(StrEnum):
    """Where one adapter stands on one engine."""

    UNKNOWN = "Unknown"
    """The prober has not heard of the engine yet."""
    PENDING = "Pending"
    LOADING = "Loading"
    LOADED = "Loaded"
    """The engine lists the adapter."""
    UNVERIFIED = "Unverified"
    """The engine accepted the load and cannot list."""
    RETRYING = "Retrying"
    """The last try failed, another one follows."""
    FAILED = "Failed"
    """Not tried again until the spec changes."""
    UNSUPPORTED = "Unsupported"
    """The worker says that it has no LoRA adapters, as prefill workers do."""
    UNLOADING = "Unloading"
    UNLOADED = "Unloaded"

    @property
    def is_ready(self) -> bool:
        """Whether the adapter can be used."""
        return self in _READY

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens by itself while the engine stays as it is."""
        return self in _FINAL


_READY = frozenset({AdapterPhase.LOADED, AdapterPhase.UNVERIFIED})
_FINAL = _READY | {AdapterPhase.FAILED, AdapterPhase.UNSUPPORTED, AdapterPhase.UNLOADED}


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Adapter(_Message):
    """A LoRA adapter by the name that clients ask for, and where its weights are."""

    name: str = Field(min_length=1)
    uri: str = Field(min_length=1)


ENGINE_ADDRESS = r"http://([0-9.]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}"
"""The base URL of a system server: only an IP address is called, never a name."""


class EngineTarget(_Message):
    """An engine: the base URL of its system server, and the pod it runs in.

    `recorded` is the source with which the status says the adapter is loaded there, empty if it does not say: engines
    list names, not sources. `ready` is the pod's readiness; a change to it ends a back-off.

    Two more fields hand over what a prober that starts anew cannot learn from an engine. `failed` is the error with
    which the status says that this generation's adapter will not load there, empty if it does not say so. `loading` is
    the source from which a load was under way when the status was written, other than the wanted one: what it brings
    may still arrive, under the wanted adapter's name if that is an older source of it, else under a name in `former`.
    """

    address: str = Field(pattern=f"^{ENGINE_ADDRESS}$")
    pod: str
    ready: bool = True
    recorded: str = ""
    failed: str = ""
    loading: str = ""


class LoadRequest(_Message):
    """What one DynamoModel wants: `adapter` on every target, and no adapter of the names in `former` that it loaded."""

    namespace: str
    name: str
    generation: int = 0
    adapter: Adapter | None = None
    former: tuple[str, ...] = ()
    targets: tuple[EngineTarget, ...] = ()

    @cached_property
    def key(self) -> str:
        """`namespace/name` of the model."""
        return f"{self.namespace}/{self.name}"


class EndpointReport(_Message):
    """What the prober knows of one target.

    `age` are the seconds since the phase began; `source` is where the loaded adapter came from, empty when none is;
    `left` are the former adapters not known to be gone. Without a wanted adapter the phase is that of the unloading.
    """

    address: str
    phase: AdapterPhase
    attempts: int = 0
    last_error: str = ""
    age: float = 0.0
    source: str = ""
    left: tuple[str, ...] = ()


class LoadReport(_Message):
    """What the prober knows, in the order of the request's targets.

    `starting`: it was first asked a moment ago and has not heard of every engine yet, so it says nothing final.
    """

    starting: bool = False
    endpoints: tuple[EndpointReport, ...] = ()
