"""Reads the children and related objects of a request into frozen values; decides nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from hooks.component.spec.pull_secrets import RegistrySecret, observe_registry_secrets
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition, is_true
from hooks.ground.k8s.deletion import why_deleting
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Json,
    ReadManifest,
    annotations_of,
    gvk_of,
    is_controlled_by,
    is_deleting,
    labels_of,
    name_of,
)
from hooks.request.seen.failures import describe_pods
from hooks.request.seen.gpu_discovery import GpuNode, observe_nodes
from hooks.request.spec.names import ANNOTATION_SPEC_HASH, job_name
from hooks.request.spec.phases import JobState
from hooks.wire.metacontroller.protocol import ObjectQuery, SyncRequest
from hooks.wire.policy.on_demand import NOT_YET_READ

LABEL_JOB_NAME = "job-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedJob:
    """The profiling Job; `ended` is None while it runs.

    `failure` is the message of the Job's failure; `pods` names a container that failed or cannot start. Both may be
    empty.
    """

    progress: JobState
    failure: str
    ended: datetime | None
    spec_hash: str
    pods: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveGraph:
    """A graph in the target namespace; `is_ours` if this request created it, `is_trial` if its profiler did.

    `request` is the namespace and name of the request that its labels name, as labels have them; empty for none.

    `replicas` are those of all components: how many are wanted, and how many are available.

    `state` is its `status.state`, and `message` that of its condition Ready. While the graph is being deleted, or its
    status belongs to an older spec, `state` is empty and `message` says so.
    """

    name: str
    state: str
    message: str
    created: datetime | None
    is_ours: bool
    is_trial: bool = False
    uid: str = ""
    request: tuple[str, str] = ("", "")
    replicas: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedConfigMap:
    """A ConfigMap; `request_uid` is that of the request whose profiler wrote it, empty if unknown."""

    namespace: str
    name: str
    data: Mapping[str, str]
    request_uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedChild:
    """An existing child; an answer with its kind, namespace and name keeps it."""

    kind: GroupVersionKind
    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRequest:
    """Everything that a request's sync sees in addition to the request.

    `graphs` and `config_maps` are children and related objects by (namespace, name), `namespaces` are uids by name,
    `children` are in the order of kind and name. `shows_graphs` says that a graph outside `graphs` does not exist.
    `claims` are names of PersistentVolumeClaims. A fault says why nodes or claims were not read.
    """

    job: ObservedJob | None
    graphs: Mapping[tuple[str, str], LiveGraph]
    shows_graphs: bool
    config_maps: Mapping[tuple[str, str], ObservedConfigMap]
    namespaces: Mapping[str, str]
    nodes: tuple[GpuNode, ...]
    nodes_fault: str
    claims: frozenset[str]
    claims_fault: str
    registry_secrets: tuple[RegistrySecret, ...]
    children: tuple[ObservedChild, ...]

    @property
    def trials(self) -> tuple[str, ...]:
        """The graphs of a search that are still there."""
        return tuple(sorted(graph.name for graph in self.graphs.values() if graph.is_trial))


def observe(request: SyncRequest) -> ObservedRequest:
    """Read the children and related objects of a request's sync."""
    metadata, children, related = request.parent["metadata"], request.children, request.related
    namespace, uid = metadata["namespace"], metadata.get("uid", "")
    job = children.get(kinds.JOB, job_name(metadata["name"]), namespace)
    graphs = [*related.of(contract.GRAPH), *children.of(contract.GRAPH)]
    config_maps = [*related.of(kinds.CONFIG_MAP), *children.of(kinds.CONFIG_MAP)]
    return ObservedRequest(
        job=_observe_job(job, related.of(kinds.POD)) if job is not None else None,
        graphs={_key(graph): _observe_graph(graph, uid) for graph in graphs},
        shows_graphs=related.has_kind(contract.GRAPH),
        config_maps={_key(found): _observe_config_map(found) for found in config_maps},
        namespaces={
            name_of(found): found["metadata"].get("uid", "")
            for found in related.of(kinds.NAMESPACE)
            if not is_deleting(found)
        },
        nodes=observe_nodes(related.of(kinds.NODE)),
        nodes_fault=_find_fault(request, kinds.NODE),
        claims=frozenset(name_of(claim) for claim in related.of(kinds.PERSISTENT_VOLUME_CLAIM)),
        claims_fault=_find_fault(request, kinds.PERSISTENT_VOLUME_CLAIM),
        registry_secrets=observe_registry_secrets(related.of(kinds.SECRET)),
        children=tuple(
            ObservedChild(
                kind=gvk_of(child), namespace=child["metadata"].get("namespace", namespace), name=name_of(child)
            )
            for child in children.all()
        ),
    )


