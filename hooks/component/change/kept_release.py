"""The release that a running service keeps while the tag of its image names none, as by a typo.

It is that of what was last applied. A component of no graph then has it in an annotation of its children; a graph
decides for its own components.
"""

from collections.abc import Iterable, Iterator, Mapping

from hooks.component.image.runtime_version import RuntimeVersion, resolve_runtime_version
from hooks.component.seen.observe import ObservedComponent
from hooks.component.spec.subject import ComponentType
from hooks.ground.contract import ANNOTATION_KEPT_RELEASE, MAIN_CONTAINER
from hooks.ground.k8s.pod_sets import pods_by_role
from hooks.ground.k8s.types import Json, ReadManifest, annotations_of
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.component_spec import ComponentSpec
from hooks.wire.metacontroller.last_applied import read_last_applied


def keep_in_component(component: ComponentDeployment, parent: ReadManifest, seen: ObservedComponent) -> ReadManifest:
    """The component of no graph as if its user had written the release that it keeps; the same object without one."""
    release = "" if component.graph_name else keep_release(parent["spec"], _find_live(seen))
    if not release:
        return parent
    annotations = {**(parent["spec"].get("annotations") or {}), ANNOTATION_KEPT_RELEASE: release}
    return {**parent, "spec": {**with_release(parent["spec"], release), "annotations": annotations}}


def keep_release(spec: Mapping[str, Json], live: Iterable[object]) -> str:
    """The first of the live releases that is known, if the spec names none; empty otherwise.

    An endpoint picker keeps none, because its spec is another one before 1.5.
    """
    if spec.get("componentType") == ComponentType.EPP or read_release(spec) is not None:
        return ""
    return next((str(release) for release in live if release), "")


def with_release(spec: Mapping[str, Json], release: str) -> dict[str, Json]:
    """The spec of a component as if its user had written that release."""
    return {**spec, "runtimeVersionOverride": release}


def read_release(spec: Mapping[str, Json]) -> RuntimeVersion | None:
    """The release in the spec of a component, given as JSON."""
    pod, override = spec.get("extraPodSpec") or {}, spec.get("runtimeVersionOverride") or ""
    return resolve_runtime_version(ComponentSpec.model_construct(extra_pod_spec=pod, runtime_version_override=override))


def read_release_of_pods(pod: Mapping[str, Json]) -> RuntimeVersion | None:
    """The release in the images of pods with that spec."""
    main = next((one for one in pod.get("containers") or () if one.get("name") == MAIN_CONTAINER), None)
    return read_release({"extraPodSpec": {**pod, "mainContainer": main}})


def _find_live(seen: ObservedComponent) -> Iterator[object]:
    deployment, sets = seen.workloads.deployment, seen.workloads.leader_worker_sets
    for live in (*([deployment] if deployment else []), *sets.values()):
        applied = read_last_applied(live) or live
        yield from (read_release_of_pods(role.template.get("spec") or {}) for role in pods_by_role(applied))
        yield annotations_of(applied).get(ANNOTATION_KEPT_RELEASE)
