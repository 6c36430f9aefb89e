"""The history of a graph's spec: a ControllerRevision for each of the last ones, beside the other children.

They are wanted only where the controller declares their kind: that of an installation of before this does not. A spec
that comes back gets the highest number again, as with Deployments.
"""

from collections.abc import Iterator

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.same import ByIdentity
from hooks.ground.k8s.types import (
    Manifest,
    ReadManifest,
    build_manifest,
    build_metadata,
    is_deleting,
    name_of,
)
from hooks.ground.settings import Settings
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.parent_key import read_parent_key
from hooks.wire.metacontroller.plan_cache import cached_by_parent
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.spec_restoring import name_present
from hooks.wire.policy.spec_revisions import Recorded, Revision, pack, read_revision


def add_revisions(
    children: Children, request: SyncRequest, parent_key: bytes, *, suffix: str, settings: Settings
) -> Children:
    """The children with the revisions; `suffix` is the generation of the workers, empty for none."""
    if not request.children.has_kind(kinds.CONTROLLER_REVISION) or not settings.revision_history:
        return children
    revisions = _choose(request, parent_key, suffix, settings.revision_history)
    return _join(parent_key, ByIdentity(children), revisions)


def _choose(request: SyncRequest, parent_key: bytes, suffix: str, most: int) -> tuple[Revision, ...]:
    """The present revision and the newest others; what a revision records stays as it is."""
    shown = {one.name: one for one in observe_revisions(request)}
    present, recorded = _record(parent_key)
    highest = max((one.number for one in shown.values()), default=0)
    found = shown.pop(present, None)
    number = highest if found is not None and found.number == highest else highest + 1
    now = Revision(name=present, number=number, suffix=suffix, recorded=recorded if found is None else found.recorded)
    others = sorted(shown.values(), key=lambda one: (one.number, one.name), reverse=True)
    return (now, *others[: most - 1])


def observe_revisions(request: SyncRequest) -> Iterator[Revision]:
    """The revisions that the graph has; one that no hook wrote is none, and is deleted."""
    for one in request.children.of(kinds.CONTROLLER_REVISION):
        if not is_deleting(one) and (revision := read_revision(one)) is not None:
            yield revision


@cached_by_parent()
def _record(parent_key: bytes) -> tuple[str, Recorded]:
    """The name of the present spec's revision, and what it records."""
    graph = read_parent_key(parent_key)
    return name_present(graph), pack(graph)


@cached_by_parent()
def _join(parent_key: bytes, children: ByIdentity[Children], revisions: tuple[Revision, ...]) -> Children:
    """Both, with their JSON; between two changes of the revisions it is written once."""
    graph = read_parent_key(parent_key)
    return Children([*children.value, *(_build(graph, one) for one in revisions)])


def _build(graph: ReadManifest, revision: Revision) -> Manifest:
    generation = {contract.LABEL_WORKER_HASH: revision.suffix} if revision.suffix else {}
    labels = {contract.LABEL_GRAPH: name_of(graph), **generation}
    metadata = build_metadata(revision.name, graph["metadata"]["namespace"], labels=labels)
    return {
        **build_manifest(kinds.CONTROLLER_REVISION, metadata),
        "data": revision.recorded.data,
        "revision": revision.number,
    }
