"""Which pods are read to check addresses of engines, and what is known when they cannot be read."""

import itertools
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hooks.ground.settings import Settings
from hooks.model.seen.pod_addresses import AddressVerdict, NamedAddress
from hooks.server.app import COUNT_READ, create_app
from hooks.server.clients import pod_reader
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.pod_reader import (
    GOOD_SECONDS,
    LONGEST_AGAIN_SECONDS,
    MOST_RENEWED,
    READ_SECONDS,
    REMEMBERED_SECONDS,
    PodReader,
)
from hooks.server.clients.read_budget import BURST_BYTES, BYTES_A_SECOND
from hooks.server.clients.read_faults import PAUSE_SECONDS
from hooks.server.exchange.http_client import MIB
from tests.played_api_server import PlayedApiServer, played_api_server
from tests.waiting import PATIENCE

MANDATE = 30.0
FORBIDDEN = "the hooks may not read the pod; give their account the right to get pods, or set engine_addresses=routable"
SILENT = "the API server does not answer the hooks; check that they reach it"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.seconds_per_look = 0.0

    def __call__(self) -> float:
        self.now += self.seconds_per_look
        return self.now


class World:
    """A played API server with a clock, and a reader of its pods."""

    def __init__(self, played: PlayedApiServer) -> None:
        self.played, self.clock = played, Clock()
        self.server = ApiServer(
            url=played.server.url,
            token_file=played.server.token_file,
            ca_file=played.server.ca_file,
            clock=self.clock,
        )
        self.restart()

    def restart(self) -> None:
        self.reader = PodReader(self.server, new_seconds=MANDATE)

    def keep(self, name: str, *addresses: str, uid: str = "u1", phase: str = "Running", namespace: str = "ns") -> None:
        status = {"phase": phase, "podIPs": [{"ip": one} for one in addresses]}
        self.played.put(path_of(name, namespace), {"metadata": {"name": name, "uid": uid}, "status": status})

    def lose(self, name: str) -> None:
        del self.played.objects[path_of(name, "ns")]

    def fail(self, status: int | None) -> None:
        """Refuse everything with a status; 0 is silence, and None nothing."""

        def before(_method: str, _path: str) -> int | None:
            if status == 0:
                raise ConnectionError("no route to host")
            return status

        self.played.before = before

    def check(self, *named: NamedAddress) -> list[AddressVerdict]:
        verdicts = self.reader.check(named)
        assert verdicts.keys() == set(named)
        return [verdicts[one] for one in named]

    def reads(self) -> list[str]:
        """Names of the pods read since the last time."""
        found = [path.rpartition("/")[2] for method, path in self.played.asked if method == "GET"]
        assert len(found) == len(self.played.asked), "nothing is written"
        self.played.asked.clear()
        return found


def path_of(name: str, namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def named(pod: str = "w0", address: str = "10.0.0.1", uid: str = "u1", namespace: str = "ns") -> NamedAddress:
    return NamedAddress(namespace, pod, uid, address)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with played_api_server(tmp_path) as played:
        yield World(played)


def test_own_address_is_good_and_the_pod_is_read_once_for_a_while(world: World) -> None:
    world.keep("w0", "10.0.0.1", "fd00::1")
    asked = (named(), named(address="fd00::1"), named(uid=""))
    assert world.check(*asked) == [AddressVerdict()] * 3
    assert world.reads() == ["w0"], "one read answers all questions about the pod"
    world.clock.now += GOOD_SECONDS / 2
    assert world.check(*asked) == [AddressVerdict()] * 3
    assert world.reads() == []
    world.clock.now += GOOD_SECONDS
    assert world.check(*asked) == [AddressVerdict()] * 3
    assert world.reads() == ["w0"]


def test_what_is_read_is_counted_for_its_namespace(world: World) -> None:
    app = create_app(Settings(), lambda: datetime.now(UTC))
    world.reader.report = app.extensions[COUNT_READ]
    world.keep("w0", "10.0.0.1")
    assert world.check(named()) == [AddressVerdict()]
    page = app.test_client().get("/metrics").get_data(as_text=True)
    (line,) = (line for line in page.splitlines() if line.startswith("dynamo_hooks_read_bytes_total{"))
    labels, _, size = line.rpartition(" ")
    assert labels.endswith('{namespace="ns"}')
    assert float(size) > 0


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (named(address="10.0.0.9"), "its address 10.0.0.9 is not an address of pod w0"),
        (named(uid="u2"), "the uid that its EndpointSlice names is not that of pod w0"),
        (named("gone"), "its address 10.0.0.1 belongs to no pod, because namespace ns has no pod gone"),
        (named("done"), "its address 10.0.0.1 may be another pod's by now, because pod done has ended"),
    ],
    ids=["another address", "another uid", "gone", "ended"],
)
def test_foreign_address_is_refused(world: World, asked: NamedAddress, reason: str) -> None:
    world.keep("w0", "10.0.0.1")
    world.keep("done", "10.0.0.1", phase="Succeeded")
    (found,) = world.check(asked)
    assert found.refusal.startswith(f"not called: {reason}; ")
    assert found.doubt == ""


