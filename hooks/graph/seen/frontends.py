"""The frontends' endpoints: which pods stand behind the Service of each, as EndpointSlices say.

Source: Kubernetes, staging/src/k8s.io/api/discovery/v1/types.go, EndpointSlice.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.endpoint_slices import SERVICE_NAME, rank_family
from hooks.ground.k8s.types import Json, ReadManifest, labels_of
from hooks.wire.metacontroller.protocol import SyncRequest


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FrontendEndpoint:
    """A ready endpoint of a frontend's Service; `pod` is empty if its EndpointSlice names no pod.

    `port` is 0 if the EndpointSlice names none.
    """

    pod: str
    address: str
    port: int


Endpoints = Mapping[str, tuple[FrontendEndpoint, ...]]
"""By name of the Service its ready endpoints, one for each pod, sorted by pod; a Service without any EndpointSlice has
no entry, because nobody has looked for its endpoints yet."""


def observe_frontends(request: SyncRequest) -> Endpoints | None:
    """The ready endpoints in a request; None if it has no EndpointSlices at all, so that nothing is known of them."""
    if not request.related.has_kind(kinds.ENDPOINT_SLICE):
        return None
    found: dict[str, dict[str, tuple[int, FrontendEndpoint]]] = {}
    for one in request.related.of(kinds.ENDPOINT_SLICE):
        service = labels_of(one).get(SERVICE_NAME, "")
        family = rank_family(one)
        pods = found.setdefault(service, {})
        for endpoint in _read_slice(one):
            key = endpoint.pod or endpoint.address
            if key not in pods or family < pods[key][0]:
                pods[key] = (family, endpoint)
    return {service: tuple(sorted(one for _, one in pods.values())) for service, pods in found.items()}


def _read_slice(one: ReadManifest) -> Iterator[FrontendEndpoint]:
    port = _find_port(one.get("ports") or ())
    for endpoint in one.get("endpoints") or ():
        conditions = endpoint.get("conditions") or {}
        addresses = endpoint.get("addresses") or ()
        if conditions.get("ready") is False or conditions.get("terminating") is True or not addresses:
            continue
        target = endpoint.get("targetRef") or {}
        yield FrontendEndpoint(
            pod=str(target.get("name") or "") if target.get("kind") == kinds.POD.kind else "",
            address=str(addresses[0]),
            port=port,
        )


def _find_port(ports: Iterable[Mapping[str, Json]]) -> int:
    """The number of the port for requests, by its name; of an EndpointSlice with one port, that one."""
    numbers = {str(port.get("name") or ""): port.get("port") for port in ports}
    found = numbers.get(contract.HTTP_PORT_NAME) or (next(iter(numbers.values())) if len(numbers) == 1 else None)
    return found if isinstance(found, int) else 0
