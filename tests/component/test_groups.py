"""Components over several nodes: their LeaderWorkerSets and PodGroups, and what is refused."""

from typing import Any

import pytest

from hooks.component.plan.groups import MAX_GROUPS, plan_groups
from hooks.component.seen.observe import Workloads
from hooks.ground.k8s.types import Manifest, name_of
from hooks.ground.problems import texts_of
from tests import make
from tests.component.groups import INSTALLED, SETS, TENSOR, main, spec
from tests.component.render import answer, only

HASH = "nvidia.com/immutable-fields-hash"


def children(fields: dict[str, Any], *, name: str = "c", graph: str = "g") -> list[Manifest]:
    given = answer(make.component(name, graph, **fields), installed=INSTALLED)
    assert given.problems == ()
    return list(given.children)


def names(found: list[Manifest], kind: str) -> list[str]:
    return [name_of(child) for child in found if child["kind"] == kind]


def templates(fields: dict[str, Any], **where: str) -> tuple[Manifest, Manifest]:
    """The leader's and the worker's template of the first replica."""
    group = next(c for c in children(fields, **where) if c["kind"] == SETS)["spec"]["leaderWorkerTemplate"]
    return group["leaderTemplate"], group["workerTemplate"]


def problems(fields: dict[str, Any], *, name: str = "c") -> tuple[str, ...]:
    return texts_of(answer(make.component(name, "g", **fields), installed=INSTALLED).problems)


def test_each_replica_has_a_set_and_a_pod_group_of_its_size() -> None:
    found = children(spec(nodes=3, replicas=2))
    assert names(found, SETS) == names(found, "PodGroup") == ["c-0", "c-1"]
    assert names(found, "Deployment") == []
    for group in (child for child in found if child["kind"] == "PodGroup"):
        assert group["spec"] == {"minMember": 3}
        assert group["metadata"]["labels"] == {"instance-id": name_of(group)[-1]}
    for one in (child for child in found if child["kind"] == SETS):
        assert (one["spec"]["replicas"], one["spec"]["startupPolicy"]) == (1, "LeaderCreated")
        assert one["spec"]["leaderWorkerTemplate"]["size"] == 3


@pytest.mark.parametrize(("given", "expected"), [(None, ["c-0"]), (0, []), (1, ["c-0"])])
def test_replicas_absent_are_one(given: int | None, expected: list[str]) -> None:
    found = children(spec() if given is None else spec(replicas=given))
    assert names(found, SETS) == names(found, "PodGroup") == expected


def test_objects_carry_labels_and_annotations_of_the_component() -> None:
    one = only(children(spec(labels={"team": "a"}, annotations={"note": "b"})), SETS)
    assert one["metadata"]["labels"] == {"team": "a", "instance-id": "0"}
    assert one["metadata"]["annotations"]["note"] == "b"


def test_pods_are_told_apart_by_role_and_replica_and_not_selected_as_a_deployments() -> None:
    stolen = {"role": "x", "instance-id": "x"}
    fields = spec(
        subComponentType="decode",
        modelRef={"name": "Qwen/Qwen3-0.6B"},
        extraPodMetadata={"labels": {"mine": "yes", **stolen}, "annotations": {"a": "b"}},
        annotations={"nvidia.com/restartAt": "r1"},
    )
    for role, template in zip(("leader", "worker"), templates(fields), strict=True):
        labels = dict(template["metadata"]["labels"])
        assert (labels.pop("nvidia.com/dynamo-base-model-hash", None) is not None) == (role == "leader")
        assert labels == {
            "instance-id": "0",
            "role": role,
            "mine": "yes",
            "nvidia.com/metrics-enabled": "true",
            "nvidia.com/dynamo-graph-deployment-name": "g",
            "nvidia.com/dynamo-component": "c",
            "nvidia.com/dynamo-namespace": "default-g",
            "nvidia.com/dynamo-component-type": "worker",
            "nvidia.com/dynamo-sub-component-type": "decode",
            "nvidia.com/dynamo-discovery-backend": "kubernetes",
            "nvidia.com/dynamo-discovery-enabled": "true",
        }
        assert template["metadata"]["annotations"] == {
            "a": "b",
            "nvidia.com/restartAt": "r1",
            "scheduling.k8s.io/group-name": "c-0",
        }


def test_pods_are_volcanos_whatever_the_user_says() -> None:
    fields = spec(extraPodSpec={"mainContainer": main(), "schedulerName": "mine"})
    assert [template["spec"]["schedulerName"] for template in templates(fields)] == ["volcano", "volcano"]


