"""Graphs under Grove: the PodCliqueSet, what stands beside it, readiness, scaling, refusals, switching."""

from collections.abc import Mapping
from typing import Any

import pytest

from hooks.graph.grove.scaling import NEVER
from hooks.graph.sync import customize
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.controllers import declared_kinds
from hooks.wire.metacontroller.effects import Effect, ScalePodClique
from hooks.wire.metacontroller.protocol import CustomizeRequest, SyncAnswer
from hooks.wire.policy.rendering_mark import RENDERING_REVISION
from tests import make
from tests.graph import world

GROVE = ("grove",)
SGLANG = ["python3", "-m", "dynamo.sglang"]
TRTLLM = ["python3", "-m", "dynamo.trtllm"]
LEADER_HOST = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-worker-ldr-0.$(GROVE_HEADLESS_SERVICE)"
COMPONENT = "DynamoComponentDeployment"
WAIT = "Progressing: wait"


def ask(graph: Manifest, children: Any = (), related: Any = (), **settings: str) -> SyncAnswer:
    return world.ask(graph, children, related, installed=GROVE, settings=settings)


def scalings(answer: SyncAnswer) -> tuple[Effect, ...]:
    return tuple(effect for effect in answer.effects if isinstance(effect, ScalePodClique))


def pcs(answer: SyncAnswer, name: str = "g") -> dict[str, Any]:
    return world.child(answer.children, "PodCliqueSet", name)


def template(answer: SyncAnswer) -> dict[str, Any]:
    found: dict[str, Any] = pcs(answer)["spec"]["template"]
    return found


def cliques(answer: SyncAnswer) -> dict[str, dict[str, Any]]:
    return {clique["name"]: clique for clique in template(answer)["cliques"]}


