"""Faults of children: what people, policies and programs do to the objects that hooks asked for."""

from collections.abc import Callable, Iterable
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, gvk_of
from hooks.tools.offline.simulator.client import LoggedWrite
from hooks.tools.offline.simulator.store import ApiError, copy_json, ref_of
from tests import make
from tests.faults.fault import Act, Fault
from tests.faults.stage import Stage
from tests.sequences.invariants import METACONTROLLER
from tests.sequences.world import NAMESPACE

FINALIZER = "example.com/stuck"
PULL_SECRET = "pull-a"
OUTAGE = 60.0
CREATED_ONCE = frozenset({kinds.ROLE_BINDING, kinds.PERSISTENT_VOLUME_CLAIM})
"""Kinds that Metacontroller creates and never updates."""


def _edit(kinds_of: Iterable[GroupVersionKind], change: Callable[[Manifest], dict[str, Any]]) -> Act:
    """Patch each child of these kinds."""

    def act(stage: Stage) -> None:
        for child in stage.children():
            if gvk_of(child) in kinds_of:
                stage.edited.add(ref_of(child))
                stage.cluster.patch(gvk_of(child), child["metadata"]["name"], change(child), NAMESPACE)
        stage.record("children are edited by hand")

    return act


def write_child(stage: Stage, child: Manifest, **metadata: Any) -> None:
    """Write a child by hand, with these metadata in place of its own."""
    stage.edited.add(ref_of(child))
    stage.cluster.replace(copy_json({**child, "metadata": {**child["metadata"], **metadata}}))


def _strip(stage: Stage) -> None:
    """All but the label by which Metacontroller knows its children."""
    for child in stage.children():
        if gvk_of(child) in CREATED_ONCE:
            continue
        uid = (child["metadata"].get("labels") or {}).get(contract.LABEL_CONTROLLER_UID, "")
        write_child(stage, child, labels={contract.LABEL_CONTROLLER_UID: uid}, annotations={})
    stage.record("children lose their labels and annotations")


def _strip_known_label(stage: Stage) -> None:
    for child in stage.children():
        if gvk_of(child) not in CREATED_ONCE:
            stage.labels_lost[ref_of(child)] = child["metadata"]["labels"]
            write_child(stage, child, labels={})
    stage.record("children lose all labels")


def _put_labels_back(stage: Stage) -> None:
    for obj in stage.cluster.everything():
        if ref_of(obj) in stage.labels_lost:
            write_child(stage, obj, labels=stage.labels_lost[ref_of(obj)])
    stage.record("a person puts the labels back")


def _orphan(stage: Stage) -> None:
    for child in stage.children():
        write_child(stage, child, ownerReferences=[])
    stage.record("children lose their owners")


def delete_children(*kinds_of: GroupVersionKind) -> Act:
    """Delete each child of these kinds; pods of deleted workloads go with them."""

    def act(stage: Stage) -> None:
        chosen = [child for child in stage.children() if gvk_of(child) in kinds_of]
        if any(gvk_of(child) in WORKLOADS for child in chosen):
            stage.pods_lost |= stage.pods()
        for child in chosen:
            stage.edited.add(ref_of(child))
            stage.cluster.delete(gvk_of(child), child["metadata"]["name"], NAMESPACE)
        stage.record("children are deleted by hand")

    return act


def delete_held(kind: GroupVersionKind) -> Act:
    """Delete each child of the kind, which somebody's finalizer holds."""

    def act(stage: Stage) -> None:
        for child in stage.children():
            if gvk_of(child) == kind:
                write_child(stage, child, finalizers=[FINALIZER])
        delete_children(kind)(stage)

    return act


def remove_finalizers(stage: Stage) -> None:
    """Remove somebody's finalizer from all children."""
    for child in stage.children():
        if FINALIZER in child["metadata"].get("finalizers", ()):
            write_child(stage, child, finalizers=[])
    stage.record("finalizers are removed")


def _edit_for_good(stage: Stage) -> None:
    for child in stage.children():
        if child["kind"] == kinds.SERVICE.kind:
            stage.refused.add(("services", child["metadata"]["name"]))
    _edit((kinds.SERVICE,), _other_selector)(stage)


def allow(stage: Stage) -> None:
    """The policy is gone."""
    stage.refused.clear()


def _refuse_new_children(stage: Stage) -> None:
    delete_children(kinds.SERVICE)(stage)

    def obstruct(write: LoggedWrite) -> ApiError | None:
        if write.actor != METACONTROLLER or write.verb != "create" or write.resource != "services":
            return None
        return ApiError(
            403, "Forbidden", f'services "{write.name}" is forbidden: exceeded quota: q, used: count/services=9'
        )

    stage.obstacle = obstruct


def _raise_quota(stage: Stage) -> None:
    stage.obstacle = lambda _write: None


def _lose_pull_secret(stage: Stage) -> None:
    stage.cluster.create(make.pull_secret(PULL_SECRET, "docker.io"))
    stage.run(OUTAGE)
    stage.cluster.delete(kinds.SECRET, PULL_SECRET, NAMESPACE)
    stage.record("the Secret is deleted")


