"""Rendered graphs of every release become processes: commands, environment, probes."""

from pathlib import Path

import pytest

from hooks.settings import Settings
from tests.compatibility.__main__ import GRAPHS
from tests.compatibility.attempt import find_example
from tests.compatibility.pods import Pod, Probe, build_pods, render, with_release
from tests.compatibility.releases import RELEASES, tag_of
from tests.compatibility.table import find_changes


def pods_of(release: str, graph: str, folder: Path, settings: Settings | None = None) -> dict[str, Pod]:
    text = with_release(find_example(graph, release).read_text(), tag_of(release)).replace("-0-9", "")
    pods = build_pods(render(text, folder, settings or Settings()), "127.16.0")
    return {pod.name.removeprefix(f"{graph}-"): pod for pod in pods}


@pytest.mark.parametrize("release", RELEASES)
def test_pods_of_every_release_have_command_environment_and_probes(release: str, tmp_path: Path) -> None:
    pods = pods_of(release, "mocker-agg", tmp_path, Settings(nats_address="nats://127.0.0.1:4222"))
    assert sorted(pods) == ["frontend-0", "mockerworker-0", "mockerworker-1"]
    assert len({pod.address for pod in pods.values()}) == len(pods)
    worker = pods["mockerworker-1"]
    assert worker.command[:3] == ("python3", "-m", "dynamo.mocker")
    identity = {"POD_NAME": worker.name, "POD_NAMESPACE": "default", "POD_UID": worker.uid}
    assert {**identity, "NATS_SERVER": "nats://127.0.0.1:4222"}.items() <= worker.env.items()
    assert {(probe.path, probe.port) for probe in worker.probes} == {("/live", 9090), ("/health", 9090)}
    assert worker.grace_seconds == (60 if release.startswith("0.") else 100)


@pytest.mark.parametrize("release", RELEASES)
def test_prefill_says_so_in_the_words_of_its_release(release: str, tmp_path: Path) -> None:
    command = pods_of(release, "mocker-disagg", tmp_path)["prefill-0"].command
    expected = ("--is-prefill-worker",) if release < "1" else ("--disaggregation-mode", "prefill")
    assert command[-len(expected) :] == expected


def test_probe_may_fail_for_its_period_and_threshold(tmp_path: Path) -> None:
    (startup, *_) = pods_of("1.6.1", "mocker-agg", tmp_path)["frontend-0"].probes
    assert startup == Probe(name="startupProbe", path="/live", port=8000, timeout_seconds=1, allowed_seconds=300)


CHANGES = {
    "0.9.1": [],
    "1.0.2": [
        "frontend: DYN_NAMESPACE_PREFIX",
        "frontend: DYN_STORE_KV",
        "worker: DYN_FORWARDPASS_METRIC_PORT",
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
    "1.6.1": ["frontend: DYN_NAMESPACE_PREFIX", "frontend: DYN_NAMESPACE_PREFIX_STRICT", "frontend: startupProbe"],
}


@pytest.mark.parametrize("release", RELEASES[1:])
def test_what_a_release_is_rendered_otherwise_is_found(release: str, tmp_path: Path) -> None:
    before = RELEASES[RELEASES.index(release) - 1]
    old, new = (
        [pod for graph in GRAPHS for pod in pods_of(name, graph, tmp_path).values()] for name in (before, release)
    )
    assert find_changes(old, new) == CHANGES[release]


def test_only_images_of_dynamo_get_the_release() -> None:
    text = "image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.1\nimage: docker.io/fluent/fluent-bit:3.1.9\n"
    assert with_release(text, "1.6.1") == text.replace("0.9.1", "1.6.1")