def main(clique: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = clique["spec"]["podSpec"]["containers"][-1]
    return found


def multinode(nodes: int = 3, replicas: int = 2, command: Any = SGLANG, **spec: Any) -> dict[str, Any]:
    limits = {"limits": {"gpu": "2"}}
    return make.service(command=command, multinode={"nodeCount": nodes}, replicas=replicas, resources=limits, **spec)


def part(kind: str, name: str, *, desired: int, good: int | None = None, generation: int = 1) -> Manifest:
    """A PodClique or PodCliqueScalingGroup of the graph `g`, all ready unless `good` says how many."""
    ready = "readyReplicas" if kind == "PodClique" else "availableReplicas"
    count = desired if good is None else good
    counts = {"replicas": desired, "updatedReplicas": desired, "scheduledReplicas": desired, ready: count}
    status = {"observedGeneration": 1, **counts}
    labels = {"app.kubernetes.io/part-of": "g"}
    metadata = {"name": name, "namespace": "default", "labels": labels, "generation": generation}
    spec = {"replicas": desired}
    return {"apiVersion": "grove.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def settled(graph: Manifest, **settings: str) -> list[Manifest]:
    """The children of a graph, the set processed by Grove."""
    children = world.apply([], ask(graph, **settings).children)
    return [processed(child) if child["kind"] == "PodCliqueSet" else child for child in children]


def processed(found: Manifest, **status: Any) -> Manifest:
    return {**found, "status": {"observedGeneration": found["metadata"]["generation"], **status}}


TWO = {"Frontend": make.service("frontend", replicas=2), "Worker": multinode()}
PARTS = (part("PodClique", "g-0-frontend", desired=2), part("PodCliqueScalingGroup", "g-0-worker", desired=2))


# The PodCliqueSet


def test_single_node_services_become_cliques_without_groups() -> None:
    answer = ask(make.graph({"Frontend": make.service("frontend"), "Planner": make.service("planner")}))
    discovered = '{"Frontend":{"imagePullSecrets":[]},"Planner":{"imagePullSecrets":[]}}'
    origin = {"nvidia.com/dynamo-operator-origin-version": "0.9.0"}
    annotations = {"nvidia.com/discovered-for-pods": discovered, **origin}
    metadata = pcs(answer)["metadata"]
    assert metadata["annotations"].pop(contract.ANNOTATION_RENDERING).startswith(f"{RENDERING_REVISION}.")
    assert metadata == {"name": "g", "namespace": "default", "annotations": annotations}
    assert pcs(answer)["spec"]["replicas"] == 1
    found = template(answer)
    assert {key: found[key] for key in found if key != "cliques"} == {
        "cliqueStartupType": "CliqueStartupTypeAnyOrder",
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        "terminationDelay": "15m0s",
    }
    assert list(cliques(answer)) == ["frontend", "planner"]
    assert [clique["spec"]["minAvailable"] for clique in found["cliques"]] == [1, 1]
    assert answer.notes[0] == "path: Grove"
    assert world.names(answer.children, COMPONENT) == []


def test_termination_delay_is_the_settings() -> None:
    assert template(ask(make.graph(), grove_termination_delay="4h"))["terminationDelay"] == "4h0m0s"


def test_labels_of_a_clique_are_the_users_under_the_operators() -> None:
    service = make.service(
        "frontend",
        labels={"team": "a", "nvidia.com/selector": "x"},
        extraPodMetadata={"labels": {"tier": "gold", "nvidia.com/dynamo-component": "y", "controller-uid": "z"}},
    )
    labels = cliques(ask(make.graph({"Frontend": service})))["frontend"]["labels"]
    assert labels["nvidia.com/selector"] == "g-frontend"
    assert labels["nvidia.com/dynamo-component"] == "Frontend"
    assert labels["nvidia.com/dynamo-graph-deployment-name"] == "g"
    assert labels["nvidia.com/dynamo-namespace"] == "default-g"
    assert labels["nvidia.com/metrics-enabled"] == "true"
    assert (labels["team"], labels["tier"]) == ("a", "gold")


def test_annotations_of_a_clique_are_those_of_its_pods() -> None:
    service = make.service(annotations={"a": "1"}, extraPodMetadata={"annotations": {"b": "2"}})
    assert cliques(ask(make.graph({"w": service})))["w"]["annotations"] == {"b": "2"}


def test_pod_is_that_of_the_component() -> None:
    pod = {"terminationGracePeriodSeconds": 10, "imagePullSecrets": [{"name": "mine"}]}
    service = make.service("frontend", extraPodSpec=pod, envFromSecret="s")
    found = cliques(ask(make.graph({"Frontend": service})))["frontend"]
    assert found["spec"]["podSpec"]["terminationGracePeriodSeconds"] == 10
    assert found["spec"]["podSpec"]["imagePullSecrets"] == [{"name": "mine"}]
    assert main(found)["envFrom"] == [{"secretRef": {"name": "s"}}]


def test_planner_mounts_its_claim_beside_shared_memory() -> None:
    service = make.service("planner", volumeMounts=[{"name": "dynamo-pvc", "mountPoint": "/planner"}])
    found = cliques(ask(make.graph({"Planner": service})))["planner"]["spec"]["podSpec"]
    assert [volume["name"] for volume in found["volumes"]] == ["dynamo-pvc", "shared-memory"]


def test_service_over_several_nodes_is_a_group_of_leader_and_workers() -> None:
    answer = ask(make.graph({"Worker": multinode(3, 5)}))
    found = {name: clique["spec"] for name, clique in cliques(answer).items()}
    sizes = {name: (spec["roleName"], spec["replicas"], spec["minAvailable"]) for name, spec in found.items()}
    assert sizes == {"worker-ldr": ("worker-ldr", 1, 1), "worker-wkr": ("worker-wkr", 2, 2)}
    assert template(answer)["podCliqueScalingGroups"] == [
        {"name": "worker", "cliqueNames": ["worker-ldr", "worker-wkr"], "replicas": 5, "minAvailable": 1}
    ]


def test_sglang_leader_and_worker_are_told_their_place() -> None:
    service = multinode(3, command=["/bin/sh", "-c"], args=["python3 -m dynamo.sglang --custom-flag custom-value"])
    found = cliques(ask(make.graph({"worker": service})))
    start = f"python3 -m dynamo.sglang --dist-init-addr {LEADER_HOST}:29500 --nnodes 3 --node-rank"
    assert main(found["worker-ldr"])["args"] == [f"{start} 0 --custom-flag custom-value"]
    assert main(found["worker-wkr"])["args"] == [f"{start} $((GROVE_PCLQ_POD_INDEX + 1)) --custom-flag custom-value"]
    assert "readinessProbe" in main(found["worker-ldr"])
    assert not [key for key in main(found["worker-wkr"]) if key.endswith("Probe")]
    assert found["worker-wkr"]["labels"]["nvidia.com/selector"] == "g-worker-wkr"


def test_trtllm_leader_starts_after_its_workers() -> None:
    answer = ask(make.graph({"worker": multinode(2, command=TRTLLM)}))
    assert template(answer)["cliqueStartupType"] == "CliqueStartupTypeExplicit"
    assert cliques(answer)["worker-ldr"]["spec"]["startsAfter"] == ["worker-wkr"]
    assert "startsAfter" not in cliques(answer)["worker-wkr"]["spec"]


@pytest.mark.parametrize("command", [SGLANG, ["python3", "-m", "dynamo.vllm"]])
def test_other_engines_start_in_any_order(command: list[str]) -> None:
    answer = ask(make.graph({"worker": multinode(2, command=command)}))
    assert template(answer)["cliqueStartupType"] == "CliqueStartupTypeAnyOrder"


def test_only_leaders_are_found_as_endpoints() -> None:
    answer = ask(make.graph({"Worker": multinode(modelRef={"name": "m"})}))
    labels = {name: clique["labels"] for name, clique in cliques(answer).items()}
    assert "nvidia.com/dynamo-base-model-hash" in labels["worker-ldr"]
    assert "nvidia.com/dynamo-base-model-hash" not in labels["worker-wkr"]
    selector = world.child(answer.children, "Service", "g-worker")["spec"]["selector"]
    assert selector.items() <= labels["worker-ldr"].items()
    assert not selector.items() <= labels["worker-wkr"].items()


def test_variable_that_a_container_names_twice_is_named_once() -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    side = {"name": "side", "image": "i", "env": twice}
    answer = ask(make.graph({"w": make.service(extraPodSpec={"containers": [side]})}))
    found = cliques(answer)["w"]["spec"]["podSpec"]["containers"][0]["env"]
    assert found == [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]


def test_pull_secrets_of_the_namespace_are_matched_to_images() -> None:
    answer = ask(make.graph({"w": make.service(image="r.io/a:1")}), related=[make.pull_secret("s", "r.io")])
    assert cliques(answer)["w"]["spec"]["podSpec"]["imagePullSecrets"] == [{"name": "s"}]


def test_account_that_nobody_names_stays_unset() -> None:
    answer = ask(make.graph(), discovery_backend="etcd")
    assert "serviceAccountName" not in cliques(answer)["worker"]["spec"]["podSpec"]


def test_same_graph_gives_the_same_bytes() -> None:
    graph = make.graph(TWO)
    reordered = make.graph(dict(reversed(TWO.items())))
    assert world.text(ask(graph)) == world.text(ask(reordered))


def test_services_and_ingress_are_the_graphs_own() -> None:
    answer = ask(make.graph(TWO), ingress_class="nginx")
    assert world.names(answer.children, "Service") == ["g-frontend", "g-worker"]
    assert world.names(answer.children, "Ingress") == ["g-frontend"]
    assert world.names(answer.children, "ServiceAccount") == ["g-k8s-service-discovery"]


def test_under_etcd_only_the_frontend_has_a_service() -> None:
    assert world.names(ask(make.graph(TWO), discovery_backend="etcd").children, "Service") == ["g-frontend"]


# KAI


def kai(service: Mapping[str, Any] | None = None, annotation: str | None = None, **settings: str) -> dict[str, Any]:
    annotations = None if annotation is None else {"nvidia.com/kai-scheduler-queue": annotation}
    graph = make.graph({"w": dict(service or make.service())}, annotations=annotations)
    return cliques(ask(graph, kai_scheduler="on", **settings))["w"]


@pytest.mark.parametrize(
    ("annotation", "queue"), [(None, "mine"), ("  ", "mine"), ("team", "team")], ids=["default", "blank", "annotation"]
)
@pytest.mark.parametrize("field", ["labels", "extraPodMetadata"])
def test_queue_of_a_label_wins_over_the_setting_and_not_over_the_annotation(
    field: str, annotation: str | None, queue: str
) -> None:
    labels: dict[str, Any] = {"kai.scheduler/queue": "mine"}
    service = {**make.service(), field: labels if field == "labels" else {"labels": labels}}
    assert kai(service, annotation)["labels"]["kai.scheduler/queue"] == queue


@pytest.mark.parametrize(
    ("annotation", "settings", "queue"),
    [(None, {}, "dynamo"), (" team ", {}, "team"), ("  ", {}, "dynamo"), (None, {"kai_queue": "q"}, "q")],
    ids=["default", "trimmed", "blank", "setting"],
)
def test_kai_schedules_cliques_in_a_queue(annotation: str | None, settings: dict[str, str], queue: str) -> None:
    found = kai(None, annotation, **settings)
    assert found["spec"]["podSpec"]["schedulerName"] == "kai-scheduler"
    assert found["labels"]["kai.scheduler/queue"] == queue


def test_scheduler_of_the_user_is_left() -> None:
    found = kai(make.service(extraPodSpec={"schedulerName": "other"}))
    assert found["spec"]["podSpec"]["schedulerName"] == "other"
    assert "kai.scheduler/queue" not in found["labels"]


def test_without_kai_there_is_no_queue() -> None:
    found = cliques(ask(make.graph()))["worker"]
    assert "schedulerName" not in found["spec"]["podSpec"]
    assert "kai.scheduler/queue" not in found["labels"]


def test_set_keeps_the_scheduler_that_it_was_made_with() -> None:
    graph = make.graph({"w": make.service()})
    off_to_on = ask(graph, settled(graph), kai_scheduler="on")
    assert off_to_on.problems == ()
    assert "schedulerName" not in cliques(off_to_on)["w"]["spec"]["podSpec"]
    on_to_off = ask(graph, settled(graph, kai_scheduler="on"))
    assert cliques(on_to_off)["w"]["spec"]["podSpec"]["schedulerName"] == "kai-scheduler"


# What Grove would refuse


REFUSED = {
    "single too long": (
        {"a" * 38: make.service()},
        "g" * 20,
        (
            f"spec.services[{'a' * 38}]: combined resource name length 46 exceeds the 45-character pod-name limit "
            f"(PodCliqueSet ggg-60d1 + {'a' * 38}); shorten this name to at most 37 characters, or run the graph "
            'without Grove by its annotation nvidia.com/enable-grove: "false"'
        ),
    ),
    "multinode too long": (
        {"Worker" * 3: multinode()},
        "g" * 6,
        (
            f"spec.services[{'Worker' * 3}]: combined resource name length 46 exceeds the 45-character pod-name limit "
            f"(PodCliqueSet gggggg + {'worker' * 3} + {'worker' * 3}-ldr); shorten this name to at most 17 "
            'characters, or run the graph without Grove by its annotation nvidia.com/enable-grove: "false", where '
            "LeaderWorkerSet with Volcano runs its several nodes"
        ),
    ),
    "dot": ({"a": make.service()}, "a.b", "metadata.name: 'a.b' must begin with a letter and contain no '.'"),
    "digit": ({"a": make.service()}, "1a", "metadata.name: '1a' must begin with a letter and contain no '.'"),
    "number": ({"0": make.service()}, "g", "spec.services[0]: the name must not be a number"),
    "same clique": (
        {"a": multinode(), "a-ldr": make.service()},
        "g",
        "spec.services[a-ldr]: its clique would be named a-ldr, as that of spec.services[a]; rename one",
    ),
    "same PodClique": (
        {"a": multinode(), "a-0-a-ldr": make.service()},
        "g",
        "spec.services[a-0-a-ldr]: would be named like a part of spec.services[a]; rename one",
    ),
    "placed": (
        {"a": make.service(extraPodSpec={"nodeName": "n"})},
        "g",
        "spec.services[a].extraPodSpec.nodeName: must be absent: Grove places pods itself",
    ),
    "schedulers": (
        {"a": make.service(), "b": make.service(extraPodSpec={"schedulerName": "x"})},
        "g",
        (
            "spec.services[b].extraPodSpec.schedulerName: must be the same in all services under Grove, found none "
            "(spec.services[a]), x (spec.services[b])"
        ),
    ),
    "nodes": ({"a": multinode(0)}, "g", "spec.services[a].multinode.nodeCount: is 0, must be from 2 to 1000"),
}


@pytest.mark.parametrize(("services", "name", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_grove_would_refuse_is_refused_first(services: dict[str, Any], name: str, problem: str) -> None:
    answer = ask(make.graph(services, name=name))
    assert answer.children == []
    assert any(found.text.startswith(problem) for found in answer.problems), answer.problems
    assert all(found.path.parts for found in answer.problems)
    assert answer.status is not None
    assert answer.status["state"] == "failed"


def test_names_are_free_where_grove_is_off() -> None:
    graph = make.graph({"a" * 26: make.service()}, name="g" * 20, annotations={"nvidia.com/enable-grove": "False"})
    assert ask(graph).problems == ()


def test_name_of_exactly_the_limit_passes() -> None:
    assert ask(make.graph({"a" * 25: make.service()}, name="g" * 20)).problems == ()


def test_problem_of_a_pod_names_the_field_of_the_graph() -> None:
    broken = make.service(livenessProbe={"periodSeconds": 1})
    answer = ask(make.graph({"a": broken, "b": broken}))
    fault = ".livenessProbe: must have one of exec, grpc, httpGet, tcpSocket"
    assert texts_of(answer.problems) == (f"spec.services[a]{fault}", f"spec.services[b]{fault}")


@pytest.mark.parametrize(
    ("services", "change"),
    [
        ({**TWO, "Worker": multinode(4)}, "clique worker-wkr minAvailable: 2 to 3"),
        ({"Frontend": TWO["Frontend"]}, "clique worker-ldr: present to absent"),
        ({**TWO, "New": make.service()}, "clique new: absent to present"),
        ({**TWO, "Worker": make.service(command=SGLANG)}, "scaling group worker: present to absent"),
        ({**TWO, "Worker": multinode(3, command=TRTLLM)}, "cliqueStartupType: CliqueStartupTypeAnyOrder to"),
    ],
    ids=["nodes", "removed", "added", "to one node", "start-up"],
)
def test_change_that_grove_forbids_leaves_everything_as_it_is(services: dict[str, Any], change: str) -> None:
    children = settled(make.graph(TWO))
    answer = ask(make.graph(services), children, PARTS)
    (problem,) = answer.problems
    assert problem.text.startswith("PodCliqueSet g cannot change ")
    assert change in problem.text
    assert "delete the graph and create it again" in problem.text
    assert [c["spec"] for c in answer.children if "spec" in c] == [c["spec"] for c in children if "spec" in c]
    assert world.ready(answer)["reason"] == "failed_to_reconcile_the_resources"


# Readiness


def test_graph_is_successful_when_all_parts_are() -> None:
    graph = make.graph(TWO)
    answer = ask(graph, settled(graph), PARTS)
    assert world.ready(answer)["message"] == "All resources are ready"
    assert answer.status is not None
    assert answer.status["state"] == "successful"
    assert answer.status["services"] == {
        "Frontend": {
            "componentKind": "PodClique",
            "componentName": "g-0-frontend",
            "componentNames": ["g-0-frontend"],
            "runtimeNamespace": "default-g",
            "replicas": 2,
            "updatedReplicas": 2,
            "readyReplicas": 2,
            "scheduledReplicas": 2,
            "gpusPerEngine": 0,
            "gpusPerReplica": 0,
        },
        "Worker": {
            "componentKind": "PodCliqueScalingGroup",
            "componentName": "g-0-worker",
            "componentNames": ["g-0-worker"],
            "runtimeNamespace": "default-g",
            "replicas": 2,
            "updatedReplicas": 2,
            "availableReplicas": 2,
            "scheduledReplicas": 2,
            "gpusPerEngine": 6,
            "gpusPerReplica": 6,
        },
    }
    assert scalings(answer) == ()
    assert answer.resync_after_seconds == 0


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (
            (),
            f"pcsg/g-0-worker: {WAIT} (resource not found); podclique/g-0-frontend: {WAIT} (resource not found)",
        ),
        (
            (part("PodClique", "g-0-frontend", desired=2, good=1), PARTS[1]),
            f"podclique/g-0-frontend: {WAIT} (desired=2, ready=1)",
        ),
        (
            (PARTS[0], part("PodCliqueScalingGroup", "g-0-worker", desired=2, good=1)),
            f"pcsg/g-0-worker: {WAIT} (desired=2, available=1)",
        ),
        (
            (part("PodClique", "g-0-frontend", desired=2, generation=2), PARTS[1]),
            f"podclique/g-0-frontend: {WAIT} (spec not yet processed: generation=2, observedGeneration=1)",
        ),
    ],
    ids=["none yet", "clique", "group", "old generation"],
)
def test_part_that_is_not_ready_is_named(parts: tuple[Manifest, ...], reason: str) -> None:
    graph = make.graph(TWO)
    answer = ask(graph, settled(graph), parts)
    assert world.ready(answer)["message"] == reason


def test_parts_of_another_graph_do_not_count() -> None:
    graph = make.graph(TWO)
    foreign = [{**p, "metadata": {**p["metadata"], "labels": {"app.kubernetes.io/part-of": "x"}}} for p in PARTS]
    assert f"g-0-frontend: {WAIT} (resource not found)" in world.ready(ask(graph, settled(graph), foreign))["message"]


def test_graph_is_not_ready_until_grove_has_processed_a_change() -> None:
    before = settled(make.graph(TWO))
    changed = make.graph({**TWO, "Frontend": make.service("frontend", image="img:2", replicas=2)})
    answer = ask(changed, before, PARTS)
    assert world.ready(answer)["message"] == "podcliqueset/g: spec not yet applied"
    applied = world.apply(before, answer.children)
    assert (
        "podcliqueset/g: spec not yet processed: generation=2" in world.ready(ask(changed, applied, PARTS))["message"]
    )
    rolling = [
        processed(c, updateProgress={"updateStartedAt": "t"}) if c["kind"] == "PodCliqueSet" else c for c in applied
    ]
    assert "podcliqueset/g: performing rolling update" in world.ready(ask(changed, rolling, PARTS))["message"]
    done = [processed(c) if c["kind"] == "PodCliqueSet" else c for c in applied]
    assert world.ready(ask(changed, done, PARTS))["status"] == "True"


def test_errors_of_grove_are_told() -> None:
    graph = make.graph(TWO)
    errors = [{"code": "ERR_X", "description": "quota exceeded"}]
    children = [processed(c, lastErrors=errors) if c["kind"] == "PodCliqueSet" else c for c in settled(graph)]
    message = world.ready(ask(graph, children, ()))["message"]
    assert message.endswith("; Grove: quota exceeded")


def test_service_that_somebody_else_has_is_told() -> None:
    graph = make.graph(TWO)
    answer = ask(graph, [c for c in settled(graph) if c["metadata"]["name"] != "g-frontend"], PARTS)
    assert world.ready(answer)["status"] == "False"
    assert "Service g-frontend: Progressing: wait (not found)" in world.ready(answer)["message"]
    assert answer.resync_after_seconds == 5


# Scaling


def scaled(replicas: int | None, **settings: str) -> SyncAnswer:
    given: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
    frontend = make.service("frontend", **given)
    graph = make.graph({**TWO, "Frontend": frontend})
    return ask(graph, settled(graph), PARTS, **settings)


def test_replicas_that_differ_are_scaled_and_looked_at_again() -> None:
    answer = scaled(5)
    assert answer.effects == (ScalePodClique(kind="PodClique", namespace="default", name="g-0-frontend", replicas=5),)
    assert 0 < answer.resync_after_seconds <= 5
    expected = f"podclique/g-0-frontend: {WAIT} (replicas=2, wanted=5: it is being scaled)"
    assert world.ready(answer)["message"] == expected
    assert cliques(answer)["frontend"]["spec"]["replicas"] == 5


def test_group_is_scaled_as_a_whole() -> None:
    graph = make.graph({**TWO, "Worker": multinode(replicas=1)})
    answer = ask(graph, settled(graph), PARTS)
    effect = ScalePodClique(kind="PodCliqueScalingGroup", namespace="default", name="g-0-worker", replicas=1)
    assert answer.effects == (effect,)


def test_scaling_that_is_switched_off_is_told() -> None:
    answer = scaled(5, effect_scale="off")
    assert scalings(answer) == ()
    seen = "replicas=2, wanted=5: not applied, as the setting effect_scale is off"
    cause = "WaitingForDependency: nothing scales it - switch the setting effect_scale on"
    assert world.ready(answer)["message"] == f"podclique/g-0-frontend: {cause} ({seen})"


def test_replicas_that_nobody_asks_for_are_left_to_autoscalers() -> None:
    answer = scaled(None)
    assert scalings(answer) == ()
    assert world.ready(answer)["status"] == "True"
    assert "Frontend: replicas are left to autoscalers" in answer.notes


def test_replicas_that_grove_lost_are_set_again() -> None:
    """It makes a gang anew, and a PodClique of it without replicas."""
    graph = make.graph({"Frontend": make.service("frontend"), "Worker": multinode()})
    group = part("PodCliqueScalingGroup", "g-0-worker", desired=2, good=1)
    member = part("PodClique", "g-0-worker-1-worker-wkr", desired=0)
    lost = part("PodClique", "g-0-frontend", desired=0)
    answer = ask(graph, settled(graph), [lost, group, member])
    clique = {"kind": "PodClique", "namespace": "default"}
    assert scalings(answer) == (
        ScalePodClique(**clique, name="g-0-frontend", replicas=1),
        ScalePodClique(**clique, name="g-0-worker-1-worker-wkr", replicas=2),
    )
    assert "podclique/g-0-frontend: " in world.ready(answer)["message"]
    chosen = part("PodClique", "g-0-frontend", desired=0, generation=2)
    assert scalings(ask(graph, settled(graph), [chosen, PARTS[1]])) == ()


def test_lost_replicas_are_those_of_the_own_group() -> None:
    """A name that ends with another one, a replica that is no longer wanted, and a clique that is wanted at 0."""
    services = {
        "Worker": multinode(replicas=1),
        "Big-Worker": multinode(5),
        "My-Worker-Wkr": make.service(replicas=0),
    }
    graph = make.graph({"Frontend": make.service("frontend", replicas=2), **services})
    found = [
        PARTS[0],
        part("PodCliqueScalingGroup", "g-0-worker", desired=1),
        part("PodCliqueScalingGroup", "g-0-big-worker", desired=2),
        part("PodClique", "g-0-my-worker-wkr", desired=0),
        part("PodClique", "g-0-worker-1-worker-wkr", desired=0),
        part("PodClique", "g-0-big-worker-0-big-worker-wkr", desired=0, generation=2),
    ]
    name = "g-0-big-worker-0-big-worker-wkr"
    wanted = ScalePodClique(kind="PodClique", namespace="default", name=name, replicas=4)
    assert scalings(ask(graph, settled(graph), found)) == (wanted,)


def test_scaling_to_none_says_what_grove_makes_of_it() -> None:
    answer = scaled(0)
    assert [effect.replicas for effect in answer.effects if isinstance(effect, ScalePodClique)] == [0]
    assert cliques(answer)["frontend"]["spec"]["replicas"] == 1
    assert "spec.services[Frontend].replicas is 0, below Grove's minAvailable 1" in world.ready(answer)["message"]
    assert template(answer)["terminationDelay"] == NEVER


def test_adapter_scales_the_clique() -> None:
    graph = make.graph({**TWO, "Frontend": make.service("frontend", replicas=2, scalingAdapter={"enabled": True})})
    children = settled(graph)
    adapter = world.child(children, "DynamoGraphDeploymentScalingAdapter", "g-frontend")
    adapter["spec"]["replicas"] = 4
    (effect,) = ask(graph, children, PARTS).effects
    assert isinstance(effect, ScalePodClique)
    assert effect.replicas == 4


def test_what_grove_has_not_made_yet_is_not_scaled() -> None:
    graph = make.graph(TWO)
    assert ask(graph, settled(graph), ()).effects == ()


# The SSH key


SOURCE = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "mpi-run-ssh-secret", "namespace": "dynamo"},
    "type": "Opaque",
    "data": {"private.key": "YQ==", "private.key.pub": "Yg=="},
}
KEY = "dynamo/mpi-run-ssh-secret"


