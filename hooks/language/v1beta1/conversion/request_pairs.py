"""What differs between the two versions of a request's spec, as a table.

v1alpha1 has the profiler's own configuration, of which only some fields are known; v1beta1 has fields for what every
profiler knows. What only one version has is kept: the rest of the configuration, `configMapRef`, `outputPVC`,
`enableGpuDiscovery` and `deploymentOverrides` of v1alpha1; hardware, rates, overrides and the strategy of v1beta1.

Source: Dynamo operator, api/v1alpha1/dynamographdeploymentrequest_conversion.go.
"""

from collections.abc import Callable, Mapping

from hooks.ground.k8s.types import Json
from hooks.language.conversion.json_values import is_text
from hooks.language.conversion.pairs import Pair, Slot, Slots, moved, top
from hooks.language.conversion.sides import Side
from hooks.language.conversion.tables import Table
from hooks.language.v1beta1.conversion.frames import Frame
from hooks.language.v1beta1.conversion.request_shapes import INNER_FIELDS, REQUEST_SCHEMAS

_OPTIMIZATIONS = frozenset({"latency", "throughput"})
_MOCKER, _MOCKED = top("useMocker"), (Frame.MOCKER, "enabled")
_AUTO_APPLY = top("autoApply")
_MODEL, _BACKEND, _STRATEGY = top("model"), top("backend"), top("searchStrategy")
_GOALS: Mapping[Slot, Slot] = {(Frame.CONFIG_SLA, name): (Frame.SLA, name) for name in ("ttft", "itl")}
_WHOLE_ANSWER: Slot = (Frame.SLA, "e2eLatency")

NO_MODEL = "unnamed"
"""In v1beta1 in place of an empty name."""


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _moved_if(hub: Slot, spoke: Slot, fits: Callable[[Json], bool]) -> Pair:
    """A field at another place in v1beta1, whose schema takes only such values."""
    return Pair(
        hub=(hub,),
        spoke=(spoke,),
        to_spoke=lambda slots: {spoke: slots[hub]} if hub in slots and fits(slots[hub]) else {},
        to_hub=lambda slots: {hub: slots[spoke]} if spoke in slots and fits(slots[spoke]) else {},
    )


def _model_to_beta(slots: Slots) -> Slots:
    """The model; v1beta1 requires one, and v1alpha1 takes an empty text too."""
    return {_MODEL: NO_MODEL if slots[_MODEL] == "" else slots[_MODEL]} if _MODEL in slots else {}


def _is_thorough_for_any(slots: Slots) -> bool:
    """Whether a search that measures one engine is not told which."""
    return slots.get(_STRATEGY) == "thorough" and (slots.get(_BACKEND) is None or slots[_BACKEND] == "auto")


def _has_both_goals(slots: Slots) -> bool:
    """Whether goals for a whole answer and for its tokens stand beside each other."""
    return slots.get(_WHOLE_ANSWER) is not None and any(slots.get(slot) is not None for slot in _GOALS.values())


def _mocker_to_beta(slots: Slots) -> Slots:
    return {_MOCKED: True} if slots.get(_MOCKER) is True else {}


def _mocker_to_alpha(slots: Slots) -> Slots:
    return {_MOCKER: True} if slots.get(_MOCKED) is True else {}


def _apply_to_beta(slots: Slots) -> Slots:
    """Absent is false in v1alpha1, and true in v1beta1; so it is always written."""
    return slots or {_AUTO_APPLY: False}


def _apply_to_alpha(slots: Slots) -> Slots:
    return slots or {_AUTO_APPLY: True}


REQUEST_TABLE = Table(
    (
        moved((Frame.PROFILING, "profilerImage"), top("image")),
        moved((Frame.PROFILING, "tolerations"), (Frame.JOB_POD, "tolerations")),
        moved((Frame.PROFILING, "nodeSelector"), (Frame.JOB_POD, "nodeSelector")),
        moved((Frame.PROFILING, "resources"), (Frame.PROFILER, "resources")),
        moved((Frame.CONFIG, "planner"), (Frame.FEATURES, "planner")),
        Pair(hub=(_MODEL,), spoke=(_MODEL,), to_spoke=_model_to_beta, to_hub=dict),
        Pair(
            hub=(_BACKEND,),
            spoke=(_BACKEND, _STRATEGY),
            to_spoke=dict,
            to_hub=lambda slots: {_BACKEND: slots[_BACKEND]} if _BACKEND in slots else {},
            refuses=_is_thorough_for_any,
        ),
        Pair(
            hub=tuple(_GOALS),
            spoke=(*_GOALS.values(), _WHOLE_ANSWER),
            to_spoke=lambda slots: {_GOALS[slot]: value for slot, value in slots.items() if _is_number(value)},
            to_hub=lambda slots: {a: slots[b] for a, b in _GOALS.items() if _is_number(slots.get(b))},
            refuses=_has_both_goals,
        ),
        _moved_if(
            (Frame.CONFIG_SLA, "optimizationType"),
            (Frame.SLA, "optimizationType"),
            lambda value: isinstance(value, str) and value in _OPTIMIZATIONS,
        ),
        _moved_if((Frame.CONFIG_SLA, "isl"), (Frame.WORKLOAD, "isl"), _is_count),
        _moved_if((Frame.CONFIG_SLA, "osl"), (Frame.WORKLOAD, "osl"), _is_count),
        _moved_if((Frame.CONFIG_CACHE, "pvcName"), (Frame.MODEL_CACHE, "pvcName"), is_text),
        _moved_if((Frame.CONFIG_CACHE, "modelPathInPvc"), (Frame.MODEL_CACHE, "pvcModelPath"), is_text),
        _moved_if((Frame.CONFIG_CACHE, "pvcMountPath"), (Frame.MODEL_CACHE, "pvcMountPath"), is_text),
        Pair(hub=(_MOCKER,), spoke=(_MOCKED,), to_spoke=_mocker_to_beta, to_hub=_mocker_to_alpha),
        Pair(
            hub=(_AUTO_APPLY,),
            spoke=(_AUTO_APPLY,),
            to_spoke=_apply_to_beta,
            to_hub=_apply_to_alpha,
            fills=True,
            exact=frozenset({Side.HUB}),
        ),
    ),
    REQUEST_SCHEMAS,
    own=frozenset(
        map(
            top,
            (
                *("enableGpuDiscovery", "deploymentOverrides", "hardware"),
                *(name for fields in INNER_FIELDS.values() for name in fields),
            ),
        )
    ),
)
"""A request's spec. An engine is written as it is; `auto` is one too."""
