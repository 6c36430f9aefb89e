"""The scaling adapter's hook: what it says of the service, and when it asks for replicas to be written back."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hooks.adapter.sync import customize, sync
from hooks.graph.report.status import GraphReason, Previous, report_failure
from hooks.ground import contract
from hooks.ground.k8s.conditions import MAX_MESSAGE
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.rendering import render
from hooks.wire.metacontroller.effects import Event, WriteBackReplicas
from hooks.wire.metacontroller.protocol import CustomizeRequest, Objects, SyncAnswer, SyncRequest
from hooks.wire.metacontroller.wire import write_sync_answer
from tests import make

LONG_AGO = "2026-01-01T00:00:00Z"


def graph(replicas: int | None = 2, running: int | None = 2, *, planner: bool = False, **fields: Any) -> Manifest:
    """A graph whose service Worker has an adapter; `running` replicas of it are counted, all of which serve."""
    service = make.service(scalingAdapter={"enabled": True}, **fields)
    services = {"Worker": service if replicas is None else {**service, "replicas": replicas}}
    counts = {} if running is None else {"services": {"Worker": make.deployment_status(running)}}
    status = {"observedGeneration": 1, **counts}
    return make.graph({**services, **({"Planner": make.service("planner")} if planner else {})}, status=status)


def counting(**counts: int) -> Manifest:
    """The same graph with only these counts of the Worker in its status."""
    return {**graph(), "status": {"observedGeneration": 1, "services": {"Worker": counts}}}


def frozen(*problems: str) -> Manifest:
    """A graph of which a former spec runs: its present one has these problems."""
    previous = Previous(status=graph()["status"], generation=2, now=make.NOW)
    return {**graph(), "status": report_failure(GraphReason.INVALID, make.problems(*problems), previous, serves=True)}


def going(found: Manifest) -> Manifest:
    """The graph while it is being deleted."""
    return {**found, "metadata": {**found["metadata"], "deletionTimestamp": LONG_AGO}}


def edited(found: Manifest) -> Manifest:
    """The graph with a newer spec than its status describes."""
    return {**found, "metadata": {**found["metadata"], "generation": 2}}


def adapter(replicas: int = 2, *, name: str = "g-worker", generation: int = 1, status: Any = None) -> Manifest:
    """The adapter that the graph made for its Worker."""
    owner = {
        "apiVersion": contract.GRAPH.api_version,
        "kind": contract.GRAPH.kind,
        "name": "g",
        "uid": "u-g",
        "controller": True,
    }
    return {
        "apiVersion": contract.SCALING_ADAPTER.api_version,
        "kind": contract.SCALING_ADAPTER.kind,
        "metadata": {
            "name": name,
            "namespace": make.NAMESPACE,
            "uid": "u-a",
            "generation": generation,
            "ownerReferences": [owner],
        },
        "spec": {"replicas": replicas, "dgdRef": {"name": "g", "serviceName": "Worker"}},
        **({"status": status} if status else {}),
    }


def ask(parent: Manifest, *related: Manifest, now: Any = make.NOW, **settings: str) -> SyncAnswer:
    """Sync, with the answer checked as the server checks it."""
    request = SyncRequest(parent=parent, children=Objects({}), related=make.objects(related, [contract.GRAPH]))
    answer = sync(request, make.facts(now, **settings))
    assert write_sync_answer(answer, request.children, decorator=True)
    return answer


def status_of(answer: SyncAnswer) -> dict[str, Any]:
    assert answer.status is not None
    return answer.status


def ready(answer: SyncAnswer) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in status_of(answer)["conditions"] if one["type"] == "Ready")
    return found


# Status


def test_status_is_what_an_autoscaler_reads() -> None:
    status = status_of(ask(adapter(2), graph(2, running=2)))
    assert status["replicas"] == 2
    assert status["selector"] == "nvidia.com/dynamo-graph-deployment-name=g,nvidia.com/dynamo-component=Worker"
    assert status["observedGeneration"] == 1
    assert "lastScaleTime" not in status


@pytest.mark.parametrize("installed", [set(), {"grove"}, {"lws", "volcano"}], ids=["deployments", "grove", "lws"])
def test_selector_finds_one_pod_a_replica_and_none_of_another_service(installed: set[str]) -> None:
    nodes: dict[str, Any] = {"multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "1"}}} if installed else {}
    found = ask(adapter(2), graph(2, running=2, **nodes))
    wanted = dict(label.split("=") for label in status_of(found)["selector"].split(","))
    engine: dict[str, Any] = {"command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
    both = make.graph({"Worker": make.service(**engine, **nodes), "Other": make.service()})
    (rendered,) = render([both], make.facts(), installed=frozenset(installed))
    assert rendered.problems == ()
    pods = list(pod_labels(rendered.children))
    selected = [labels for labels in pods if wanted.items() <= labels.items()]
    assert {labels[contract.LABEL_COMPONENT] for labels in pods} == {"Worker", "Other"}
    assert [labels[contract.LABEL_COMPONENT] for labels in selected] == ["Worker"]


def pod_labels(children: Iterable[Manifest]) -> Iterator[dict[str, str]]:
    """Labels of every pod template: of Deployments, LeaderWorkerSets and cliques."""
    for child in children:
        match child["kind"]:
            case "Deployment":
                yield child["spec"]["template"]["metadata"]["labels"]
            case "LeaderWorkerSet":
                template = child["spec"]["leaderWorkerTemplate"]
                yield from (template[role]["metadata"]["labels"] for role in ("leaderTemplate", "workerTemplate"))
            case "PodCliqueSet":
                yield from (clique["labels"] for clique in child["spec"]["template"]["cliques"])


@pytest.mark.parametrize(
    ("asked", "running", "reason", "truth", "message"),
    [
        (2, 2, "Scaled", "True", "service Worker of graph g has the 2 wanted replicas"),
        (0, 0, "Scaled", "True", "service Worker of graph g has the 0 wanted replicas"),
        (5, 2, "Scaling", "False", "service Worker of graph g has 2 replicas, 5 wanted"),
        (0, 2, "Scaling", "False", "service Worker of graph g has 2 replicas, 0 wanted"),
        (1, None, "Scaling", "False", "service Worker of graph g has 0 replicas, 1 wanted"),
    ],
    ids=["as asked", "none as asked", "upwards", "to zero", "not counted yet"],
)
def test_ready_compares_what_runs_with_what_is_asked_for(
    asked: int, running: int | None, reason: str, truth: str, message: str
) -> None:
    found = ready(ask(adapter(asked), graph(asked, running=running)))
    assert (found["reason"], found["status"], found["message"]) == (reason, truth, message)


def test_counts_of_an_older_generation_of_the_graph_do_not_make_the_adapter_ready() -> None:
    found = ready(ask(adapter(2), edited(graph(2, running=2))))
    message = (
        "service Worker of graph g waits until the graph's newest spec is processed: "
        "generation 2 is not processed yet, only 1"
    )
    assert (found["reason"], found["status"], found["message"]) == ("Scaling", "False", message)


@pytest.mark.parametrize(
    ("asked", "counts", "missing"),
    [
        (3, {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 0}, ""),
        (3, {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3}, ""),
        (3, {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}, ""),
        (0, {"replicas": 0, "updatedReplicas": 0, "readyReplicas": 0}, ""),
        (3, {"replicas": 3, "updatedReplicas": 1, "readyReplicas": 2}, "1 of them up to date"),
        (3, {"replicas": 3, "updatedReplicas": 1, "readyReplicas": 3}, "1 of them up to date"),
        (3, {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 0, "availableReplicas": 3}, "0 of them ready"),
        (3, {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 2}, "2 of them ready"),
        (3, {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 2}, "2 of them ready"),
        (3, {"replicas": 3, "readyReplicas": 3}, "0 of them up to date"),
        (3, {"replicas": 3, "updatedReplicas": 3}, "0 of them ready"),
    ],
    ids=[
        "Deployment",
        "LeaderWorkerSets",
        "PodCliqueScalingGroup",
        "none as asked",
        "surge of a rollout",
        "old ones serve",
        "none serves",
        "one does not serve",
        "one of a PodCliqueScalingGroup is not available",
        "updates not counted",
        "readiness not counted",
    ],
)
def test_ready_demands_that_all_replicas_are_new_and_serve(asked: int, counts: dict[str, int], missing: str) -> None:
    answer = ask(adapter(asked), counting(**counts))
    found = ready(answer)
    truth, reason = ("False", "ReplicasNotReady") if missing else ("True", "Scaled")
    message = f"service Worker of graph g has the {asked} wanted replicas"
    expected = (truth, reason, f"{message}, {missing}" if missing else message)
    assert (found["status"], found["reason"], found["message"]) == expected
    assert status_of(answer)["replicas"] == asked


@pytest.mark.parametrize("asked", [2, 5])
def test_graph_that_cannot_be_rendered_says_why_its_adapters_wait(asked: int) -> None:
    answer = ask(adapter(asked), frozen("spec.envs is wrong", "spec.pvcs is wrong"))
    found = ready(answer)
    assert (found["status"], found["reason"]) == ("False", "GraphNotRendered")
    assert found["message"] == (
        "service Worker of graph g keeps its last applied replicas until the graph's spec can be rendered: "
        "Validation failed: spec.envs is wrong; spec.pvcs is wrong"
    )
    assert status_of(answer)["replicas"] == 2
    assert len(ready(ask(adapter(asked), frozen("x" * MAX_MESSAGE)))["message"]) == MAX_MESSAGE


@pytest.mark.parametrize("found", [graph(), frozen("x"), make.graph({"Other": make.service()})])
def test_graph_that_is_being_deleted_takes_no_replicas(found: Manifest) -> None:
    before = {"observedGeneration": 1, "replicas": 1, "lastScaleTime": LONG_AGO}
    answer = ask(adapter(2, generation=2, status=before), going(found))
    condition = ready(answer)
    assert (condition["status"], condition["reason"]) == ("False", "GraphDeleting")
    assert condition["message"] == "graph g is being deleted and no longer takes replicas from its adapters"
    assert status_of(answer)["lastScaleTime"] == LONG_AGO
    assert answer.effects == ()


@pytest.mark.parametrize(
    ("related", "reason", "named"),
    [
        ([], "GraphNotFound", "graph g not found in namespace default"),
        ([make.graph({"Other": make.service()})], "ServiceNotFound", "service Worker not found in graph g"),
        ([make.graph({"Worker": make.service()})], "AdapterDisabled", "set its scalingAdapter.enabled to true"),
    ],
    ids=["no graph", "no service", "not enabled"],
)
def test_what_is_missing_is_a_sentence(related: list[Manifest], reason: str, named: str) -> None:
    answer = ask(adapter(3, generation=2, status={"observedGeneration": 1, "replicas": 1}), *related)
    found = ready(answer)
    assert (found["reason"], found["status"]) == (reason, "False")
    assert named in found["message"]
    assert status_of(answer)["replicas"] == 0
    assert "lastScaleTime" not in status_of(answer)
    assert answer.effects == ()


def test_adapter_that_the_graph_did_not_make_is_named() -> None:
    by_hand = ready(ask(adapter(3, name="mine"), graph()))
    assert by_hand["reason"] == "AdapterNotInForce"
    assert "is scaled by adapter g-worker" in by_hand["message"]
    orphan = adapter(3)
    orphan["metadata"]["ownerReferences"][0]["uid"] = "u-of-a-former-graph"
    answer = ask(orphan, graph(planner=True))
    assert "which the graph did not create" in ready(answer)["message"]
    assert answer.effects == ()


def test_spec_that_cannot_be_read_keeps_what_autoscalers_read() -> None:
    parent = adapter(2, generation=2, status={"replicas": 2, "selector": "a=b", "observedGeneration": 1})
    parent["spec"]["replicas"] = "many"
    answer = ask(parent, graph())
    assert (status_of(answer)["replicas"], status_of(answer)["selector"]) == (2, "a=b")
    assert ready(answer)["reason"] == "ValidationFailed"
    assert answer.problems


def test_adapter_on_its_way_out_is_left_as_it_is() -> None:
    parent = adapter(5, generation=3, status={"observedGeneration": 2, "replicas": 2})
    parent["metadata"]["deletionTimestamp"] = LONG_AGO
    answer = ask(parent, graph(planner=True))
    assert (answer.status, answer.effects) == (None, ())


def test_second_sync_of_the_same_says_the_same_later() -> None:
    first = status_of(ask(adapter(2), graph()))
    again = ask(adapter(2, status=first), graph(), now=make.NOW + timedelta(hours=1))
    assert status_of(again) == first


# When it was scaled


def test_scale_time_is_that_of_the_first_sync_of_a_new_spec() -> None:
    before = {"observedGeneration": 1, "replicas": 2, "lastScaleTime": LONG_AGO}
    answer = ask(adapter(5, generation=2, status=before), graph(2, running=2))
    assert status_of(answer)["lastScaleTime"] == "2026-03-01T12:00:00Z"
    later = ask(adapter(5, generation=2, status=status_of(answer)), graph(5, running=5), now=make.NOW + timedelta(1))
    assert status_of(later)["lastScaleTime"] == "2026-03-01T12:00:00Z"


def test_scale_time_of_another_operator_is_kept() -> None:
    answer = ask(adapter(2, generation=7, status={"replicas": 2, "lastScaleTime": LONG_AGO}), graph())
    assert status_of(answer)["lastScaleTime"] == LONG_AGO
    assert answer.effects == ()


def test_scaling_is_told_once_by_an_event_about_the_adapter() -> None:
    before = {"observedGeneration": 1, "replicas": 2}
    (event,) = ask(adapter(5, generation=2, status=before), graph(2, running=2)).effects
    assert isinstance(event, Event)
    assert (event.type, event.reason) == ("Normal", "Scaled")
    assert event.message == "Scaled service Worker from 2 to 5 replicas"
    assert (event.about.kind, event.about.uid) == (contract.SCALING_ADAPTER.kind, "u-a")
    observed = {**before, "observedGeneration": 2}
    assert ask(adapter(5, generation=2, status=observed), graph(2, running=2)).effects == ()


@pytest.mark.parametrize(
    ("before", "asked", "said"),
    [
        ({"replicas": 0, "desiredReplicas": 1}, 2, ["Scaled service Worker from 1 to 2 replicas"]),
        ({"replicas": 3, "desiredReplicas": 5}, 3, ["Scaled service Worker from 5 to 3 replicas"]),
        ({"replicas": 0, "desiredReplicas": 2}, 2, []),
        ({"replicas": 4}, 5, ["Scaled service Worker from 4 to 5 replicas"]),
    ],
    ids=["pods still come up", "back to what runs", "another field", "status of another operator"],
)
def test_scaling_event_names_the_replicas_asked_for_before_and_now(
    before: dict[str, int], asked: int, said: list[str]
) -> None:
    parent = adapter(asked, generation=2, status={"observedGeneration": 1, **before})
    effects = ask(parent, graph(2, running=before["replicas"])).effects
    assert [effect.message for effect in effects if isinstance(effect, Event)] == said


def test_status_keeps_the_replicas_asked_for_beside_those_that_run() -> None:
    status = status_of(ask(adapter(5), graph(2, running=3)))
    assert (status["replicas"], status["desiredReplicas"]) == (3, 5)


# Written back


@pytest.mark.parametrize(
    ("setting", "planner", "is_written", "remark"),
    [
        ("planner", True, True, "is being set from 2 to 5"),
        ("planner", False, False, ""),
        ("always", False, True, "is being set from 2 to 5"),
        ("off", True, False, "and the planner reads it: the setting effect_write_back is off"),
        ("off", False, False, ""),
    ],
    ids=["planner", "no planner", "always", "off with a planner", "off without"],
)
def test_replicas_are_written_back_where_the_setting_says_so(
    setting: str, planner: bool, is_written: bool, remark: str
) -> None:
    answer = ask(adapter(5), graph(2, running=5, planner=planner), effect_write_back=setting)
    expected = WriteBackReplicas(graph="g", namespace="default", service="Worker", replicas=5)
    written = [effect for effect in answer.effects if isinstance(effect, WriteBackReplicas)]
    assert len(written) == len(answer.effects)
    assert [replace(effect, if_failed=None) for effect in written] == ([expected] if is_written else [])
    assert ready(answer)["status"] == "True"
    assert ready(answer)["message"].endswith(remark or "wanted replicas")
    assert answer.resync_after_seconds == (5 if is_written else 0)


def test_adapter_is_told_where_its_replicas_cannot_be_written_back() -> None:
    answer = ask(adapter(5, generation=3), graph(2, running=5), effect_write_back="always")
    (failed,) = [effect.if_failed for effect in answer.effects if isinstance(effect, WriteBackReplicas)]
    assert failed is not None
    assert (failed.type, failed.reason, failed.message) == ("Warning", "UpdateFailed", "Failed to update DGD g")
    assert (failed.about.kind, failed.about.name, failed.about.uid) == (
        contract.SCALING_ADAPTER.kind,
        "g-worker",
        "u-a",
    )
    assert failed.occasion == "generation 3"


@pytest.mark.parametrize(
    ("own", "asked", "is_written"), [(None, 1, False), (None, 4, True), (3, 3, False), (3, 0, True)]
)
def test_graph_without_replicas_counts_as_one(own: int | None, asked: int, is_written: bool) -> None:
    answer = ask(adapter(asked), graph(own, running=asked), effect_write_back="always")
    assert bool(answer.effects) == is_written


def test_nothing_is_written_back_to_a_graph_on_its_way_out() -> None:
    assert ask(adapter(5), going(graph(2, running=2)), effect_write_back="always").effects == ()


# What it asks to see


def test_it_asks_for_the_graph_that_it_names() -> None:
    (rule,) = customize(CustomizeRequest(parent=adapter()), make.facts())
    assert rule.to_json() == {
        "apiVersion": "nvidia.com/v1alpha1",
        "resource": "dynamographdeployments",
        "namespace": "default",
        "names": ["g"],
    }


def test_it_asks_for_nothing_while_it_names_no_graph() -> None:
    nameless = adapter()
    del nameless["spec"]["dgdRef"]
    assert customize(CustomizeRequest(parent=nameless), make.facts()) == []
    unreadable = {**nameless, "spec": {"replicas": "many"}}
    assert customize(CustomizeRequest(parent=unreadable), make.facts()) == []


def test_scaling_in_that_waits_for_an_update_says_so() -> None:
    why = (
        "podclique/g-0-worker: RollingOut: wait for the new pods (replicas=4, wanted=1: it is scaled in when its update"
    )
    found = graph(1, running=4)
    conditions = [{"type": "Ready", "status": "False", "reason": "NotReady", "message": f"{why} has ended)"}]
    condition = ready(ask(adapter(1), {**found, "status": {**found["status"], "conditions": conditions}}))
    assert condition["message"] == (
        "service Worker of graph g has 4 replicas, 1 wanted: it is scaled in when its update has ended"
    )
