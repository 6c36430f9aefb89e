"""What differs between a service of v1alpha1 and a component of v1beta1, as a table.

`replicas` is always written in v1beta1, because clients of v1beta1 read an absent one as 0. A service without one is
remembered, and gets none back. A component without one has 1, and its service is written with 1.

Source: Dynamo operator, api/v1alpha1/shared_spec_conversion.go.
"""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.overlay import has_handler
from hooks.ground.k8s.quantities import parse_quantity
from hooks.ground.k8s.types import Json
from hooks.language.conversion.acceptance import ITEMS, FrameSchemas
from hooks.language.conversion.pairs import Pair, Slot, Slots, moved, top
from hooks.language.conversion.sides import Side
from hooks.language.conversion.tables import Table
from hooks.language.v1beta1.conversion.env_sources import env_from_pair, env_pair
from hooks.language.v1beta1.conversion.frames import Frame
from hooks.language.v1beta1.conversion.mounts import mounts_pair
from hooks.language.v1beta1.conversion.resources import resources_pair
from hooks.language.v1beta1.conversion.schemas import frame_schemas
from hooks.language.v1beta1.conversion.sidecars import sidecar_pair

ROLES = frozenset({"prefill", "decode"})
"""Types of v1beta1 that v1alpha1 has as `subComponentType` of a worker."""

OBJECT_NAME: Slot = (Frame.OBJECT, "name")
"""The name of the component's own object, which is only read."""

IS_SECOND_PICKER: Slot = (Frame.OBJECT, "another component is the endpoint picker")
"""Whether v1beta1, in which a graph has one endpoint picker, has another one; only read."""

PICKER = "epp"
_WORKER = "worker"
_DEFAULT_REPLICAS = 1
_TYPE, _SUB_TYPE, _BETA_TYPE = top("componentType"), top("subComponentType"), top("type")
_REPLICAS, _ADAPTER = top("replicas"), top("scalingAdapter")
_MEMORY, _MEMORY_SIZE = top("sharedMemory"), top("sharedMemorySize")
_SERVICE_NAME, _NAME = top("serviceName"), top("name")
_MODES: Mapping[str, str] = {"intraPod": "IntraPod", "interPod": "InterPod"}


def _type_to_beta(slots: Slots) -> Slots:
    sub = slots.get(_SUB_TYPE)
    if IS_SECOND_PICKER in slots and slots.get(_TYPE) == PICKER:
        return {}
    if slots.get(_TYPE) == _WORKER and isinstance(sub, str) and sub in ROLES:
        return {_BETA_TYPE: sub}
    return {_BETA_TYPE: slots[_TYPE]} if _TYPE in slots else {}


def _type_to_alpha(slots: Slots) -> Slots:
    kind = slots.get(_BETA_TYPE)
    if isinstance(kind, str) and kind in ROLES:
        return {_TYPE: _WORKER, _SUB_TYPE: kind}
    return {_TYPE: kind} if _BETA_TYPE in slots else {}


def _fill_replicas(slots: Slots) -> Slots:
    return slots or {_REPLICAS: _DEFAULT_REPLICAS}


def _memory_to_beta(slots: Slots) -> Slots:
    memory = slots.get(_MEMORY)
    if not isinstance(memory, dict):
        return {}
    if memory.get("disabled") is True:
        return {_MEMORY_SIZE: "0"}
    return {_MEMORY_SIZE: memory["size"]} if memory.get("size") not in (None, "") else {}


def _memory_to_alpha(slots: Slots) -> Slots:
    size = slots.get(_MEMORY_SIZE)
    if size is None or size == "":
        return {}
    return {_MEMORY: {"disabled": True} if _is_nothing(size) else {"size": size}}


def _is_nothing(size: Json) -> bool:
    try:
        return parse_quantity(str(size)) == 0
    except ValueError:
        return False


def _adapter_to_beta(slots: Slots) -> Slots:
    """An enabled adapter; `{}` is off in v1alpha1 and on in v1beta1. One that is off is left out, as upstream does."""
    adapter = slots.get(_ADAPTER)
    if not isinstance(adapter, dict) or adapter.get("enabled") is not True:
        return {}
    return {_ADAPTER: {key: value for key, value in adapter.items() if key != "enabled"}}


def _adapter_to_alpha(slots: Slots) -> Slots:
    adapter = slots.get(_ADAPTER)
    if not isinstance(adapter, dict):
        return {}
    enabled = adapter.get("enabled")
    return {_ADAPTER: {**adapter, "enabled": True if enabled is None else enabled}}


def _probe_pair(name: str) -> Pair:
    """A probe: one with a handler stands by itself, the numbers of another one change the default probe."""
    own, main = top(name), (Frame.MAIN, name)

    def to_spoke(slots: Slots) -> Slots:
        if slots.get(own) is not None:
            return {main: slots[own]}
        return {main: slots[main]} if main in slots else {}

    def to_hub(slots: Slots) -> Slots:
        if main not in slots:
            return {}
        probe = slots[main]
        return {own if isinstance(probe, dict) and has_handler(probe) else main: probe}

    return Pair(hub=(own, main), spoke=(main,), to_spoke=to_spoke, to_hub=to_hub)


