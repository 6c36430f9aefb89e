"""What a component's sync observes: its workloads, pods, ServiceAccounts, Secrets, and the optional kinds."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from hooks.component.spec.mpi_key import ObservedKey, observe_key
from hooks.component.spec.operator_release import UNWRITTEN, agree_on_release
from hooks.component.spec.pull_secrets import RegistrySecret, observe_registry_secrets
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import pods_by_role
from hooks.ground.k8s.types import ReadManifest, annotations_of, is_deleting, labels_of, name_of
from hooks.ground.settings import Settings
from hooks.wire.metacontroller.controllers import can_use_leader_worker_sets
from hooks.wire.metacontroller.last_applied import read_applied_annotations
from hooks.wire.metacontroller.protocol import ObjectQuery, SyncRequest
from hooks.wire.policy.on_demand import NOT_YET_READ, has_go_finalizer

_RELEASE = contract.ANNOTATION_ORIGIN_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Workloads:
    """The live workloads of a component: its Deployment (None if it does not exist), its LeaderWorkerSets by name.

    `numbered` are the names of those whose pods belong to a PodGroup of ours. `has_pod_groups` says that one exists.
    `has_rival`: a set that is no child of the component has the name and the shape of one for all its replicas.
    `unread` says in half a sentence why that is not known, of a component that the Go operator may have begun.
    """

    deployment: ReadManifest | None
    leader_worker_sets: Mapping[str, ReadManifest]
    numbered: frozenset[str] = frozenset()
    has_pod_groups: bool = False
    has_rival: bool = False
    unread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedComponent:
    """Children and related objects of one component.

    `accounts` are the names of the ServiceAccounts with the label for components. `pods` are those of its own pods that
    were read; `reads_pods` says that all were, `pods_fault` in half a sentence why they could not be. `has_…` says that
    the kind can be used. `operator_release` is the release that its LeaderWorkerSets keep as that with which it
    began, None without one.
    """

    workloads: Workloads
    pods: tuple[ReadManifest, ...]
    mpi_key: ObservedKey
    accounts: tuple[str, ...]
    registry_secrets: tuple[RegistrySecret, ...]
    has_virtual_services: bool
    has_leader_worker_sets: bool
    reads_pods: bool = False
    pods_fault: str = ""
    operator_release: str | None = None


def observe(request: SyncRequest, settings: Settings) -> ObservedComponent:
    """Read a request's children and related objects."""
    pods_fault = next((fault for query, fault in request.answered.items() if query.kind == kinds.POD), "")
    return ObservedComponent(
        workloads=observe_workloads(request),
        pods=request.related.of(kinds.POD),
        mpi_key=observe_key(request, settings),
        accounts=tuple(
            sorted(
                name_of(account)
                for account in request.related.of(kinds.SERVICE_ACCOUNT)
                if labels_of(account).get(contract.LABEL_COMPONENT_POD) == "true" and not is_deleting(account)
            )
        ),
        registry_secrets=observe_registry_secrets(request.related.of(kinds.SECRET)),
        has_virtual_services=request.children.has_kind(kinds.VIRTUAL_SERVICE),
        has_leader_worker_sets=can_use_leader_worker_sets(request.children.optional_kinds()),
        reads_pods=request.related.has_kind(kinds.POD) and not pods_fault,
        pods_fault=pods_fault,
        operator_release=_observe_operator_release(request),
    )


def _observe_operator_release(request: SyncRequest) -> str | None:
    """What the component's sets keep; without one, as with no replicas, what its other children say.

    Sets that a Go operator left, before 1.0, keep that nothing was written. So does a component whose status says that
    it ran sets, where somebody has deleted these and no other child says a release.
    """
    sets = (*request.children.of(kinds.LEADER_WORKER_SET), *request.related.of(kinds.LEADER_WORKER_SET))
    kept = agree_on_release({_release_of(found) for found in sets})
    if kept is None:
        kept = agree_on_release({_release_of(child) for child in request.children.all()} - {UNWRITTEN})
    if kept is None and (has_go_finalizer(request.parent) or _has_lost_sets(request)):
        return UNWRITTEN
    return kept


