"""Whole syncs: status, refusals, frozen children, the end."""

from typing import Any

import pytest

from hooks.component.sync import sync as sync_component
from hooks.graph.sync import finalize, sync
from hooks.ground.errors import InvalidSpec
from hooks.ground.problems import texts_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from tests import make
from tests.graph import world

COMPONENT = "DynamoComponentDeployment"
RESTART = {"observedID": "r1", "phase": "Restarting", "inProgress": ["a"]}
NOT_AVAILABLE = "Component deployment not ready - Available condition not true"
COMES_UP = "Progressing: wait (Deployment is not ready: desired=1, updated=0)"
ROLLING = "RollingOut: wait for the new pods"


def settled(graph: dict[str, Any]) -> list[dict[str, Any]]:
    """Children of the graph, all up."""
    return world.run(world.apply([], world.ask(graph).children))


def named(graph: dict[str, Any], **components: Any) -> list[dict[str, Any]]:
    """Settled children, those components replaced by what the functions make of them."""
    return [components[c["metadata"]["name"]](c) if c["metadata"]["name"] in components else c for c in settled(graph)]


def test_first_answer_has_the_condition() -> None:
    answer = world.ask(make.graph())
    assert answer.status is not None
    assert answer.status["state"] == "pending"
    assert world.ready(answer) == {
        "type": "Ready",
        "status": "False",
        "reason": "some_resources_are_not_ready",
        "message": f"g-frontend: {COMES_UP}; g-worker: {COMES_UP}",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
        "observedGeneration": 1,
    }


def test_status_stays_the_same_until_there_are_pods() -> None:
    """Whatever exists already, and whether or not the components have their first status."""
    graph = make.graph()
    first = world.ask({**graph, "status": {"observedGeneration": -1}})
    created = world.apply([], first.children)
    unseen = [{**child, "status": {"observedGeneration": -1}} for child in created]
    answered = [_first_status(child) if child["kind"] == COMPONENT else child for child in created]
    stored = {**graph, "status": {**(first.status or {}), "observedGeneration": 1}}
    steps = [created[:1], created, unseen, answered]
    later = [world.ask(parent, children).status for parent in (graph, stored) for children in steps]
    assert later == [first.status] * len(later)


def _first_status(component: dict[str, Any]) -> dict[str, Any]:
    """The component with the status that its own hook gives it first."""
    facts = Facts(now=make.NOW, settings=parse_settings({}))
    status = sync_component(make.sync_request(component), facts).status
    return {**component, "status": {**(status or {}), "observedGeneration": component["metadata"]["generation"]}}


def test_graph_is_successful_when_all_components_are_available() -> None:
    graph = make.graph()
    answer = world.ask(graph, settled(graph))
    assert answer.status is not None
    assert answer.status["state"] == "successful"
    assert world.ready(answer)["status"] == "True"
    assert world.ready(answer)["reason"] == "all_resources_are_ready"
    assert world.ready(answer)["message"] == "All resources are ready"
    projected = {"runtimeNamespace": "default-g", "gpusPerEngine": 0, "gpusPerReplica": 0}
    count = {"componentKind": "Deployment", "replicas": 1, "updatedReplicas": 1, **projected}
    assert answer.status["services"] == {
        "Frontend": {**count, "componentName": "g-frontend"},
        "Worker": {**count, "componentName": "g-worker"},
    }


@pytest.mark.parametrize(
    ("services", "remark"),
    [
        ({}, "; spec.services has a frontend and no worker, so the frontend has no model to serve"),
        (
            {"Worker": make.service(replicas=0)},
            "; every worker (Worker) has 0 replicas, so the frontend has no model to serve",
        ),
        ({"Idle": make.service(replicas=0), "Busy": make.service("prefill")}, ""),
        ({"Own": make.service("something-else")}, ""),
    ],
    ids=["no worker", "scaled to zero", "one that runs", "a type of one's own"],
)
def test_frontend_without_a_worker_is_a_remark_and_no_fault(services: dict[str, Any], remark: str) -> None:
    graph = make.graph({"Frontend": make.service("frontend"), **services})
    found = world.ready(world.ask(graph, settled(graph)))
    assert (found["status"], found["message"]) == ("True", f"All resources are ready{remark}")


def test_graph_without_services_has_failed() -> None:
    told = world.ready(world.ask(make.graph({})))
    assert (told["status"], told["message"]) == (
        "False",
        "Validation failed: spec.services must have at least one service",
    )


