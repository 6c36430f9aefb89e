"""The release that a running component of no graph keeps while the tag of its image names none, as by a typo.

It is that of the images that were last applied, and then in an annotation of its children. A graph decides for its own
components.
"""

from hooks.component.image.runtime_version import lacks_release, read_release_of_pods, with_release
from hooks.component.seen.observe import ObservedComponent
from hooks.ground import contract
from hooks.ground.k8s.pod_sets import pods_by_role
from hooks.ground.k8s.types import ReadManifest, annotations_of
from hooks.language.api.component import ComponentDeployment
from hooks.wire.metacontroller.last_applied import read_last_applied

_NAME = contract.ANNOTATION_KEPT_RELEASE


def keep_release(component: ComponentDeployment, parent: ReadManifest, seen: ObservedComponent) -> ReadManifest:
    """The component as if its user had written the release that it keeps; the same object if it keeps none."""
    spec, workloads = parent["spec"], seen.workloads
    if component.graph_name or not lacks_release(spec):
        return parent
    live = [*([workloads.deployment] if workloads.deployment else []), *workloads.leader_worker_sets.values()]
    release = next(filter(None, map(_release_of, live)), "")
    if not release:
        return parent
    annotations = {**(spec.get("annotations") or {}), _NAME: release}
    return {**parent, "spec": {**with_release(spec, release), "annotations": annotations}}


def _release_of(workload: ReadManifest) -> str:
    """The release of a live workload, empty for none."""
    applied = read_last_applied(workload) or workload
    found = next((read_release_of_pods(one.template.get("spec") or {}) for one in pods_by_role(applied)), None)
    return str(found or annotations_of(applied).get(_NAME, ""))