def _release_of(child: ReadManifest) -> str:
    """What one child says; where somebody took that away, what its pods say."""
    record = {**annotations_of(child), **read_applied_annotations(child)}
    if _RELEASE in record:
        return str(record[_RELEASE])
    return next(
        (str(role.annotations[_RELEASE]) for role in pods_by_role(child) if _RELEASE in role.annotations), UNWRITTEN
    )


def _has_lost_sets(request: SyncRequest) -> bool:
    """Whether other children are left of sets that somebody has deleted; a PodGroup says so without a status, too."""
    return bool(request.children.of(kinds.POD_GROUP)) or (bool(request.children.all()) and has_run_sets(request))


def has_run_sets(request: SyncRequest) -> bool:
    """Whether the component's status says that it runs LeaderWorkerSets, or did so last."""
    service = request.status.get("service")
    return isinstance(service, Mapping) and service.get("componentKind") == kinds.LEADER_WORKER_SET.kind


def without_progress(seen: ObservedComponent) -> ObservedComponent:
    """The part that a plan depends on: of live workloads, whether they exist and can stay; no pods."""
    sets, deployment = seen.workloads.leader_worker_sets, seen.workloads.deployment
    workloads = replace(
        seen.workloads,
        deployment=None if deployment is None else _without_state(deployment),
        leader_worker_sets={name: _without_state(found) for name, found in sets.items()},
    )
    return replace(seen, workloads=workloads, pods=(), reads_pods=False, pods_fault="")


def observe_workloads(request: SyncRequest) -> Workloads:
    """The live workloads of the component in a request."""
    metadata = request.parent["metadata"]
    sets = {name_of(found): found for found in request.children.of(kinds.LEADER_WORKER_SET)}
    return Workloads(
        deployment=request.children.get(kinds.DEPLOYMENT, metadata["name"], metadata["namespace"]),
        leader_worker_sets=sets,
        numbered=frozenset(name for name, found in sets.items() if _has_pod_group(found)),
        has_pod_groups=bool(request.children.of(kinds.POD_GROUP)),
        has_rival=_has_rival(request, first_set(metadata["name"]), sets),
        unread=_why_unread(request),
    )


def query_rival(parent: ReadManifest) -> ObjectQuery:
    """The query for another owner's set that has the name of a component's first one."""
    metadata = parent["metadata"]
    return ObjectQuery(kinds.LEADER_WORKER_SET, metadata["namespace"], first_set(metadata["name"]))


def _why_unread(request: SyncRequest) -> str:
    """Why it is not known whether the Go operator left a set; empty if it is known, or that operator left none."""
    if request.related.has_kind(kinds.LEADER_WORKER_SET) or not has_go_finalizer(request.parent):
        return ""
    return request.answered.get(query_rival(request.parent), "") or NOT_YET_READ


def first_set(component: str) -> str:
    """The name of a component's only LeaderWorkerSet, or of the one for its first replica."""
    return f"{component}-0"


def _has_rival(request: SyncRequest, first: str, own: Container[str]) -> bool:
    found = request.related.get(kinds.LEADER_WORKER_SET, first, request.parent["metadata"]["namespace"])
    return found is not None and first not in own and not _has_pod_group(found)


def _has_pod_group(found: ReadManifest) -> bool:
    """Whether the template of a LeaderWorkerSet names a PodGroup.

    The Go operator before 1.x writes the same annotation. Unlike a label of the set, it changes only with the pods.
    """
    return any(contract.ANNOTATION_GANG in pods.annotations for pods in pods_by_role(found))


def _without_state(workload: ReadManifest) -> ReadManifest:
    """The name of a workload, whether it is being deleted, what holds it, and the hash of what can never change."""
    metadata = workload["metadata"]
    known = {key: metadata[key] for key in ("name", "deletionTimestamp", "finalizers") if key in metadata}
    annotations = annotations_of(workload)
    immutable = {key: annotations[key] for key in (contract.ANNOTATION_IMMUTABLE_HASH,) if key in annotations}
    return {"metadata": {**known, "annotations": immutable}}