@pytest.mark.parametrize("installed", [("grove",), ("lws", "volcano")])
def test_key_is_copied_for_multinode_trtllm_on_both_paths(installed: tuple[str, ...]) -> None:
    graph = make.graph({"w": multinode(command=TRTLLM)})
    answer = world.ask(graph, related=[SOURCE], installed=installed, settings={"mpi_secret": KEY})
    secret = world.child(answer.children, "Secret", "g-mpi-ssh")
    assert (secret["type"], secret["data"]) == (SOURCE["type"], SOURCE["data"])


@pytest.mark.parametrize("service", [multinode(), make.service(command=TRTLLM)], ids=["sglang", "one node"])
def test_no_key_is_copied_where_nothing_needs_it(service: dict[str, Any]) -> None:
    answer = world.ask(make.graph({"w": service}), related=[SOURCE], installed=GROVE, settings={"mpi_secret": KEY})
    assert world.names(answer.children, "Secret") == []


def test_missing_key_is_named_and_the_other_services_go_on() -> None:
    answer = ask(make.graph({"w": multinode(command=TRTLLM), "f": make.service()}), mpi_secret=KEY)
    assert answer.problems == ()
    assert set(cliques(answer)) == {"f", "w-ldr", "w-wkr"}
    assert f"Secret {KEY} with the SSH key of multinode TensorRT-LLM does not exist" in world.ready(answer)["message"]


