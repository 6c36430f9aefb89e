"""The cluster's optional kinds: what discovery says counts, and what it said last while it says nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.admission.installed_kinds import InstalledKinds
from hooks.k8s import kinds
from tests import make
from tests.played_api_server import PlayedApiServer, played_api_server
from tests.reviews import admission_app, post, review


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedApiServer]:
    with played_api_server(tmp_path) as server:
        yield server


def serve(played: PlayedApiServer, kind: Any, *names: str) -> None:
    played.put(f"/apis/{kind.api_version}", {"resources": [{"name": "x/status", "kind": name} for name in names]})


def test_nothing_is_known_at_first(played: PlayedApiServer) -> None:
    assert InstalledKinds(server=played.server).look() is None


def test_kinds_are_those_that_discovery_names(played: PlayedApiServer) -> None:
    serve(played, kinds.INFERENCE_POOL, "InferencePool", "Other")
    serve(played, kinds.POD_GROUP, "Queue")
    installed = InstalledKinds(server=played.server)
    installed.refresh()
    assert installed.look() == frozenset({kinds.INFERENCE_POOL})


def test_kinds_come_and_go(played: PlayedApiServer) -> None:
    installed = InstalledKinds(server=played.server)
    installed.refresh()
    assert installed.look() == frozenset()
    serve(played, kinds.POD_CLIQUE_SET, "PodCliqueSet")
    installed.refresh()
    assert installed.look() == frozenset({kinds.POD_CLIQUE_SET})


def test_what_was_said_last_counts_while_nobody_answers(
    played: PlayedApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    serve(played, kinds.INFERENCE_POOL, "InferencePool")
    installed = InstalledKinds(server=played.server)
    installed.refresh()
    played.before = lambda _method, _path: 500
    installed.refresh()
    assert installed.look() == frozenset({kinds.INFERENCE_POOL})
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_rules_are_told_what_is_installed() -> None:
    app = admission_app(installed=lambda: frozenset({kinds.INFERENCE_POOL}))
    post(app, "validate", review(make.graph()))
    assert app.config["asked"][0].installed == {kinds.INFERENCE_POOL}
