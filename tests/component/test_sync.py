"""Whole calls: status from observed state, invalid specs, multinode, related objects, deletion."""

from datetime import timedelta
from typing import Any

import pytest

from hooks.component import sync
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.protocol import CustomizeRequest, ObjectQuery, RelatedRule, SyncAnswer
from hooks.wire.metacontroller.wire import write_sync_answer
from tests import make
from tests.component import groups
from tests.component.render import answer, only

SPEC = {"componentType": "worker", "replicas": 2}
TYPES = ["Available", "DynamoComponentReady", "Ready", "Applied", "Valid"]


def conditions(given: SyncAnswer) -> dict[str, dict[str, Any]]:
    assert given.status is not None
    assert [condition["type"] for condition in given.status["conditions"]] == TYPES
    return {condition["type"]: condition for condition in given.status["conditions"]}


def running(spec: dict[str, Any] = SPEC, **status: Any) -> list[Manifest]:
    """The children of that spec as the cluster holds them, the Deployment ready but for the fields given."""
    found = answer(make.component("c", "g", **spec)).children
    full = {**make.deployment_status(spec.get("replicas", 1)), **status}
    return [make.observed(child, **({"status": full} if child["kind"] == "Deployment" else {})) for child in found]


def test_first_answer_has_all_conditions_and_is_not_ready() -> None:
    found = conditions(answer(make.component("c", "g", **SPEC)))
    assert [condition["status"] for condition in found.values()] == [*["False"] * 3, "Unknown", "True"]
    assert found["Available"]["reason"] == "DeploymentNotReady"
    assert found["Available"]["message"] == "Deployment is not ready: Progressing: wait (desired=2, updated=0)"
    assert found["DynamoComponentReady"]["reason"] == "ComponentNotReady"


def test_status_stays_the_same_until_there_are_pods() -> None:
    """Whether Metacontroller shows the default status, or already the one that it wrote, and whatever exists."""
    component = make.component("c", "g", **SPEC, sharedMemory={"size": "1Gi"})
    first = answer({**component, "status": {"observedGeneration": -1}})
    created = [make.observed(child) for child in first.children]
    assert len(created) > 1
    stored = {**component, "status": {**(first.status or {}), "observedGeneration": 1}}
    begun = make.observed(only(first.children, "Deployment"), status={"observedGeneration": 1})
    rest = [child for child in created if child["kind"] != "Deployment"]
    steps = [[created[0]], created, [*rest, begun]]
    later = [answer(parent, children).status for parent in (component, stored) for children in steps]
    assert later == [first.status] * len(later)


def test_pods_that_the_deployment_does_not_count_yet_are_not_named() -> None:
    starting = {"metadata": {"name": "c-1", "namespace": make.NAMESPACE}, "status": {"phase": "Pending"}}
    pod = {"apiVersion": "v1", "kind": "Pod", **starting}
    counts: dict[str, Any] = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 0)
    early = answer(make.component("c", "g", **SPEC), running(**counts), related=[pod])
    assert conditions(early)["Ready"]["message"] == "Progressing: wait (Deployment is not ready: desired=2, updated=0)"
    later = answer(make.component("c", "g", **SPEC), running(readyReplicas=0, availableReplicas=0), related=[pod])
    assert conditions(later)["Ready"]["message"].startswith("Progressing: pod c-1: it is starting - wait (")


def test_ready_deployment_makes_the_component_ready() -> None:
    given = answer(make.component("c", "g", **SPEC), running())
    found = conditions(given)
    assert [condition["status"] for condition in found.values()] == ["True"] * 5
    assert (found["Available"]["reason"], found["Available"]["message"]) == ("DeploymentReady", "Deployment is ready")
    assert (found["DynamoComponentReady"]["reason"], found["DynamoComponentReady"]["message"]) == (
        "ComponentReady",
        "DynamoComponent is ready",
    )
    assert given.status is not None
    assert given.status["service"] == {
        "componentKind": "Deployment",
        "componentName": "c",
        "componentNames": ["c"],
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "runtimeNamespace": "default-g",
        "gpusPerEngine": 0,
        "gpusPerReplica": 0,
    }


def test_deployment_that_rolls_out_says_how_far_it_is() -> None:
    found = conditions(answer(make.component("c", "g", **SPEC), running(updatedReplicas=1)))
    assert found["Available"]["message"].endswith(" (desired=2, updated=1)")
    assert (found["Ready"]["status"], found["Ready"]["reason"]) == ("False", "RollingOut")


def test_component_is_not_ready_until_its_new_spec_is_applied() -> None:
    changed = {**SPEC, "envs": [{"name": "A", "value": "1"}]}
    found = conditions(answer(make.component("c", "g", **changed), running(SPEC)))
    assert found["Ready"]["status"] == "False"
    assert found["Ready"]["reason"] == "RollingOut"
    assert found["Ready"]["message"].endswith(" (Deployment is not ready: its new spec is being applied)")


