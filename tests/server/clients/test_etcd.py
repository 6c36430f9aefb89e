"""Keys dropped in etcd: against a real one where it is installed, and against a played one for what goes wrong."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import requests
import responses

from hooks.server.clients.etcd import EtcdClient
from hooks.wire.metacontroller.effects import DropReport, EtcdPrefixDrop
from tests.etcd_server import encode, keys_of, put, running_etcd
from tests.ports import free_port
from tests.waiting import PATIENCE

DROP = EtcdPrefixDrop(prefix="/ns-g/components/worker/")
ONE, TWO = "http://127.0.0.1:2379", "http://127.0.0.2:2379"
DONE = {"header": {"revision": "3"}, "deleted": "1"}


# A real etcd


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running etcd, host:port."""
    with running_etcd(tmp_path_factory.mktemp("etcd")) as address:
        yield address


def patient(addresses: str) -> EtcdClient:
    """A client without the deadline of the product, which real members may miss on a busy machine."""
    return replace(EtcdClient.at(addresses), deadline_seconds=PATIENCE)


def test_only_the_keys_of_the_service_are_dropped(etcd: str) -> None:
    mine = ("/ns-g/components/worker/generate:1", "/ns-g/components/worker/generate:2", "/ns-g/components/worker/é")
    others = ("/ns-g/components/worker2/generate:1", "/ns-g/components/worker0", "/ns-g2/components/worker/a", "/other")
    put(etcd, *mine, *others)
    assert patient(etcd).drop(DROP) == DropReport(drop=DROP)
    assert keys_of(etcd) == sorted(others)


def test_dropping_again_what_is_gone_is_no_fault(etcd: str) -> None:
    assert patient(etcd).drop(DROP).fault == ""
    assert patient(etcd).drop(DROP).fault == ""


def test_next_member_is_asked_where_one_is_down(etcd: str) -> None:
    put(etcd, "/ns-g/components/worker/generate:3")
    down = f"127.0.0.1:{free_port()}"
    assert patient(f"{down},http://{etcd}").drop(DROP).fault == ""
    assert not any(key.startswith(DROP.prefix) for key in keys_of(etcd))


def test_member_that_is_down_is_named() -> None:
    down = f"127.0.0.1:{free_port()}"
    assert patient(down).drop(DROP).fault == f"{down} does not answer"


# A played one


@pytest.fixture
def played() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=True) as server:
        yield server


@pytest.mark.parametrize(
    ("addresses", "urls"),
    [
        ("etcd:2379", ("http://etcd:2379",)),
        ("https://etcd:2379/", ("https://etcd:2379",)),
        ("a:1, http://b:2 ,", ("http://a:1", "http://b:2")),
        ("[fd00::1]:2379", ("http://[fd00::1]:2379",)),
        ("", ()),
    ],
)
def test_address_is_one_or_several(addresses: str, urls: tuple[str, ...]) -> None:
    assert EtcdClient.at(addresses).urls == urls


def test_range_ends_behind_the_last_key_with_the_prefix(played: responses.RequestsMock) -> None:
    played.post(f"{ONE}/v3/kv/deleterange", json=DONE)
    assert EtcdClient(urls=(ONE,)).drop(DROP) == DropReport(drop=DROP)
    sent = json.loads(played.calls[0].request.body or "")
    assert sent == {"key": encode("/ns-g/components/worker/"), "range_end": encode("/ns-g/components/worker0")}


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"status": 503, "json": {"error": "no leader"}}, "127.0.0.1:2379 answered HTTP 503"),
        ({"status": 302, "headers": {"Location": TWO}}, "127.0.0.1:2379 answered HTTP 302"),
        ({"body": "<html>"}, "127.0.0.1:2379 answered, but not as etcd does"),
        ({"json": ["header"]}, "127.0.0.1:2379 answered, but not as etcd does"),
        ({"body": requests.ReadTimeout("slow")}, "127.0.0.1:2379 did not answer in time"),
        ({"body": requests.ConnectTimeout("away")}, "127.0.0.1:2379 does not answer"),
    ],
    ids=["no leader", "redirect", "a web page", "a list", "slow", "no connection"],
)
def test_fault_names_the_member_in_words_that_stay_the_same(
    played: responses.RequestsMock, answer: dict[str, Any], fault: str
) -> None:
    played.post(f"{ONE}/v3/kv/deleterange", **answer)
    assert EtcdClient(urls=(ONE,)).drop(DROP).fault == fault


def test_password_in_the_address_is_not_repeated(played: responses.RequestsMock) -> None:
    address = "http://root:hunter2@127.0.0.1:2379"
    played.post(f"{address}/v3/kv/deleterange", status=401)
    client = EtcdClient.at(address)
    assert client.drop(DROP).fault == "127.0.0.1:2379 answered HTTP 401"


@pytest.mark.parametrize("url", ["http://127.0.0.1:port", "ftp://127.0.0.1:2379", "http://"])
def test_address_that_is_none_is_a_fault(url: str) -> None:
    assert EtcdClient(urls=(url,)).drop(DROP).fault.endswith("does not answer")


def test_all_members_together_have_one_deadline(played: responses.RequestsMock) -> None:
    seconds = iter([0.0, 0.0, 1.5])
    for url in (ONE, TWO):
        played.post(f"{url}/v3/kv/deleterange", status=503)
    report = EtcdClient(urls=(ONE, TWO), clock=lambda: next(seconds)).drop(DROP)
    assert report.fault == "127.0.0.1:2379 answered HTTP 503; 127.0.0.2:2379 answered HTTP 503"
    sent: list[Any] = [call.request for call in played.calls]
    assert [request.req_kwargs["timeout"].total for request in sent] == [1.0, 0.5]
