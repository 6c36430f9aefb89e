"""Which addresses an engine may have, in every way in which an EndpointSlice can write them."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

import pytest

from hooks.model.seen.engine_addresses import AddressRule, find_refusal
from hooks.model.seen.metadata_addresses import METADATA_ADDRESSES

ROUTABLE = (
    "10.0.0.1", "100.64.0.1", "172.16.0.1", "192.168.1.1", "203.0.113.9", "8.8.8.8", "240.0.0.1", "1.0.0.0",
    "168.63.129.17", "100.100.100.201", "192.0.0.193", "[fd00:ec2::1]", "[2001:db8::a9fe:a9ff]",
    "[fd00::1]", "[2001:db8::1]", "[2600::1]", "[::ffff:10.0.0.1]", "[fec0::1]",
)  # fmt: skip


@pytest.mark.parametrize("host", ROUTABLE)
def test_address_of_a_pod_is_called(host: str) -> None:
    assert find_refusal(f"http://{host}:9090", "routable") == ""
    assert find_refusal(f"http://{host}:9090", "pods") == ""


REFUSED = {
    "127.0.0.1": "a loopback address",
    "127.255.255.254": "a loopback address",
    "[::1]": "a loopback address",
    "[0:0:0:0:0:0:0:1]": "a loopback address",
    "[::ffff:127.0.0.1]": "a loopback address",
    "[::ffff:7f00:1]": "a loopback address",
    "[2002:7f00:1::]": "a loopback address",
    "169.254.0.1": "a link-local address",
    "[fe80::1]": "a link-local address",
    "[::ffff:169.254.0.1]": "a link-local address",
    "[2002:a9fe:1::1]": "a link-local address",
    "224.0.0.1": "a multicast address",
    "239.255.255.255": "a multicast address",
    "[ff02::1]": "a multicast address",
    "0.0.0.0": "the unspecified address",
    "0.0.0.1": "the unspecified address",
    "[::]": "the unspecified address",
    "[::ffff:0.0.0.0]": "the unspecified address",
    "255.255.255.255": "the broadcast address",
    "[::7f00:1]": "a reserved address",
    "[::127.0.0.1]": "a reserved address",
    "[64:ff9b::7f00:1]": "a reserved address",
}


@pytest.mark.parametrize(("host", "kind"), REFUSED.items(), ids=REFUSED)
def test_address_that_no_engine_has_is_refused(host: str, kind: str) -> None:
    found = find_refusal(f"http://{host}:9090", "routable")
    assert find_refusal(f"http://{host}:9090", "pods") == found
    assert found.startswith("not called: its address ")
    assert found.endswith(f" is {kind} (setting engine_addresses)")
    assert find_refusal(f"http://{host}:9090", "any") == ""


METADATA = {
    "AWS": ("169.254.169.254", "fd00:ec2::254"),
    "AWS ECS": ("169.254.170.2",),
    "AWS EKS": ("169.254.170.23", "fd00:ec2::23"),
    "Azure": ("169.254.169.254", "168.63.129.16"),
    "Google": ("169.254.169.254", "fd20:ce::254"),
    "Oracle": ("169.254.169.254", "fd00:c1::a9fe:a9fe"),
    "Oracle Classic": ("192.0.0.192",),
    "Alibaba": ("100.100.100.200", "fd00:100::100:200"),
    "Tencent": ("169.254.0.23",),
    "OpenStack": ("169.254.169.254", "fe80::a9fe:a9fe"),
    "Scaleway": ("169.254.42.42", "fd00:42::42"),
    "Akamai": ("169.254.169.254", "fd00:a9fe:a9fe::1"),
}


def write_forms(address: str) -> Iterator[str]:
    """The address in every way in which a URL can hold it, and those that a gateway translates to it."""
    if ":" in address:
        yield from (f"[{address}]", f"[{IPv6Address(address).exploded}]", f"[{address.upper()}]")
        return
    packed = IPv4Address(address).packed
    high, low = packed[:2].hex(), packed[2:].hex()
    yield address
    yield from (f"[::ffff:{address}]", f"[::ffff:{high}:{low}]", f"[::{address}]")  # mapped and compatible
    yield f"[2002:{high}:{low}::1]"  # 6to4
    yield f"[2001:0:{high}:{low}::1]"  # Teredo
    yield from (f"[64:ff9b::{address}]", f"[64:ff9b:1::{address}]", f"[2001:db8::{address}]")  # NAT64: 96 bits
    yield f"[2001:db8:{high}:{low}::]"  # NAT64: 32 bits
    yield f"[2001:db8:1:{high}:00{low[:2]}:{low[2:]}00::]"  # NAT64: 48 bits
    yield f"[2001:db8:1:2:00{high[:2]}:{high[2:]}{low[:2]}:{low[2:]}00:0]"  # NAT64: 64 bits


@pytest.mark.parametrize("address", sorted({one for found in METADATA.values() for one in found}))
@pytest.mark.parametrize("rule", ["pods", "routable"])
def test_metadata_addresses_of_clouds_are_refused_in_every_form(address: str, rule: AddressRule) -> None:
    for host in write_forms(address):
        found = find_refusal(f"http://{host}:9090", rule)
        assert found.endswith("is a cloud's metadata address (setting engine_addresses)"), host
        assert find_refusal(f"http://{host}:9090", "any") == ""


def test_list_of_metadata_addresses_is_the_tested_one() -> None:
    assert {str(one) for one in METADATA_ADDRESSES} == {one for found in METADATA.values() for one in found}


NO_ADDRESSES = (
    "localhost", "engine.example", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "10.0.0.1 ", "10.0.0.1.", "",
    "[fe80::1%eth0]", "[10.0.0.1]", "user@10.0.0.1", "10.0.0.1/x?y=", "[::1", "[]", "١٢٧.0.0.1", "10.0.0.256",
)  # fmt: skip


@pytest.mark.parametrize("host", NO_ADDRESSES)
@pytest.mark.parametrize("rule", ["pods", "routable", "any"])
def test_what_is_no_ip_address_is_refused(host: str, rule: str) -> None:
    assert find_refusal(f"http://{host}:9090", rule).startswith("not called: its address ")  # type: ignore[arg-type]
