from typing import Any

import pytest

from hooks.ground.settings import parse_settings
from hooks.model.seen.engine_addresses import AddressRule
from hooks.model.seen.observe import EnginePod, SortedEngines, observe, observe_endpoints, sort_engines
from hooks.model.seen.pod_addresses import AddressVerdict, NamedAddress
from tests.model import parts

SETTINGS = parse_settings({})


Engines = tuple[EnginePod, ...]


def observe_engines(slices: list[Any], port: int, rule: AddressRule) -> tuple[Engines, Engines]:
    """The engines that are called, and those that are not, if the slices are believed."""
    found = observe_endpoints(slices, port, rule).as_named
    return found.called, found.refused


W0 = EnginePod(address="http://10.0.0.1:9090", pod="w0", ready=True)


def test_pod_in_two_slices_is_one_engine() -> None:
    one = parts.endpoint_slice("s1", [parts.endpoint("w0", "10.0.0.1")], service="a")
    two = parts.endpoint_slice("s2", [parts.endpoint("w0", "10.0.0.1")], service="b")
    seen = observe(parts.request(parts.model(), one, two), parts.BASE, SETTINGS)
    assert seen.endpoints.as_named.called == (W0,)
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


def test_terminating_endpoints_are_ignored() -> None:
    endpoints = [parts.endpoint("gone", "10.0.0.9", terminating=True), parts.endpoint("w0", "10.0.0.1", ready=True)]
    assert observe_engines([parts.endpoint_slice("s", endpoints)], 9090, "routable") == ((W0,), ())


CORRECT = "; correct the EndpointSlice, or let a Service's selector write it"
REFERENCES: dict[str, tuple[Any, str]] = {
    "none": (None, "names no pod for it (targetRef)"),
    "empty": ({}, "names no pod for it (targetRef)"),
    "a node": ({"kind": "Node", "name": "n"}, "names 'Node n' for it, which is no pod"),
    "no kind": ({"name": "w0"}, "names 'None w0' for it, which is no pod"),
    "no name": ({"kind": "Pod"}, "names 'Pod ' for it, which is no pod"),
    "a path": ({"kind": "Pod", "name": "../../nodes/n"}, "names 'Pod ../../nodes/n' for it, which is no pod"),
    "another namespace": (
        {"kind": "Pod", "name": "w0", "namespace": "kube-system"},
        "names a pod of another namespace for it",
    ),
}


@pytest.mark.parametrize("rule", ["pods", "routable", "any"])
@pytest.mark.parametrize(("target", "reason"), REFERENCES.values(), ids=REFERENCES)
def test_endpoint_without_a_pod_of_its_namespace_is_refused(target: Any, reason: str, rule: AddressRule) -> None:
    found = parts.endpoint_slice("s", [{"addresses": ["10.0.0.7"], "targetRef": target}])
    called, (refused,) = observe_engines([found], 9090, rule)
    assert called == ()
    assert refused.address == "http://10.0.0.7:9090"
    assert refused.refusal == f"not called: EndpointSlice s {reason}{CORRECT}"
    assert observe_endpoints([found], 9090, rule).to_check == ()


def test_name_of_a_pod_that_none_can_have_is_cut() -> None:
    found = parts.endpoint_slice("s", [parts.endpoint("x" * 5000, "10.0.0.7")])
    _, (refused,) = observe_engines([found], 9090, "any")
    assert len(refused.pod) == 253
    assert len(refused.refusal) < 300


@pytest.mark.parametrize("rule", ["pods", "routable", "any"])
def test_slice_of_names_is_refused(rule: AddressRule) -> None:
    by_name = parts.endpoint_slice("fqdn", [parts.endpoint("x", "x.example", "10.0.0.3")], family="FQDN")
    called, (refused,) = observe_engines([by_name], 9090, rule)
    assert called == ()
    assert refused.refusal == "not called: EndpointSlice fqdn holds no IP addresses (addressType)"


def test_pod_without_an_ip_address_is_not_called() -> None:
    endpoints = [
        parts.endpoint("bad", "engine.example", "10.0.0.1 "),
        parts.endpoint("w0", "engine.example", "10.0.0.1"),
    ]
    zoned = parts.endpoint_slice("s6", [parts.endpoint("zoned", "fe80::1%eth0")], family="IPv6")
    seen = observe(parts.request(parts.model(), parts.endpoint_slice("s", endpoints), zoned), parts.BASE, SETTINGS)
    assert seen.endpoints.as_named.called == (W0,)
    assert [(one.pod, one.refusal) for one in seen.endpoints.as_named.refused] == [
        ("bad", "not called: its address '10.0.0.1 ' is not an IP address"),
        ("zoned", "not called: its address '[fe80::1%eth0]' is not an IP address"),
    ]


