"""The messages between the model hook and the prober.

The hook sends `PUT /v1/models/<namespace>/<name>` with a LoadRequest: all that one DynamoModel wants of its engines.
The request replaces the model's last one. The prober answers at once with a LoadReport: what it knows now. It calls
engines in the background. It acts for the model for one mandate (setting `lora_mandate`) after each request.

`GET` of the same path shows the last request and its report, for debugging; it does not renew the mandate. An invalid
body is answered with 400 and a wrong token with 401, each with one line of text.

A LoadRequest whose `adapter` is null only wants the `former` adapters unloaded; finalize sends it.

With several hooks pods only one prober acts: the hooks of the pod that holds the Lease renew its term by
`PUT /v1/term`; `GET` shows the newest term. A prober that does not act, or knows a newer generation of the model,
answers a LoadRequest with 409.
"""

from enum import StrEnum
from functools import cached_property
from typing import Annotated

import msgspec


class AdapterPhase(StrEnum):
    """The phase of one adapter on one engine."""

    UNKNOWN = "Unknown"
    """The prober has not called the engine yet."""
    PENDING = "Pending"
    """The adapter is to be loaded."""
    LOADING = "Loading"
    LOADED = "Loaded"
    """The engine lists the adapter."""
    UNVERIFIED = "Unverified"
    """The engine accepted the load and cannot list its adapters."""
    RETRYING = "Retrying"
    """The last call failed and is tried again."""
    FAILED = "Failed"
    """Tried again when the spec changes, or after a long pause."""
    UNSUPPORTED = "Unsupported"
    """The engine has no LoRA support, as on prefill workers."""
    UNLOADING = "Unloading"
    UNLOADED = "Unloaded"

    @property
    def is_ready(self) -> bool:
        """Whether the adapter can be used."""
        return self in _READY

    @property
    def is_final(self) -> bool:
        """Whether the prober makes no further load or unload while the engine does not change."""
        return self in _FINAL


_READY = frozenset({AdapterPhase.LOADED, AdapterPhase.UNVERIFIED})
_FINAL = _READY | {AdapterPhase.FAILED, AdapterPhase.UNSUPPORTED, AdapterPhase.UNLOADED}


UNKNOWN_SOURCE = "unknown"
"""Stands for an unknown source; every source in a spec has a scheme."""

Text = Annotated[str, msgspec.Meta(min_length=1)]
MOST_GRAPHS = 16
"""Graphs of a model whose frontends are asked about."""
ENGINE_ADDRESS = r"http://([0-9.]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}"
"""The base URL of a system server; its host is an IP address, never a name."""


class _Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A part of a message, thousands of which are made for each model of a thousand engines.

    Values are checked where a message is read, not where one is made. No message refers to one that refers back, so
    the garbage collector need not know them.
    """


class Adapter(_Message, frozen=True):
    """A LoRA adapter: the model name that clients send, and where its weights are."""

    name: Text
    uri: Text


class EngineTarget(_Message, frozen=True):
    """An engine: the base URL of its system server, and its pod.

    `ready` is the pod's readiness; when it becomes true, the prober lists the engine at once.

    The other fields come from the model's status. A prober needs them when it begins to act for the model, because
    engines list names and not sources. A field is empty if the status does not have the value.

    * `recorded`: the source from which the engine has the wanted adapter, if it has it.
    * `failed`: the error of a final failure in this generation.
    * `loading`: the sources from which the engine may have the model's adapters, or get them by loads under way.
    """

    address: Annotated[str, msgspec.Meta(pattern=f"^{ENGINE_ADDRESS}$")]
    pod: str
    ready: bool = True
    recorded: str = ""
    failed: str = ""
    loading: tuple[str, ...] = ()


def without_evidence(target: EngineTarget) -> EngineTarget:
    """The engine alone, without what the model's status says about it."""
    return EngineTarget(address=target.address, pod=target.pod, ready=target.ready)


class LoadRequest(_Message, frozen=True, dict=True, gc=True):
    """What one DynamoModel wants: `adapter` on every target, and none of the adapters in `former`, which it loaded.

    A request with a lower `generation` than another one with the same `uid` is outdated. `is_recorded`: the model's
    status names the adapter first, so it may be loaded; until then the prober only lists. `graphs` are the names of
    those graphs of the model's namespace to which the engines belong.
    """

    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    adapter: Adapter | None = None
    is_recorded: bool = True
    former: tuple[str, ...] = ()
    targets: tuple[EngineTarget, ...] = ()
    graphs: Annotated[tuple[Text, ...], msgspec.Meta(max_length=MOST_GRAPHS)] = ()

    @cached_property
    def key(self) -> str:
        """The model as `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class EndpointReport(_Message, frozen=True):
    """What the prober knows of one target.

    `age` is the number of seconds since the phase began. `source` is the source of the loaded adapter; empty if none is
    loaded. `left` are the former adapters that may still be loaded. Without a wanted adapter, `phase` is the unload's.
    """

    address: str
    phase: AdapterPhase
    attempts: int = 0
    last_error: str = ""
    age: float = 0.0
    source: str = ""
    left: tuple[str, ...] = ()


class FrontendOffer(_Message, frozen=True):
    """Whether a frontend offers the wanted adapter to clients, by its list of models `age` seconds ago."""

    pod: str
    is_offered: bool
    age: float = 0.0


class GraphOffer(_Message, frozen=True):
    """What the frontends of a graph say that answer; those of which nothing is known are left out.

    `chooses_by_adapter`: they send requests for an adapter only to workers that have it.
    """

    graph: str
    frontends: tuple[FrontendOffer, ...] = ()
    chooses_by_adapter: bool = False


class LoadReport(_Message, frozen=True):
    """What the prober knows, in the order of the request's targets.

    `starting`: the first request is recent, and some engine has not been called yet. `offers` are by graph what its
    frontends say of the wanted adapter; a graph of which nothing is known is left out.
    """

    starting: bool = False
    endpoints: tuple[EndpointReport, ...] = ()
    offers: tuple[GraphOffer, ...] = ()


class Term(_Message, frozen=True):
    """The time for which the prober of a pod acts.

    `number` grows each time that its pod takes the Lease. `until` is a time of the machine's monotonic clock, which
    all containers of a pod share; 0 ends the term, so that its number never counts again.
    """

    number: int
    until: float = 0.0
