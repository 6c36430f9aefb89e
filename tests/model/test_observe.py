from hooks.model.observe import EnginePod, observe, observe_engines
from hooks.settings import parse_settings
from tests.model import parts

SETTINGS = parse_settings({})
W0 = EnginePod(address="http://10.0.0.1:9090", pod="w0", ready=True)


def test_pod_in_two_slices_is_one_engine() -> None:
    one = parts.endpoint_slice("s1", [parts.endpoint("w0", "10.0.0.1")], service="a")
    two = parts.endpoint_slice("s2", [parts.endpoint("w0", "10.0.0.1")], service="b")
    seen = observe(parts.request(parts.model(), one, two), parts.BASE, SETTINGS)
    assert seen.engines == (W0,)
    assert seen.services == 2


def test_ipv4_wins_whatever_the_order_of_slices() -> None:
    four = parts.endpoint_slice("s4", [parts.endpoint("w0", "10.0.0.1")])
    six = parts.endpoint_slice("s6", [parts.endpoint("w0", "fd00::1")], family="IPv6")
    assert (
        observe_engines([four, six], 9090, "routable") == observe_engines([six, four], 9090, "routable") == ((W0,), ())
    )


def test_ipv6_address_stands_in_brackets() -> None:
    six = parts.endpoint_slice("s6", [parts.endpoint("w0", "fd00::1")], family="IPv6")
    assert [c.address for c in observe_engines([six], 9090, "routable")[0]] == ["http://[fd00::1]:9090"]


def test_terminating_endpoints_other_targets_and_names_are_ignored() -> None:
    endpoints = [
        parts.endpoint("gone", "10.0.0.9", terminating=True),
        parts.endpoint("node", "10.0.0.8", kind="Node"),
        {"addresses": ["10.0.0.7"]},
        parts.endpoint("w0", "10.0.0.1", ready=True),
    ]
    by_name = parts.endpoint_slice("fqdn", [parts.endpoint("x", "x.example")], family="FQDN")
    assert observe_engines([parts.endpoint_slice("s", endpoints), by_name], 9090, "routable") == ((W0,), ())


def test_pod_without_an_ip_address_is_not_called() -> None:
    endpoints = [
        parts.endpoint("bad", "engine.example", "10.0.0.1 "),
        parts.endpoint("w0", "engine.example", "10.0.0.1"),
    ]
    zoned = parts.endpoint_slice("s6", [parts.endpoint("zoned", "fe80::1%eth0")], family="IPv6")
    seen = observe(parts.request(parts.model(), parts.endpoint_slice("s", endpoints), zoned), parts.BASE, SETTINGS)
    assert seen.engines == (W0,)
    assert [(one.pod, one.refusal) for one in seen.refused] == [
        ("bad", "not called: its address '10.0.0.1 ' is not an IP address"),
        ("zoned", "not called: its address '[fe80::1%eth0]' is not an IP address"),
    ]


def test_pod_is_called_at_the_address_that_an_engine_may_have() -> None:
    endpoints = [parts.endpoint("w0", "127.0.0.1", "10.0.0.1"), parts.endpoint("w1", "169.254.169.254")]
    engines, refused = observe_engines([parts.endpoint_slice("s", endpoints)], 9090, "routable")
    assert engines == (W0,)
    reason = "not called: its address 169.254.169.254 is a link-local address (setting engine_addresses)"
    assert [(one.pod, one.refusal) for one in refused] == [("w1", reason)]
    assert observe_engines([parts.endpoint_slice("s", endpoints[1:])], 9090, "any")[1] == ()


def test_pod_that_is_not_ready_is_an_engine_marked_so() -> None:
    found, _ = observe_engines(
        [parts.endpoint_slice("s", [parts.endpoint("w0", "10.0.0.1", ready=False)])], 8081, "routable"
    )
    assert found == (EnginePod(address="http://10.0.0.1:8081", pod="w0", ready=False),)


def test_slices_of_another_base_model_and_null_endpoints_do_not_count() -> None:
    other = parts.endpoint_slice("o", [parts.endpoint("w9", "10.0.0.9")], base="other")
    empty = {**parts.endpoint_slice("e"), "endpoints": None}
    seen = observe(parts.request(parts.model(), other, empty), parts.BASE, SETTINGS)
    assert seen.engines == ()
    assert seen.services == 1


def test_ten_thousand_endpoints_are_all_observed_and_sorted() -> None:
    many = [parts.endpoint(f"w{i:05}", f"10.{i // 65536}.{i // 256 % 256}.{i % 256}") for i in reversed(range(10_000))]
    found, _ = observe_engines([parts.endpoint_slice("s", many)], 9090, "routable")
    assert len(found) == 10_000
    assert [c.pod for c in found] == sorted(c.pod for c in found)
