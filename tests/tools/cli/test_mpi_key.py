"""`dynamo-hooks mpi-key`: one key, made once."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from hooks.component.spec.mpi_key import KEYS
from hooks.server.clients.api_server import Conversation, Refused
from hooks.server.commands.mpi_key import issue_key, keep_key
from tests.played_api_server import PlayedApiServer, played_api_server

SECRET = "/api/v1/namespaces/system/secrets/ssh"


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedApiServer]:
    with played_api_server(tmp_path) as server:
        yield server


@pytest.fixture
def talk(played: PlayedApiServer) -> Iterator[Conversation]:
    with played.server.converse(60) as talk:
        yield talk


def test_private_and_public_key_belong_together() -> None:
    private, public = issue_key().values()
    read = serialization.load_ssh_private_key(private.encode(), password=None)
    shown = read.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    assert public == f"{shown.decode()}\n"
    assert public.startswith("ssh-rsa ")


def test_first_run_makes_the_secret_and_the_next_leaves_it(played: PlayedApiServer, talk: Conversation) -> None:
    assert keep_key(talk, "system/ssh") == "the Secret system/ssh was created with a new key"
    made = dict(played.objects[SECRET]["data"])
    assert sorted(made) == sorted(KEYS)
    assert base64.b64decode(made[KEYS[0]]).startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    assert keep_key(talk, "system/ssh") == "the Secret system/ssh has a key already; nothing was done"
    assert played.objects[SECRET]["data"] == made
    assert [method for method, _ in played.writes()] == ["POST"]


def test_secret_that_somebody_makes_at_the_same_time_is_kept(played: PlayedApiServer, talk: Conversation) -> None:
    def make_first(method: str, _path: str) -> None:
        if method == "POST":
            played.put(SECRET, {"data": dict.fromkeys(KEYS, "eA==")})

    played.before = make_first
    assert keep_key(talk, "system/ssh").endswith("nothing was done")
    assert played.objects[SECRET]["data"] == dict.fromkeys(KEYS, "eA==")


def test_secret_without_a_key_is_refused_and_not_changed(played: PlayedApiServer, talk: Conversation) -> None:
    played.put(SECRET, {"data": {KEYS[0]: "eA=="}})
    with pytest.raises(Refused, match=r"system/ssh exists, but has no private\.key\.pub; add it, or delete the Secret"):
        keep_key(talk, "system/ssh")
    assert played.writes() == []
