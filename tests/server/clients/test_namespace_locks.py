"""Leases with a clock of the test's own: whose namespace it is, who renews, who steps in, and how it is let go."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.server.clients.api_server import ApiServer, Refused
from hooks.server.clients.locks import NO_LOCKS, Locks, set_up_locks
from hooks.server.clients.namespace_locks import (
    NO_LEASE,
    RETRY_SECONDS,
    Lease,
    LockReader,
    NamespaceClaim,
    OwnLock,
    parse_lease,
    renew_once,
)
from hooks.server.routes import respect_locks
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.hook_client import GOOD, call, hook_with
from tests.played_api_server import PlayedApiServer, played_api_server

GO = "namespace-restricted-operator-0.9.0"


@dataclass
class Clock:
    """Stands still unless it is told to go on."""

    now: datetime = make.NOW

    def __call__(self) -> datetime:
        return self.now

    def after(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedApiServer]:
    with played_api_server(tmp_path) as server:
        yield server


def path_of(namespace: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{contract.NAMESPACE_LOCK}"


def lease(holder: str = GO, renewed: datetime | None = make.NOW, seconds: int | None = 30) -> dict[str, Any]:
    spec = {
        "holderIdentity": holder,
        "renewTime": renewed and renewed.isoformat().replace("+00:00", "Z"),
        "leaseDurationSeconds": seconds,
    }
    metadata = {"name": contract.NAMESPACE_LOCK}
    return {"metadata": metadata, "spec": {key: value for key, value in spec.items() if value is not None}}


# What a Lease says


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (lease(), True),
        (lease(renewed=make.NOW - timedelta(seconds=29)), True),
        (lease(renewed=make.NOW - timedelta(seconds=30)), False),
        (lease(renewed=None), False),
        (lease(seconds=None), False),
        (lease(holder=""), True),
        ({"spec": {**lease()["spec"], "renewTime": "2026-03-01T12:00:00.000000Z"}}, True),
        ({"spec": {**lease()["spec"], "renewTime": "2026-03-01T12:00:00"}}, True),
        ({"spec": {**lease()["spec"], "renewTime": "soon"}}, False),
        ({"spec": None}, False),
        ({}, False),
    ],
    ids=[
        "fresh",
        "almost expired",
        "expired",
        "never renewed",
        "no duration",
        "no holder",
        "micro time",
        "no zone",
        "no time",
        "empty",
        "none",
    ],
)
def test_lease_counts_until_it_expires(manifest: dict[str, Any], expected: bool) -> None:
    assert parse_lease(manifest).is_valid(make.NOW) is expected


def test_absent_lease_never_counts() -> None:
    assert parse_lease({}) == NO_LEASE == Lease()


# Reading those of others


def test_locked_namespace_is_left_alone_until_the_lease_expires(played: PlayedApiServer, clock: Clock) -> None:
    played.put(path_of("taken"), lease())
    reader = LockReader(server=played.server, clock=clock)
    assert reader.find_claim("free") is None
    claim = reader.find_claim("taken")
    assert claim == NamespaceClaim(reason=f"namespace taken is locked by the Lease of {GO}")
    clock.after(31)
    assert reader.find_claim("taken") is None


def test_long_name_of_a_holder_is_cut(played: PlayedApiServer, clock: Clock) -> None:
    played.put(path_of("taken"), lease(holder="x" + "[\n" * 5000))
    claim = LockReader(server=played.server, clock=clock).find_claim("taken")
    assert claim is not None
    assert len(claim.reason) < 400
    assert "\n" not in claim.reason


def test_expiry_counts_even_while_the_answer_is_remembered(played: PlayedApiServer, clock: Clock) -> None:
    played.put(path_of("taken"), lease(renewed=make.NOW - timedelta(seconds=28)))
    reader = LockReader(server=played.server, clock=clock)
    assert reader.find_claim("taken") is not None
    clock.after(3)
    assert reader.find_claim("taken") is None
    assert len(played.asked) == 1


def test_api_server_is_asked_once_in_ten_seconds(played: PlayedApiServer, clock: Clock) -> None:
    reader = LockReader(server=played.server, clock=clock)
    for _ in range(5):
        assert reader.find_claim("free") is None
        clock.after(2)
    assert len(played.asked) == 1
    played.put(path_of("free"), lease(renewed=clock.now))
    assert reader.find_claim("free") is not None
    assert len(played.asked) == 2


def test_clock_that_was_set_back_is_no_reason_to_remember_longer(played: PlayedApiServer, clock: Clock) -> None:
    reader = LockReader(server=played.server, clock=clock)
    reader.find_claim("free")
    clock.after(-3600)
    reader.find_claim("free")
    assert len(played.asked) == 2


def test_lock_that_cannot_be_read_is_respected_but_not_certain(played: PlayedApiServer, clock: Clock) -> None:
    played.before = lambda _method, _path: 403
    claim = LockReader(server=played.server, clock=clock).find_claim("some")
    assert claim is not None
    assert not claim.is_certain
    assert claim.reason.startswith("it is unknown whether namespace some is locked: GET ")
    assert "403" in claim.reason


def test_what_was_read_last_counts_while_nothing_newer_is_told(played: PlayedApiServer, clock: Clock) -> None:
    played.put(path_of("taken"), lease())
    reader = LockReader(server=played.server, clock=clock)
    reader.find_claim("taken")
    played.before = lambda _method, _path: 500
    clock.after(15)
    claim = reader.find_claim("taken")
    assert claim is not None
    assert claim.is_certain
    clock.after(16)
    claim = reader.find_claim("taken")
    assert claim is not None
    assert not claim.is_certain


# Holding our own


def own(played: PlayedApiServer, clock: Clock, process: str = "pod-1", **fields: Any) -> OwnLock:
    return OwnLock(
        server=played.server, clock=clock, namespace="team", installation="team-a", process=process, **fields
    )


def held(played: PlayedApiServer) -> Lease:
    return parse_lease(played.objects.get(path_of("team"), {}))


def test_lease_is_made_and_then_renewed_every_ten_seconds(played: PlayedApiServer, clock: Clock) -> None:
    lock = own(played, clock)
    lock.renew()
    assert held(played) == Lease(holder=lock.holder, renewed=make.NOW, seconds=30)
    assert lock.find_claim("team") is None
    for _ in range(4):
        clock.after(5)
        lock.renew()
    assert [method for method, _ in played.writes()] == ["POST", "PUT", "PUT"]
    assert held(played).renewed == make.NOW + timedelta(seconds=20)


def test_holder_tells_installation_and_version(played: PlayedApiServer, clock: Clock) -> None:
    assert own(played, clock).holder == "dynamo-hooks/team-a/pod-1@0.1.0"


def test_nothing_is_done_in_our_namespace_before_the_lease_is_ours(played: PlayedApiServer, clock: Clock) -> None:
    claim = own(played, clock).find_claim("team")
    assert claim is not None
    assert not claim.is_certain
    assert own(played, clock).find_claim("another") is None


def test_lease_of_another_operator_is_not_taken_until_it_expires(played: PlayedApiServer, clock: Clock) -> None:
    played.put(path_of("team"), lease())
    lock = own(played, clock)
    lock.renew()
    assert played.writes() == []
    assert lock.find_claim("team") == NamespaceClaim(reason=f"namespace team is locked by the Lease of {GO}")
    clock.after(30)
    lock.renew()
    assert held(played).holder == lock.holder
    assert lock.find_claim("team") is None


def test_newest_process_takes_the_lease_and_the_older_one_lets_it(played: PlayedApiServer, clock: Clock) -> None:
    old, new = own(played, clock, "old"), own(played, clock, "new")
    old.renew()
    new.renew()
    for _ in range(10):
        clock.after(5)
        new.renew()
        old.renew()
        assert held(played).holder == new.holder
        assert old.find_claim("team") is None
        assert new.find_claim("team") is None


def test_older_process_steps_in_before_the_lease_ends(played: PlayedApiServer, clock: Clock) -> None:
    old, new = own(played, clock, "old"), own(played, clock, "new")
    old.renew()
    new.renew()
    for _ in range(3):
        clock.after(5)
        assert held(played).is_valid(clock.now)
        old.renew()
    assert held(played).holder == old.holder


def test_lock_that_is_not_renewed_any_more_stops_us(played: PlayedApiServer, clock: Clock) -> None:
    lock = own(played, clock)
    lock.renew()
    played.before = lambda _method, _path: 500
    clock.after(29)
    renew_once(lock, lambda: False)
    assert lock.find_claim("team") is None
    clock.after(2)
    renew_once(lock, lambda: False)
    claim = lock.find_claim("team")
    assert claim is not None
    assert not claim.is_certain


def test_process_that_was_overtaken_while_it_wrote_looks_again(played: PlayedApiServer, clock: Clock) -> None:
    lock = own(played, clock)
    lock.renew()
    clock.after(10)

    def overtake(method: str, _path: str) -> None:
        if method == "PUT":
            played.put(path_of("team"), lease(holder="dynamo-hooks/team-a/pod-2@0.1.0", renewed=clock.now))

    played.before = overtake
    lock.renew()
    played.before = lambda _method, _path: None
    lock.renew()
    assert held(played).holder == "dynamo-hooks/team-a/pod-2@0.1.0"
    assert lock.find_claim("team") is None


def test_stopping_process_renews_what_it_holds_and_takes_nothing(played: PlayedApiServer, clock: Clock) -> None:
    holder, other = own(played, clock, "holder"), own(played, clock, "other")
    other.renew()
    holder.renew()
    clock.after(10)
    holder.renew(may_take=False)
    assert held(played).renewed == clock.now
    clock.after(40)
    other.renew(may_take=False)
    assert not held(played).is_valid(clock.now)


def test_only_pod_deletes_the_lease_when_it_stops(played: PlayedApiServer, clock: Clock) -> None:
    lock = own(played, clock, is_alone=True)
    lock.renew()
    lock.release()
    assert path_of("team") not in played.objects
    lock.release()


def test_one_pod_of_several_leaves_the_lease_for_another_to_step_in(played: PlayedApiServer, clock: Clock) -> None:
    stopping, staying = own(played, clock, "stopping"), own(played, clock, "staying")
    staying.renew()
    stopping.renew()
    stopping.release()
    assert held(played).seconds == 10
    clock.after(5)
    assert held(played).is_valid(clock.now)
    staying.renew()
    assert (held(played).holder, held(played).seconds) == (staying.holder, 30)


def test_lease_of_somebody_else_is_not_released(played: PlayedApiServer, clock: Clock) -> None:
    old, new = own(played, clock, "old", is_alone=True), own(played, clock, "new", is_alone=True)
    old.renew()
    new.renew()
    old.release()
    assert held(played).holder == new.holder


# What the hooks do about it

LOCKED = NamespaceClaim(reason="namespace default is locked by the Lease of them")
UNKNOWN = NamespaceClaim(reason="nobody can say", is_certain=False)
DELETING = {**make.graph(status={"state": "x"}), "metadata": {**make.graph()["metadata"], "deletionTimestamp": "t"}}


def hook_under_lock(claim: NamespaceClaim | None, answer: SyncAnswer = GOOD) -> Any:
    return hook_with(
        answer, lambda table: respect_locks(table, lambda namespace: claim if namespace == "default" else None)
    )


@pytest.mark.parametrize("claim", [LOCKED, UNKNOWN], ids=["locked", "unknown"])
@pytest.mark.parametrize("path", ["/graph/sync", "/graph/finalize"])
def test_parent_in_a_locked_namespace_is_left_exactly_as_it_is(claim: NamespaceClaim, path: str) -> None:
    answer = hook_under_lock(claim).post(path, data=call(finalizing=path.endswith("finalize")))
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == str(RETRY_SECONDS)
    assert answer.text == f"{claim.reason}\n"


def test_parent_in_another_namespace_is_looked_after() -> None:
    assert hook_under_lock(None).post("/graph/sync", data=call()).status_code == 200


def test_deleted_parent_in_a_locked_namespace_may_go() -> None:
    answer = hook_under_lock(LOCKED).post("/graph/finalize", data=call(parent=DELETING, finalizing=True))
    assert orjson.loads(answer.data) == {"children": [], "finalized": True, "status": {"state": "x"}}


def test_deleted_parent_waits_while_nobody_knows() -> None:
    answer = hook_under_lock(UNKNOWN).post("/graph/finalize", data=call(parent=DELETING, finalizing=True))
    assert answer.status_code == 429


# What the server sets up


def test_admission_leaves_alone_what_is_certainly_locked() -> None:
    assert Locks(find_claim=lambda _namespace: LOCKED).is_locked("a")
    assert not Locks(find_claim=lambda _namespace: UNKNOWN).is_locked("a")
    assert not NO_LOCKS.is_locked("a")


def test_locks_are_off_unless_asked_for() -> None:
    assert set_up_locks(parse_settings({}), holds=True) is NO_LOCKS


def test_locks_without_an_account_are_refused_with_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(SystemExit) as ended:
        set_up_locks(parse_settings({}, {"namespace_locks": "on"}), holds=True)
    assert ended.value.code == 2
    assert "this pod mounts no ServiceAccount token" in capsys.readouterr().err


@pytest.mark.parametrize(("holder", "is_locked"), [("dynamo-hooks/team-a/pod@1", False), ("go-operator", True)])
def test_process_beside_the_holder_reads_the_installations_lock(
    played: PlayedApiServer, clock: Clock, monkeypatch: pytest.MonkeyPatch, holder: str, is_locked: bool
) -> None:
    monkeypatch.setattr(ApiServer, "in_cluster", lambda: played.server)
    monkeypatch.setattr("hooks.server.clients.locks._now", clock)
    played.put(path_of("a"), lease(holder))
    settings = {"namespace_locks": "on", "installation": "team-a", "installation_namespace": "a"}
    locks = set_up_locks(parse_settings({}, settings), holds=False)
    assert locks.own is None
    assert locks.is_locked("a") is is_locked


def test_release_that_is_refused_is_logged_and_no_failure(
    played: PlayedApiServer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    lock = own(played, clock)
    played.before = lambda _method, _path: 500
    Locks(find_claim=lock.find_claim, own=lock).release()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    with pytest.raises(Refused):
        lock.release()