def test_ray_component_of_two_nodes() -> None:
    pod = {
        "terminationGracePeriodSeconds": 10,
        "containers": [{"name": "side", "image": "s"}],
        "mainContainer": {"image": "i", "command": ["some", "dynamo", "command"], "args": TENSOR},
    }
    fields = spec(backendFramework="vllm", extraPodSpec=pod)
    leader, worker = (template["spec"] for template in templates(fields, name="test-lws-deploy", graph=""))
    for one in (leader, worker):
        assert [container["name"] for container in one["containers"]] == ["side", "main"]
        assert one["terminationGracePeriodSeconds"] == 10
        assert one["securityContext"] == {"fsGroup": 1000}
        assert [volume["name"] for volume in one["volumes"]] == ["shared-memory"]
        assert one["containers"][1]["command"] == ["/bin/sh", "-c"]
    line = " ".join(["some dynamo command", *TENSOR])
    assert leader["containers"][1]["args"] == [
        f"ray start --head --port=6379 && {line} --distributed-executor-backend ray"
    ]
    assert worker["containers"][1]["args"] == ["ray start --address=$(LWS_LEADER_ADDRESS):6379 --block"]
    assert {"livenessProbe", "readinessProbe", "startupProbe"} <= leader["containers"][1].keys()
    assert not [field for field in worker["containers"][1] if field.endswith("Probe")]


def test_sglang_nodes_are_told_their_rank() -> None:
    leader, worker = (t["spec"]["containers"][-1]["args"] for t in templates(spec(engine="sglang")))
    shared = ["--dist-init-addr", "$(LWS_LEADER_ADDRESS):29500", "--nnodes", "2", "--node-rank"]
    assert leader == [*TENSOR, *shared, "0"]
    assert worker == [*TENSOR, *shared, "$(LWS_WORKER_INDEX)"]


def test_waiting_container_of_an_engine_stands_behind_the_users() -> None:
    executor = {"nvidia.com/vllm-distributed-executor-backend": "mp"}
    pod = {"mainContainer": main(), "initContainers": [{"name": "mine", "image": "x"}]}
    leader, worker = templates(spec(annotations=executor, extraPodSpec=pod))
    assert [container["name"] for container in leader["spec"]["initContainers"]] == ["mine"]
    assert [container["name"] for container in worker["spec"]["initContainers"]] == ["mine", "wait-for-leader-mp"]


@pytest.mark.parametrize(("graph", "secret"), [("g", "g-mpi-ssh"), ("", "c-mpi-ssh")], ids=["of a graph", "alone"])
def test_tensorrt_llm_mounts_the_key_of_its_graph_or_its_own(graph: str, secret: str) -> None:
    for template in templates(spec(engine="trtllm"), graph=graph):
        volume = {"name": secret, "secret": {"secretName": secret, "defaultMode": 420}}
        assert volume in template["spec"]["volumes"]


def test_service_and_model_service_select_leaders() -> None:
    found = children(spec(modelRef={"name": "m"}), graph="")
    selectors = {name_of(child): child["spec"]["selector"] for child in found if child["kind"] == "Service"}
    assert len(selectors) == 2
    assert {selector["role"] for selector in selectors.values()} == {"leader"}


def test_what_an_engine_has_to_say_is_in_the_status() -> None:
    given = answer(make.component("c", "g", **spec(resources={"limits": {"gpu": "8"}})), installed=INSTALLED)
    assert given.status is not None
    assert "vLLM does not span the 2 nodes" in given.status["conditions"][2]["message"]


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no arguments": (
        spec(extraPodSpec={"mainContainer": {"image": "i"}}),
        "c",
        "spec.extraPodSpec.mainContainer.args: container Args cannot be empty for LWS pod",
    ),
    "GPUs that are no number": (
        spec(resources={"limits": {"gpu": "1.5"}}),
        "c",
        "spec.resources.limits.gpu: is 1.5, must be a whole number",
    ),
    "no nodes": (spec(nodes=0), "c", "spec.multinode.nodeCount: is 0, must be from 2 to 1000"),
    "fewer than none": (spec(nodes=-3), "c", "spec.multinode.nodeCount: is -3, must be from 2 to 1000"),
    "too many nodes": (spec(nodes=1001), "c", "spec.multinode.nodeCount: is 1001, must be from 2 to 1000"),
    "too many replicas": (spec(replicas=1001), "c", "spec.replicas: is 1001, must be at most 1000"),
    "name too long": (
        spec(),
        "c" * 49,
        f"spec.multinode: the LeaderWorkerSet would be named '{'c' * 49}-0', which has 51 characters",
    ),
    "dots": (spec(), "a.b", "spec.multinode: a LeaderWorkerSet cannot be named 'a.b-0'"),
    "digit in front": (spec(), "1a", "spec.multinode: a LeaderWorkerSet cannot be named '1a-0'"),
}