# Related objects


def rules(graph: Manifest, installed: tuple[str, ...] = GROVE, **settings: str) -> list[dict[str, Any]]:
    request = CustomizeRequest(parent=graph, child_kinds=frozenset(declared_kinds(installed)))
    return [rule.to_json() for rule in customize(request, make.facts(make.NOW, **settings))]


NAMESPACE = {"apiVersion": "v1", "resource": "namespaces", "names": ["default"]}
"""The rule for the namespace of the graph, which says whether it is being deleted."""


def test_parts_and_secrets_are_asked_for_where_grove_is_declared() -> None:
    part_of = {"matchLabels": {"app.kubernetes.io/part-of": "g"}}
    pull = {"matchLabels": {"nvidia.com/image-pull": "true"}}
    assert rules(make.graph({"w": multinode(command=TRTLLM)}), mpi_secret=KEY) == [
        NAMESPACE,
        {"apiVersion": "grove.io/v1alpha1", "resource": "podcliques", "namespace": "default", "labelSelector": part_of},
        {
            "apiVersion": "grove.io/v1alpha1",
            "resource": "podcliquescalinggroups",
            "namespace": "default",
            "labelSelector": part_of,
        },
        {"apiVersion": "v1", "resource": "secrets", "namespace": "default", "labelSelector": pull},
        {"apiVersion": "v1", "resource": "secrets", "namespace": "dynamo", "names": ["mpi-run-ssh-secret"]},
    ]


