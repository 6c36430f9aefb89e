"""Edits of examples in a simulated cluster, on all three roads: the announced restarts come, and no others."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, annotations_of, labels_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.diff.comparing import compare_with_cluster
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.diff.rollouts import PodFate
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.operating.live_world import read_world
from tests.tools.offline.diff.compared import edited, edited_service, example, fields, load
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.operating.migration.played_cluster import play

FACTS = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), settings=parse_settings({}, {}))
SETTLED = 240.0
ROADS = {"components": (), "grove": ("grove",), "lws": ("lws", "volcano")}
EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "image": lambda service: service["extraPodSpec"]["mainContainer"].update(image="a:1.6.2"),
    "replicas": lambda service: service.update(replicas=service.get("replicas", 1) + 1),
    "a variable and replicas": lambda service: service.update(envs=[{"name": "A", "value": "1"}], replicas=2),
    "a default": lambda service: service["extraPodSpec"].update(dnsPolicy="ClusterFirst"),
    "nothing": dict,
}

Key = tuple[str, str, str]
"""Service, role and number of the replica, of a pod over several nodes."""


def key_of(labels: Mapping[str, str]) -> Key:
    return labels[contract.LABEL_COMPONENT], labels.get(contract.LABEL_ROLE, ""), labels.get("instance-id", "")


def live_pods(cluster: SimulatedCluster) -> dict[Key, set[str]]:
    found: dict[Key, set[str]] = {}
    for pod in cluster.list_kind(kinds.POD):
        found.setdefault(key_of(labels_of(pod)), set()).add(pod["metadata"]["uid"])
    return found


def write(cluster: SimulatedCluster, manifest: Manifest) -> None:
    live = cluster.get(contract.GRAPH, manifest["metadata"]["name"], "default")
    assert live is not None
    cluster.replace({**live, "spec": manifest["spec"]})


def check_announced(road: str, name: str, new: Callable[[Any], Any]) -> bool:
    """Apply the example, then its edit, and compare; whether some pod restarted."""
    cluster, documents = build_cluster(ROADS[road]), example(name)
    cluster.create({**documents[0], "metadata": {"namespace": "default", **documents[0]["metadata"]}})
    cluster.run_for(SETTLED)
    changed, before = new(documents), live_pods(cluster)
    found = compare_with_cluster(read_world(play(cluster), ["default"], FACTS), load(changed), FACTS)
    write(cluster, load(changed).documents[0].object)
    cluster.run_for(SETTLED)
    after = live_pods(cluster)
    assert before
    told = {key_of(one.set.template["metadata"]["labels"]): one for one in found.pods}
    assert {key: one.after for key, one in told.items() if one.after} == {k: len(uids) for k, uids in after.items()}
    for key, uids in before.items():
        stay = uids & after.get(key, set())
        expected = 0 if told[key].fate is PodFate.RESTART else min(len(uids), told[key].after)
        assert len(stay) == expected, f"{key}: {told[key].fate}"
    return any(one.restarts for one in found.pods)


@pytest.mark.parametrize(
    ("road", "name", "service", "what"),
    [
        (road, name, service, what)
        for road, name, service in (
            ("components", "vllm-disagg", "VllmPrefillWorker"),
            ("grove", "vllm-disagg", "VllmPrefillWorker"),
            ("grove", "sglang-disagg-multinode", "decode"),
            ("lws", "sglang-disagg-multinode", "decode"),
        )
        for what in EDITS
        if road != "grove" or "replicas" not in what  # a PodClique is scaled by an effect, which nothing does here
    ],
)
def test_announced_restarts_come_and_no_others(road: str, name: str, service: str, what: str) -> None:
    restarted = check_announced(road, name, lambda old: edited_service(old, service, EDITS[what]))
    is_default = what == "a default" and road != "components"  # LWS and Grove compare what is written
    assert restarted is (what in {"image", "a variable and replicas"} or is_default)


@pytest.mark.parametrize("strategy", ["Sequential", "Parallel"])
@pytest.mark.parametrize("road", ["components", "grove"])
def test_restart_of_a_graph_comes_as_announced(road: str, strategy: str) -> None:
    restart = {"id": "r1", "strategy": {"type": strategy}}
    assert check_announced(road, "vllm-disagg", lambda old: edited(old, lambda spec: spec.update(restart=restart)))


def test_another_number_of_nodes_comes_as_announced() -> None:
    new = {"multinode": {"nodeCount": 3}}
    name, service = "sglang-disagg-multinode", "decode"
    assert check_announced("lws", name, lambda old: edited_service(old, service, lambda spec: spec.update(new)))


def with_image(image: str, service: dict[str, Any]) -> None:
    service["extraPodSpec"]["mainContainer"].update(image=image)


def test_rollout_in_the_middle_is_no_difference_and_shows_no_pace() -> None:
    cluster, documents = build_cluster(), example("vllm-disagg")
    cluster.create({**documents[0], "metadata": {"namespace": "default", **documents[0]["metadata"]}})
    cluster.run_for(SETTLED)
    edits = (partial(with_image, image) for image in ("a:1.6.2", "a:1.6.3"))
    first, second = (edited_service(documents, "VllmPrefillWorker", edit) for edit in edits)

    def look(new: Any) -> Difference:
        return compare_with_cluster(read_world(play(cluster), ["default"], FACTS), load(new), FACTS)

    paced = {"spec.minReadySeconds", "spec.progressDeadlineSeconds"}
    assert not paced & fields(look(first), "Deployment")
    cluster.block("vllm-disagg-vllmdecodeworker*")
    write(cluster, load(first).documents[0].object)
    cluster.run_for(SETTLED)
    assert any(contract.ANNOTATION_PACE in annotations_of(one) for one in cluster.list_kind(contract.COMPONENT))
    assert look(first).is_empty
    found = look(second)
    assert not any("minReadySeconds" in one or "strategy" in one for one in fields(found, "Deployment"))
    (course,) = found.courses
    assert course.moments[-1] == {"VllmPrefillWorker": (0, 2), "VllmDecodeWorker": (0, 1)}
