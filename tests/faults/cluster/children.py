"""Faults of children: what people and quotas do to the objects that hooks asked for."""

from hooks.ground import contract
from hooks.ground.k8s.types import controller_of
from tests.cluster.api_client import wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH, is_ready
from tests.contract.backend import Manifest
from tests.faults.children import CREATED_ONCE, FINALIZER
from tests.faults.cluster.fault import ClusterFault
from tests.faults.cluster.stage import TARGET, Stage

OUTAGE, SHORT = 20.0, 1.0
QUOTA = ("v1", "ResourceQuota", "faults")
PLENTY = "1000"


def _orphan(stage: Stage) -> None:
    for child in stage.children():
        stage.edit(child, {"metadata": {"ownerReferences": None}})


def _strip(stage: Stage) -> None:
    """All but the label by which Metacontroller knows its children."""
    for child in stage.children():
        metadata = child["metadata"]
        if child["kind"] in {kind.kind for kind in CREATED_ONCE}:
            continue
        labels = {key: None for key in metadata.get("labels", {}) if key != contract.LABEL_CONTROLLER_UID}
        annotations = dict.fromkeys(metadata.get("annotations", {}))
        stage.edit(child, {"metadata": {"labels": labels, "annotations": annotations}})


def _delete_components(stage: Stage) -> None:
    """And with them all that belongs to them."""
    children = stage.children()
    pods = [pod["metadata"] for pod in stage.api.list("v1", "Pod")]
    stage.taken |= {pod["uid"] for pod in pods if pod["name"].startswith(f"{TARGET}-")}
    for child in children:
        if (controller_of(child) or {}).get("kind") == contract.COMPONENT.kind:
            stage.expect_deletion(child)
            # Metacontroller may hear that a child is gone before it hears that its component is, and create it once
            # more; the garbage collector deletes that one too.
            stage.expect_deletion(child)
    for child in children:
        if child["kind"] == contract.COMPONENT.kind:
            stage.delete(child)


def _delete_services_with_finalizer(stage: Stage) -> None:
    for child in stage.children("Service"):
        stage.edit(child, {"metadata": {"finalizers": [FINALIZER]}})
        stage.delete(child)


def _delete_graph_with_finalizer(stage: Stage) -> None:
    """And create it again at once."""
    stage.create_graphs(1)
    (name,) = stage.newcomers
    wait_for(lambda: is_ready(stage.api, name), f"{name} is Ready")
    for service in _services_of(stage, name):
        stage.api.patch("v1", "Service", service["metadata"]["name"], {"metadata": {"finalizers": [FINALIZER]}})
    stage.api.delete(DYNAMO, GRAPH, name)
    wait_for(lambda: stage.api.get(DYNAMO, GRAPH, name) is None, f"{name} is gone")
    wait_for(lambda: all(_is_leaving(one) for one in _services_of(stage, name)), "its Service leaves")
    stage.newcomers.clear()
    stage.create_graphs(1)
    # As for components: a child of the former graph may be created once more after it is gone.
    stage.created[name] += 1


def _services_of(stage: Stage, graph: str) -> list[Manifest]:
    return [one for one in stage.api.list("v1", "Service") if one["metadata"]["name"].startswith(f"{graph}-")]


def _is_leaving(obj: Manifest) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _remove_finalizers(stage: Stage) -> None:
    for service in stage.api.list("v1", "Service"):
        if FINALIZER in service["metadata"].get("finalizers", ()):
            stage.api.patch("v1", "Service", service["metadata"]["name"], {"metadata": {"finalizers": None}})


def _limit(stage: Stage, resource: str, number: int) -> None:
    version, kind, name = QUOTA
    hard = {resource: str(number)}
    stage.api.create({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": {"hard": hard}})

    def is_counted() -> bool:
        found = stage.api.get(*QUOTA) or {}
        status = found.get("status", {})
        return bool(status.get("hard") == hard and resource in status.get("used", {}))

    wait_for(is_counted, "the quota counts")


def _refuse_services(stage: Stage) -> None:
    _limit(stage, "count/services", 0)
    for child in stage.children("Service"):
        stage.delete(child)


def _refuse_pods(stage: Stage) -> None:
    _limit(stage, "pods", len(stage.api.list("v1", "Pod")))
    stage.scale_up()


def _raise_quota(stage: Stage) -> None:
    (resource,) = stage.find(*QUOTA)["spec"]["hard"]
    stage.api.patch(*QUOTA, {"spec": {"hard": {resource: PLENTY}}})


def _remove_quota(stage: Stage) -> None:
    stage.api.delete(*QUOTA)
    wait_for(lambda: stage.api.get(*QUOTA) is None, "the quota is gone")


FAULTS = (
    ClusterFault(
        name="OwnerRefOrphan",
        what="Children lose their owner references.",
        begin=_orphan,
        holds="they are adopted again; none is deleted",
    ),
    ClusterFault(
        name="LabelStomping",
        what="Children lose their labels and annotations, except the label by which Metacontroller knows them.",
        begin=_strip,
        holds="labels and annotations come back; pods stay",
    ),
    ClusterFault(
        name="ResourceDeletion: components",
        what="Components are deleted by hand, and their Deployments, Services and pods go with them.",
        begin=_delete_components,
        holds="all are created again; the graph is not Ready before",
    ),
    ClusterFault(
        name="FinalizerBlock",
        what="Services are deleted by hand, and somebody's finalizer keeps them.",
        begin=_delete_services_with_finalizer,
        end=_remove_finalizers,
        seconds=OUTAGE,
        short=SHORT,
        is_heard=True,
        is_long=True,
        holds="the graph says what is missing",
    ),
    ClusterFault(
        name="FinalizerBlock: graph that is created again",
        what="A graph is deleted and created again while somebody's finalizer keeps its Service.",
        begin=_delete_graph_with_finalizer,
        end=_remove_finalizers,
        seconds=OUTAGE,
        short=SHORT,
        is_heard=True,
        holds="the new graph is not Ready before the old Service is gone",
    ),
    ClusterFault(
        name="QuotaExhaustion: Services",
        what="Services are deleted by hand, and a quota lets nobody create them until it is raised.",
        begin=_refuse_services,
        end=_raise_quota,
        tidy=_remove_quota,
        seconds=OUTAGE,
        short=SHORT,
        is_heard=True,
        holds="the graph says what is missing, and is not Ready",
    ),
    ClusterFault(
        name="QuotaExhaustion: pods",
        what="A user scales up, and a quota refuses the pod until it is raised.",
        begin=_refuse_pods,
        end=_raise_quota,
        tidy=_remove_quota,
        seconds=OUTAGE,
        short=SHORT,
        is_heard=True,
        holds="the graph says why, and is not Ready",
    ),
)