@pytest.mark.parametrize(("fields", "name", "beginning"), BAD.values(), ids=BAD.keys())
def test_what_cannot_run_is_refused_before_anything_is_created(
    fields: dict[str, Any], name: str, beginning: str
) -> None:
    given = answer(make.component(name, "g", **fields), installed=INSTALLED)
    assert given.children == []
    assert given.problems[0].text.startswith(beginning)


@pytest.mark.parametrize("resources", [{}, {"limits": {"cpu": "4"}}], ids=["nothing", "CPUs"])
def test_pods_of_a_group_may_have_no_gpus(resources: dict[str, Any]) -> None:
    (found,) = (child for child in children(spec(resources=resources)) if child["kind"] == SETS)
    template = found["spec"]["leaderWorkerTemplate"]
    for part in ("leaderTemplate", "workerTemplate"):
        limits = template[part]["spec"]["containers"][-1].get("resources", {}).get("limits", {})
        assert limits == resources.get("limits", {})


@pytest.mark.parametrize(("replicas", "fits"), [(10, True), (11, False)])
def test_the_highest_index_counts_for_the_limit_of_names(replicas: int, fits: bool) -> None:
    assert (problems(spec(replicas=replicas), name="c" * 48) == ()) is fits


def running(fields: dict[str, Any]) -> list[Manifest]:
    return [make.observed(child) for child in children(fields)]


def ask(fields: dict[str, Any], observed: list[Manifest]) -> tuple[list[Manifest], str]:
    """The children, and the message of Ready."""
    given = answer(make.component("c", "g", **fields), observed, installed=INSTALLED)
    assert given.status is not None
    return list(given.children), given.status["conditions"][2]["message"]


def test_set_of_another_size_is_left_out_until_it_is_gone() -> None:
    before = running(spec(nodes=2, replicas=2))
    found, message = ask(spec(nodes=3, replicas=2), before)
    assert names(found, SETS) == []
    assert names(found, "PodGroup") == ["c-0", "c-1"]
    assert "c-0: it is deleted and created again, because its number of nodes changed" in message
    halfway = [child for child in before if (child["kind"], name_of(child)) != (SETS, "c-0")]
    assert names(ask(spec(nodes=3, replicas=2), halfway)[0], SETS) == ["c-0"]


def test_set_that_is_being_deleted_is_not_returned() -> None:
    before = running(spec())
    before[0]["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/f"]}
    found, message = ask(spec(), before)
    assert names(found, SETS) == []
    assert "c-0: it is being deleted, held by finalizer example.com/f" in message


def test_set_that_does_not_tell_its_immutable_fields_is_taken_as_it_is() -> None:
    before = running(spec())
    del before[0]["metadata"]["annotations"][HASH]
    assert names(ask(spec(nodes=3), before)[0], SETS) == ["c-0"]


def test_deployment_must_be_gone_before_sets_are_made() -> None:
    single = spec(nodes=1)
    found, message = ask(spec(replicas=2), running(single))
    assert names(found, SETS) == names(found, "PodGroup") == names(found, "Deployment") == []
    assert "(Some LeaderWorkerSets are not ready: it waits until Deployment c is gone)" in message
    assert names(found, "Service") == ["c"]


def test_sets_must_be_gone_before_a_deployment_is_made() -> None:
    found, message = ask(spec(nodes=1), running(spec(replicas=2)))
    assert names(found, SETS) == names(found, "PodGroup") == names(found, "Deployment") == []
    assert "(Deployment is not ready: it waits until LeaderWorkerSet c-0, c-1 is gone)" in message


def test_invalid_spec_keeps_the_sets_that_run() -> None:
    before = running(spec(replicas=2))
    given = answer(
        make.component("c", "g", **spec(resources={"limits": {"gpu": "1.5"}}, replicas=2)), before, installed=INSTALLED
    )
    assert given.children == children(spec(replicas=2))


def test_groups_that_grove_runs_are_not_listed_without_end() -> None:
    """Under Grove a service may have as many replicas as the schema allows; a list of their names would not end."""
    nothing = Workloads(deployment=None, leader_worker_sets={})
    plan = plan_groups("g-worker", node_count=2, replicas=2**31 - 1, observed=nothing, one_set=False)
    assert len(plan.names) == MAX_GROUPS