def test_annotations_change_nothing_of_what_is_asked_for() -> None:
    off = make.graph(annotations={"nvidia.com/enable-grove": "false"})
    assert rules(off) == rules(make.graph())


@pytest.mark.parametrize("installed", [(), ("lws", "volcano")])
def test_nothing_of_grove_is_asked_for_where_it_is_not_declared(installed: tuple[str, ...]) -> None:
    slices = {"apiVersion": "discovery.k8s.io/v1", "resource": "endpointslices", "namespace": "default"}
    assert [one for one in rules(make.graph(), installed) if one.items() >= slices.items()]
    assert [one for one in rules(make.graph(), installed) if one["resource"] != "endpointslices"] == [NAMESPACE]


def test_nothing_but_claims_is_asked_for_a_graph_that_cannot_be_read() -> None:
    graph = make.graph({"a": {"replicas": "many"}}, pvcs=[{"name": "c"}])
    assert [rule["resource"] for rule in rules(graph, ())] == ["namespaces", "persistentvolumeclaims"]


# Switching


ON = {"nvidia.com/enable-grove": "true"}
OFF = {"nvidia.com/enable-grove": "false"}
SINGLE = {"Frontend": make.service("frontend")}


def test_components_wait_until_everything_of_grove_is_gone() -> None:
    on, off = make.graph(SINGLE), make.graph(SINGLE, annotations=OFF)
    children = settled(on)
    first = ask(off, children, PARTS)
    assert world.names(first.children, "PodCliqueSet") == []
    assert world.names(first.children, "Service") == []
    assert world.names(first.children, COMPONENT) == []
    move = 'it moves from Grove to components, because its annotation nvidia.com/enable-grove is "false"'
    assert f"g: {move}: it waits until PodCliqueSet g is gone" in world.ready(first)["message"]
    assert first.resync_after_seconds == 5
    rest = [c for c in children if c["kind"] != "PodCliqueSet"]
    assert "until PodClique g-0-frontend is gone" in world.ready(ask(off, rest, PARTS[:1]))["message"]
    assert "until Service g-frontend is gone" in world.ready(ask(off, rest))["message"]
    last = ask(off, [c for c in rest if c["kind"] != "Service"])
    assert world.names(last.children, COMPONENT) == ["g-frontend"]


