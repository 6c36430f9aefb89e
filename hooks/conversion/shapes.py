"""A component as slots, in the shape of each version.

v1alpha1 has the main container in `extraPodSpec.mainContainer`, v1beta1 as the container `main` of `podTemplate`.
A frame that is empty or no object is a slot of its own, and counts only while nothing else fills the frame.
"""

from collections.abc import Iterator, Mapping, Sequence

from hooks import contract
from hooks.conversion.json_values import name_of_item
from hooks.conversion.pairs import Frame, Slot, Slots
from hooks.conversion.versions import Version
from hooks.k8s.types import Json

CONTAINERS: Slot = (Frame.POD, "containers")
_ORDER: Slot = (Frame.ORDER, None)


def spread(version: Version, component: Mapping[str, Json]) -> dict[Slot, Json]:
    """The slots of a component or of a service."""
    found = _spread_alpha(component) if version is Version.ALPHA else _spread_beta(component)
    return dict(found)


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


def _spread_alpha(service: Mapping[str, Json]) -> Iterator[tuple[Slot, Json]]:
    for key, value in service.items():
        if key == "extraPodMetadata":
            yield from _spread_frame(Frame.META, value)
        elif key != "extraPodSpec":
            yield (Frame.TOP, key), value
        elif isinstance(value, dict) and "mainContainer" in value:
            yield from _spread_frame(Frame.MAIN, value["mainContainer"])
            yield from (((Frame.POD, name), item) for name, item in value.items() if name != "mainContainer")
        else:
            yield from _spread_frame(Frame.POD, value)


def _spread_beta(component: Mapping[str, Json]) -> Iterator[tuple[Slot, Json]]:
    for key, value in component.items():
        if key == "experimental":
            yield from _spread_frame(Frame.EXPERIMENTAL, value)
        elif key != "podTemplate":
            yield (Frame.TOP, key), value
        elif not isinstance(value, dict) or not value:
            yield (Frame.TEMPLATE, None), value
        else:
            yield from _spread_template(value)


def _spread_template(template: Mapping[str, Json]) -> Iterator[tuple[Slot, Json]]:
    for key, value in template.items():
        if key == "metadata":
            yield from _spread_frame(Frame.META, value)
        elif key != "spec":
            yield (Frame.TEMPLATE, key), value
        elif isinstance(value, dict) and (at := find_main(value.get("containers"))) is not None:
            yield from _spread_containers(value["containers"], at)
            yield from (((Frame.POD, name), item) for name, item in value.items() if name != "containers")
        else:
            yield from _spread_frame(Frame.POD, value)


def _spread_containers(containers: Sequence[Json], at: int) -> Iterator[tuple[Slot, Json]]:
    """The container `main`, which is at this index, and the others."""
    main = {key: value for key, value in containers[at].items() if key != "name"}
    yield from _spread_frame(Frame.MAIN, main)
    if len(containers) > 1:
        yield CONTAINERS, [*containers[:at], *containers[at + 1 :]]
    if at > 0:
        yield _ORDER, [name_of_item(one) for one in containers]


def _spread_frame(frame: Frame, value: Json) -> Iterator[tuple[Slot, Json]]:
    if isinstance(value, dict) and value:
        yield from (((frame, key), item) for key, item in value.items())
    else:
        yield (frame, None), value


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
