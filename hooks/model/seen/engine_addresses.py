"""Which addresses can be an engine's or a frontend's: not the prober's own node or pod, nor a cloud's metadata.

An EndpointSlice may be written by anybody with rights in the namespace, and names any address. Whether an address is
that of the pod which the EndpointSlice names is decided in `hooks.model.seen.pod_addresses`.

Source: RFC 6890, special-purpose addresses; RFC 4291, addresses of IPv6 that hold one of IPv4.
"""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from typing import Literal

from hooks.model.seen.metadata_addresses import is_metadata_address

AddressRule = Literal["pods", "routable", "any"]
"""The setting `engine_addresses`: `any` allows every IP address, for engines on loopback in tests.

Here `pods` and `routable` are one: what differs is that with `pods` the address must also be that of its pod.
"""

_KNOWN_ADDRESSES = 16_384
_MAX_SHOWN = 64
_THIS_NETWORK = IPv4Network("0.0.0.0/8")
_BROADCAST = IPv4Address("255.255.255.255")
_HOST = re.compile(r"\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<v4>[0-9.]+)")


def find_refusal(url: str, rule: AddressRule) -> str:
    """Why the prober does not call the engine or frontend with this base URL; empty if it does."""
    return _find_refusal(url.partition("://")[2].rpartition(":")[0], rule)


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def _find_refusal(host: str, rule: AddressRule) -> str:
    try:
        address = _parse(host)
    except ValueError:
        return f"not called: its address {host[:_MAX_SHOWN]!r} is not an IP address"
    if rule == "any":
        return ""
    kind = next((found for one in _unwrap(address) if (found := _classify(one))), "")
    return f"not called: its address {address} is {kind} (setting engine_addresses)" if kind else ""


def _parse(host: str) -> IPv4Address | IPv6Address:
    """The address in a URL; raises ValueError for a host that is not one."""
    written = _HOST.fullmatch(host)
    if written is None:
        raise ValueError
    return IPv6Address(written["v6"]) if written["v6"] else IPv4Address(written["v4"])


def _unwrap(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """The address, and those of IPv4 that a gateway or the kernel would read in one of IPv6."""
    if isinstance(address, IPv4Address):
        return [address]
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    return [address, *(one for one in inner if one is not None)]


def _classify(address: IPv4Address | IPv6Address) -> str:
    """What an address is that no engine has; empty for an address that an engine may have."""
    kinds = (
        ("a cloud's metadata address", is_metadata_address(address)),
        ("the unspecified address", address.is_unspecified or _is_in(address, _THIS_NETWORK)),
        ("a loopback address", address.is_loopback),
        ("a link-local address", address.is_link_local),
        ("a multicast address", address.is_multicast),
        ("the broadcast address", address == _BROADCAST),
        # Among these are 64:ff9b::/96, which NAT64 translates. Reserved ones of IPv4 are in use as pods' addresses.
        ("a reserved address", isinstance(address, IPv6Address) and address.is_reserved),
    )
    return next((kind for kind, is_so in kinds if is_so), "")


def _is_in(address: IPv4Address | IPv6Address, network: IPv4Network) -> bool:
    return isinstance(address, IPv4Address) and address in network