def test_components_that_run_are_not_stopped_by_what_somebody_else_calls_a_part_of_the_graph() -> None:
    off = make.graph(SINGLE, annotations=OFF)
    children = world.run(world.apply([], ask(off).children))
    answer = ask(off, children, PARTS[:1])
    assert world.names(answer.children, COMPONENT) == ["g-frontend"]
    assert world.ready(answer)["status"] == "True"


def test_set_waits_until_all_components_are_gone() -> None:
    on, off = make.graph(SINGLE, annotations=ON), make.graph(SINGLE, annotations=OFF)
    children = world.apply([], ask(off).children)
    first = ask(on, children)
    assert world.names(first.children, COMPONENT) == []
    assert world.names(first.children, "PodCliqueSet") == []
    move = 'it moves from components to Grove, because its annotation nvidia.com/enable-grove is "true"'
    assert f"g: {move}: it waits until DynamoComponentDeployment g-frontend is gone" in world.ready(first)["message"]
    last = ask(on, [c for c in children if c["kind"] != COMPONENT])
    assert world.names(last.children, "PodCliqueSet") == ["g"]


def test_what_a_set_left_behind_does_not_make_its_graph_ready() -> None:
    graph = make.graph(TWO)
    children = [child for child in settled(graph) if child["kind"] != "PodCliqueSet"]
    answer = ask(graph, children, PARTS)
    assert world.names(answer.children, "PodCliqueSet") == ["g"]
    assert world.ready(answer)["message"] == "podcliqueset/g: resource not found"