@pytest.mark.parametrize(
    ("unready", "message"),
    [
        ({"g-worker": ""}, f"g-worker: {NOT_AVAILABLE}"),
        (
            {"g-worker": "Deployment is not ready: 1 of 2 ready", "g-frontend": ""},
            (f"g-frontend: {NOT_AVAILABLE}; g-worker: {NOT_AVAILABLE} (Deployment is not ready: 1 of 2 ready)"),
        ),
    ],
)
def test_components_that_are_not_available_are_named_in_order(unready: dict[str, str], message: str) -> None:
    graph = make.graph()
    children = world.run(settled(graph), unready=unready)
    answer = world.ask(graph, children)
    assert world.ready(answer)["message"] == message
    assert world.ready(answer)["reason"] == "some_resources_are_not_ready"


def test_component_of_an_old_generation_is_not_ready() -> None:
    graph = make.graph()

    def older(child: dict[str, Any]) -> dict[str, Any]:
        return {**child, "metadata": {**child["metadata"], "generation": 5}}

    answer = world.ask(graph, named(graph, **{"g-worker": older}))
    expected = f"g-worker: {ROLLING} (spec not yet processed: generation=5, observedGeneration=1)"
    assert world.ready(answer)["message"] == expected


def test_component_on_its_way_out_is_not_ready() -> None:
    graph = make.graph()

    def going(child: dict[str, Any]) -> dict[str, Any]:
        return {**child, "metadata": {**child["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}

    answer = world.ask(graph, named(graph, **{"g-worker": going}))
    assert world.ready(answer)["message"] == "g-worker: Progressing: wait (it is being deleted)"


def test_graph_is_not_ready_in_the_sync_that_changes_a_component() -> None:
    children = settled(make.graph({"a": make.service(image="img:1")}))
    changed = make.graph({"a": make.service(image="img:2")})
    answer = world.ask(changed, children)
    assert world.ready(answer)["message"] == f"g-a: {ROLLING} (spec not yet applied)"
    applied = world.apply(children, answer.children)
    assert "generation=2" in world.ready(world.ask(changed, applied))["message"]
    assert world.ready(world.ask(changed, world.run(applied)))["status"] == "True"


def test_field_that_is_taken_away_counts_as_a_change() -> None:
    children = settled(make.graph({"a": make.service(envFromSecret="s")}))
    answer = world.ask(make.graph({"a": make.service()}), children)
    assert "spec not yet applied" in world.ready(answer)["message"]


def test_component_without_last_applied_annotation_is_compared_and_reported() -> None:
    graph = make.graph()

    def bare(child: dict[str, Any]) -> dict[str, Any]:
        metadata = {k: v for k, v in child["metadata"].items() if k != "annotations"}
        return {**child, "metadata": metadata, "spec": {**child["spec"], "filledIn": "by the server"}}

    answer = world.ask(graph, named(graph, **{"g-worker": bare}))
    assert world.ready(answer)["status"] == "True"
    assert world.ready(answer)["message"] == (
        "All resources are ready; g-worker without last-applied annotation; run Metacontroller with dynamic apply"
    )
    changed = make.graph({"Frontend": make.service("frontend"), "Worker": make.service(image="img:2")})
    differing = f'g-worker: {ROLLING} (spec.extraPodSpec.mainContainer.image is "img:1", wanted "img:2")'
    assert differing in world.ready(world.ask(changed, named(graph, **{"g-worker": bare})))["message"]


def test_reordered_init_containers_are_said_not_silent() -> None:
    one, two = ({"name": name, "image": "i"} for name in ("one", "two"))
    children = settled(make.graph({"a": make.service(extraPodSpec={"initContainers": [one]})}))
    graph = make.graph({"a": make.service(extraPodSpec={"initContainers": [two, one]})})
    applied = world.run(world.apply(children, world.ask(graph, children).children))
    (component,) = [c for c in applied if c["kind"] == COMPONENT]
    component["spec"]["extraPodSpec"]["initContainers"] = [one, two]
    answer = world.ask(graph, applied)
    assert "init containers were inserted or reordered" in world.ready(answer)["message"]
    assert (answer.status or {})["notReadyReason"] == "Differs"


def test_transition_time_stays_while_the_status_does() -> None:
    before = {"type": "Ready", "status": "False", "reason": "x", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    answer = world.ask(make.graph(status={"conditions": [before]}))
    assert world.ready(answer)["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_steady_state_is_the_same_answer_for_ever() -> None:
    graph = make.graph()
    children = settled(graph)
    first = world.ask(graph, children)
    again = world.ask({**graph, "status": {**(first.status or {}), "observedGeneration": 1}}, children)
    assert world.text(first) == world.text(again)
    assert [c["spec"] for c in world.apply(children, again.children) if "spec" in c] == [
        c["spec"] for c in children if "spec" in c
    ]


def test_removed_service_drops_its_component_and_its_adapter() -> None:
    service = make.service(scalingAdapter={"enabled": True})
    children = settled(make.graph({"a": service, "b": service}))
    answer = world.ask(make.graph({"a": service}), children)
    assert world.names(answer.children, COMPONENT) == ["g-a"]
    assert world.names(answer.children, "DynamoGraphDeploymentScalingAdapter") == ["g-a"]


def test_restart_annotation_on_a_component_stays() -> None:
    graph = make.graph({"a": make.service(annotations={"x": "y"})}, status={"restart": RESTART})
    children = settled(graph)
    (component,) = [c for c in children if c["kind"] == COMPONENT]
    component["spec"]["annotations"]["nvidia.com/restartAt"] = "r1"
    answer = world.ask(graph, children)
    spec = world.child(answer.children, COMPONENT, "g-a")["spec"]
    assert spec["annotations"] == component["spec"]["annotations"]
    assert answer.status is not None
    assert "restart" not in answer.status, "one that was not finished is given up with its id"


def test_graph_that_is_being_deleted_is_answered_as_usual() -> None:
    graph = make.graph()
    going = {**graph, "metadata": {**graph["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}
    assert world.ask(going).children == world.ask(graph).children


INVALID = [
    pytest.param(make.graph({"a": {"replicas": "many"}}), "spec.services[a].replicas", id="wrong type"),
    pytest.param(make.graph({"A": {}, "a": {}}), "its objects would be named g-a, as those of", id="same name"),
    pytest.param(make.graph({"a" * 62: {}}), "has 64 characters, at most 63 are possible", id="too long"),
    pytest.param(make.graph({"a": {}}, name="g" * 64), "metadata.name: has 64 characters", id="graph too long"),
    pytest.param(make.graph({"a_b": {}}), "the name g-a_b is not possible", id="underscore"),
    pytest.param(make.graph({"-a": {}}), "the name g--a is not possible", id="begins with a dash"),
    pytest.param(make.graph({"a": {"envs": [{"value": "x"}]}}), "spec.services[a].envs[0].name is required", id="env"),
    pytest.param(
        make.graph(envs=[{"name": "A", "value": 1}]), "spec.envs[0].value: the value of A must be a string", id="value"
    ),
    pytest.param(make.graph(pvcs=[{"create": False}]), "spec.pvcs[0].name is required", id="pvc name"),
    pytest.param(make.graph(pvcs=[{"name": "A_b"}]), "spec.pvcs[0].name: 'A_b' must consist of", id="pvc bad name"),
    pytest.param(
        make.graph(pvcs=[{"name": "a", "create": True, "size": "x", "storageClass": "s", "volumeAccessMode": "m"}]),
        "spec.pvcs[0].size: 'x' is not a quantity",
        id="pvc size",
    ),
    pytest.param(
        make.graph(pvcs=[{"name": "a", "create": True, "size": "-1", "storageClass": "s", "volumeAccessMode": "m"}]),
        "spec.pvcs[0].size: -1 must be greater than zero",
        id="pvc negative",
    ),
]


@pytest.mark.parametrize(("graph", "problem"), INVALID)
def test_invalid_spec_creates_nothing_and_says_why(graph: dict[str, Any], problem: str) -> None:
    answer = world.ask(graph)
    assert answer.children == []
    assert answer.status is not None
    assert answer.status["state"] == "failed"
    assert world.ready(answer)["reason"] == "ValidationFailed"
    assert world.ready(answer)["message"].startswith("Validation failed: ")
    assert problem in world.ready(answer)["message"]
    assert any(problem in found.text for found in answer.problems)


def test_number_for_text_in_one_service_hides_nothing_of_the_next() -> None:
    limits = {"a": {"gpu": 1}, "b": {"memory": "10GB"}}
    answer = world.ask(make.graph({name: {"resources": {"limits": some}} for name, some in limits.items()}))
    assert [str(problem.path) for problem in answer.problems] == [
        "spec.services[a].resources.limits.gpu",
        "spec.services[b].resources.limits.memory",
    ]


def test_all_problems_are_said_at_once() -> None:
    answer = world.ask(make.graph({"a_b": {}}, pvcs=[{"create": True}]))
    assert texts_of(answer.problems[:4]) == (
        "spec.pvcs[0].name is required",
        "spec.pvcs[0].storageClass is required when create is true",
        "spec.pvcs[0].size is required when create is true",
        "spec.pvcs[0].volumeAccessMode is required when create is true",
    )
    assert len(answer.problems) == 5


NO_POOL = (
    "spec.services[E]: cannot deploy EPP component: InferencePool API group (inference.networking.k8s.io) is not "
    "available in the cluster. EPP requires the Gateway API Inference Extension to be installed. Please install the "
    "Gateway API Inference Extension before deploying EPP components"
)
NO_CONFIG = (
    "spec.services[E].eppConfig: either configMapRef or config must be specified (no default configuration provided)"
)
NO_OBJECT = "spec.services[E].eppConfig: configMapRef and config must be objects"


NEEDS_CONFIG = (
    "spec.services[E].eppConfig is required for EPP components of releases before 1.5.0; if the image is of a later "
    "release, say so in its tag or in runtimeVersionOverride"
)


@pytest.mark.parametrize(
    ("epp_config", "installed", "problem"),
    [
        ({"config": {"a": 1}}, [], NO_POOL),
        (None, ["inference-pool"], NEEDS_CONFIG),
        ({}, ["inference-pool"], NO_CONFIG),
        ({"config": "x"}, ["inference-pool"], NO_OBJECT),
    ],
)
def test_picker_that_cannot_work_is_refused(epp_config: Any, installed: list[str], problem: str) -> None:
    answer = world.ask(make.graph({"E": make.service("epp", eppConfig=epp_config)}), installed=installed)
    assert texts_of(answer.problems) == (problem,)


@pytest.mark.parametrize(
    ("annotation", "installed", "text"),
    [
        (None, [], "no multinode orchestrator available"),
        (None, ["lws"], "no multinode orchestrator available"),
        ("FALSE", ["grove"], "no multinode orchestrator available"),
        ("false", ["grove", "volcano"], "no multinode orchestrator available"),
    ],
)
def test_multinode_is_refused_before_anything_is_created(
    annotation: str | None, installed: list[str], text: str
) -> None:
    annotations = {"nvidia.com/enable-grove": annotation} if annotation else {}
    graph = make.graph({"w": make.service(multinode={"nodeCount": 2}), "f": {}}, annotations=annotations)
    answer = world.ask(graph, installed=installed)
    assert answer.children == []
    assert answer.status is not None
    assert answer.status["state"] == "failed"
    assert world.ready(answer)["reason"] == answer.status["notReadyReason"] == "NoOrchestratorAvailable"
    assert "then run helm upgrade" in world.ready(answer)["message"]
    beginning = f"failed to reconcile Dynamo components deployments: {text}: spec.services[w] span several nodes"
    assert world.ready(answer)["message"].startswith(beginning)


GPU = {"limits": {"gpu": "1"}}


def test_multinode_services_become_multinode_components_where_leader_worker_sets_are() -> None:
    graph = make.graph({"w": make.service(multinode={"nodeCount": 2}, resources=GPU)})
    answer = world.ask(graph, installed=["lws", "volcano"])
    assert answer.problems == ()
    component = world.child(answer.children, "DynamoComponentDeployment", "g-w")
    assert component["spec"]["multinode"] == {"nodeCount": 2}


def test_volcanos_queue_reaches_services_over_several_nodes_apart_from_their_spec() -> None:
    """The digest of the spec decides which pods take new defaults, so a queue must not be in it."""
    services = {"w": make.service(multinode={"nodeCount": 2}), "f": make.service("frontend")}
    queue = {"nvidia.com/volcano-queue": " research "}
    found = world.ask(make.graph(services, annotations=queue), installed=["lws", "volcano"]).children
    plain = world.ask(make.graph(services), installed=["lws", "volcano"]).children
    specs = {name: world.child(found, COMPONENT, name)["spec"] for name in ("g-w", "g-f")}
    assert specs == {name: world.child(plain, COMPONENT, name)["spec"] for name in specs}
    annotated = {
        name: world.child(found, COMPONENT, name)["metadata"].get("annotations", {}).get("nvidia.com/volcano-queue")
        for name in specs
    }
    assert annotated == {"g-w": "research", "g-f": None}


IMPOSSIBLE: dict[str, tuple[dict[str, Any], str, str]] = {
    "name too long": (
        {"w" * 46: make.service(multinode={"nodeCount": 2}, resources=GPU, replicas=11)},
        "g",
        f"spec.services[{'w' * 46}].multinode: the LeaderWorkerSet would be named 'g-{'w' * 46}-10', which has 51",
    ),
    "no DNS-1035 label": (
        {"w": make.service(multinode={"nodeCount": 2}, resources=GPU)},
        "a.b",
        "spec.services[w].multinode: a LeaderWorkerSet cannot be named 'a.b-w-0'",
    ),
    "named like a LeaderWorkerSet": (
        {"w": make.service(multinode={"nodeCount": 2}, resources=GPU), "W-1": {}},
        "g",
        "spec.services[W-1]: the name g-w-1 can be the name of a LeaderWorkerSet of spec.services[w] too",
    ),
}


@pytest.mark.parametrize(("services", "name", "beginning"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_what_leader_worker_set_would_refuse_is_refused_first(
    services: dict[str, Any], name: str, beginning: str
) -> None:
    answer = world.ask(make.graph(services, name), installed=["lws", "volcano"])
    assert answer.children == []
    assert len(answer.problems) == 1
    assert answer.problems[0].text.startswith(beginning)


def test_gpus_that_a_deployment_config_asks_for_count_as_the_limit() -> None:
    config = '{"w": {"ServiceArgs": {"Resources": {"GPU": "2"}}}}'
    service = make.service(multinode={"nodeCount": 2}, envs=[{"name": "DYN_DEPLOYMENT_CONFIG", "value": config}])
    assert world.ask(make.graph({"w": service}), installed=["lws", "volcano"]).problems == ()


def test_one_node_is_not_multinode() -> None:
    answer = world.ask(make.graph({"w": make.service(multinode={"nodeCount": 1})}))
    assert answer.problems == ()


def test_unreadable_deployment_configs_fail_together() -> None:
    service = {"envs": [{"name": "DYN_DEPLOYMENT_CONFIG", "value": "{"}]}
    answer = world.ask(make.graph({"F": {**service, "componentType": "frontend"}, "W": service}))
    of_frontend, of_worker = texts_of(answer.problems)
    prefix = "failed to reconcile Dynamo components deployments: spec.services"
    path, why = "envs[0].value", "DYN_DEPLOYMENT_CONFIG: it is not JSON"
    assert of_frontend.startswith(f"{prefix}[F].{path}: failed to unmarshal {why}")
    assert of_worker.startswith(f"{prefix}[W].{path}: failed to parse {why}")


def test_unreadable_deployment_config_of_the_graph_is_one_problem_at_its_entry() -> None:
    envs = [{"name": "A", "value": "1"}, {"name": "DYN_DEPLOYMENT_CONFIG", "value": "{"}]
    (problem,) = world.ask(make.graph({"F": make.service("frontend"), "W": make.service()}, envs=envs)).problems
    assert str(problem.path) == "spec.envs[1].value"
    assert "spec.envs[1].value: failed to unmarshal DYN_DEPLOYMENT_CONFIG: it is not JSON" in problem.text


def test_children_stay_as_last_applied_while_the_spec_is_invalid() -> None:
    status = {"restart": RESTART, "services": {"Worker": {"componentKind": "Deployment"}}}
    graph = make.graph(pvcs=[], status=status)
    children = settled(graph)
    answer = world.ask({**graph, "spec": {"services": {"a_b": {}}}}, children)
    assert world.apply(children, answer.children) == sorted(
        children, key=lambda c: [x["metadata"]["name"] for x in answer.children].index(c["metadata"]["name"])
    )
    assert answer.status is not None
    assert answer.status["restart"] == RESTART
    assert answer.status["services"] == status["services"]


def test_on_delete_children_need_no_annotation_to_be_kept() -> None:
    entry = {"name": "c", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}
    children = settled(make.graph(pvcs=[entry]))
    (claim,) = [c for c in children if c["kind"] == "PersistentVolumeClaim"]
    del claim["metadata"]["annotations"]
    answer = world.ask(make.graph({"a_b": {}}), children)
    assert world.names(answer.children, "PersistentVolumeClaim") == ["c"]
    assert len(answer.children) == len(children)


def test_child_without_annotation_and_an_invalid_spec_change_nothing() -> None:
    children = settled(make.graph())
    (component, *_) = [c for c in children if c["kind"] == COMPONENT]
    del component["metadata"]["annotations"]
    with pytest.raises(InvalidSpec, match="g-frontend has no last-applied annotation"):
        sync(make.sync_request(make.graph({"a_b": {}}), children), make.facts())


def test_finalize_lets_an_invalid_graph_go_at_once() -> None:
    graph = make.graph({"a_b": {}}, status={"observedGeneration": 3, "state": "failed"})
    graph["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    answer = finalize(make.sync_request(graph, finalizing=True), make.facts())
    assert answer.finalized
    assert answer.status == {"state": "failed"}


def test_graph_that_changes_hands_keeps_its_children() -> None:
    children = settled(make.graph())
    answer = finalize(make.sync_request(make.graph(), children, finalizing=True), make.facts())
    assert answer.finalized
    assert world.apply(children, answer.children) == children
