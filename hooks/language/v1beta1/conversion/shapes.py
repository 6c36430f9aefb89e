"""A component as frames, in the shape of each version.

v1alpha1 has the main container in `extraPodSpec.mainContainer`, v1beta1 as the container `main` of `podTemplate`.
"""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.conversion.json_values import name_of_item
from hooks.language.conversion.pairs import Frames, Slot
from hooks.language.conversion.sides import Side
from hooks.language.v1beta1.conversion.frames import Frame

CONTAINERS: Slot = (Frame.POD, "containers")


def spread(side: Side, component: Mapping[str, Json]) -> Frames:
    """The frames of a component or of a service."""
    return _spread_alpha(component) if side is Side.HUB else _spread_beta(component)


def gather(side: Side, frames: Frames, *, sparse: bool = False) -> dict[str, Json]:
    """The component or service with these frames; if it is `sparse`, names stand for its other containers."""
    return _gather_alpha(frames) if side is Side.HUB else _gather_beta(frames, sparse=sparse)


def find_main(containers: Json, name: str = contract.MAIN_CONTAINER) -> int | None:
    """The index of the first container `main`, or of another name."""
    if not isinstance(containers, list):
        return None
    for at, container in enumerate(containers):
        if name_of_item(container) == name:
            return at
    return None


def _spread_alpha(service: Mapping[str, Json]) -> Frames:
    frames = _with_fields(Frame.TOP, service, "extraPodSpec", "extraPodMetadata")
    if "extraPodMetadata" in service:
        frames[Frame.META] = service["extraPodMetadata"]
    if "extraPodSpec" not in service:
        return frames
    pod = service["extraPodSpec"]
    if isinstance(pod, dict) and "mainContainer" in pod:
        return {**frames, Frame.MAIN: pod["mainContainer"], **_with_fields(Frame.POD, pod, "mainContainer")}
    return {**frames, Frame.POD: pod}


def _spread_beta(component: Mapping[str, Json]) -> Frames:
    frames = _with_fields(Frame.TOP, component, "experimental", "podTemplate")
    if "experimental" in component:
        frames[Frame.EXPERIMENTAL] = component["experimental"]
    if "podTemplate" not in component:
        return frames
    template = component["podTemplate"]
    if isinstance(template, dict) and template:
        return {**frames, **_spread_template(template)}
    return {**frames, Frame.TEMPLATE: template}


def _spread_template(template: Mapping[str, Json]) -> Frames:
    frames = _with_fields(Frame.TEMPLATE, template, "metadata", "spec")
    if "metadata" in template:
        frames[Frame.META] = template["metadata"]
    if "spec" not in template:
        return frames
    pod = template["spec"]
    at = find_main(pod.get("containers")) if isinstance(pod, dict) else None
    return {**frames, **({Frame.POD: pod} if at is None else _spread_pod(pod, at))}


def _spread_pod(pod: Mapping[str, Json], at: int) -> Frames:
    """The container `main`, which is at this index, and the pod with the other containers."""
    containers = pod["containers"]
    frames = _with_fields(Frame.POD, pod, "containers")
    frames[Frame.MAIN] = {key: value for key, value in containers[at].items() if key != "name"}
    if len(containers) > 1:
        others = [*containers[:at], *containers[at + 1 :]]
        frames[Frame.POD] = {**frames.get(Frame.POD, {}), "containers": others}
    if at > 0:
        frames[Frame.ORDER] = [name_of_item(one) for one in containers]
    return frames


def _with_fields(frame: Frame, fields: Mapping[str, Json], *others: str) -> dict[str, Json]:
    """The frame with these fields without some others; nothing if none is left."""
    left = dict(fields)
    for key in others:
        left.pop(key, None)
    return {frame: left} if left else {}


def _gather_alpha(frames: Frames) -> dict[str, Json]:
    pod = {**_fields(frames, Frame.POD), **_entry("mainContainer", frames, Frame.MAIN)}
    return {
        **_fields(frames, Frame.TOP),
        **_entry("extraPodMetadata", frames, Frame.META),
        **({"extraPodSpec": pod} if pod else _entry("extraPodSpec", frames, Frame.POD)),
    }


def _gather_beta(frames: Frames, *, sparse: bool) -> dict[str, Json]:
    pod = _fields(frames, Frame.POD)
    others, order = pod.get("containers"), frames.get(Frame.ORDER)
    if Frame.MAIN in frames or (sparse and (Frame.ORDER in frames or find_main(others) is not None)):
        pod = {**pod, "containers": join_containers(frames.get(Frame.MAIN), others, order, sparse=sparse)}
    template = {
        **_fields(frames, Frame.TEMPLATE),
        **_entry("metadata", frames, Frame.META),
        **({"spec": pod} if pod else _entry("spec", frames, Frame.POD)),
    }
    return {
        **_fields(frames, Frame.TOP),
        **({"podTemplate": template} if template else _entry("podTemplate", frames, Frame.TEMPLATE)),
        **_entry("experimental", frames, Frame.EXPERIMENTAL),
    }


def _fields(frames: Frames, frame: Frame) -> Mapping[str, Json]:
    """The fields of a frame; none if it is no object."""
    fields = frames.get(frame)
    return fields if isinstance(fields, dict) else {}


def _entry(key: str, frames: Frames, frame: Frame) -> dict[str, Json]:
    """The frame below its key; nothing without it."""
    return {key: frames[frame]} if frame in frames else {}


def join_containers(
    main: Json, others: Json, order: Json, *, sparse: bool, named: str = contract.MAIN_CONTAINER
) -> list[Json]:
    """The main container among the others: at its place in `order` if that has their names, otherwise first."""
    container = {"name": named, **(main if isinstance(main, dict) else {})}
    rest = others if isinstance(others, list) else []
    if not isinstance(order, list) or named not in order:
        return [container, *rest]
    at = order.index(named)
    names = [*order[:at], *order[at + 1 :]]
    if sparse and not rest:
        rest = [{"name": name} if name is not None else {} for name in names]
    if [name_of_item(one) for one in rest] != names:
        return [container, *rest]
    return [*rest[:at], container, *rest[at:]]
