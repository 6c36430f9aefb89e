"""Labels, annotations and the priority class of the graph's spec, and fields of a service that Grove needs."""

from typing import Any

import pytest

from hooks.graph.rules.validate import review_graph
from hooks.ground.problems import texts_of
from hooks.language.validation.review import Review, Verdict
from tests import make
from tests.component.render import answer, only
from tests.graph import world
from tests.language.validation.objects import graph as written

SERVICES: dict[str, Any] = {
    "Frontend": make.service("frontend"),
    "Worker": make.service("worker", labels={"team": "of-worker"}, annotations={"note": "of-worker"}),
}
COMMON: dict[str, Any] = {
    "labels": {"team": "a", "cost": "b", "controller-uid": "x", "nvidia.com/dynamo-component": "other"},
    "annotations": {"note": "a", "contact": "b", "nvidia.com/restartAt": "r"},
}


def graph_of(services: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A graph with these fields of its spec; `make.graph` takes annotations for the metadata's."""
    graph = make.graph(services)
    return {**graph, "spec": {**graph["spec"], **spec}}


def pods_of(installed: tuple[str, ...], spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The metadata of each service's pods, by service, on the path of the installed kinds."""
    graph = graph_of(SERVICES, **spec)
    children = world.ask(graph, installed=installed).children
    if installed:
        cliques = world.child(children, "PodCliqueSet", "g")["spec"]["template"]["cliques"]
        return {clique["name"]: clique for clique in cliques}
    found = {}
    for service in ("frontend", "worker"):
        component = world.child(children, "DynamoComponentDeployment", f"g-{service}")
        found[service] = _pods_of_component(component)
    return found


def _pods_of_component(component: dict[str, Any]) -> dict[str, Any]:
    owner = {"kind": "DynamoGraphDeployment", "name": "g", "apiVersion": "nvidia.com/v1alpha1", "uid": "u"}
    metadata = {**component["metadata"], "ownerReferences": [owner], "uid": "c", "generation": 1}
    deployment = only(answer({**component, "metadata": metadata}).children, "Deployment")
    pods: dict[str, Any] = deployment["spec"]["template"]["metadata"]
    return pods


@pytest.mark.parametrize("installed", [(), ("grove",)], ids=["components", "Grove"])
def test_labels_and_annotations_of_the_graph_reach_every_pod(installed: tuple[str, ...]) -> None:
    pods = pods_of(installed, COMMON)
    assert {name: one["labels"]["cost"] for name, one in pods.items()} == {"frontend": "b", "worker": "b"}
    assert {name: one["annotations"]["contact"] for name, one in pods.items()} == {"frontend": "b", "worker": "b"}


@pytest.mark.parametrize("installed", [(), ("grove",)], ids=["components", "Grove"])
def test_services_own_label_and_annotation_win(installed: tuple[str, ...]) -> None:
    pods = pods_of(installed, COMMON)
    assert {name: one["labels"]["team"] for name, one in pods.items()} == {"frontend": "a", "worker": "of-worker"}
    assert {name: one["annotations"]["note"] for name, one in pods.items()} == {"frontend": "a", "worker": "of-worker"}


@pytest.mark.parametrize("installed", [(), ("grove",)], ids=["components", "Grove"])
def test_labels_and_annotations_that_the_operator_sets_are_not_the_graphs(installed: tuple[str, ...]) -> None:
    for name, one in pods_of(installed, COMMON).items():
        assert one["labels"]["nvidia.com/dynamo-component"].lower() == name
        assert "controller-uid" not in one["labels"]
        assert "nvidia.com/restartAt" not in one["annotations"]


def test_pods_own_annotation_wins_over_the_graphs() -> None:
    service = make.service("worker", extraPodMetadata={"annotations": {"note": "of-pods"}, "labels": {"l": "1"}})
    spec = world.component(graph_of({"Worker": service}, **COMMON), "Worker")
    assert spec["extraPodMetadata"] == {"annotations": {"contact": "b", "note": "of-pods"}, "labels": {"l": "1"}}


def test_annotation_in_the_graphs_metadata_wins_over_that_in_its_spec() -> None:
    key = "nvidia.com/enable-metrics"
    graph = graph_of({"a": {}}, annotations={key: "false"})
    graph["metadata"]["annotations"] = {key: "true"}
    assert world.component(graph, "a")["annotations"][key] == "true"


def test_discovery_of_the_graphs_spec_is_that_of_its_services() -> None:
    graph = graph_of({"a": {}}, annotations={"nvidia.com/dynamo-discovery-backend": "etcd"})
    answer = world.ask(graph)
    assert world.names(answer.children, "ServiceAccount") == ["g-k8s-service-discovery"]
    assert world.component(graph, "a")["annotations"]["nvidia.com/dynamo-discovery-backend"] == "etcd"


def test_set_has_the_graphs_labels_annotations_and_priority() -> None:
    graph = graph_of(SERVICES, **COMMON, priorityClassName="high")
    found = world.child(world.ask(graph, installed=("grove",)).children, "PodCliqueSet", "g")
    assert found["spec"]["template"]["priorityClassName"] == "high"
    assert found["metadata"]["labels"]["cost"] == "b"
    assert "controller-uid" not in found["metadata"]["labels"]
    assert found["metadata"]["annotations"]["contact"] == "b"


def test_graph_without_these_fields_has_components_without_their_traces() -> None:
    spec = world.component(graph_of({"a": {}}), "a")
    assert "extraPodMetadata" not in spec
    assert spec["annotations"].keys() == {"nvidia.com/dynamo-operator-origin-version"}


def judge(spec: dict[str, Any], **annotations: str) -> Verdict:
    named = written(annotations={f"nvidia.com/{key.replace('_', '-')}": text for key, text in annotations.items()})
    new = {**named, "spec": {**named["spec"], **spec}}
    return review_graph(Review(new=new, old=None, user=None, settings=make.facts().settings, installed=None))


IDLE = (
    "spec.priorityClassName: has no effect, because this graph does not run under Grove; set "
    "extraPodSpec.priorityClassName of each service instead"
)


def test_priority_that_has_no_effect_is_said_in_review_and_status() -> None:
    assert texts_of(make.without_release(judge({"priorityClassName": "high"}, enable_grove="false").warnings)) == (
        IDLE,
    )
    assert make.without_release(judge({"priorityClassName": "high"}).warnings) == ()
    status = world.ask(graph_of(SERVICES, priorityClassName="high")).status
    assert status is not None
    ready = next(condition for condition in status["conditions"] if condition["type"] == "Ready")
    assert IDLE in ready["message"]


UNREAD = (
    "spec.priorityClassName: reaches no pod, because Grove hands it to KAI and Volcano alone, and neither schedules "
    "this graph; set extraPodSpec.priorityClassName of each service instead"
)


@pytest.mark.parametrize(
    ("pod", "settings", "is_read"),
    [
        ({}, {}, False),
        ({"schedulerName": "other"}, {}, False),
        ({"schedulerName": "volcano"}, {}, True),
        ({}, {"kai_scheduler": "on"}, True),
        ({}, {"volcano_scheduler": "on"}, True),
    ],
    ids=["cluster's own", "another", "chosen", "KAI", "Volcano"],
)
def test_priority_that_grove_hands_to_nobody_is_said_in_review_and_status(
    pod: dict[str, Any], settings: dict[str, str], is_read: bool
) -> None:
    graph = make.graph({"a": make.service(extraPodSpec=pod)}, priorityClassName="high")
    expected = () if is_read else (UNREAD,)
    installed = make.sync_request(graph, installed=["grove"]).children.optional_kinds()
    review = Review(
        new=graph, old=None, user=None, settings=make.facts(make.NOW, **settings).settings, installed=installed
    )
    assert texts_of(make.without_release(review_graph(review).warnings)) == expected
    ready = world.ready(world.ask(graph, installed=["grove"], settings=settings))
    assert (UNREAD in ready["message"]) is not is_read


@pytest.mark.parametrize(
    ("spec", "beginning"),
    [
        ({"labels": {"a b": "c"}}, "spec.labels[a b]: 'a b' is not a label key"),
        ({"labels": {"a": "b c"}}, "spec.labels[a]: 'b c' is not a label value"),
        ({"annotations": {"a b": "c"}}, "spec.annotations[a b]: 'a b' is not an annotation key"),
        (
            {"annotations": {"nvidia.com/vllm-distributed-executor-backend": "ray2"}},
            'spec.annotations[nvidia.com/vllm-distributed-executor-backend] has invalid value "ray2"',
        ),
        (
            {"annotations": {"nvidia.com/deployment-rolling-update-max-surge": "many"}},
            "spec.annotations[nvidia.com/deployment-rolling-update-max-surge]: 'many' is not a number of pods",
        ),
        ({"priorityClassName": "High"}, "spec.priorityClassName: 'High' is not the name of a PriorityClass"),
    ],
    ids=["label", "value", "annotation", "executor", "surge", "priority class"],
)
def test_what_no_object_can_have_is_refused(spec: dict[str, Any], beginning: str) -> None:
    (problem,) = texts_of(judge(spec).problems)
    assert problem.startswith(beginning)


def test_slip_in_an_annotation_of_the_graphs_spec_is_warned_about() -> None:
    (warning,) = texts_of(make.without_release(judge({"annotations": {"nvidia.com/enable-metrics": "no"}}).warnings))
    assert warning.startswith("spec.annotations[nvidia.com/enable-metrics]: 'no' is none of true, false")


def template(**service: Any) -> dict[str, Any]:
    graph = graph_of({"Worker": make.service("worker", **service)})
    found: dict[str, Any] = world.child(world.ask(graph, installed=("grove",)).children, "PodCliqueSet", "g")
    inner: dict[str, Any] = found["spec"]["template"]
    return inner


@pytest.mark.parametrize(
    ("service", "replicas", "least"),
    [
        ({}, 1, 1),
        ({"replicas": 3}, 3, 1),
        ({"replicas": 3, "minAvailable": 2}, 3, 2),
        ({"replicas": 0, "minAvailable": 2}, 2, 2),
        ({"replicas": 0}, 1, 1),
    ],
    ids=["default", "replicas", "least", "none yet", "none"],
)
def test_clique_needs_the_least_replicas_together(service: dict[str, Any], replicas: int, least: int) -> None:
    (clique,) = template(**service)["cliques"]
    assert (clique["spec"]["replicas"], clique["spec"]["minAvailable"]) == (replicas, least)


def test_group_of_several_nodes_needs_the_least_replicas_together() -> None:
    nodes: dict[str, Any] = {"multinode": {"nodeCount": 3}, "resources": {"limits": {"gpu": "8"}}}
    found = template(**nodes, replicas=4, minAvailable=2, command=["python3", "-m", "dynamo.sglang"])
    (group,) = found["podCliqueScalingGroups"]
    assert (group["replicas"], group["minAvailable"]) == (4, 2)
    assert {one["name"]: one["spec"]["minAvailable"] for one in found["cliques"]} == {"worker-ldr": 1, "worker-wkr": 2}


def test_least_replicas_are_refused_where_no_grove_keeps_them() -> None:
    graph = graph_of({"Worker": make.service("worker", minAvailable=1)})
    assert texts_of(world.ask(graph).problems) == (
        (
            "spec.services[Worker].minAvailable is currently supported only for Grove-backed DynamoGraphDeployment "
            "components"
        ),
    )


@pytest.mark.parametrize("installed", [(), ("grove",)], ids=["components", "Grove"])
def test_new_fields_of_a_service_reach_its_pods(installed: tuple[str, ...]) -> None:
    service = make.service("worker", frontendSidecar={"image": "f:1.6.0"}, runtimeVersionOverride="1.6.0")
    children = world.ask(graph_of({"Worker": service}), installed=installed).children
    if installed:
        (clique,) = world.child(children, "PodCliqueSet", "g")["spec"]["template"]["cliques"]
        containers = clique["spec"]["podSpec"]["containers"]
        assert [one["name"] for one in containers] == ["sidecar-frontend", "main"]
        assert containers[-1]["livenessProbe"]["failureThreshold"] == 3
    else:
        spec = world.child(children, "DynamoComponentDeployment", "g-worker")["spec"]
        assert (spec["frontendSidecar"], spec["runtimeVersionOverride"]) == ({"image": "f:1.6.0"}, "1.6.0")
