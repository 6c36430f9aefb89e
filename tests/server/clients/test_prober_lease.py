"""Which prober acts: pods that share a Lease, on made-up clocks, with an API server in memory."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import requests
import responses

from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.settings import parse_settings
from hooks.model.prober.messages import LoadReport, LoadRequest, Term
from hooks.server.clients.acting_prober import ActingProber, NoTurns, set_up_prober
from hooks.server.clients.api_server import REQUEST_SECONDS
from hooks.server.clients.namespace_locks import parse_lease
from hooks.server.clients.prober_client import ProberClient
from hooks.server.clients.prober_lease import (
    LEASE_SECONDS,
    RENEW_SECONDS,
    TERM_ANNOTATION,
    TICK_SECONDS,
    LeaseState,
    OnlyPod,
    SharedLease,
    read_lease_state,
)
from hooks.server.serving.call_id import CallId
from hooks.wire.prober.messages import write_message
from tests.played_api_server import Answer, PlayedApiServer, played_api_server

NAMESPACE, NAME = "dynamo-system", "dynamo-hooks-prober"
PATH = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{NAME}"
WANTED = LoadRequest(namespace="default", name="m")


@dataclass
class FakeProber:
    """What a prober would make of its terms."""

    terms: list[Term] = field(default_factory=list)
    is_up: bool = True
    refusals: list[LeaveAlone] = field(default_factory=list)

    def read_term(self) -> Term:
        if not self.is_up:
            raise ProberUnavailable("the prober does not answer")
        return self.terms[-1] if self.terms else Term(number=0)

    def set_term(self, term: Term) -> None:
        self.read_term()
        if self.refusals:
            raise self.refusals.pop(0)
        last = self.terms[-1] if self.terms else Term(number=0)
        if term.number < last.number or (term.number == last.number and not last.until and term.until):
            raise LeaveAlone(f"term {term.number} has ended", retry_after=1)
        self.terms.append(term)

    @property
    def until(self) -> float:
        return self.terms[-1].until if self.terms else 0.0


class Cluster:
    """Pods that share a Lease; `seconds` is the time, and each pod's time of day is off by some seconds."""

    def __init__(self, played: PlayedApiServer, pods: int, skews: tuple[int, ...] = (0, 400, -400)) -> None:
        self.seconds = 1000.0
        self.played = played
        self.probers = [FakeProber() for _ in range(pods)]
        self.pods = [self._pod(number, skews[number]) for number in range(pods)]

    def _pod(self, number: int, skew: int) -> SharedLease:
        start = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=skew)
        return SharedLease(
            server=self.played.server,
            prober=cast("ProberClient", self.probers[number]),
            namespace=NAMESPACE,
            name=NAME,
            holder=f"pod-{number} http://10.0.0.{number + 1}:8080",
            clock=lambda: self.seconds,
            now=lambda: start + timedelta(seconds=self.seconds),
        )

    @property
    def acting(self) -> list[int]:
        return [number for number, prober in enumerate(self.probers) if self.seconds < prober.until]

    def tick(self, number: int, *, drains: bool = False) -> None:
        self.pods[number].renew(lambda: drains)

    def run(self, seconds: float, *, without: tuple[int, ...] = ()) -> None:
        """Let all pods check the Lease every two seconds; the last one makes a new Lease, and the first takes it."""
        end = self.seconds + seconds
        while self.seconds < end:
            self.seconds += 2
            for number in reversed(range(len(self.pods))):
                if number not in without:
                    self.tick(number)
            assert len(self.acting) <= 1


class SlowCluster(Cluster):
    """The same, with an API server that takes `delays` seconds before it acts on a request, and before it answers."""

    def __init__(self, played: PlayedApiServer, pods: int) -> None:
        self.delays = (0.0, 0.0)
        self.gaps: list[float] = []
        super().__init__(played, pods)
        played.before, answer = self._delay, played.answer
        played.answer = lambda request: self._delay_answer(answer(request))  # type: ignore[method-assign]
        played.server = replace(played.server, clock=lambda: self.seconds)
        for number, pod in enumerate(self.pods):
            pod.server = played.server
            pod.prober = cast("ProberClient", Watched(self, self.probers[number]))

    def _delay(self, _method: str, _path: str) -> None:
        self.seconds += self.delays[0]
        if sum(self.delays) > REQUEST_SECONDS:
            raise requests.ReadTimeout

    def _delay_answer(self, answer: Answer) -> Answer:
        self.seconds += self.delays[1]
        return answer

    def go_on(self, number: int) -> None:
        """A process waits as between two checks, and checks."""
        self.seconds += TICK_SECONDS
        self.tick(number)


