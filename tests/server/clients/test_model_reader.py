"""Models that are read before the prober acts for them: how often, and what is so while they cannot be read."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.settings import parse_settings
from hooks.model.prober.messages import Adapter, EngineTarget, LoadRequest
from hooks.server.clients import model_reader
from hooks.server.clients.model_reader import ModelReader, confirm_all, find_confirm
from tests.model.parts import URI, model
from tests.played_api_server import PlayedApiServer, played_api_server

PATH = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamomodels/m"
WANTED = LoadRequest(
    namespace="default", name="m", uid="u-m", generation=1, adapter=Adapter(name="a", uri=URI), is_recorded=False
)
UNLOAD = msgspec.structs.replace(WANTED, adapter=None, former=("a",), generation=2)
SETTINGS = parse_settings({})


class Reading:
    """A reader on a made-up clock, in front of an API server in memory."""

    def __init__(self, played: PlayedApiServer) -> None:
        self.played, self.seconds = played, 1000.0
        server = replace(played.server, clock=lambda: self.seconds)
        self.reader = ModelReader(server=server, settings=SETTINGS)

    def confirm(self, request: LoadRequest = WANTED) -> int:
        """Confirm the request; how often the API server was asked for that."""
        before = len(self.played.asked)
        self.reader.confirm(request)
        return len(self.played.asked) - before


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Reading]:
    with played_api_server(tmp_path) as played:
        played.put(PATH, model())
        yield Reading(played)


def test_model_is_read_once_for_a_change_and_again_after_minutes(reading: Reading) -> None:
    assert reading.confirm() == 1
    engines = msgspec.structs.replace(WANTED, is_recorded=True, targets=(EngineTarget(address="http://1:9", pod="w"),))
    assert [reading.confirm(engines) for _ in range(5)] == [0] * 5
    reading.played.put(PATH, model(generation=2, deletionTimestamp="2026-03-01T12:00:00Z"))
    assert reading.confirm(UNLOAD) == 1
    reading.seconds += 2 * model_reader.GOOD_SECONDS
    assert reading.confirm(UNLOAD) == 1
    assert {path for _, path in reading.played.asked} == {PATH}


def test_model_that_is_gone_does_not_count_for_longer_than_minutes(reading: Reading) -> None:
    reading.confirm()
    del reading.played.objects[PATH]
    reading.seconds += 2 * model_reader.GOOD_SECONDS
    for _ in range(2):
        with pytest.raises(LeaveAlone, match="the API server has no DynamoModel default/m"):
            reading.confirm()
        reading.seconds += 2


def test_load_does_not_count_any_more_once_the_unload_does(reading: Reading) -> None:
    reading.confirm()
    reading.played.put(PATH, model(generation=2, deletionTimestamp="2026-03-01T12:00:00Z"))
    reading.confirm(UNLOAD)
    with pytest.raises(LeaveAlone, match="another generation"):
        reading.confirm()


def test_refused_request_is_not_read_again_within_a_second_and_hides_no_good_one(reading: Reading) -> None:
    reading.confirm()
    forged = msgspec.structs.replace(WANTED, adapter=Adapter(name="a", uri="s3://evil/a"))
    reading.played.asked.clear()
    for _ in range(20):
        with pytest.raises(LeaveAlone, match="does not ask for adapter a from this source"):
            reading.confirm(forged)
    assert len(reading.played.asked) == 1
    assert reading.confirm() == 0
    reading.seconds += 2
    reading.played.put(PATH, model(uri="s3://evil/a"))
    assert reading.confirm(forged) == 1


def test_without_an_answer_what_was_confirmed_goes_on_and_nothing_begins(reading: Reading) -> None:
    reading.confirm()
    reading.played.before = lambda _method, _path: 503
    reading.seconds += 2 * model_reader.GOOD_SECONDS
    assert reading.confirm() == 1
    assert reading.confirm() == 0, "nothing is read for a moment after a fault"
    new = msgspec.structs.replace(WANTED, generation=2)
    with pytest.raises(ProberUnavailable, match="the API server answers 503 for the DynamoModel"):
        reading.confirm(new)
    reading.seconds += model_reader.REMEMBERED_SECONDS
    with pytest.raises(ProberUnavailable, match="not known whether DynamoModel default/m asks for it"):
        reading.confirm()


def test_missing_right_is_said(reading: Reading) -> None:
    reading.played.before = lambda _method, _path: 403
    with pytest.raises(ProberUnavailable, match="give their account the right to get dynamomodels, or set engine_"):
        reading.confirm()
    without = ModelReader(server=None, settings=SETTINGS)
    with pytest.raises(ProberUnavailable, match="mount their ServiceAccount token, or set engine_addresses=routable"):
        without.confirm(WANTED)


@pytest.mark.parametrize("name", ["../../../victim/m", "m?x=y", ""])
def test_name_that_no_object_has_is_not_asked_for(name: str, reading: Reading) -> None:
    with pytest.raises(LeaveAlone, match="no DynamoModel can be named"):
        reading.confirm(msgspec.structs.replace(WANTED, name=name))
    assert reading.played.asked == []


def test_what_is_remembered_has_a_bound(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_reader, "MOST_KNOWN", 3)
    monkeypatch.setattr(model_reader, "MOST_REFUSED", 3)
    for number in range(9):
        name = f"m{number}"
        reading.played.put(f"{PATH}{number}", model(name))
        reading.confirm(msgspec.structs.replace(WANTED, name=name, uid=f"u-{name}"))
        with pytest.raises(LeaveAlone):
            reading.confirm(msgspec.structs.replace(WANTED, name=name, uid="x", former=("x" * 2**20,)))
    assert (len(reading.reader._confirmed), len(reading.reader._refused)) == (3, 3)
    assert {len(mark) for _, mark in reading.reader._refused} == {16}


@pytest.mark.parametrize(("rule", "asks"), [("pods", True), ("routable", False), ("any", False)])
def test_models_are_asked_for_where_addresses_must_be_those_of_pods(rule: str, asks: bool) -> None:
    found = find_confirm(parse_settings({}, {"engine_addresses": rule}), None)
    assert (found is not confirm_all) == asks