def query_job_pods(parent: ReadManifest) -> ObjectQuery:
    """The query for the pods of the profiling Job, which have the label that the Job controller sets."""
    metadata = parent["metadata"]
    return ObjectQuery(kinds.POD, metadata["namespace"], labels=((LABEL_JOB_NAME, job_name(metadata["name"])),))


def _find_fault(request: SyncRequest, kind: GroupVersionKind) -> str:
    """Why no object of a kind was read; empty if it was."""
    if request.related.has_kind(kind):
        return ""
    return next((fault for query, fault in request.answered.items() if query.kind == kind), "") or NOT_YET_READ


def _key(found: ReadManifest) -> tuple[str, str]:
    return found["metadata"].get("namespace", ""), name_of(found)


def _observe_job(job: ReadManifest, pods: Iterable[ReadManifest]) -> ObservedJob:
    status = job.get("status") or {}
    conditions = status.get("conditions") or ()
    # FailureTarget comes first, as soon as the failure is certain; Failed when the last pod has ended too.
    failed = next((kind for kind in ("Failed", "FailureTarget") if is_true(conditions, kind)), "")
    ended = failed or ("Complete" if is_true(conditions, "Complete") else "")
    condition = find_condition(conditions, ended) or {}
    progress = {"": JobState.RUNNING, "Complete": JobState.COMPLETE}.get(ended, JobState.FAILED)
    uid = job["metadata"].get("uid", "")
    return ObservedJob(
        progress=progress,
        failure=str(condition.get("message") or condition.get("reason") or "") if failed else "",
        ended=_moment(status.get("completionTime") or condition.get("lastTransitionTime")) if ended else None,
        spec_hash=annotations_of(job).get(ANNOTATION_SPEC_HASH, ""),
        pods=describe_pods([pod for pod in pods if is_controlled_by(pod, uid)]),
    )


def _observe_graph(graph: ReadManifest, request_uid: str) -> LiveGraph:
    metadata, status = graph["metadata"], graph.get("status") or {}
    ready = find_condition(status.get("conditions") or (), READY) or {}
    outdated = _why_outdated(graph)
    return LiveGraph(
        name=name_of(graph),
        state="" if outdated else str(status.get("state") or ""),
        message=outdated or str(ready.get("message") or ""),
        created=_moment(metadata.get("creationTimestamp")),
        # Metacontroller labels what it creates with the uid of the parent, in other namespaces too.
        uid=str(metadata.get("uid") or ""),
        is_ours=bool(request_uid) and labels_of(graph).get(contract.LABEL_CONTROLLER_UID) == request_uid,
        is_trial=bool(request_uid) and any(map(partial(_is_lent, request_uid), metadata.get("ownerReferences") or ())),
        request=(
            str(labels_of(graph).get(contract.LABEL_REQUEST_NAMESPACE) or ""),
            str(labels_of(graph).get(contract.LABEL_REQUEST_NAME) or ""),
        ),
        replicas=_sum_replicas(status.get("services")),
    )


def _is_lent(uid: str, owner: ReadManifest) -> bool:
    """Whether that owner is the request, which does not control the object."""
    return owner.get("uid") == uid and owner.get("controller") is not True


def _sum_replicas(services: Json) -> tuple[int, int]:
    """Wanted and available replicas of all components; a workload without availableReplicas says readyReplicas."""
    wanted = available = 0
    for one in services.values() if isinstance(services, Mapping) else ():
        if isinstance(one, Mapping):
            wanted += _count(one.get("replicas"))
            available += _count(one.get("availableReplicas", one.get("readyReplicas")))
    return wanted, available


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _why_outdated(graph: ReadManifest) -> str:
    """Why a graph's status does not describe it; empty if it does."""
    if why := why_deleting(graph):
        return why
    wanted = int(graph["metadata"].get("generation", 0))
    observed = int((graph.get("status") or {}).get("observedGeneration", 0))
    return "" if observed >= wanted else f"its generation {wanted} is not processed yet, only {observed}"


def _observe_config_map(found: ReadManifest) -> ObservedConfigMap:
    namespace, name = _key(found)
    return ObservedConfigMap(
        namespace=namespace,
        name=name,
        data=found.get("data") or {},
        request_uid=annotations_of(found).get(contract.ANNOTATION_REQUEST_UID, ""),
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