@dataclass
class Watched:
    """A prober; between the end of a term and the next one is a gap."""

    cluster: SlowCluster
    prober: FakeProber

    def read_term(self) -> Term:
        return self.prober.read_term()

    def set_term(self, term: Term) -> None:
        if self.prober.terms and self.cluster.seconds >= self.prober.until:
            self.cluster.gaps.append(self.cluster.seconds)
        self.prober.set_term(term)


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedApiServer]:
    with played_api_server(tmp_path) as server:
        yield server


def test_first_pod_takes_a_lease_that_is_not_there_after_its_time(played: PlayedApiServer) -> None:
    cluster = Cluster(played, 2)
    cluster.run(LEASE_SECONDS - 2)
    assert cluster.acting == [], "a Lease that was deleted may still have a holder that acts"
    cluster.run(6)
    assert cluster.acting == [0]
    assert cluster.pods[0].find_state() == LeaseState(is_own=True)
    assert cluster.pods[1].find_state() == LeaseState(url="http://10.0.0.1:8080")
    assert played.objects[PATH]["spec"]["holderIdentity"] == "pod-0 http://10.0.0.1:8080"


def test_holder_keeps_acting_and_another_takes_over_once_it_is_gone(played: PlayedApiServer) -> None:
    cluster = Cluster(played, 2)
    cluster.run(20)
    for _ in range(60):
        cluster.run(2)
        assert cluster.acting == [0]
    cluster.run(LEASE_SECONDS + 4, without=(0,))
    assert cluster.acting == [1]
    spec = played.objects[PATH]["spec"]
    assert (spec["leaseTransitions"], spec["leaseDurationSeconds"]) == (2, LEASE_SECONDS)


def test_ending_pod_stops_its_prober_first_and_another_takes_over_at_once(played: PlayedApiServer) -> None:
    cluster = Cluster(played, 2)
    cluster.run(20)
    written: list[bool] = []
    played.before = lambda method, _path: written.append(bool(cluster.probers[0].until)) if method == "PUT" else None
    cluster.tick(0, drains=True)
    assert written == [False], "the prober had stopped when the Lease was given up"
    cluster.tick(1)
    assert cluster.acting == [1]
    cluster.tick(0, drains=True)
    assert cluster.pods[0].find_state() == LeaseState(url="http://10.0.0.2:8080")


def test_pod_whose_prober_does_not_answer_leaves_the_lease_to_another(played: PlayedApiServer) -> None:
    cluster = Cluster(played, 2)
    cluster.run(20)
    cluster.probers[0].is_up = False
    cluster.run(LEASE_SECONDS + 6)
    assert cluster.acting == [1]
    assert cluster.pods[0].find_state().url == "http://10.0.0.2:8080"


@pytest.mark.parametrize("hours", [0, -1, 1, -24 * 365 * 50, 24 * 365 * 50])
def test_lease_that_was_deleted_is_made_anew_whatever_the_time_of_day_is(hours: int, played: PlayedApiServer) -> None:
    cluster = Cluster(played, 2)
    cluster.run(20)
    assert cluster.acting == [0]
    del played.objects[PATH]
    for pod in cluster.pods:
        pod.now = lambda: datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=hours)
    cluster.run(2)
    assert parse_lease(played.objects[PATH]).holder == ""
    cluster.run(LEASE_SECONDS - 2)
    assert cluster.acting == [], "the Lease is new, so another holder may still act"
    cluster.run(4)
    assert cluster.acting == [0]
    assert cluster.probers[0].terms[-1].number == 2
    cluster.run(60)
    assert cluster.acting == [0], "the prober goes on to be renewed"
    assert [pod.find_state().fault for pod in cluster.pods] == ["", ""]
    assert played.objects[PATH]["spec"]["leaseTransitions"] == 1


@pytest.mark.parametrize("number", ["0", "1000000", str(2**70), "no number", None])
def test_number_that_somebody_wrote_into_the_lease_leads_to_the_next_term(
    number: str | None, played: PlayedApiServer
) -> None:
    cluster = Cluster(played, 2)
    cluster.run(20)
    found = played.objects[PATH]
    annotations = {} if number is None else {TERM_ANNOTATION: number}
    transitions = {"leaseTransitions": 2**31 - 1}
    played.put(PATH, {**found, "metadata": {"annotations": annotations}, "spec": {**found["spec"], **transitions}})
    cluster.run(2)
    assert cluster.acting == [0]
    assert {term.number for term in cluster.probers[0].terms} == {1, 2}
    cluster.run(LEASE_SECONDS + 4, without=(0,))
    assert cluster.acting == [1]
    assert played.objects[PATH]["spec"]["leaseTransitions"] == 2**31 - 1, "it is an int32"