def test_set_on_its_way_out_is_not_returned() -> None:
    graph = make.graph(TWO)
    children = settled(graph)
    for child in children:
        if child["kind"] == "PodCliqueSet":
            child["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    answer = ask(make.graph({**TWO, "Worker": multinode(5)}), children, PARTS)
    assert answer.problems == ()
    assert world.names(answer.children, "PodCliqueSet") == []
    assert "podcliqueset/g: it is being deleted" in world.ready(answer)["message"]


def test_restart_that_pods_were_told_of_goes_along() -> None:
    graph = make.graph(SINGLE)
    children = settled(graph)
    found = next(child for child in children if child["kind"] == "PodCliqueSet")
    found["spec"]["template"]["cliques"][0]["annotations"] = {"nvidia.com/restartAt": "r1"}
    assert cliques(ask(graph, children))["frontend"]["annotations"] == {"nvidia.com/restartAt": "r1"}


def test_graph_without_services_makes_no_set() -> None:
    answer = ask(make.graph({}))
    assert world.names(answer.children, "PodCliqueSet") == []
    Children.of(answer.children).check(make.objects((), declared_kinds(GROVE)))


STRATEGY = "nvidia.com/grove-update-strategy"


@pytest.mark.parametrize("strategy", ["RollingRecreate", "OnDelete"])
def test_update_strategy_of_the_annotation_is_that_of_the_set(strategy: str) -> None:
    answer = ask(make.graph(annotations={STRATEGY: strategy}))
    assert pcs(answer)["spec"]["updateStrategy"] == {"type": strategy}
    assert "updateStrategy" not in pcs(ask(make.graph()))["spec"]


@pytest.mark.parametrize("strategy", ["Coherent", "onDelete", ""])
def test_unknown_update_strategy_is_refused_under_grove_alone(strategy: str) -> None:
    graph = make.graph(annotations={STRATEGY: strategy})
    (problem,) = ask(graph).problems
    allowed = "RollingRecreate, OnDelete; Grove knows no other"
    assert problem.text == f"metadata.annotations[{STRATEGY}]: is {strategy!r}, must be one of {allowed}"
    assert world.ask(graph).problems == ()


def schedulers(answer: SyncAnswer) -> dict[str, str]:
    return {name: clique["spec"]["podSpec"].get("schedulerName", "") for name, clique in cliques(answer).items()}


VOLCANO_QUEUE = {"nvidia.com/volcano-queue": "research"}
ON_SET = "scheduling.grove.io/volcano-queue"


def test_volcano_schedules_the_pods_in_the_queue_of_the_annotation() -> None:
    graph = make.graph(annotations=VOLCANO_QUEUE)
    answer = ask(graph, volcano_scheduler="on")
    assert schedulers(answer) == {"frontend": "volcano", "worker": "volcano"}
    assert pcs(answer)["metadata"]["annotations"][ON_SET] == "research"
    assert ON_SET not in pcs(ask(make.graph(), volcano_scheduler="on"))["metadata"]["annotations"]
    without = ask(graph)
    assert schedulers(without) == {"frontend": "", "worker": ""}
    assert ON_SET not in pcs(without)["metadata"]["annotations"]


def test_existing_set_keeps_its_scheduler_when_volcano_is_switched_on() -> None:
    children = settled(make.graph())
    assert schedulers(ask(make.graph(), children, volcano_scheduler="on")) == {"frontend": "", "worker": ""}


def test_scheduler_of_the_user_stays_under_volcano() -> None:
    mine = make.service("frontend", extraPodSpec={"schedulerName": "mine"})
    assert schedulers(ask(make.graph({"a": mine}), volcano_scheduler="on")) == {"a": "mine"}