def test_deployment_without_the_last_applied_annotation_is_reported() -> None:
    children = running()
    for child in children:
        del child["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED]
    found = conditions(answer(make.component("c", "g", **SPEC), children))
    assert found["Ready"]["status"] == "True"
    assert "last-applied" in found["Ready"]["message"]


def test_transition_time_moves_only_with_the_condition() -> None:
    parent = make.component("c", "g", **SPEC)
    first = answer(parent)
    later = make.facts(make.NOW + timedelta(hours=1))
    again = answer({**parent, "status": first.status}, facts=later)
    before, after = conditions(first), conditions(again)
    assert after.pop("Applied")["lastTransitionTime"] == "2026-03-01T13:00:00Z"
    assert before.pop("Applied")["lastTransitionTime"] == "2026-03-01T12:00:00Z"
    assert [one["lastTransitionTime"] for one in after.values()] == ["2026-03-01T12:00:00Z"] * 4
    assert [one["lastTransitionTime"] for one in before.values()] == ["2026-03-01T12:00:00Z"] * 4
    ready = conditions(answer({**parent, "status": first.status}, running(), facts=later))
    assert ready["Ready"]["lastTransitionTime"] == "2026-03-01T13:00:00Z"


def test_same_call_gives_the_same_answer() -> None:
    request = make.sync_request(make.component("c", "g", **SPEC), running(), [make.pull_secret("s", "a.io")])
    first, second = (sync.sync(request, make.facts()) for _ in range(2))
    assert write_sync_answer(first, request.children) == write_sync_answer(second, request.children)


def test_what_another_writer_added_to_the_pods_is_said_and_stays() -> None:
    (workload, *others) = running()
    pod = workload["spec"]["template"]["spec"]
    added = {**pod, "containers": [*pod["containers"], {"name": "mesh", "image": "m"}], "nodeSelector": {"zone": "a"}}
    template = {**workload["spec"]["template"], "spec": added}
    edited = {**workload, "spec": {**workload["spec"], "template": template}}
    found = conditions(answer(make.component("c", "g", **SPEC), [edited, *others]))
    assert (found["Ready"]["status"], found["Applied"]["status"]) == ("True", "True")
    assert found["Ready"]["message"] == (
        "Deployment is ready; Deployment c: its pods also have the container mesh, the node selector zone, "
        "which another writer added; it stays"
    )


def test_init_containers_in_another_order_are_reported() -> None:
    def spec(*names: str) -> dict[str, Any]:
        return {**SPEC, "extraPodSpec": {"initContainers": [{"name": name, "image": "i"} for name in names]}}

    found = conditions(answer(make.component("c", "g", **spec("new", "a")), running(spec("a"))))
    assert "runs its init containers in the order a, new instead of new, a" in found["Ready"]["message"]
    appended = conditions(answer(make.component("c", "g", **spec("a", "new")), running(spec("a"))))
    assert "init containers" not in appended["Ready"]["message"]


INVALID = {**SPEC, "volumeMounts": [{"name": "a"}], "resources": {"limits": {"cpu": "many"}}}


def test_invalid_spec_leaves_the_children_as_last_applied_and_says_all_problems() -> None:
    children = running()
    given = answer(make.component("c", "g", **INVALID), children)
    assert tuple(given.children) == answer(make.component("c", "g", **SPEC)).children
    assert len(given.problems) == 2
    found = conditions(given)
    assert [condition["status"] for condition in found.values()] == ["False"] * 5
    assert {condition["reason"] for condition in found.values()} == {"ValidationFailed"}
    for part in ("Validation failed: ", "spec.volumeMounts[0].mountPoint", "spec.resources.limits.cpu"):
        assert part in found["Ready"]["message"]
    assert given.status is not None
    assert given.status["service"]["readyReplicas"] == 2


def test_invalid_spec_creates_nothing() -> None:
    given = answer(make.component("c", "g", **INVALID))
    assert given.children == []
    assert given.status is not None
    assert "service" not in given.status


def test_spec_of_wrong_types_is_frozen_too() -> None:
    parent = {**make.component("c", "g"), "spec": {"replicas": "many", "envs": 5}}
    given = answer(parent)
    image = "spec.extraPodSpec.mainContainer.image"
    assert [str(problem.path) for problem in given.problems] == ["spec.envs", image, "spec.replicas"]


def test_invalid_spec_with_a_child_of_unknown_history_is_refused() -> None:
    children = running()
    children[0]["metadata"]["annotations"] = {}
    with pytest.raises(InvalidSpec, match="last-applied"):
        answer(make.component("c", "g", **INVALID), children)


def test_reference_that_cannot_be_expanded_is_a_problem_of_the_spec() -> None:
    envs = [{"name": "A", "value": "x" * 1000}, {"name": "B", "value": "$(A)" * 1000}]
    assert answer(make.component("c", "g", envs=envs)).problems[0].text.startswith("spec.envs: variable B")


MULTINODE = {**SPEC, "multinode": {"nodeCount": 2}}


def test_multinode_without_orchestrator_is_refused_before_anything_is_created() -> None:
    given = answer(make.component("c", "g", **MULTINODE))
    assert given.children == []
    found = conditions(given)
    assert found["Ready"]["reason"] == "NoOrchestratorAvailable"
    assert found["Ready"]["message"].startswith("no multinode orchestrator available")
    assert "LeaderWorkerSet" in found["Ready"]["message"]


def test_multinode_without_orchestrator_keeps_what_runs() -> None:
    given = answer(make.component("c", "g", **MULTINODE), running())
    assert tuple(given.children) == answer(make.component("c", "g", **SPEC)).children


def test_one_node_is_no_multinode() -> None:
    given = answer(make.component("c", "g", **{**SPEC, "multinode": {"nodeCount": 1}}))
    assert only(given.children, "Deployment")


def related(spec: dict[str, Any], graph: str = "g", **settings: str) -> list[dict[str, Any]]:
    rules: list[RelatedRule] = sync.customize(
        CustomizeRequest(parent=make.component("c", graph, **spec)), make.facts(make.NOW, **settings)
    )
    return [rule.to_json() for rule in rules]


IMAGE = {"extraPodSpec": {"mainContainer": {"image": "nvcr.io/x"}}}
LABELLED = {
    "apiVersion": "v1",
    "resource": "secrets",
    "namespace": "default",
    "labelSelector": {"matchLabels": {"nvidia.com/image-pull": "true"}},
}
ALL = {"apiVersion": "v1", "resource": "secrets", "namespace": "default"}
ACCOUNTS = {
    "apiVersion": "v1",
    "resource": "serviceaccounts",
    "namespace": "default",
    "labelSelector": {"matchLabels": {"nvidia.com/dynamo-component-pod": "true"}},
}
RELATED: dict[str, tuple[dict[str, Any], str, dict[str, str], list[dict[str, Any]]]] = {
    "graph": (IMAGE, "g", {}, [LABELLED]),
    "all Secrets": (IMAGE, "g", {"image_pull_secrets": "all"}, [ALL]),
    "no Secrets": (IMAGE, "g", {"image_pull_secrets": "off"}, []),
    "switched off": (
        {**IMAGE, "annotations": {"nvidia.com/disable-image-pull-secret-discovery": "true"}},
        "g",
        {},
        [],
    ),
    "alone": (IMAGE, "", {}, [ACCOUNTS, LABELLED]),
    "graph under etcd": ({}, "g", {"discovery_backend": "etcd"}, [ACCOUNTS, LABELLED]),
    "alone with an account": ({"extraPodSpec": {"serviceAccountName": "a"}}, "", {}, [LABELLED]),
    "invalid": (INVALID, "", {}, []),
}


@pytest.mark.parametrize(("spec", "graph", "settings", "rules"), RELATED.values(), ids=RELATED.keys())
def test_only_related_objects_that_are_needed_are_asked_for(
    spec: dict[str, Any], graph: str, settings: dict[str, str], rules: list[dict[str, Any]]
) -> None:
    assert related(spec, graph, **settings) == rules


PODS = {
    "one node": ({}, {"nvidia.com/selector": "c"}),
    "several nodes": (
        groups.spec(serviceName="Decode"),
        {
            "nvidia.com/dynamo-component": "Decode",
            "nvidia.com/dynamo-component-type": "worker",
            "nvidia.com/dynamo-graph-deployment-name": "g",
            "nvidia.com/dynamo-namespace": "default-g",
        },
    ),
}


@pytest.mark.parametrize(("spec", "labels"), PODS.values(), ids=PODS.keys())
def test_pods_are_asked_for_by_labels_that_all_of_them_carry(spec: dict[str, Any], labels: dict[str, str]) -> None:
    first = answer(make.component("c", "g", **spec), installed=groups.INSTALLED)
    assert first.later == (ObjectQuery(kinds.POD, "default", labels=tuple(sorted(labels.items()))),)
    workloads = first.children
    templates = [template for workload in workloads for template in find_templates(workload)]
    assert templates
    for template in templates:
        assert labels.items() <= template["metadata"]["labels"].items()


def find_templates(workload: Manifest) -> list[Manifest]:
    spec = workload.get("spec", {})
    if workload["kind"] == "Deployment":
        return [spec["template"]]
    if workload["kind"] == "LeaderWorkerSet":
        return [spec["leaderWorkerTemplate"][role] for role in ("leaderTemplate", "workerTemplate")]
    return []


def test_related_objects_of_an_unreadable_spec_are_none() -> None:
    request = CustomizeRequest(parent={**make.component("c"), "spec": {"replicas": "many"}})
    assert sync.customize(request, make.facts()) == []
