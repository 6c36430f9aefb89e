"""Components over several nodes whose gangs LeaderWorkerSet makes: one set for all replicas, and when it is kept."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest, annotations_of, labels_of, name_of
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy import rendering_mark
from tests import make
from tests.component.groups import INSTALLED, SETS, main, spec
from tests.component.render import answer, only

NUMBERED, ONE = {"lws_gangs": "off"}, {"lws_gangs": "on"}
QUEUE = "scheduling.volcano.sh/queue-name"


def ask(
    fields: Mapping[str, Any], observed: Iterable[Manifest] = (), *, settings: Mapping[str, str] = ONE
) -> SyncAnswer:
    facts = make.facts(make.NOW, **settings)
    given = answer(make.component("c", "g", **fields), observed, installed=INSTALLED, facts=facts)
    assert given.problems == ()
    return given


def running(fields: Mapping[str, Any], *, settings: Mapping[str, str], ready: int = 0) -> list[Manifest]:
    """The children of a new component as the cluster holds them; each set has so many ready replicas."""
    status = {"status": {"observedGeneration": 1, "replicas": ready, "readyReplicas": ready}} if ready else {}
    found = ask(fields, settings=settings).children
    return [make.observed(child, **(status if child["kind"] == SETS else {})) for child in found]


def sets(given: SyncAnswer) -> dict[str, int]:
    """The LeaderWorkerSets of an answer, with their replicas."""
    return {name_of(child): child["spec"]["replicas"] for child in given.children if child["kind"] == SETS}


def pod_groups(given: SyncAnswer) -> list[str]:
    return [name_of(child) for child in given.children if child["kind"] == "PodGroup"]


def templates(found: Manifest) -> list[Manifest]:
    group = found["spec"]["leaderWorkerTemplate"]
    return [group["leaderTemplate"], group["workerTemplate"]]


def test_new_component_has_one_set_for_all_replicas_and_no_pod_groups() -> None:
    given = ask(spec(nodes=3, replicas=2))
    found = only(given.children, SETS)
    assert (name_of(found), pod_groups(given)) == ("c-0", [])
    shape = {key: value for key, value in found["spec"].items() if key != "leaderWorkerTemplate"}
    assert shape == {"replicas": 2, "startupPolicy": "LeaderCreated"}
    assert found["spec"]["leaderWorkerTemplate"]["size"] == 3


def test_pods_differ_from_those_of_a_numbered_set_only_by_what_tells_replicas_apart() -> None:
    """Upstream's operator 1.5 marks neither the set nor its pods with a replica, and names no PodGroup."""
    one = only(ask(spec()).children, SETS)
    numbered = only(ask(spec(), settings=NUMBERED).children, SETS)
    assert "instance-id" not in labels_of(one)
    for alone, beside in zip(templates(one), templates(numbered), strict=True):
        assert alone["spec"] == beside["spec"]
        assert alone["spec"]["schedulerName"] == "volcano"
        labels, annotations = beside["metadata"]["labels"], beside["metadata"]["annotations"]
        assert alone["metadata"]["labels"] == {key: labels[key] for key in labels if key != "instance-id"}
        named = {contract.ANNOTATION_GANG: "c-0"}
        assert {**alone["metadata"].get("annotations", {}), **named} == annotations


def test_a_pod_group_that_the_user_names_is_not_taken_for_ours() -> None:
    fields = spec(extraPodMetadata={"annotations": {contract.ANNOTATION_GANG: "mine", "a": "b"}})
    for template in templates(only(ask(fields).children, SETS)):
        assert template["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.parametrize(
    ("annotations", "queue"),
    [
        ({}, None),
        ({"nvidia.com/volcano-queue": " research "}, "research"),
        ({"nvidia.com/volcano-queue": "research", QUEUE: "mine"}, "mine"),
    ],
    ids=["default", "Dynamo's annotation", "Volcano's own annotation"],
)
def test_queue_is_named_where_leader_worker_set_looks_for_it(annotations: dict[str, str], queue: str | None) -> None:
    fields = spec(annotations=annotations)
    assert annotations_of(only(ask(fields).children, SETS)).get(QUEUE) == queue


def test_numbered_sets_name_no_queue_as_before() -> None:
    found = only(ask(spec(annotations={"nvidia.com/volcano-queue": "q"}), settings=NUMBERED).children, SETS)
    assert QUEUE not in annotations_of(found)


@pytest.mark.parametrize("switched", [ONE, NUMBERED], ids=["on", "off"])
@pytest.mark.parametrize("before", [ONE, NUMBERED], ids=["one set", "numbered sets"])
def test_what_exists_stays_as_it_is_whatever_the_setting_becomes(
    before: Mapping[str, str], switched: Mapping[str, str]
) -> None:
    fields = spec(replicas=3)
    first = ask(fields, settings=before)
    again = ask(fields, running(fields, settings=before), settings=switched)
    assert again.children == first.children


