"""Finds in an object what no API server would have stored, such as a `status` that is a string."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from hooks.ground.k8s.messages import describe_type
from hooks.ground.k8s.nesting import MOST_DEEP, is_too_deep
from hooks.ground.k8s.quantities import is_quantity

_MAPS = frozenset(
    {
        "metadata",
        "spec",
        "status",
        "scalingAdapter",
        "template",
        "selector",
        "targetRef",
        "restart",
        "service",
        "scheduling",
        "lws",
        "rolloutStrategy",
        "podSpec",
        "podTemplateSpec",
        "leaderWorkerTemplate",
        "leaderTemplate",
        "workerTemplate",
        "roleRef",
        "dgdRef",
        "deployment",
        "waiting",
        "terminated",
        "running",
        "lastState",
        "updateProgress",
        "resources",
        "readinessProbe",
    }
)
_DATA = frozenset({"data", "stringData", "binaryData"})
_TEXT_MAPS = frozenset({"labels", "annotations", "matchLabels", "nodeSelector"}) | _DATA
"""Their keys are the user's, so nothing inside is a field."""
_AMOUNTS = frozenset({"limits", "requests"})
"""Quantities by the names of resources; `custom` of our own kinds holds more of them."""
_OPAQUE = frozenset({"parameters", "config", "managedFields"}) | _AMOUNTS
_BY_NAME = frozenset({"services", "checkpoints"})
"""Maps whose keys are names of the user, and whose values are objects."""
_LISTS = frozenset(
    {
        "conditions",
        "endpoints",
        "containers",
        "initContainers",
        "containerStatuses",
        "initContainerStatuses",
        "volumes",
        "env",
        "envs",
        "ports",
        "subjects",
        "adapters",
        "ownerReferences",
        "cliques",
        "podCliqueScalingGroups",
        "rules",
        "items",
        "pvcs",
        "volumeMounts",
        "readinessGates",
        "schedulingGates",
        "podIPs",
    }
)
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "conditions": ("type", "status"),
    "containers": ("name",),
    "initContainers": ("name",),
    "containerStatuses": ("name",),
    "initContainerStatuses": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "envs": ("name",),
    "cliques": ("name",),
    "podCliqueScalingGroups": ("name",),
    "volumeMounts": ("name",),
    "ownerReferences": ("apiVersion", "kind", "name", "uid"),
    "subjects": ("kind", "name"),
}
"""What each entry of a list has, by the schemas."""
_TEXT_LISTS = frozenset({"addresses", "finalizers", "cliqueNames", "accessModes", "inProgress", "componentNames"})
_TEXTS = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "type",
        "reason",
        "message",
        "phase",
        "kind",
        "apiVersion",
        "address",
        "podName",
        "addressType",
        "since",
        "lastError",
        "serviceName",
        "componentKind",
        "componentName",
        "observedID",
        "deploymentName",
        "observedModel",
        "resourceVersion",
        "holderIdentity",
        "image",
        "nodeName",
        "podIP",
        "hostIP",
    }
)
_COUNTS = frozenset(
    {
        "replicas",
        "readyReplicas",
        "updatedReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "scheduledReplicas",
        "observedGeneration",
        "generation",
        "currentReplicas",
        "desiredReplicas",
        "restartCount",
        "attempts",
        "totalEndpoints",
        "readyEndpoints",
        "minAvailable",
        "unsupportedEndpoints",
        "active",
        "succeeded",
        "failed",
        "exitCode",
        "leaseTransitions",
        "leaseDurationSeconds",
    }
)
_TIMES = frozenset(
    {
        "creationTimestamp",
        "deletionTimestamp",
        "lastTransitionTime",
        "lastUpdateTime",
        "startTime",
        "completionTime",
        "startedAt",
        "finishedAt",
        "lastProbeTime",
        "lastScaleTime",
        "renewTime",
        "acquireTime",
    }
)
_FLAGS = frozenset({"ready", "serving", "terminating", "controller", "blockOwnerDeletion", "started"})


def find_fault(fields: Mapping[str, Any], where: str) -> str:
    """A sentence about the first misshapen value of an object; empty if there is none."""
    return next(find_faults(fields, where), "")


def find_faults(fields: Mapping[str, Any], where: str) -> Iterator[str]:
    """The faults of a whole object."""
    if is_too_deep(fields):
        yield f"{where} is nested more than {MOST_DEEP} deep"
    else:
        yield from _check_fields(fields, where)


