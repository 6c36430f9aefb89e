"""What a DynamoModel's sync observes: its engines, read from EndpointSlices, and the adapter names that models claim.

It decides which endpoints are engines, and nothing about loading.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.endpoint_slices import FAMILIES, SERVICE_NAME, rank_family
from hooks.ground.k8s.names import MAX_SUBDOMAIN
from hooks.ground.k8s.same import MAX_REMEMBERED, ByIdentity
from hooks.ground.k8s.types import Json, ReadManifest, labels_of, name_of
from hooks.ground.settings import Settings
from hooks.model.seen.engine_addresses import AddressRule, find_refusal
from hooks.model.seen.pod_addresses import OWN, AddressVerdict, NamedAddress, Verdicts, refuse_reference
from hooks.wire.metacontroller.protocol import Objects, SyncRequest
from hooks.wire.policy import identity

_MAX_PORT = 65_535
_UNCHECKED = AddressVerdict(doubt="not called: its address was not compared with that of its pod")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePod:
    """A pod with an engine; `address` is the base URL of its system server, `ready` the pod's readiness.

    `pod` is empty for an endpoint of which its EndpointSlice names no pod; such a one is refused.
    """

    address: str
    pod: str
    ready: bool
    refusal: str = ""
    """Why the prober does not call it; empty if it does."""
    doubt: str = ""
    """Why it is not known whether the address is the pod's. It counts as an engine, and is not called yet."""
    is_new: bool = False
    """Whether the doubt may end with the next sync."""

    @property
    def name(self) -> str:
        """The pod, or the address of an endpoint without one."""
        return self.pod or self.address


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterClaim:
    """The adapter names that a LoRA model uses: `loaded` ones by its status, and all `names` with the wanted one."""

    model: str
    created: str
    base_model: str
    names: frozenset[str]
    loaded: frozenset[str]


