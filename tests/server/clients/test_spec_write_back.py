"""A recorded spec written back into a graph whose rollout stalled: by what is stored, never by what is asked."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import responses

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.server.clients.effects import EffectsClient
from hooks.wire.metacontroller.effects import (
    EffectOutcome,
    EffectResult,
    EffectSource,
    WriteBackSpec,
    permitted_effects,
)
from hooks.wire.policy.conditions import reference_of
from hooks.wire.policy.spec_restoring import name_present
from hooks.wire.policy.spec_revisions import pack
from tests import make
from tests.server.clients.played_server import PlayedServer, api_server, path_of, play

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def graph(image: str, replicas: int = 1) -> Manifest:
    found = make.graph({"w": make.service(image=image, replicas=replicas)})
    return {**found, "metadata": {**found["metadata"], "generation": 7, "resourceVersion": "70"}}


OLD = graph("r/vllm-runtime:1.6.1")
REVISION = name_present(OLD)


def stalled(**changes: Any) -> Manifest:
    status = {"observedGeneration": 7, "rollingUpdate": {"phase": "InProgress", "goesBackTo": REVISION}}
    return {**graph("r/vllm-runtime:1.6.9", 4), "status": status, **changes}


def revision(data: dict[str, Any] | None = None, owner: str = "u-g") -> Manifest:
    reference = {"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": owner, "controller": True}
    return {
        "apiVersion": kinds.CONTROLLER_REVISION.api_version,
        "kind": kinds.CONTROLLER_REVISION.kind,
        "metadata": {"name": REVISION, "namespace": make.NAMESPACE, "ownerReferences": [reference]},
        "data": pack(OLD).data if data is None else data,
        "revision": 1,
    }


BACK = WriteBackSpec(graph="g", namespace=make.NAMESPACE, revision=REVISION)
GRAPH = path_of(OLD)


@pytest.fixture
def server() -> Iterator[PlayedServer]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as played:
        yield play(played, [stalled(), revision()])


def carry_out(folder: Path, effect: WriteBackSpec = BACK, generation: int = 7) -> EffectResult:
    settings = parse_settings({}, {"effect_go_back": "on"})
    client = EffectsClient(server=api_server(folder), settings=settings, now=lambda: NOW)
    result, *_ = client((effect,), EffectSource(parent=reference_of(OLD), generation=generation))
    return result


def test_spec_is_written_as_the_graph_was_read_and_keeps_its_replicas(server: PlayedServer, tmp_path: Path) -> None:
    assert carry_out(tmp_path).outcome is EffectOutcome.DONE
    ((method, path, patch),) = server.writes
    assert (method, path) == ("PATCH", f"{GRAPH}?fieldManager=dynamo-hooks")
    image = {"extraPodSpec": {"mainContainer": {"image": "r/vllm-runtime:1.6.1"}}}
    assert patch == {
        "metadata": {
            "resourceVersion": "70",
            "annotations": {contract.ANNOTATION_WENT_BACK: f"{name_present(stalled())} {REVISION}"},
        },
        "spec": {"services": {"w": image}},
    }


def test_graph_that_changed_meanwhile_is_read_again(server: PlayedServer, tmp_path: Path) -> None:
    server.refusals = [(409, {})]
    assert carry_out(tmp_path).outcome is EffectOutcome.DONE
    assert server.reads.count(GRAPH) == 2
    server.refusals = [(409, {})] * 3
    assert carry_out(tmp_path).outcome is EffectOutcome.FAILED


def _unannounced(found: Manifest) -> None:
    del found["status"]["rollingUpdate"]["goesBackTo"]


def _other(found: Manifest) -> None:
    found["status"]["rollingUpdate"]["goesBackTo"] = "g-0000000000"


def _of_before(found: Manifest) -> None:
    found["status"]["observedGeneration"] = 6


def _edited(found: Manifest) -> None:
    found["metadata"]["generation"] = 8


def _once(found: Manifest) -> None:
    found["metadata"]["annotations"] = {contract.ANNOTATION_WENT_BACK: f"{name_present(found)} g-1"}


def _back_to_it(found: Manifest) -> None:
    found["metadata"]["annotations"] = {contract.ANNOTATION_WENT_BACK: f"g-1 {name_present(found)}"}


def _paused(found: Manifest) -> None:
    found["metadata"]["annotations"] = {contract.ANNOTATION_ROLLOUT_PAUSED: "true"}


def _canary(found: Manifest) -> None:
    found["metadata"]["annotations"] = {contract.ANNOTATION_ROLLOUT_CANARY: "1"}


def _another(found: Manifest) -> None:
    found["metadata"]["uid"] = "u-h"


@pytest.mark.parametrize(
    "change", [_unannounced, _other, _of_before, _edited, _once, _back_to_it, _paused, _canary, _another]
)
def test_a_forged_request_writes_nothing(
    server: PlayedServer, tmp_path: Path, change: Callable[[Manifest], None]
) -> None:
    found = deepcopy(stalled())
    change(found)
    server.keep(found)
    assert carry_out(tmp_path).outcome is EffectOutcome.REFUSED
    assert server.writes == []


def test_effect_about_another_graph_is_refused(server: PlayedServer, tmp_path: Path) -> None:
    assert carry_out(tmp_path, replace(BACK, graph="h")).outcome is EffectOutcome.REFUSED
    assert carry_out(tmp_path, replace(BACK, namespace="other")).outcome is EffectOutcome.REFUSED
    assert server.writes == []


@pytest.mark.parametrize(
    ("stored", "says"),
    [
        (None, "has no revision"),
        (revision(owner="u-h"), "has no revision"),
        (revision({"a": 1}), "has no revision"),
        (revision({"version": 1, "size": 9, "spec": "bm8="}), "cannot be used"),
        (revision({"version": 1, "size": 9}), "too large"),
        (revision(pack(stalled()).data), "records another spec"),
    ],
    ids=["gone", "of another", "foreign", "damaged", "too large", "another spec"],
)
def test_revision_that_cannot_be_used_is_said(
    server: PlayedServer, tmp_path: Path, stored: Manifest | None, says: str
) -> None:
    del server.objects[path_of(revision())]
    server.keep(*([stored] if stored else ()))
    result = carry_out(tmp_path)
    assert result.outcome is EffectOutcome.FAILED
    assert says in result.reason
    assert server.writes == []


def test_it_is_off_unless_the_setting_asks_for_it() -> None:
    assert permitted_effects((BACK,), parse_settings({}, {})) == ()
    assert permitted_effects((BACK,), parse_settings({}, {"effect_go_back": "on"})) == (BACK,)