def test_holder_that_the_prober_refuses_says_so_and_tries_again(played: PlayedApiServer) -> None:
    cluster = Cluster(played, 1)
    cluster.run(20)
    cluster.probers[0].terms.append(Term(number=7))
    refusal = LeaveAlone("term 8 has ended", retry_after=1)
    cluster.probers[0].refusals.append(refusal)
    cluster.run(2)
    assert cluster.pods[0].find_state() == LeaseState(is_own=True, fault="term 8 has ended")
    cluster.run(2)
    assert (cluster.pods[0].find_state(), cluster.acting) == (LeaseState(is_own=True), [0])


def test_without_rights_no_prober_acts_and_the_reason_is_said(played: PlayedApiServer) -> None:
    cluster = Cluster(played, 1)
    played.before = lambda _method, _path: 403
    cluster.run(30)
    assert cluster.acting == []
    acting = ActingProber(own=ProberClient("http://127.0.0.1:9191", ""), turns=cluster.pods[0])
    sentence = f"no adapter is loaded or verified, .* cannot keep the Lease of the probers: GET {PATH}: 403"
    with pytest.raises(ProberUnavailable, match=sentence):
        acting.ask(WANTED)


@pytest.mark.parametrize("seconds", [0.1, 1, 1.9, 3, 4, 4.9])
@pytest.mark.parametrize("is_early", [True, False], ids=["request is late", "answer is late"])
def test_slow_api_server_ends_no_term(seconds: float, played: PlayedApiServer, *, is_early: bool) -> None:
    cluster = SlowCluster(played, 1)
    for _ in range(10):
        cluster.go_on(0)
    assert cluster.acting == [0]
    cluster.delays = (seconds, 0) if is_early else (0, seconds)
    began, written = cluster.seconds, len(played.writes())
    while cluster.seconds < began + 600:
        cluster.go_on(0)
        assert cluster.pods[0].find_state() == LeaseState(is_own=True)
    assert cluster.gaps == []
    assert {term.number for term in cluster.probers[0].terms} == {1}
    assert len(played.writes()) - written < 600 / RENEW_SECONDS + 1


@pytest.mark.parametrize("seconds", [3, 4])
def test_slow_api_server_lets_another_pod_take_over(seconds: float, played: PlayedApiServer) -> None:
    cluster = SlowCluster(played, 2)
    cluster.delays = (seconds / 2, seconds / 2)
    for _ in range(10):
        cluster.go_on(0)
    assert cluster.acting == [0]
    for _ in range(10):
        cluster.go_on(1)
        assert len(cluster.acting) <= 1
    assert cluster.acting == [1]


def test_api_server_that_is_too_slow_is_called_slow_and_one_that_is_away_is_not(played: PlayedApiServer) -> None:
    cluster = SlowCluster(played, 1)
    cluster.delays = (5.1, 0)
    cluster.go_on(0)
    assert cluster.pods[0].find_state().fault == f"GET {PATH}: the API server did not answer within 5 s"

    def refuse(_method: str, _path: str) -> None:
        raise requests.ConnectionError("Connection refused")

    played.before = refuse
    cluster.tick(0)
    assert cluster.pods[0].find_state().fault == f"GET {PATH}: Connection refused"


def test_answer_that_comes_after_the_end_of_the_term_does_not_prolong_it(played: PlayedApiServer) -> None:
    cluster = Cluster(played, 2)
    cluster.run(20)
    holder = cluster.probers[0]

    def sleep(method: str, _path: str) -> None:
        cluster.seconds += 14 if method == "PUT" else 0  # as of a process that gets no processor meanwhile

    played.before = sleep
    cluster.seconds += 4
    cluster.tick(0)
    assert holder.until < cluster.seconds
    assert (cluster.acting, cluster.pods[0].find_state()) == ([], LeaseState())


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("seed", range(40))
def test_at_most_one_prober_acts_whatever_fails(seed: int, played: PlayedApiServer) -> None:
    chance = random.Random(seed)
    cluster = Cluster(played, 3)
    down: set[int] = set()
    asking = 0

    def fail(_method: str, _path: str) -> int | None:
        return 500 if asking in down or chance.random() < 0.1 else None

    played.before = fail
    acted: set[int] = set()
    for step in range(1500):
        cluster.seconds += chance.choice((0.1, 0.7, 0.7, 0.7, 2))
        asking = step % 3 if chance.random() < 0.9 else chance.randrange(3)
        down = {number for number in range(3) if (number in down) is (chance.random() > 0.03)}
        cluster.probers[asking].is_up = chance.random() > 0.02
        cluster.tick(asking, drains=chance.random() < 0.02)
        acted |= set(cluster.acting)
        assert len(cluster.acting) <= 1
        if chance.random() < 0.003:
            played.objects.pop(PATH, None)
    assert len(acted) > 1