def test_good_address_of_a_pod_that_is_gone_is_refused_within_minutes(world: World) -> None:
    world.keep("w0", "10.0.0.1")
    world.check(named())
    world.lose("w0")
    world.clock.now += 1.25 * GOOD_SECONDS
    assert world.check(named())[0].refusal
    world.keep("w0", "10.0.0.1", uid="u2")
    world.clock.now += LONGEST_AGAIN_SECONDS
    assert world.check(named())[0].refusal.startswith("not called: the uid ")
    assert world.check(named(uid="u2")) == [AddressVerdict()]


def test_refused_address_is_looked_at_again_soon_and_then_less_often(world: World) -> None:
    assert world.check(named())[0].refusal
    assert world.reads() == ["w0"]
    times = []
    for _ in range(600):
        world.clock.now += 1
        world.check(named())
        times += [world.clock.now - 1000] * len(world.reads())
    assert times[:6] == [1.0, 3.0, 7.0, 15.0, 31.0, 63.0]
    assert {later - earlier for earlier, later in itertools.pairwise(times[6:])} == {LONGEST_AGAIN_SECONDS}
    world.keep("w0", "10.0.0.1")
    world.clock.now += LONGEST_AGAIN_SECONDS
    assert world.check(named()) == [AddressVerdict()]


def test_without_an_api_server_nothing_is_known() -> None:
    reader = PodReader(None, new_seconds=MANDATE)
    found = reader.check((named(),))[named()]
    assert found == AddressVerdict(
        doubt="not called: whether its address 10.0.0.1 is that of pod w0 is not known, because the hooks have no "
        "access to the API server; mount their ServiceAccount token, or set engine_addresses=routable"
    )


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (0, SILENT),
        (401, FORBIDDEN),
        (403, FORBIDDEN),
        (500, "the API server answers 500 for the pod"),
        (429, "the API server answers 429 for the pod"),
    ],
)
def test_failed_read_keeps_what_is_known_and_says_why_the_rest_is_not(world: World, status: int, reason: str) -> None:
    world.keep("w0", "10.0.0.1")
    bad = named("w0", "10.0.0.9")
    assert world.check(named()) == [AddressVerdict()]
    (refused,) = world.check(bad)
    world.fail(status)
    world.clock.now += 2 * GOOD_SECONDS
    doubt = f"not called: whether its address 10.0.0.2 is that of pod w1 is not known, because {reason}"
    new = named("w1", "10.0.0.2")
    assert world.check(named(), bad, new) == [AddressVerdict(), refused, AddressVerdict(doubt=doubt, is_new=True)]
    world.clock.now += MANDATE
    assert world.check(named(), bad, new) == [AddressVerdict(), refused, AddressVerdict(doubt=doubt)], (
        "the doubt is old now"
    )
    world.fail(None)
    world.keep("w1", "10.0.0.2")
    world.clock.now += PAUSE_SECONDS
    assert world.check(named(), bad, new) == [AddressVerdict(), refused, AddressVerdict()]


def test_good_address_of_a_pod_that_cannot_be_read_is_in_doubt_after_an_hour(world: World) -> None:
    world.keep("w0", "10.0.0.1")
    world.check(named())
    world.fail(403)
    world.clock.now += REMEMBERED_SECONDS - 1
    assert world.check(named()) == [AddressVerdict()]
    world.clock.now += 1
    (found,) = world.check(named())
    assert found.doubt.endswith(FORBIDDEN)
    assert not found.is_new


def test_another_pod_of_the_name_is_not_taken_for_the_first_while_nothing_can_be_read(world: World) -> None:
    world.keep("w0", "10.0.0.1")
    world.check(named())
    world.fail(0)
    assert world.check(named(), named(uid="u2"))[0] == AddressVerdict()
    assert world.check(named(), named(uid="u2"))[1].doubt
    assert world.check(named(address="10.0.0.2"))[0].doubt


@pytest.mark.parametrize("status", [0, 403])
def test_failing_server_is_asked_once_in_a_while(world: World, status: int) -> None:
    asked = tuple(named(f"w{number}") for number in range(20))
    world.fail(status)
    for _ in range(10):
        world.check(*asked)
        world.clock.now += PAUSE_SECONDS / 10
    assert len(world.reads()) == 1
    world.check(*asked)
    assert len(world.reads()) == 1


def test_namespace_that_may_not_be_read_does_not_hold_up_others(world: World) -> None:
    world.keep("w0", "10.0.0.1")
    world.keep("w0", "10.0.0.1", namespace="closed")
    world.played.before = lambda _method, path: 403 if "/closed/" in path else None
    closed = named(namespace="closed")
    assert world.check(closed)[0].doubt
    assert world.check(named()) == [AddressVerdict()]
    assert world.check(closed)[0].doubt, "a good read elsewhere is no right here"