class _Seen(NamedTuple):
    """One address of an endpoint; `family` is the place of its EndpointSlice's family in the order of choice."""

    engine: EnginePod
    named: NamedAddress
    family: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedEngines:
    """The endpoints, one for each pod, sorted by pod.

    The prober calls `called`. It calls `doubted` once their addresses are checked. `refused` are no engines, because no
    engine has such an address, or because it is not that of their pod.
    """

    called: tuple[EnginePod, ...]
    doubted: tuple[EnginePod, ...]
    refused: tuple[EnginePod, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEndpoints:
    """Every address of a model's endpoints: `to_check` are those that may be called if they are their pods'.

    `as_named` are the engines if the EndpointSlices are believed, `unchecked` those while nothing is known of any pod.
    """

    addresses: tuple[_Seen, ...]
    to_check: tuple[NamedAddress, ...]
    as_named: SortedEngines
    unchecked: SortedEngines


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedModel:
    """A model's endpoints, the number of their Services, and the claims of this and the other LoRA models.

    `graphs` are the graphs whose Services these are, sorted.
    """

    endpoints: SeenEndpoints
    services: int
    graphs: tuple[str, ...]
    own_claim: AdapterClaim
    other_claims: tuple[AdapterClaim, ...]


def observe(request: SyncRequest, base_model: str, settings: Settings) -> ObservedModel:
    """The endpoints and claims in a sync request."""
    slices = tuple(find_slices(request.related, base_model))
    services = {labels_of(one).get(SERVICE_NAME, "") for one in slices} - {""}
    return ObservedModel(
        endpoints=observe_endpoints(slices, settings.engine_port, settings.engine_addresses),
        services=len(services),
        graphs=tuple(sorted({identity.owner_of_model_service(one, base_model) for one in services} - {""})),
        own_claim=read_claim(request.parent),
        other_claims=tuple(observe_claims(request)),
    )


def find_slices(related: Objects, base_model: str) -> Iterator[ReadManifest]:
    """The EndpointSlices that carry the base model's hash."""
    wanted = identity.model_hash(base_model)
    for one in related.of(kinds.ENDPOINT_SLICE):
        if labels_of(one).get(contract.LABEL_MODEL_HASH) == wanted:
            yield one


def observe_endpoints(slices: Iterable[ReadManifest], port: int, rule: AddressRule) -> SeenEndpoints:
    """Every address of every endpoint, with its refusal; `port` is the usual one of the engines' system servers.

    An EndpointSlice that names another one is believed where the address must be that of its pod. Terminating
    endpoints are ignored. An address that is refused here is refused whatever its pod is.

    Source: Dynamo operator, internal/modelendpoint/discovery.go.
    """
    return _observe_endpoints(tuple(map(ByIdentity, slices)), port, rule)


@lru_cache(maxsize=MAX_REMEMBERED)
def _observe_endpoints(slices: tuple[ByIdentity[ReadManifest], ...], port: int, rule: AddressRule) -> SeenEndpoints:
    """The endpoints of the same slices once: those of most calls are the parsed objects of the call before."""
    seen = tuple(
        address
        for one in slices
        for endpoint in one.value.get("endpoints") or ()
        if not (endpoint.get("conditions") or {}).get("terminating")
        for address in _read_endpoint(endpoint, one.value, port, rule, own=_port_of(one.value, rule))
    )
    to_check = dict.fromkeys(one.named for one in seen if not one.engine.refusal)
    return SeenEndpoints(
        addresses=seen,
        to_check=tuple(to_check),
        as_named=_sort(seen),
        unchecked=_sort(_judge(one, {}) for one in seen),
    )


def _port_of(found: ReadManifest, rule: AddressRule) -> int:
    """The port of a slice's engines that is not the usual one; 0 if it names none, or the default of all releases.

    Without the rule that an address must be that of its pod, a slice could send the prober to any port of any address.
    """
    named = (port.get("port") for port in found.get("ports") or () if port.get("name") == contract.SYSTEM_PORT_NAME)
    number = next(named, None)
    if rule != "pods" or not isinstance(number, int) or number == contract.SYSTEM_PORT:
        return 0
    return number if 0 < number <= _MAX_PORT else 0


def _read_endpoint(
    endpoint: Mapping[str, Json], found: ReadManifest, usual: int, rule: AddressRule, *, own: int
) -> Iterator[_Seen]:
    port = own or usual
    target, family = endpoint.get("targetRef") or {}, found.get("addressType")
    namespace = str(found["metadata"].get("namespace", ""))
    unfit = refuse_reference(target, namespace, name_of(found))
    if family not in FAMILIES:
        unfit = unfit or f"not called: EndpointSlice {name_of(found)} holds no IP addresses (addressType)"
    pod = str(target.get("name") or "")[:MAX_SUBDOMAIN] if target.get("kind") == "Pod" else ""
    for address in endpoint.get("addresses") or ():
        url = f"http://[{address}]:{port}" if family == "IPv6" else f"http://{address}:{port}"
        engine = EnginePod(
            address=url,
            pod=pod,
            ready=(endpoint.get("conditions") or {}).get("ready") is not False,
            refusal=unfit or find_refusal(url, rule),
        )
        named = NamedAddress(namespace, pod, str(target.get("uid") or ""), str(address), own)
        yield _Seen(engine, named, rank_family(found))


def sort_engines(endpoints: SeenEndpoints, verdicts: Verdicts | None) -> SortedEngines:
    """The endpoint of each pod that is best to call, by what is known of the pods; None for nothing.

    A pod is in several slices if several Services select it, or if it has two address families; then IPv4 is used.
    """
    if verdicts is None:
        return endpoints.unchecked
    if all(verdicts.get(one) is OWN for one in endpoints.to_check):
        return endpoints.as_named
    return _sort(_judge(one, verdicts) for one in endpoints.addresses)


def _judge(seen: _Seen, verdicts: Verdicts) -> _Seen:
    verdict = verdicts.get(seen.named, _UNCHECKED)
    if seen.engine.refusal or not (verdict.refusal or verdict.doubt):
        return seen
    engine = replace(seen.engine, refusal=verdict.refusal, doubt=verdict.doubt, is_new=verdict.is_new)
    return seen._replace(engine=engine)


def _sort(endpoints: Iterable[_Seen]) -> SortedEngines:
    found: dict[str, tuple[tuple[bool, bool, int, str], EnginePod]] = {}
    for engine, _, family in endpoints:
        rank = (bool(engine.refusal), bool(engine.doubt), family, engine.address)
        if engine.name not in found or rank < found[engine.name][0]:
            found[engine.name] = (rank, engine)
    chosen = [found[name][1] for name in sorted(found)]
    return SortedEngines(
        called=tuple(one for one in chosen if not (one.refusal or one.doubt)),
        doubted=tuple(one for one in chosen if one.doubt),
        refused=tuple(one for one in chosen if one.refusal),
    )


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