@pytest.mark.parametrize("holder", ["", "me", "pod http://evil.example:80", "pod http://10.0.0.1:80/x", "pod  x"])
def test_holder_that_is_no_pod_of_ours_is_not_called(holder: str) -> None:
    assert read_lease_state(holder, "pod-0 http://10.0.0.1:8080") == LeaseState()


@responses.activate
def test_request_goes_to_the_pod_that_holds_the_lease_with_the_token_of_hooks_pods() -> None:
    url = "http://10.0.0.2:8080/prober/v1/models/default/m"
    responses.put(url, body=write_message(LoadReport(starting=True)))
    acting = ActingProber(own=ProberClient("http://127.0.0.1:9191", ""), turns=Elsewhere(), token=lambda: "shared")
    assert acting.ask(WANTED, CallId(sync_id="id-1")) == LoadReport(starting=True)
    assert responses.calls[0].request.headers["Authorization"] == "Bearer shared"
    responses.replace(responses.PUT, url, status=429, body="the prober of this pod does not act now\n")
    with pytest.raises(LeaveAlone, match="the prober of this pod does not act now"):
        acting.ask(WANTED)
    responses.replace(responses.PUT, url, body=requests.ReadTimeout())
    with pytest.raises(ProberUnavailable, match=r"acts, did not answer within 6 s; it may wait for a slow API server$"):
        acting.ask(WANTED)
    responses.replace(responses.PUT, url, body=requests.ConnectTimeout())
    with pytest.raises(
        ProberUnavailable, match=r"the hooks pod at http://10.0.0.2:8080, .*; check that a NetworkPolicy"
    ):
        acting.ask(WANTED)


class Elsewhere:
    def find_state(self) -> LeaseState:
        return LeaseState(url="http://10.0.0.2:8080")

    def renew(self, _is_draining: Any) -> None:
        """Another pod holds the Lease."""


def test_only_pod_acts_until_it_is_about_to_end() -> None:
    prober = FakeProber()
    turns = OnlyPod(prober=cast("ProberClient", prober))
    turns.renew(lambda: False)
    assert (turns.find_state(), prober.terms) == (LeaseState(is_own=True), [])
    for _ in range(2):
        turns.renew(lambda: True)
    assert prober.terms == [Term(number=0)]


@pytest.mark.parametrize(
    ("replicas", "expected"), [("1", OnlyPod), ("2", NoTurns)], ids=["one pod", "several without an account"]
)
def test_several_pods_need_an_account(replicas: str, expected: type) -> None:
    found = set_up_prober(parse_settings({}, {"hook_replicas": replicas}), 8080, lambda: "shared")
    assert isinstance(found.turns, expected)


def test_several_pods_without_an_account_say_what_is_missing() -> None:
    acting = set_up_prober(parse_settings({}, {"hook_replicas": "2"}), 8080, lambda: "shared")
    with pytest.raises(ProberUnavailable, match="mounts no ServiceAccount token"):
        acting.ask(WANTED)


def test_several_pods_without_a_token_for_each_other_say_so() -> None:
    acting = set_up_prober(parse_settings({}, {"hook_replicas": "2"}), 8080, None)
    with pytest.raises(ProberUnavailable, match="no --relay-token-file is given, which several hooks pods need"):
        acting.ask(WANTED)


@responses.activate
def test_request_to_the_own_prober_is_confirmed_first_and_one_that_is_passed_on_is_not() -> None:
    def refuse(_request: LoadRequest) -> None:
        raise LeaveAlone("the stored model does not ask for this", retry_after=1)

    own = ProberClient("http://127.0.0.1:9191", "")
    with pytest.raises(LeaveAlone, match="the stored model does not ask for this"):
        ActingProber(own=own, turns=OnlyPod(prober=own), confirm=refuse).ask(WANTED)
    responses.put("http://10.0.0.2:8080/prober/v1/models/default/m", body=write_message(LoadReport()))
    assert ActingProber(own=own, turns=Elsewhere(), confirm=refuse).ask(WANTED) == LoadReport()
