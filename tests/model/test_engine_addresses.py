"""Which addresses an engine may have, in every way in which an EndpointSlice can write them."""

import pytest

from hooks.model.engine_addresses import find_refusal

ROUTABLE = (
    "10.0.0.1", "100.64.0.1", "172.16.0.1", "192.168.1.1", "203.0.113.9", "8.8.8.8", "240.0.0.1", "1.0.0.0",
    "[fd00::1]", "[2001:db8::1]", "[2600::1]", "[::ffff:10.0.0.1]", "[fec0::1]",
)  # fmt: skip


@pytest.mark.parametrize("host", ROUTABLE)
def test_address_of_a_pod_is_called(host: str) -> None:
    assert find_refusal(f"http://{host}:9090", "routable") == ""


REFUSED = {
    "127.0.0.1": "a loopback address",
    "127.255.255.254": "a loopback address",
    "[::1]": "a loopback address",
    "[0:0:0:0:0:0:0:1]": "a loopback address",
    "[::ffff:127.0.0.1]": "a loopback address",
    "[::ffff:7f00:1]": "a loopback address",
    "[2002:7f00:1::]": "a loopback address",
    "169.254.169.254": "a link-local address",
    "[fe80::1]": "a link-local address",
    "[::ffff:169.254.169.254]": "a link-local address",
    "[2002:a9fe:a9fe::1]": "a link-local address",
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
    assert found.startswith("not called: its address ")
    assert found.endswith(f" is {kind} (setting engine_addresses)")
    assert find_refusal(f"http://{host}:9090", "any") == ""


NO_ADDRESSES = (
    "localhost", "engine.example", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "10.0.0.1 ", "10.0.0.1.", "",
    "[fe80::1%eth0]", "[10.0.0.1]", "user@10.0.0.1", "10.0.0.1/x?y=", "[::1", "[]", "١٢٧.0.0.1", "10.0.0.256",
)  # fmt: skip


@pytest.mark.parametrize("host", NO_ADDRESSES)
@pytest.mark.parametrize("rule", ["routable", "any"])
def test_what_is_no_ip_address_is_refused(host: str, rule: str) -> None:
    assert find_refusal(f"http://{host}:9090", rule).startswith("not called: its address ")  # type: ignore[arg-type]
