"""What a DynamoModel's sync sees: its engines by EndpointSlices, the other models, and its own status as last written.

Decides which endpoint counts as an engine, and nothing about adapters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks import contract, identity
from hooks.k8s import kinds
from hooks.k8s.types import Json, ReadManifest, labels_of, name_of
from hooks.metacontroller.protocol import Objects, SyncRequest
from hooks.model.prober_messages import ENGINE_ADDRESS

_LABEL_SERVICE = "kubernetes.io/service-name"
_FAMILIES = ("IPv4", "IPv6")
_ADDRESS = re.compile(ENGINE_ADDRESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An engine's pod; `address` is the base URL of its system server, `ready` the pod's readiness."""

    address: str
    pod: str
    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The adapter names that a LoRA model wants (`names`) and those its status says it has loaded (`held`)."""

    model: str
    created: str
    base_model: str
    names: frozenset[str]
    held: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Engines sorted by pod, the number of Services behind them, and the LoRA models beside this one.

    `left_out` are the candidates without an IP address, which cannot be asked anything.
    """

    candidates: tuple[Candidate, ...]
    left_out: tuple[Candidate, ...]
    services: int
    own_claim: Claim
    other_claims: tuple[Claim, ...]


def observe(request: SyncRequest, base_model: str, port: int) -> Seen:
    """Read the related objects of a sync; `port` is that of the engines' system servers."""
    slices = tuple(find_slices(request.related, base_model))
    services = {labels_of(one).get(_LABEL_SERVICE, "") for one in slices} - {""}
    candidates, left_out = observe_candidates(slices, port)
    return Seen(
        candidates=candidates,
        left_out=left_out,
        services=len(services),
        own_claim=read_claim(request.parent),
        other_claims=tuple(observe_claims(request)),
    )


def find_slices(related: Objects, base_model: str) -> Iterator[ReadManifest]:
    """The EndpointSlices that carry the base model's hash."""
    wanted = identity.model_hash(base_model)
    for one in related.of(kinds.ENDPOINT_SLICE):
        if labels_of(one).get(contract.LABEL_MODEL_HASH) == wanted:
            yield one


def observe_candidates(
    slices: Iterable[ReadManifest], port: int
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """One candidate per pod, IPv4 before IPv6, sorted by pod, and those of pods that have no IP address.

    Terminating endpoints and those of no pod do not count.

    A pod stands in several slices when several Services select it, or when it has two families of addresses.

    Source: Dynamo operator, internal/modelendpoint/discovery.go.
    """
    found: dict[str, tuple[tuple[bool, int, str], Candidate]] = {}
    for one in slices:
        family = one.get("addressType")
        if family not in _FAMILIES:
            continue
        for endpoint in one.get("endpoints") or ():
            for candidate in _read_endpoint(endpoint, family, port):
                is_named = _ADDRESS.fullmatch(candidate.address) is None
                rank = (is_named, _FAMILIES.index(family), candidate.address)
                if candidate.pod not in found or rank < found[candidate.pod][0]:
                    found[candidate.pod] = (rank, candidate)
    ranked = [found[pod] for pod in sorted(found)]
    return (
        tuple(candidate for (is_named, *_), candidate in ranked if not is_named),
        tuple(candidate for (is_named, *_), candidate in ranked if is_named),
    )


def _read_endpoint(endpoint: Mapping[str, Json], family: str, port: int) -> Iterator[Candidate]:
    target = endpoint.get("targetRef") or {}
    conditions = endpoint.get("conditions") or {}
    if target.get("kind") != "Pod" or not target.get("name") or conditions.get("terminating"):
        return
    for address in endpoint.get("addresses") or ():
        host = f"[{address}]" if family == "IPv6" else address
        ready = conditions.get("ready") is not False
        yield Candidate(address=f"http://{host}:{port}", pod=str(target["name"]), ready=ready)


def observe_claims(request: SyncRequest) -> Iterator[Claim]:
    """Claims of the LoRA models beside the parent; one that is being deleted keeps its claim until it is gone."""
    own = name_of(request.parent)
    for model in request.related.of(contract.MODEL):
        in_namespace = model["metadata"].get("namespace") == request.parent["metadata"]["namespace"]
        if in_namespace and name_of(model) != own and _is_lora(model):
            yield read_claim(model)


def _is_lora(model: ReadManifest) -> bool:
    return str((model.get("spec") or {}).get("modelType", "")).lower() == "lora"


def read_claim(model: ReadManifest) -> Claim:
    """What a model claims by its spec and by its status, whether or not its spec is valid."""
    spec, status = model.get("spec") or {}, model.get("status") or {}
    held = frozenset(str(adapter.get("name", "")) for adapter in status.get("adapters") or ())
    return Claim(
        model=name_of(model),
        created=str(model["metadata"].get("creationTimestamp", "")),
        base_model=str(spec.get("baseModelName", "")),
        names=(held | {str(spec.get("modelName", ""))}) - {""},
        held=held,
    )
