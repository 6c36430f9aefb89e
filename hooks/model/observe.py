"""What a DynamoModel's sync observes: its engines, read from EndpointSlices, and the adapter names that models claim.

It decides which endpoints are engines, and nothing about loading.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from hooks import contract, identity
from hooks.k8s import kinds
from hooks.k8s.same import MAX_KEPT, Same
from hooks.k8s.types import Json, ReadManifest, labels_of, name_of
from hooks.metacontroller.protocol import Objects, SyncRequest
from hooks.model.engine_addresses import AddressRule, find_refusal
from hooks.settings import Settings

_LABEL_SERVICE = "kubernetes.io/service-name"
_FAMILIES = ("IPv4", "IPv6")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePod:
    """A pod with an engine; `address` is the base URL of its system server, `ready` the pod's readiness."""

    address: str
    pod: str
    ready: bool
    refusal: str = ""
    """Why the prober does not call it; empty if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterClaim:
    """The adapter names that a LoRA model uses: `loaded` ones by its status, and all `names` with the wanted one."""

    model: str
    created: str
    base_model: str
    names: frozenset[str]
    loaded: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedModel:
    """A model's engines sorted by pod, the number of their Services, and the claims of this and the other LoRA models.

    `refused` are the endpoints that the prober does not call, because no engine has such an address.
    """

    engines: tuple[EnginePod, ...]
    refused: tuple[EnginePod, ...]
    services: int
    own_claim: AdapterClaim
    other_claims: tuple[AdapterClaim, ...]


def observe(request: SyncRequest, base_model: str, settings: Settings) -> ObservedModel:
    """The engines and claims in a sync request."""
    slices = tuple(find_slices(request.related, base_model))
    services = {labels_of(one).get(_LABEL_SERVICE, "") for one in slices} - {""}
    engines, refused = observe_engines(slices, settings.engine_port, settings.engine_addresses)
    return ObservedModel(
        engines=engines,
        refused=refused,
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


def observe_engines(
    slices: Iterable[ReadManifest], port: int, rule: AddressRule
) -> tuple[tuple[EnginePod, ...], tuple[EnginePod, ...]]:
    """The engines that are called, and those that are not; one per pod, sorted by pod.

    `port` is that of the engines' system servers.

    A pod is in several slices if several Services select it, or if it has two address families; then IPv4 is used.
    Terminating endpoints and endpoints without a pod are ignored.

    Source: Dynamo operator, internal/modelendpoint/discovery.go.
    """
    return _observe_engines(tuple(map(Same, slices)), port, rule)


@lru_cache(maxsize=MAX_KEPT)
def _observe_engines(
    slices: tuple[Same, ...], port: int, rule: AddressRule
) -> tuple[tuple[EnginePod, ...], tuple[EnginePod, ...]]:
    """The engines of the same slices once: those of most calls are the parsed objects of the call before."""
    found: dict[str, tuple[tuple[bool, int, str], EnginePod]] = {}
    for one in slices:
        family = one.value.get("addressType")
        if family not in _FAMILIES:
            continue
        for endpoint in one.value.get("endpoints") or ():
            for engine in _read_endpoint(endpoint, family, port, rule):
                rank = (bool(engine.refusal), _FAMILIES.index(family), engine.address)
                if engine.pod not in found or rank < found[engine.pod][0]:
                    found[engine.pod] = (rank, engine)
    chosen = [found[pod][1] for pod in sorted(found)]
    return tuple(one for one in chosen if not one.refusal), tuple(one for one in chosen if one.refusal)


def _read_endpoint(endpoint: Mapping[str, Json], family: str, port: int, rule: AddressRule) -> Iterator[EnginePod]:
    target = endpoint.get("targetRef") or {}
    conditions = endpoint.get("conditions") or {}
    if target.get("kind") != "Pod" or not target.get("name") or conditions.get("terminating"):
        return
    for address in endpoint.get("addresses") or ():
        host = f"[{address}]" if family == "IPv6" else address
        ready = conditions.get("ready") is not False
        url = f"http://{host}:{port}"
        yield EnginePod(address=url, pod=str(target["name"]), ready=ready, refusal=find_refusal(url, rule))


def observe_claims(request: SyncRequest) -> Iterator[AdapterClaim]:
    """The claims of the other LoRA models; a model that is being deleted keeps its claim until it is gone."""
    own = name_of(request.parent)
    for model in request.related.of(contract.MODEL):
        in_namespace = model["metadata"].get("namespace") == request.parent["metadata"]["namespace"]
        if in_namespace and name_of(model) != own and _is_lora(model):
            yield read_claim(model)


def _is_lora(model: ReadManifest) -> bool:
    return str((model.get("spec") or {}).get("modelType", "")).lower() == "lora"


def read_claim(model: ReadManifest) -> AdapterClaim:
    """A model's claim by its spec and its status; the spec need not be valid."""
    spec, status = model.get("spec") or {}, model.get("status") or {}
    loaded = frozenset(str(adapter.get("name", "")) for adapter in status.get("adapters") or ())
    return AdapterClaim(
        model=name_of(model),
        created=str(model["metadata"].get("creationTimestamp", "")),
        base_model=str(spec.get("baseModelName", "")),
        names=(loaded | {str(spec.get("modelName", ""))}) - {""},
        loaded=loaded,
    )
