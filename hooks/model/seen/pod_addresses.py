"""Whether an address that an EndpointSlice gives to a pod is that pod's own, by the pod that the API server has.

The kubelet writes a pod's addresses. A right to write pods or EndpointSlices does not include that. So with the setting
`engine_addresses=pods` the prober calls only addresses of pods in the model's namespace.

A pod in its node's network has the node's address, and is called there. Whoever may create such a pod reaches all of
the node's ports by it, so the prober's call gives them nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NamedTuple

from hooks.ground import contract
from hooks.ground.k8s.names import is_subdomain
from hooks.ground.k8s.types import Json, ReadManifest

_ENDED = frozenset({"Succeeded", "Failed"})
_CORRECT = "correct the EndpointSlice, or let a Service's selector write it"
_MAX_SHOWN = 64


class NamedAddress(NamedTuple):
    """What an EndpointSlice says of an endpoint: its pod, by name and uid, and the pod's address and port.

    `uid` is empty if the EndpointSlice names none, `port` is 0 for the usual port of engines. Another port must be a
    container port of the pod with the name `port_name`.
    """

    namespace: str
    pod: str
    uid: str
    address: str
    port: int = 0
    port_name: str = contract.SYSTEM_PORT_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressVerdict:
    """Whether an address is that of its pod; if both texts are empty, it is.

    `refusal` says why it is not. `doubt` says why that is unknown; `is_new` is a doubt that may end with the next sync.
    """

    refusal: str = ""
    doubt: str = ""
    is_new: bool = False


OWN = AddressVerdict()
"""The address is that of its pod."""
Verdicts = Mapping[NamedAddress, AddressVerdict]
CheckAddresses = Callable[[tuple[NamedAddress, ...]], Verdicts]
"""Says of each address whether it is that of its pod."""


def judge_address(named: NamedAddress, pod: ReadManifest | None) -> str:
    """Why the prober does not call the address; empty if it is one of the pod's. `pod` is None if there is none."""
    where = f"not called: its address {named.address}"
    if pod is None:
        return f"{where} belongs to no pod, because namespace {named.namespace} has no pod {named.pod}; {_CORRECT}"
    if named.uid and pod["metadata"].get("uid") != named.uid:
        return f"not called: the uid that its EndpointSlice names is not that of pod {named.pod}; {_CORRECT}"
    status = pod.get("status") or {}
    if status.get("phase") in _ENDED:
        return f"{where} may be another pod's by now, because pod {named.pod} has ended; {_CORRECT}"
    if _normalise(named.address) not in set(_read_addresses(status)):
        return f"{where} is not an address of pod {named.pod}; {_CORRECT}"
    if named.port and named.port not in set(_read_ports(pod, named.port_name)):
        return (
            f"not called: no container of pod {named.pod} has the port {named.port} under the name "
            f"{named.port_name}; {_CORRECT}"
        )
    return ""


def refuse_reference(target: Mapping[str, Json], namespace: str, endpoint_slice: str) -> str:
    """Why an endpoint with this `targetRef` is not called; empty if it names a pod in the EndpointSlice's namespace."""
    if not target:
        return f"not called: EndpointSlice {endpoint_slice} names no pod for it (targetRef); {_CORRECT}"
    name = str(target.get("name") or "")
    if target.get("kind") != "Pod" or not is_subdomain(name):
        shown = f"{target.get('kind')} {name}"[:_MAX_SHOWN]
        return f"not called: EndpointSlice {endpoint_slice} names {shown!r} for it, which is no pod; {_CORRECT}"
    if target.get("namespace", namespace) not in {namespace, ""}:
        return f"not called: EndpointSlice {endpoint_slice} names a pod of another namespace for it; {_CORRECT}"
    return ""


def describe_doubt(named: NamedAddress, reason: str) -> str:
    """The sentence about an address that could not be checked."""
    return f"not called: whether its address {named.address} is that of pod {named.pod} is not known, because {reason}"


def _read_ports(pod: ReadManifest, name: str) -> Iterator[Json]:
    """The container ports of that name in the pod's spec."""
    for field in ("containers", "initContainers"):
        for container in (pod.get("spec") or {}).get(field) or ():
            for port in container.get("ports") or ():
                if port.get("name") == name:
                    yield port.get("containerPort")


def _read_addresses(status: Mapping[str, Json]) -> Iterator[str]:
    for entry in status.get("podIPs") or ():
        yield _normalise(entry.get("ip"))
    if status.get("podIP"):
        yield _normalise(status["podIP"])


def _normalise(address: Json) -> str:
    """One way of writing for each address; what is none stays as it is."""
    try:
        return str(ip_address(str(address)))
    except ValueError:
        return str(address)
