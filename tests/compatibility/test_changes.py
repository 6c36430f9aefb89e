"""What the graphs of a release are rendered as, and what differs from the release before."""

from pathlib import Path

import pytest

from tests.compatibility.__main__ import GRAPHS
from tests.compatibility.changes import MainContainer, containers_of, find_changes
from tests.e2e.examples import with_release
from tests.e2e.releases import RELEASES


def by_name(release: str, graph: str, folder: Path) -> dict[str, MainContainer]:
    return {one.workload.removeprefix(f"{graph}-"): one for one in containers_of(release, graph, folder)}


@pytest.mark.parametrize("release", RELEASES)
def test_containers_of_every_release_have_command_environment_and_probes(release: str, tmp_path: Path) -> None:
    found = by_name(release, "mocker-agg", tmp_path)
    assert sorted(found) == ["frontend", "mockerworker"]
    assert [one.is_frontend for one in found.values()] == [name == "frontend" for name in found]
    worker = found["mockerworker"]
    assert worker.command[:3] == ("python3", "-m", "dynamo.mocker")
    assert {"POD_NAME", "POD_NAMESPACE", "POD_UID"} <= worker.env.keys()
    assert {probe["httpGet"]["path"] for probe in worker.probes.values()} == {"/live", "/health"}


@pytest.mark.parametrize("release", RELEASES)
def test_prefill_says_so_in_the_words_of_its_release(release: str, tmp_path: Path) -> None:
    command = by_name(release, "mocker-disagg", tmp_path)["prefill"].command
    expected = ("--is-prefill-worker",) if release < "1" else ("--disaggregation-mode", "prefill")
    assert command[-len(expected) :] == expected


CHANGES = {
    "0.9.1": [],
    "1.0.2": [
        "frontend: DYN_NAMESPACE_PREFIX",
        "frontend: DYN_STORE_KV",
        "worker: DYN_FORWARDPASS_METRIC_PORT",
        "worker: DYN_NAMESPACE_WORKER_SUFFIX",
        "worker: DYN_STORE_KV",
        "worker: NIXL_TELEMETRY_ENABLE",
        "worker: NIXL_TELEMETRY_EXPORTER",
        "worker: NIXL_TELEMETRY_PROMETHEUS_PORT",
        "worker: arguments",
    ],
    "1.1.1": [],
    "1.2.1": [],
    "1.3.1": [],
    "1.4.2": [],
    "1.5.1": ["worker: DYN_HEALTH_CHECK_ENABLED", "worker: livenessProbe"],
    "1.6.1": [
        "frontend: DYN_NAMESPACE_PREFIX",
        "frontend: DYN_NAMESPACE_PREFIX_STRICT",
        "frontend: startupProbe",
        "worker: DYN_NAMESPACE_WORKER_SUFFIX",
    ],
}


@pytest.mark.parametrize("release", RELEASES[1:])
def test_what_a_release_is_rendered_otherwise_is_found(release: str, tmp_path: Path) -> None:
    before = RELEASES[RELEASES.index(release) - 1]
    old, new = ([one for graph in GRAPHS for one in containers_of(name, graph, tmp_path)] for name in (before, release))
    assert find_changes(old, new) == CHANGES[release]


def test_only_images_of_dynamo_get_the_release() -> None:
    text = "image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.1\nimage: docker.io/fluent/fluent-bit:3.1.9\n"
    assert with_release(text, "1.6.1") == text.replace("0.9.1", "1.6.1")
