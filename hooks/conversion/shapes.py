"""A component as slots, in the shape of each version.

v1alpha1 has the main container in `extraPodSpec.mainContainer`, v1beta1 as the container `main` of `podTemplate`.
A frame that is empty or no object is a slot of its own, and counts only while nothing else fills the frame.
"""

from collections.abc import Mapping, Sequence

from hooks import contract
from hooks.conversion.json_values import name_of_item
from hooks.conversion.pairs import Frame, Slot, Slots
from hooks.conversion.versions import Version
from hooks.k8s.types import Json

CONTAINERS: Slot = (Frame.POD, "containers")
_ORDER: Slot = (Frame.ORDER, None)


def spread(version: Version, component: Mapping[str, Json]) -> dict[Slot, Json]:
    """The slots of a component or of a service."""
    return _spread_alpha(component) if version is Version.ALPHA else _spread_beta(component)


def gather(version: Version, slots: Slots, *, sparse: bool = False) -> dict[str, Json]:
    """The component or service with these slots; if it is `sparse`, names stand for its other containers."""
    frames: dict[Frame, dict[str, Json]] = {}
    bare: dict[Frame, Json] = {}
    for (frame, key), value in slots.items():
        if key is None:
            bare[frame] = value
        else:
            frames.setdefault(frame, {})[key] = value
    if version is Version.ALPHA:
        return _gather_alpha(frames, bare)
    return _gather_beta(frames, bare, sparse=sparse)


def find_main(containers: Json) -> int | None:
    """The index of the first container `main`."""
    if not isinstance(containers, list):
        return None
    return next((i for i, one in enumerate(containers) if name_of_item(one) == contract.MAIN_CONTAINER), None)


def _spread_alpha(service: Mapping[str, Json]) -> dict[Slot, Json]:
    slots = _fields_of(Frame.TOP, service, "extraPodSpec", "extraPodMetadata")
    if "extraPodMetadata" in service:
        slots |= _spread_frame(Frame.META, service["extraPodMetadata"])
    pod = service.get("extraPodSpec")
    if isinstance(pod, dict) and "mainContainer" in pod:
        return slots | _spread_frame(Frame.MAIN, pod["mainContainer"]) | _fields_of(Frame.POD, pod, "mainContainer")
    return slots | _spread_frame(Frame.POD, pod) if "extraPodSpec" in service else slots


def _spread_beta(component: Mapping[str, Json]) -> dict[Slot, Json]:
    slots = _fields_of(Frame.TOP, component, "experimental", "podTemplate")
    if "experimental" in component:
        slots |= _spread_frame(Frame.EXPERIMENTAL, component["experimental"])
    template = component.get("podTemplate")
    if isinstance(template, dict) and template:
        return slots | _spread_template(template)
    return slots | {(Frame.TEMPLATE, None): template} if "podTemplate" in component else slots


def _spread_template(template: Mapping[str, Json]) -> dict[Slot, Json]:
    slots = _fields_of(Frame.TEMPLATE, template, "metadata", "spec")
    if "metadata" in template:
        slots |= _spread_frame(Frame.META, template["metadata"])
    pod = template.get("spec")
    if isinstance(pod, dict) and (at := find_main(pod.get("containers"))) is not None:
        return slots | _spread_containers(pod["containers"], at) | _fields_of(Frame.POD, pod, "containers")
    return slots | _spread_frame(Frame.POD, pod) if "spec" in template else slots


def _spread_containers(containers: Sequence[Json], at: int) -> dict[Slot, Json]:
    """The container `main`, which is at this index, and the others."""
    slots = _spread_frame(Frame.MAIN, {key: value for key, value in containers[at].items() if key != "name"})
    if len(containers) > 1:
        slots[CONTAINERS] = [*containers[:at], *containers[at + 1 :]]
    if at > 0:
        slots[_ORDER] = [name_of_item(one) for one in containers]
    return slots


def _spread_frame(frame: Frame, value: Json) -> dict[Slot, Json]:
    return _fields_of(frame, value) if isinstance(value, dict) and value else {(frame, None): value}


def _fields_of(frame: Frame, fields: Mapping[str, Json], *others: str) -> dict[Slot, Json]:
    """The fields as slots of the frame, without some others."""
    return {(frame, key): value for key, value in fields.items() if key not in others}


_Frames = Mapping[Frame, Mapping[str, Json]]
_Bare = Mapping[Frame, Json]


def _gather_alpha(frames: _Frames, bare: _Bare) -> dict[str, Json]:
    return {
        **frames.get(Frame.TOP, {}),
        **_frame("extraPodMetadata", frames.get(Frame.META), bare, Frame.META),
        **_frame(
            "extraPodSpec",
            {
                **frames.get(Frame.POD, {}),
                **_frame("mainContainer", frames.get(Frame.MAIN), bare, Frame.MAIN),
            },
            bare,
            Frame.POD,
        ),
    }


def _gather_beta(frames: _Frames, bare: _Bare, *, sparse: bool) -> dict[str, Json]:
    pod = dict(frames.get(Frame.POD, {}))
    main = _frame("main", frames.get(Frame.MAIN), bare, Frame.MAIN)
    is_named = Frame.ORDER in bare or find_main(pod.get("containers")) is not None
    if "main" in main or (sparse and is_named):
        order = bare.get(Frame.ORDER)
        pod["containers"] = _join_containers(main.get("main", {}), pod.get("containers"), order, sparse=sparse)
    template = {
        **frames.get(Frame.TEMPLATE, {}),
        **_frame("metadata", frames.get(Frame.META), bare, Frame.META),
        **_frame("spec", pod, bare, Frame.POD),
    }
    return {
        **frames.get(Frame.TOP, {}),
        **_frame("podTemplate", template, bare, Frame.TEMPLATE),
        **_frame("experimental", frames.get(Frame.EXPERIMENTAL), bare, Frame.EXPERIMENTAL),
    }


def _frame(key: str, fields: Mapping[str, Json] | None, bare: _Bare, frame: Frame) -> dict[str, Json]:
    """The frame below its key: with its fields, or as the slot of its own; nothing without either."""
    if fields:
        return {key: fields}
    return {key: bare[frame]} if frame in bare else {}


def _join_containers(main: Json, others: Json, order: Json, *, sparse: bool) -> list[Json]:
    """The main container among the others: at its place in `order` if that has their names, otherwise first."""
    container = {"name": contract.MAIN_CONTAINER, **(main if isinstance(main, dict) else {})}
    rest = others if isinstance(others, list) else []
    if not isinstance(order, list) or contract.MAIN_CONTAINER not in order:
        return [container, *rest]
    at = order.index(contract.MAIN_CONTAINER)
    names = [*order[:at], *order[at + 1 :]]
    if sparse and not rest:
        rest = [{"name": name} if name is not None else {} for name in names]
    if [name_of_item(one) for one in rest] != names:
        return [container, *rest]
    return [*rest[:at], container, *rest[at:]]