def test_pod_is_called_at_the_address_that_an_engine_may_have() -> None:
    endpoints = [parts.endpoint("w0", "127.0.0.1", "10.0.0.1"), parts.endpoint("w1", "169.254.169.254")]
    engines, refused = observe_engines([parts.endpoint_slice("s", endpoints)], 9090, "routable")
    assert engines == (W0,)
    reason = "not called: its address 169.254.169.254 is a cloud's metadata address (setting engine_addresses)"
    assert [(one.pod, one.refusal) for one in refused] == [("w1", reason)]
    assert observe_engines([parts.endpoint_slice("s", endpoints[1:])], 9090, "any")[1] == ()


def test_pod_that_is_not_ready_is_an_engine_marked_so() -> None:
    found, _ = observe_engines(
        [parts.endpoint_slice("s", [parts.endpoint("w0", "10.0.0.1", ready=False)])], 8081, "routable"
    )
    assert found == (EnginePod(address="http://10.0.0.1:8081", pod="w0", ready=False),)


def verdict_on(pod: str, seen: Any, **fields: Any) -> dict[NamedAddress, AddressVerdict]:
    return {one: AddressVerdict(**(fields if one.pod == pod else {})) for one in seen.to_check}


def test_nothing_is_called_before_somebody_checked_it() -> None:
    seen = observe_endpoints([parts.pods(2)], 9090, "pods")
    for found in (sort_engines(seen, None), sort_engines(seen, {})):
        assert found == SortedEngines(called=(), doubted=found.doubted, refused=())
        assert [one.doubt for one in found.doubted] == [
            "not called: its address was not compared with that of its pod"
        ] * 2


def test_verdicts_decide_which_pods_are_called() -> None:
    seen = observe_endpoints(
        [parts.pods(3), parts.endpoint_slice("x", [parts.endpoint("w9", "127.0.0.1")])], 9090, "pods"
    )
    assert [(one.namespace, one.pod, one.uid, one.address) for one in seen.to_check] == [
        ("default", f"w{number}", "", f"10.0.0.{number + 1}") for number in range(3)
    ]
    verdicts = verdict_on("w1", seen, refusal="not called: x") | {
        seen.to_check[2]: AddressVerdict(doubt="why", is_new=True)
    }
    found = sort_engines(seen, verdicts)
    assert [one.pod for one in found.called] == ["w0"]
    assert [(one.pod, one.doubt, one.is_new) for one in found.doubted] == [("w2", "why", True)]
    assert [(one.pod, one.refusal.partition(" its")[0]) for one in found.refused] == [
        ("w1", "not called: x"),
        ("w9", "not called:"),
    ]


def test_pod_is_called_at_its_own_address_whatever_other_slices_say_of_it() -> None:
    forged = parts.endpoint_slice("forged", [parts.endpoint("w0", "10.9.9.9")])
    for slices in ([forged, parts.pods(1)], [parts.pods(1), forged]):
        seen = observe_endpoints(slices, 9090, "pods")
        own = {
            one: AddressVerdict(refusal="" if one.address == "10.0.0.1" else "not called: x") for one in seen.to_check
        }
        assert sort_engines(seen, own) == SortedEngines(called=(W0,), doubted=(), refused=())


def test_slices_of_another_base_model_and_null_endpoints_do_not_count() -> None:
    other = parts.endpoint_slice("o", [parts.endpoint("w9", "10.0.0.9")], base="other")
    empty = {**parts.endpoint_slice("e"), "endpoints": None}
    seen = observe(parts.request(parts.model(), other, empty), parts.BASE, SETTINGS)
    assert seen.endpoints.as_named.called == ()
    assert seen.services == 1


def test_ten_thousand_endpoints_are_all_observed_and_sorted() -> None:
    many = [parts.endpoint(f"w{i:05}", f"10.{i // 65536}.{i // 256 % 256}.{i % 256}") for i in reversed(range(10_000))]
    found, _ = observe_engines([parts.endpoint_slice("s", many)], 9090, "routable")
    assert len(found) == 10_000
    assert [c.pod for c in found] == sorted(c.pod for c in found)


@pytest.mark.parametrize(
    ("ports", "rule", "called"),
    [
        ([{"name": "system", "port": 8081}], "pods", 8081),
        ([{"name": "system", "port": 9090}], "pods", 9191),
        ([{"name": "http", "port": 8000}], "pods", 9191),
        ([{"name": "system", "port": 8081}], "routable", 9191),
        ([{"name": "system", "port": 8081}], "any", 9191),
        ([{"name": "system", "port": None}], "pods", 9191),
        (None, "pods", 9191),
    ],
    ids=["another", "the default", "no system port", "any address", "loopback", "all ports", "none"],
)
def test_engine_is_called_at_the_port_of_its_slice_where_its_address_is_checked(
    ports: Any, rule: AddressRule, called: int
) -> None:
    found = {**parts.endpoint_slice(endpoints=[parts.endpoint("w0", "10.0.0.1")]), "ports": ports}
    engines, _ = observe_engines([found], 9191, rule)
    assert [engine.address for engine in engines] == [f"http://10.0.0.1:{called}"]
