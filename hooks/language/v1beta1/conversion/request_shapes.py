"""A request's spec as frames, in the shape of each version.

A frame is an object of which some fields are converted each by itself; its place is the path in its name.
"""

from collections.abc import Iterator, Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.conversion.acceptance import ITEMS
from hooks.language.conversion.json_values import name_of_item
from hooks.language.conversion.pairs import Frames
from hooks.language.conversion.sides import Side
from hooks.language.v1beta1.conversion.frames import Frame
from hooks.language.v1beta1.conversion.schemas import frame_schemas
from hooks.language.v1beta1.conversion.shapes import find_main, join_containers

_PROFILER = contract.PROFILER_CONTAINER

_INNER: Mapping[Side, Mapping[Frame, Mapping[str, Frame]]] = {
    Side.HUB: {
        Frame.TOP: {"profilingConfig": Frame.PROFILING},
        Frame.PROFILING: {"config": Frame.CONFIG},
        Frame.CONFIG: {"sla": Frame.CONFIG_SLA, "deployment": Frame.CONFIG_DEPLOYMENT},
        Frame.CONFIG_DEPLOYMENT: {"modelCache": Frame.CONFIG_CACHE},
    },
    Side.SPOKE: {
        Frame.TOP: {
            "workload": Frame.WORKLOAD,
            "sla": Frame.SLA,
            "modelCache": Frame.MODEL_CACHE,
            "features": Frame.FEATURES,
            "overrides": Frame.OVERRIDES,
        },
        Frame.FEATURES: {"mocker": Frame.MOCKER},
        Frame.OVERRIDES: {"profilingJob": Frame.JOB},
        Frame.JOB: {"template": Frame.JOB_TEMPLATE},
        Frame.JOB_TEMPLATE: {"spec": Frame.JOB_POD},
    },
}
"""The frames within a frame, by the field that holds them."""

INNER_FIELDS: Mapping[Side, frozenset[str]] = {side: frozenset(inner[Frame.TOP]) for side, inner in _INNER.items()}
"""The fields of a spec that are frames of their own."""


def _find_paths(side: Side, frame: Frame, path: tuple[str, ...]) -> Iterator[tuple[Frame, tuple[str, ...]]]:
    """The paths of a frame and of those in it."""
    yield frame, path
    if frame is Frame.JOB_POD:
        yield Frame.PROFILER, (*path, "containers", ITEMS)
    for key, below in _INNER[side].get(frame, {}).items():
        yield from _find_paths(side, below, (*path, key))


REQUEST_SCHEMAS = frame_schemas(
    contract.GRAPH_REQUEST.kind, {side: dict(_find_paths(side, Frame.TOP, ("spec",))) for side in Side}
)


def spread_request(side: Side, spec: Mapping[str, Json]) -> Frames:
    """The frames of a request's spec."""
    frames: dict[str, Json] = {}
    _spread(side, Frame.TOP, spec, frames)
    return frames


def gather_request(side: Side, frames: Frames, *, sparse: bool = False) -> dict[str, Json]:
    """The spec with these frames; if it is `sparse`, names stand for the Job's other containers."""
    gathered = _gather(side, Frame.TOP, frames, sparse=sparse)
    return gathered if isinstance(gathered, dict) else {}


def _spread(side: Side, frame: Frame, value: Json, frames: dict[str, Json]) -> None:
    if not isinstance(value, dict) or not value:
        if frame is not Frame.TOP:
            frames[frame] = value
        return
    inner = _INNER[side].get(frame, {})
    left = {key: one for key, one in value.items() if key not in inner}
    for key, below in inner.items():
        if key in value:
            _spread(side, below, value[key], frames)
    if frame is Frame.JOB_POD:
        left = _spread_containers(left, frames)
    if left:
        frames[frame] = left


def _spread_containers(pod: dict[str, Json], frames: dict[str, Json]) -> dict[str, Json]:
    """The pod without the profiler's container, which becomes a frame of its own."""
    containers = pod.get("containers")
    at = find_main(containers, _PROFILER)
    if at is None or not isinstance(containers, list):
        return pod
    others = [*containers[:at], *containers[at + 1 :]]
    frames[Frame.PROFILER] = {key: value for key, value in containers[at].items() if key != "name"}
    if at > 0:
        frames[Frame.ORDER] = [name_of_item(one) for one in containers]
    rest = {key: value for key, value in pod.items() if key != "containers"}
    return {**rest, **({"containers": others} if others else {})}


_ABSENT = object()


def _gather(side: Side, frame: Frame, frames: Frames, *, sparse: bool) -> Json:
    own = frames.get(frame, _ABSENT)
    inner = {
        key: value
        for key, below in _INNER[side].get(frame, {}).items()
        if (value := _gather(side, below, frames, sparse=sparse)) is not _ABSENT
    }
    fields = own if isinstance(own, dict) else {}
    if frame is Frame.JOB_POD:
        fields = _gather_containers(fields, frames, sparse=sparse)
    joined = {**fields, **inner}
    return joined or own


def _gather_containers(pod: Mapping[str, Json], frames: Frames, *, sparse: bool) -> dict[str, Json]:
    others, order = pod.get("containers"), frames.get(Frame.ORDER)
    if Frame.PROFILER not in frames and not (
        sparse and (Frame.ORDER in frames or find_main(others, _PROFILER) is not None)
    ):
        return dict(pod)
    profiler = frames.get(Frame.PROFILER)
    return {**pod, "containers": join_containers(profiler, others, order, sparse=sparse, named=_PROFILER)}
