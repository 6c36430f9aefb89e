"""The children of a planned request; decides nothing.

The graph outlives the request: its Namespace is a second owner, so the garbage collector only drops the reference to
the request. Its ConfigMaps have the graph as that owner, and go with it; where no graph is created, the Namespace. All
kinds are OnDelete: existing children are returned as stubs and never changed.
"""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.names import fit_label_value
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Json,
    Manifest,
    build_manifest,
    build_metadata,
    gvk_of,
    name_of,
    sort_manifests,
)
from hooks.request.plan.profiling_job import build_profiling_access, build_profiling_job
from hooks.request.plan.request import RequestPlan
from hooks.request.seen.observe import LiveGraph, ObservedChild, ObservedRequest
from hooks.request.spec.applied_graph import GraphTarget

_KEPT = frozenset({kinds.JOB, kinds.CONFIG_MAP, contract.GRAPH})
"""Kinds that are never deleted while their request exists; a finished Job keeps the profiler's log."""

_CONFIG_MAP_FIELDS = ("data", "binaryData", "immutable")


def build_children(plan: RequestPlan, seen: ObservedRequest, *, request: str, namespace: str) -> list[Manifest]:
    """Build all children of the request of that name and namespace, sorted by kind and name."""
    owner = _graph_of(plan.live) if plan.live and plan.live.uid else _namespace_of(plan.target)
    kept = [_stub(child) for child in seen.children if child.kind in _KEPT]
    created = [
        *([build_profiling_job(plan.job)] if plan.job else ()),
        *(build_profiling_access(plan.access) if plan.access else ()),
        *([_own(plan.graph, _namespace_of(plan.target))] if plan.graph else ()),
        *(_own(_build_config_map(found, plan.target, request, namespace), owner) for found in plan.config_maps),
    ]
    existing = {_identity(stub) for stub in kept} | {
        (kinds.CONFIG_MAP.key, found.namespace, found.name) for found in seen.config_maps.values()
    }
    return sort_manifests([*kept, *(child for child in created if _identity(child) not in existing)])


def keep_children(seen: ObservedRequest) -> list[Manifest]:
    """All observed children, unchanged."""
    return sort_manifests([_stub(child) for child in seen.children])


def _own(manifest: Manifest, owner: Mapping[str, Json]) -> Manifest:
    """The object with an owner; Metacontroller adds the request as another.

    Without `controller` and `blockOwnerDeletion`: it neither controls the object nor waits for its deletion.
    """
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [dict(owner)]}}


def _namespace_of(target: GraphTarget) -> Mapping[str, Json]:
    return _refer_to(kinds.NAMESPACE, target.namespace, target.uid)


def _graph_of(live: LiveGraph) -> Mapping[str, Json]:
    return _refer_to(contract.GRAPH, live.name, live.uid)


def _refer_to(kind: GroupVersionKind, name: str, uid: str) -> Mapping[str, Json]:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "name": name, "uid": uid}


def _stub(child: ObservedChild) -> Manifest:
    return build_manifest(child.kind, build_metadata(child.name, child.namespace))


def _identity(manifest: Manifest) -> tuple[str, str, str]:
    return gvk_of(manifest).key, manifest["metadata"]["namespace"], name_of(manifest)


def _build_config_map(found: Manifest, target: GraphTarget, request: str, namespace: str) -> Manifest:
    """Build a ConfigMap of the output in the graph's namespace, labelled with the request."""
    metadata = found["metadata"]
    labels = {
        **_strings(metadata.get("labels")),
        contract.LABEL_REQUEST_NAME: fit_label_value(request),
        contract.LABEL_REQUEST_NAMESPACE: namespace,
        contract.LABEL_MANAGED_BY: contract.MANAGER,
    }
    labels = {key: value for key, value in labels.items() if key != contract.LABEL_CONTROLLER_UID}
    annotations = _strings(metadata.get("annotations"))
    described = build_metadata(metadata["name"], target.namespace, labels=labels, annotations=annotations)
    fields = {key: found[key] for key in _CONFIG_MAP_FIELDS if found.get(key)}
    return build_manifest(kinds.CONFIG_MAP, described, **fields)


def _strings(entries: Json) -> dict[str, str]:
    return {key: value for key, value in (entries or {}).items() if isinstance(value, str)}