def _other_selector(child: Manifest) -> dict[str, Any]:
    return {"spec": {"selector": dict.fromkeys(child["spec"].get("selector", {}), "another")}}


def _no_rules(_child: Manifest) -> dict[str, Any]:
    return {"rules": []}


def _drift(stage: Stage) -> None:
    _edit((kinds.SERVICE,), _other_selector)(stage)
    _edit((kinds.ROLE,), _no_rules)(stage)


def _scale_to_zero(stage: Stage) -> None:
    """The pods are gone before anybody can write the replicas back."""
    stage.pods_lost |= stage.pods()
    _edit((kinds.DEPLOYMENT,), _no_replicas)(stage)


def _no_replicas(_child: Manifest) -> dict[str, Any]:
    return {"spec": {"replicas": 0}}


def _with_container(**fields: Any) -> Callable[[Manifest], dict[str, Any]]:
    def change(child: Manifest) -> dict[str, Any]:
        if child["kind"] == contract.COMPONENT.kind:
            return {"spec": {"extraPodSpec": {"mainContainer": fields}}}
        containers = [{**container, **fields} for container in child["spec"]["template"]["spec"]["containers"]]
        return {"spec": {"template": {"spec": {"containers": containers}}}}

    return change


WORKLOADS = frozenset({contract.COMPONENT, kinds.DEPLOYMENT, kinds.LEADER_WORKER_SET, kinds.POD_CLIQUE_SET})
FAULTS = (
    Fault(
        name="ConfigDrift",
        what="Selectors of Services and rules of Roles are edited by hand.",
        begin=_drift,
        holds="the wanted values are written back",
    ),
    Fault(
        name="CRDMutation",
        what="The image in the spec of each component is edited by hand.",
        begin=_edit((contract.COMPONENT,), _with_container(image="by-hand:0")),
        holds="the graph's image is written back",
        roads=("components", "lws"),
    ),
    Fault(
        name="ImageCorrupt",
        what="The image of each Deployment is edited by hand.",
        begin=_edit((kinds.DEPLOYMENT,), _with_container(image="by-hand:0")),
        holds="the wanted image is written back before a pod is lost",
        roads=("components",),
    ),
    Fault(
        name="CrashLoopInject",
        what="The command of each Deployment is replaced by one that does not exist.",
        begin=_edit((kinds.DEPLOYMENT,), _with_container(command=["/nothing"])),
        holds="the wanted command is written back before a pod is lost",
        roads=("components",),
    ),
    Fault(
        name="DeploymentScaleZero",
        what="Each Deployment is scaled to zero by hand.",
        begin=_scale_to_zero,
        holds="the wanted replicas are written back",
        roads=("components",),
    ),
    Fault(
        name="LabelStomping",
        what="Children lose their labels and annotations, except the label by which Metacontroller knows them.",
        begin=_strip,
        holds="labels and annotations come back; pods stay",
    ),
    Fault(
        name="LabelStomping: the label of Metacontroller",
        what="Children lose all labels, so Metacontroller releases them; a person puts them back after a minute.",
        begin=_strip_known_label,
        end=_put_labels_back,
        seconds=OUTAGE,
        holds="nothing is deleted and pods stay; the graph says that the names are taken",
        by_person=True,
    ),
    Fault(
        name="OwnerRefOrphan",
        what="Children lose their owner references.",
        begin=_orphan,
        holds="they are adopted again; none is deleted",
    ),
    Fault(
        name="ResourceDeletion: Services, accounts, Roles",
        what="Services, ServiceAccounts, Roles and RoleBindings are deleted by hand.",
        begin=delete_children(kinds.SERVICE, kinds.SERVICE_ACCOUNT, kinds.ROLE, kinds.ROLE_BINDING),
        holds="they are created again; pods stay",
    ),
    Fault(
        name="ResourceDeletion: workloads",
        what="Components, or the PodCliqueSet, are deleted by hand, and their pods go with them.",
        begin=delete_children(contract.COMPONENT, kinds.POD_CLIQUE_SET),
        holds="all are created again; the graph is not Ready before",
    ),
    Fault(
        name="SecretDeletion",
        what="The registry's pull secret is deleted.",
        begin=_lose_pull_secret,
        holds="pods that run stay",
    ),
    Fault(
        name="FinalizerBlock",
        what="Services are deleted by hand, and somebody's finalizer keeps them for a minute.",
        begin=delete_held(kinds.SERVICE),
        end=remove_finalizers,
        seconds=OUTAGE,
        holds="the graph says what is missing",
    ),
    Fault(
        name="RevertRefused",
        what="Services are edited by hand, and a policy refuses to change them back for a minute.",
        begin=_edit_for_good,
        end=allow,
        seconds=OUTAGE,
        holds="the graph says which child differs, and is not Ready",
    ),
    Fault(
        name="QuotaExhaustion",
        what="Services are deleted by hand, and a quota lets nobody create them for a minute.",
        begin=_refuse_new_children,
        end=_raise_quota,
        seconds=OUTAGE,
        holds="the graph says what is missing, and is not Ready",
    ),
)
