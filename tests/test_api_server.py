"""Requests to the API server: which account, what is made of every kind of answer."""

from pathlib import Path

import pytest
import requests
import responses

from hooks.api_server import ApiServer, ApiServerError
from tests.played_api_server import URL, played_api_server

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_request_carries_the_token_as_it_is_now(tmp_path: Path) -> None:
    with played_api_server(tmp_path) as played, responses.RequestsMock() as mock:
        mock.get(f"{URL}/x", json={})
        for token in ("first", "second"):
            played.server.token_file.write_text(f"{token}\n")
            played.server.get("/x")
        assert [call.request.headers["Authorization"] for call in mock.calls] == ["Bearer first", "Bearer second"]


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    with played_api_server(tmp_path) as played:
        assert played.server.get("/nothing") is None
        with pytest.raises(ApiServerError, match="404 refused with 404") as error:
            played.server.ask("PUT", "/nothing", {"metadata": {}})
        assert error.value.code == 404


@pytest.mark.parametrize(
    ("answer", "words", "code"),
    [
        ({"status": 403, "json": {"message": "leases is forbidden"}}, "GET /x: 403 leases is forbidden", 403),
        ({"status": 502, "body": "<html>"}, "GET /x: 502 Bad Gateway", 502),
        ({"status": 500, "json": ["no object"]}, "GET /x: 500 Internal Server Error", 500),
        ({"body": requests.ConnectTimeout("timed out")}, f"GET {URL}/x: timed out", 0),
    ],
    ids=["forbidden", "no JSON", "no object", "no answer"],
)
def test_refusal_says_what_was_asked_and_why(answer: dict[str, object], words: str, code: int, tmp_path: Path) -> None:
    with played_api_server(tmp_path) as played, responses.RequestsMock() as mock:
        mock.get(f"{URL}/x", **answer)
        with pytest.raises(ApiServerError) as error:
            played.server.get("/x")
    assert (str(error.value), error.value.code) == (words, code)


def test_missing_token_is_a_refusal(tmp_path: Path) -> None:
    with played_api_server(tmp_path) as played:
        played.server.token_file.unlink()
        with pytest.raises(ApiServerError, match="No such file"):
            played.server.get("/x")


@pytest.mark.parametrize(
    ("environment", "has_token", "url"),
    [
        (IN_CLUSTER, True, "https://10.0.0.1:443"),
        ({**IN_CLUSTER, "KUBERNETES_SERVICE_HOST": "fd00::1"}, True, "https://[fd00::1]:443"),
        (IN_CLUSTER, False, None),
        ({}, True, None),
    ],
    ids=["cluster", "IPv6", "no token", "no cluster"],
)
def test_account_of_the_pod(environment: dict[str, str], has_token: bool, url: str | None, tmp_path: Path) -> None:
    if has_token:
        (tmp_path / "token").write_text("t")
    found = ApiServer.in_cluster(environment, tmp_path)
    assert (found.url if found else None) == url
