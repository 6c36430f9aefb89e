"""A recorded spec of a graph written back: the change that gives the graph that spec again, and what it keeps."""

from collections.abc import Mapping
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.merge_patch import find_merge_patch
from hooks.ground.k8s.types import Json, ReadManifest, annotations_of, name_of
from hooks.wire.policy.spec_revisions import (
    KEPT_ANNOTATION,
    OF_SCALING,
    comparable_text,
    name_revision,
    without_scaling,
)


def name_present(graph: ReadManifest) -> str:
    """The name that the revision of the graph's present spec has."""
    return name_revision(name_of(graph), comparable_text(graph))


def with_spec(graph: ReadManifest, document: Mapping[str, Any]) -> ReadManifest:
    """The graph as it would be with a recorded spec and the replicas of that time."""
    others = {key: value for key, value in annotations_of(graph).items() if key != KEPT_ANNOTATION}
    annotations = {**others, **(document.get("annotations") or {})}
    return {**graph, "spec": document["spec"], "metadata": {**graph["metadata"], "annotations": annotations}}


def restore(graph: ReadManifest, document: Mapping[str, Any]) -> dict[str, Json]:
    """The merge patch that gives the graph a recorded spec again; {} if it has it.

    Services keep their replicas, and the graph its restart. A service that is gone since comes with its old replicas.
    """
    spec = graph.get("spec") or {}
    there = spec.get("services") or {}
    services = {
        name: _with_scaling(one, there.get(name)) for name, one in (document["spec"].get("services") or {}).items()
    }
    change = find_merge_patch(spec, {**document["spec"], "services": services, **restart_of(graph)})
    kept = (document.get("annotations") or {}).get(KEPT_ANNOTATION)
    is_same = annotations_of(graph).get(KEPT_ANNOTATION) == kept
    return {
        **({"spec": change} if change else {}),
        **({} if is_same else {"metadata": {"annotations": {KEPT_ANNOTATION: kept}}}),
    }


def go_back(graph: ReadManifest, document: Mapping[str, Any], revision: str) -> dict[str, Json]:
    """The merge patch of `restore`, with the annotation that names the revision that stalled, and the one after it."""
    change = restore(graph, document)
    kept = (change.get("metadata") or {}).get("annotations") or {}
    way = f"{name_present(graph)} {revision}"
    return {**change, "metadata": {"annotations": {**kept, contract.ANNOTATION_WENT_BACK: way}}}


def read_way_back(graph: ReadManifest) -> tuple[str, ...]:
    """The revisions of the last way back, from and to; () for none. From neither of them it goes back once more."""
    return tuple(annotations_of(graph).get(contract.ANNOTATION_WENT_BACK, "").split())


def restart_of(graph: ReadManifest) -> dict[str, Json]:
    """The restart that the graph's spec asks for, as a part of it; {} for none."""
    spec = graph.get("spec") or {}
    return {"restart": spec["restart"]} if "restart" in spec else {}


def _with_scaling(recorded: Json, present: Json) -> Json:
    if not isinstance(present, Mapping) or not isinstance(recorded, Mapping):
        return recorded
    return {**without_scaling(recorded), **{key: present[key] for key in sorted(OF_SCALING & present.keys())}}