def test_reason_is_the_last_one(world: World) -> None:
    world.fail(0)
    assert world.check(named())[0].doubt.endswith(SILENT)
    for status, reason in ((403, FORBIDDEN), (0, SILENT), (403, FORBIDDEN)):
        world.fail(status)
        world.clock.now += PAUSE_SECONDS
        assert [one.doubt.partition(", because ")[2] for one in world.check(named()) * 2] == [reason] * 2
        world.clock.now += PAUSE_SECONDS / 2
        assert world.check(named())[0].doubt.endswith(reason)


def test_name_that_is_a_path_is_refused_and_holds_up_nothing(world: World) -> None:
    world.keep("w0", "10.0.0.1")
    forged = named("../../secrets/x")
    found = world.check(forged, named(namespace="../x"), named())
    assert [bool(one.refusal) for one in found] == [True, True, False]
    assert found[0].refusal == "not called: no Pod can be named 'ns'/'../../secrets/x'"
    assert world.reads() == ["w0"]


def test_many_new_pods_are_read_over_several_calls(world: World) -> None:
    asked = tuple(named(f"w{number}") for number in range(1000))
    for one in asked:
        world.keep(one.pod, "10.0.0.1")
    world.clock.seconds_per_look = READ_SECONDS / 1000
    verdicts = world.check(*asked)
    first = len(world.reads())
    assert 100 < first < 1000
    assert [one.is_new for one in verdicts] == [False] * first + [True] * (1000 - first)
    assert verdicts[-1].doubt.endswith("because the pod is read with one of the next syncs")
    rounds = 1
    while any(one.doubt for one in world.check(*asked)):
        rounds += 1
        assert rounds < 10
    assert len(world.reads()) == 1000 - first, "each is read once"


def test_known_pods_are_read_again_a_few_at_a_time(world: World) -> None:
    asked = tuple(named(f"w{number}") for number in range(1000))
    for one in asked:
        world.keep(one.pod, "10.0.0.1")
    world.check(*asked)
    assert len(world.reads()) == 1000
    counts = []
    for _ in range(60):
        world.clock.now += 5
        assert world.check(*asked) == [AddressVerdict()] * 1000
        counts.append(len(world.reads()))
    assert max(counts) <= MOST_RENEWED
    assert 1500 <= sum(counts) <= 2500, "each about every two minutes, in five minutes"
    assert sum(count > 0 for count in counts[30:]) > 20, "not all at once"


def test_memory_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_reader, "MOST_KNOWN", 10)
    for start in range(0, 100, 5):
        world.check(*(named(f"w{number}") for number in range(start, start + 5)))
    assert len(world.reader._known) == 10
    assert world.reader._in_hand == set()


def test_calls_do_not_wait_for_each_other(world: World) -> None:
    """While a call of each of two namespaces waits for the API server, a third answers at once from what it knows."""
    world.keep("known", "10.0.0.1", namespace="one")
    assert world.check(named("known", namespace="one")) == [AddressVerdict()]
    arrived, go = threading.Barrier(3), threading.Event()

    def hold(_method: str, _path: str) -> int | None:
        arrived.wait(PATIENCE)
        go.wait(PATIENCE)
        return None

    world.played.before = hold
    results: dict[str, Any] = {}

    def run(namespace: str) -> None:
        one = named("slow", namespace=namespace)
        results[namespace] = world.reader.check((one,))[one]

    threads = [threading.Thread(target=run, args=(namespace,)) for namespace in ("one", "two")]
    for thread in threads:
        thread.start()
    arrived.wait(PATIENCE)
    asked = [named(name, namespace="one") for name in ("slow", "other", "known")]
    same, other, known = world.check(*asked)
    assert (same.doubt != "", other.doubt != "", known) == (True, True, AddressVerdict())
    go.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert all(results[namespace].refusal for namespace in ("one", "two"))


def test_namespace_with_large_pods_uses_up_its_own_budget_alone(world: World) -> None:
    padding = {"metadata": {"name": "large", "uid": "u1", "annotations": {"x": "x" * MIB}}, "status": {}}
    names = [f"large{number}" for number in range(2 * BURST_BYTES // MIB)]
    for name in names:
        world.played.put(path_of(name, "tenant"), padding)
    verdicts = world.check(*(named(name, namespace="tenant") for name in names))
    assert sum(bool(one.doubt) for one in verdicts) >= len(names) // 3, "not all are read"
    read = len(world.reads())
    assert read <= BURST_BYTES // MIB + 1
    world.keep("w0", "10.0.0.1")
    assert world.check(named("w0")) == [AddressVerdict()], "another namespace"
    world.check(*(named(name, namespace="tenant") for name in names))
    assert world.reads() == ["w0"], "nothing is left"
    world.clock.now += 3.5 * MIB / BYTES_A_SECOND
    world.check(*(named(name, namespace="tenant") for name in names))
    assert 1 <= len(world.reads()) < 8, "it comes back over time"