@pytest.mark.parametrize(("replicas", "numbered"), [(1, ["c-0"]), (4, ["c-0", "c-1", "c-2", "c-3"]), (0, [])])
def test_scaling_keeps_the_kind_of_sets_that_exists(replicas: int, numbered: list[str]) -> None:
    given = ask(spec(replicas=replicas), running(spec(replicas=2), settings=ONE), settings=NUMBERED)
    assert (sets(given), pod_groups(given)) == ({"c-0": replicas}, [])
    given = ask(spec(replicas=replicas), running(spec(replicas=2), settings=NUMBERED))
    assert (sets(given), pod_groups(given)) == (dict.fromkeys(numbered, 1), numbered)


def test_one_set_without_replicas_comes_back_as_one() -> None:
    asleep = running(spec(replicas=0), settings=ONE)
    assert sets(ask(spec(replicas=2), asleep, settings=NUMBERED)) == {"c-0": 2}


def test_component_without_sets_takes_what_the_setting_says() -> None:
    """Numbered sets of no replicas are none, so that scaling to 0 and back is a way from one kind to the other."""
    asleep = running(spec(replicas=0), settings=NUMBERED)
    assert sets(ask(spec(replicas=2), asleep)) == {"c-0": 2}


def test_pod_groups_that_are_left_show_that_sets_are_numbered() -> None:
    left = [child for child in running(spec(replicas=2), settings=NUMBERED) if child["kind"] != SETS]
    given = ask(spec(replicas=2), left)
    assert (sets(given), pod_groups(given)) == ({"c-0": 1, "c-1": 1}, ["c-0", "c-1"])