def _check_fields(fields: Mapping[str, Any], where: str, *, inside: str = "") -> Iterator[str]:
    for key, value in fields.items():
        if value is not None or key in _COUNTS:
            yield from _check_field(key, value, where, inside=inside)


def _check_field(key: str, value: Any, where: str, *, inside: str) -> Iterator[str]:
    at = f"{key} of {where}"
    if wanted := _find_fault(key, value, inside=inside):
        yield f"{at} is {describe_type(value)}, should be {wanted}"
    elif key in _TEXT_MAPS | _OPAQUE:
        return
    elif key in _BY_NAME:
        yield from (fault for one in _objects_in(value) for fault in _check_fields(one, at))
    elif isinstance(value, dict):
        yield from _check_fields(value, at, inside=key)
    elif isinstance(value, list):
        for one in _objects_in(value):
            yield from (f"an entry of {at} has no {name}" for name in _REQUIRED.get(key, ()) if one.get(name) is None)
            yield from _check_fields(one, at, inside=key)


def _objects_in(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a map or a list, also in lists of lists."""
    found: list[Mapping[str, Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        for inner in one.values() if isinstance(one, dict) else one:
            if isinstance(inner, dict):
                found.append(inner)
            elif isinstance(inner, list):
                waiting.append(inner)
    return found


def _find_fault(key: str, value: Any, *, inside: str) -> str:
    """What the value of a field should be, empty if it is that."""
    if (inside, key) in _INSIDE:
        kind_of, wanted_inside = _INSIDE[inside, key]
        return "" if isinstance(value, kind_of) else wanted_inside
    if key in _COUNTS:
        return "" if type(value) is int else "an integer"
    if key in _TIMES:
        return "" if _is_time(value) else "a time"
    if key in _TEXT_MAPS | _AMOUNTS:
        is_value, values = next((check, name) for keys, check, name in _VALUES if key in keys)
        is_right = isinstance(value, dict) and all(map(is_value, value, value.values()))
        return "" if is_right else f"an object with {values}"
    for keys, kind, inner, wanted in _WANTED:
        if key in keys:
            is_right = isinstance(value, kind)
            if is_right and inner is not None:
                is_right = all(isinstance(one, inner) for one in (value.values() if isinstance(value, dict) else value))
            return "" if is_right else wanted
    return ""


_WANTED: tuple[tuple[frozenset[str], type, type | None, str], ...] = (
    (_MAPS, dict, None, "an object"),
    (_OPAQUE - {"managedFields"} - _AMOUNTS, dict, None, "an object"),
    (_BY_NAME, dict, dict, "an object with objects"),
    (_LISTS, list, dict, "an array of objects"),
    (_TEXT_LISTS, list, str, "an array of strings"),
    (_TEXTS, str, None, "a string"),
    (_FLAGS, bool, None, "true or false"),
)


_INSIDE: Mapping[tuple[str, str], tuple[type, str]] = {
    ("conditions", "status"): (str, "a string"),
    ("onPodConditions", "status"): (str, "a string"),
    ("endpoints", "conditions"): (dict, "an object"),
    ("containerStatuses", "state"): (dict, "an object"),
    ("initContainerStatuses", "state"): (dict, "an object"),
    ("rules", "resources"): (list, "an array"),
    ("leaderWorkerTemplate", "size"): (int, "an integer"),
    ("status", "selector"): (str, "a string"),
    ("status", "state"): (str, "a string"),
    ("grpc", "service"): (str, "a string"),
}
"""Fields that are something else inside of certain fields than elsewhere."""


def _is_text(_name: str, value: Any) -> bool:
    return isinstance(value, str)


def _is_text_or_null(_name: str, value: Any) -> bool:
    return isinstance(value, str | None)


def _is_amount(name: str, value: Any) -> bool:
    if name == "custom":
        return isinstance(value, dict)
    # Only claims have storage. Our own kinds let any text be an amount, which their rules report.
    return isinstance(value, str | int | float) and (name != "storage" or is_quantity(str(value)))


_VALUES: tuple[tuple[frozenset[str], Callable[[str, Any], bool], str], ...] = (
    (_AMOUNTS, _is_amount, "quantities"),
    (_DATA, _is_text, "strings"),
    (_TEXT_MAPS, _is_text_or_null, "strings"),
)
"""What the values of a map are, by its field; the first row counts."""


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