def _feature_pair(name: str) -> Pair:
    """A feature with `enabled` in v1alpha1, which is on in v1beta1 where it exists."""
    hub, spoke = top(name), (Frame.EXPERIMENTAL, name)

    def to_spoke(slots: Slots) -> Slots:
        feature = slots.get(hub)
        if not isinstance(feature, dict) or feature.get("enabled") is not True:
            return {}
        return {spoke: _with_mode({key: value for key, value in feature.items() if key != "enabled"}, _MODES)}

    def to_hub(slots: Slots) -> Slots:
        feature = slots.get(spoke)
        if not isinstance(feature, dict):
            return {}
        return {hub: {**_with_mode(feature, {new: old for old, new in _MODES.items()}), "enabled": True}}

    return Pair(hub=(hub,), spoke=(spoke,), to_spoke=to_spoke, to_hub=to_hub)


def _with_mode(feature: Mapping[str, Json], modes: Mapping[str, str]) -> Mapping[str, Json]:
    mode = feature.get("mode")
    return {**feature, "mode": modes[mode]} if isinstance(mode, str) and mode in modes else feature


def _name_to_beta(slots: Slots) -> Slots:
    """The component's name; without one, that of its object, because v1beta1 requires one."""
    if _SERVICE_NAME in slots:
        return {_NAME: slots[_SERVICE_NAME]}
    return {_NAME: slots[OBJECT_NAME]} if OBJECT_NAME in slots else {}


def _name_to_alpha(slots: Slots) -> Slots:
    if _NAME not in slots or (OBJECT_NAME in slots and slots[_NAME] == slots[OBJECT_NAME]):
        return {}
    return {_SERVICE_NAME: slots[_NAME]}


_PAIRS: tuple[Pair, ...] = (
    Pair(
        hub=(_TYPE, _SUB_TYPE),
        spoke=(_BETA_TYPE,),
        to_spoke=_type_to_beta,
        to_hub=_type_to_alpha,
        reads=(IS_SECOND_PICKER,),
    ),
    Pair(
        hub=(_REPLICAS,),
        spoke=(_REPLICAS,),
        to_spoke=_fill_replicas,
        to_hub=_fill_replicas,
        fills=True,
        exact=frozenset({Side.HUB}),
    ),
    Pair(hub=(_MEMORY,), spoke=(_MEMORY_SIZE,), to_spoke=_memory_to_beta, to_hub=_memory_to_alpha),
    Pair(hub=(_ADAPTER,), spoke=(_ADAPTER,), to_spoke=_adapter_to_beta, to_hub=_adapter_to_alpha),
    _feature_pair("gpuMemoryService"),
    _feature_pair("failover"),
    moved(top("checkpoint"), (Frame.EXPERIMENTAL, "checkpoint")),
    env_pair(),
    env_from_pair(),
    resources_pair(),
    _probe_pair("livenessProbe"),
    _probe_pair("readinessProbe"),
    mounts_pair(),
    sidecar_pair(),
    moved((Frame.META, "annotations"), (Frame.META, "annotations")),
    moved((Frame.META, "labels"), (Frame.META, "labels")),
)
_CARRIED = frozenset({Frame.TOP, Frame.POD, Frame.MAIN})
_ONE_VERSION = frozenset(
    map(
        top,
        (
            *("annotations", "labels", "dynamoNamespace", "autoscaling", "ingress"),
            *("extraPodSpec", "extraPodMetadata", "podTemplate", "experimental"),
        ),
    )
)


def _schemas(kind: str, hub: tuple[str, ...], spoke: tuple[str, ...]) -> FrameSchemas:
    """The schemas of a component that stands at these paths of an object."""
    pod, template = (*hub, "extraPodSpec"), (*spoke, "podTemplate")
    return frame_schemas(
        kind,
        {
            Side.HUB: {
                Frame.TOP: hub,
                Frame.META: (*hub, "extraPodMetadata"),
                Frame.POD: pod,
                Frame.MAIN: (*pod, "mainContainer"),
            },
            Side.SPOKE: {
                Frame.TOP: spoke,
                Frame.META: (*template, "metadata"),
                Frame.POD: (*template, "spec"),
                Frame.MAIN: (*template, "spec", "containers", ITEMS),
                Frame.EXPERIMENTAL: (*spoke, "experimental"),
            },
        },
    )


SERVICE_TABLE = Table(
    _PAIRS,
    _schemas(contract.GRAPH.kind, ("spec", "services", ITEMS), ("spec", "components", ITEMS)),
    own=_ONE_VERSION | {_SERVICE_NAME, _NAME, (Frame.MAIN, "name"), (Frame.POD, "mainContainer")},
    carried=_CARRIED,
)
"""A service of a graph. Its name is no field of v1alpha1; a `serviceName` there has no meaning."""

COMPONENT_TABLE = Table(
    (
        *_PAIRS,
        Pair(
            hub=(_SERVICE_NAME,),
            spoke=(_NAME,),
            to_spoke=_name_to_beta,
            to_hub=_name_to_alpha,
            reads=(OBJECT_NAME,),
            fills=True,
            changing=True,
        ),
    ),
    _schemas(contract.COMPONENT.kind, ("spec",), ("spec",)),
    own=_ONE_VERSION | {(Frame.MAIN, "name"), (Frame.POD, "mainContainer")},
    carried=_CARRIED,
)
"""A component with an object of its own."""