@pytest.mark.parametrize("setting", [ONE, NUMBERED], ids=["on", "off"])
@pytest.mark.parametrize("kind", [ONE, NUMBERED], ids=["one set", "numbered set"])
def test_set_that_is_being_deleted_still_decides(kind: Mapping[str, str], setting: Mapping[str, str]) -> None:
    going = running(spec(), settings=kind)
    for child in going:
        child["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    given = ask(spec(replicas=2), going, settings=setting)
    assert sets(given) == ({} if kind is ONE else {"c-1": 1})
    assert given.status is not None
    assert "c-0: it is being deleted" in given.status["conditions"][2]["message"]


def test_one_set_takes_another_number_of_nodes_in_place() -> None:
    """Versions of LeaderWorkerSet that make gangs let the size change, and replace one group after the other."""
    given = ask(spec(nodes=3, replicas=2), running(spec(nodes=2, replicas=2), settings=ONE))
    assert only(given.children, SETS)["spec"]["leaderWorkerTemplate"]["size"] == 3


def test_set_of_the_go_operator_that_has_all_replicas_stays_one() -> None:
    """Upstream's operator from 1.x on makes such a set; `dynamo-hooks migrate` takes it over, with the setting off."""
    theirs = running(spec(replicas=3), settings=ONE)
    for child in theirs:
        child["metadata"]["annotations"] = {"nvidia.com/last-applied-hash": "x"}
    assert sets(ask(spec(replicas=3), theirs, settings=NUMBERED)) == {"c-0": 3}


def test_first_set_stays_as_it_is_beside_numbered_ones_of_an_older_version() -> None:
    """An older version makes one replica of the one set, and a numbered set of each other replica."""
    fields = spec(replicas=3)
    numbered = [child for child in running(fields, settings=NUMBERED) if name_of(child) != "c-0"]
    first = next(child for child in running(spec(replicas=1), settings=ONE) if child["kind"] == SETS)
    given = ask(fields, [*numbered, first])
    assert (sets(given), pod_groups(given)) == ({"c-0": 1, "c-1": 1, "c-2": 1}, ["c-1", "c-2"])
    unchanged = next(child for child in given.children if (child["kind"], name_of(child)) == (SETS, "c-0"))
    assert unchanged["spec"] == first["spec"]


@pytest.mark.parametrize("labels", [{}, {contract.LABEL_CONTROLLER_UID: "another"}], ids=["nobody's", "orphaned"])
@pytest.mark.parametrize(("theirs", "made"), [(ONE, {"c-0": 3}), (NUMBERED, {"c-0": 1, "c-1": 1, "c-2": 1})])
def test_no_numbered_sets_are_made_beside_a_set_of_all_replicas_that_is_no_child(
    theirs: Mapping[str, str], made: dict[str, int], labels: dict[str, str]
) -> None:
    """Before `dynamo-hooks migrate` the Go operator's set runs all replicas, and its name is taken."""
    (first, *_) = (child for child in running(spec(replicas=3), settings=theirs) if name_of(child) == "c-0")
    rival = {**first, "metadata": {"name": "c-0", "namespace": "default", "uid": "x", "labels": labels}}
    assert rival["kind"] == SETS
    parent, facts = make.component("c", "g", **spec(replicas=3)), make.facts(make.NOW, **NUMBERED)
    given = answer(parent, (), [rival], installed=INSTALLED, facts=facts)
    assert sets(given) == made
    assert given.status is not None
    assert given.status["conditions"][2]["status"] == "False"


def test_held_set_follows_its_replicas() -> None:
    observed = running(spec(replicas=2), settings=ONE, ready=2)
    for child in observed:
        if child["kind"] == SETS:
            child.update(_of_an_older_revision(child))
    given = ask(spec(replicas=5), observed, settings=NUMBERED)
    found = only(given.children, SETS)
    assert found["spec"]["replicas"] == 5
    assert [template["spec"]["priorityClassName"] for template in templates(found)] == ["of-before"] * 2


def _of_an_older_revision(child: Manifest) -> Manifest:
    mark, group = rendering_mark.read_mark(child), child["spec"]["leaderWorkerTemplate"]
    assert mark is not None
    pods: dict[str, Json] = {
        field: {**group[field], "spec": {**group[field]["spec"], "priorityClassName": "of-before"}}
        for field in ("leaderTemplate", "workerTemplate")
    }
    applied = {**child, "spec": {**child["spec"], "leaderWorkerTemplate": {**group, **pods}}}
    annotations = {
        key: value for key, value in annotations_of(applied).items() if key != contract.ANNOTATION_LAST_APPLIED
    }
    applied["metadata"] = {**applied["metadata"], "annotations": annotations}
    return make.observed(
        rendering_mark.mark(applied, mark.digest, rendering_mark.RENDERING_REVISION - 1), status=child["status"]
    )


def set_status(replicas: int, ready: int, **fields: Any) -> dict[str, Any]:
    counts = {"replicas": replicas, "readyReplicas": ready, "updatedReplicas": replicas}
    truth = "True" if replicas and ready == replicas else "False"
    available = {"type": "Available", "status": truth, "reason": "AllGroupsReady", "message": ""}
    present = {key: count for key, count in counts.items() if count}
    return {"observedGeneration": 1, **present, "conditions": [available], **fields}


@pytest.mark.parametrize(("ready", "is_ready"), [(3, True), (2, False)])
def test_status_counts_replicas_of_the_set(ready: int, *, is_ready: bool) -> None:
    observed = running(spec(replicas=3), settings=ONE)
    for child in observed:
        if child["kind"] == SETS:
            child["status"] = set_status(3, ready)
    status = ask(spec(replicas=3), observed).status
    assert status is not None
    found = {condition["type"]: condition for condition in status["conditions"]}
    assert found["Ready"]["status"] == ("True" if is_ready else "False")
    if not is_ready:
        assert "c-0: desired=3, ready=2" in found["Available"]["message"]
    service = status["service"]
    assert service["componentNames"] == ["c-0"]
    assert [service[key] for key in ("replicas", "updatedReplicas", "readyReplicas")] == [3, 3, ready]


@pytest.mark.parametrize("is_created", [True, False])
def test_status_without_replicas_counts_none(*, is_created: bool) -> None:
    observed = running(spec(replicas=0), settings=ONE)
    for child in observed:
        if child["kind"] == SETS:
            child["status"] = {"observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}]}
    status = ask(spec(replicas=0), observed if is_created else ()).status
    assert status is not None
    ready = next(condition for condition in status["conditions"] if condition["type"] == "Ready")
    assert ready["status"] == ("True" if is_created else "False")
    service = status["service"]
    assert (service["componentName"], service["gpusPerReplica"]) == ("c-0", 2)
    assert [service[key] for key in ("replicas", "updatedReplicas", "readyReplicas")] == [0, 0, 0]


def test_pods_restart_by_the_annotation_of_both_templates() -> None:
    fields = spec(annotations={contract.ANNOTATION_RESTART_AT: "r1"})
    for template in templates(only(ask(fields).children, SETS)):
        assert template["metadata"]["annotations"] == {contract.ANNOTATION_RESTART_AT: "r1"}


@pytest.mark.parametrize(("single", "several"), [(1, 2), (2, 1)])
def test_workload_of_the_other_kind_must_be_gone_first(single: int, several: int) -> None:
    given = ask(spec(nodes=several), running(spec(nodes=single), settings=ONE))
    assert not [child for child in given.children if child["kind"] in {SETS, "Deployment"}]


def test_commands_find_the_leader_of_their_own_replica() -> None:
    found = only(ask(spec(engine="sglang", replicas=2)).children, SETS)
    for template, rank in zip(templates(found), ("0", "$(LWS_WORKER_INDEX)"), strict=True):
        args = template["spec"]["containers"][-1]["args"]
        assert args[len(main()["args"]) :] == [
            *("--dist-init-addr", "$(LWS_LEADER_ADDRESS):29500", "--nnodes", "2", "--node-rank"),
            rank,
        ]
