"""The children of a graph as last applied: what an invalid spec leaves, or a move to another installation."""

from hooks.ground import contract
from hooks.ground.k8s.types import (
    Manifest,
    ReadManifest,
    annotations_of,
    build_manifest,
    build_metadata,
    gvk_of,
    name_of,
)
from hooks.ground.problems import Problem
from hooks.wire.metacontroller.controllers import NEVER_UPDATED
from hooks.wire.metacontroller.last_applied import last_applied_children
from hooks.wire.metacontroller.protocol import SyncRequest


def find_last_children(request: SyncRequest, problems: tuple[Problem, ...]) -> list[Manifest]:
    """All children as they were last applied; raises InvalidSpec, with these problems, if that is not recorded."""
    observed = request.children.all()
    applied = last_applied_children((child for child in observed if not _is_kept_by_stub(child)), problems)
    return [*applied, *(_stub(child) for child in observed if _is_kept_by_stub(child))]


def _is_kept_by_stub(child: ReadManifest) -> bool:
    """Whether an object is never updated and has no last-applied state, because another operator created it."""
    is_never_updated = gvk_of(child) in NEVER_UPDATED[contract.GRAPH]
    return is_never_updated and contract.ANNOTATION_LAST_APPLIED not in annotations_of(child)


def _stub(child: ReadManifest) -> Manifest:
    return build_manifest(gvk_of(child), build_metadata(name_of(child), child["metadata"]["namespace"]))
