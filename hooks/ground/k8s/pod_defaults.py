"""Pod templates without the values that the API server fills in, so that written and stored templates can be compared.

Source: Kubernetes, pkg/apis/core/v1/defaults.go and pkg/apis/core/v1/zz_generated.defaults.go.
"""

from collections.abc import Mapping

from hooks.ground.k8s.types import Json

_DEFAULTS: Mapping[str, Json] = {
    "apiVersion": "v1",
    "defaultMode": 420,
    "divisor": "0",
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "failureThreshold": 3,
    "periodSeconds": 10,
    "protocol": "TCP",
    "resources": {},
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "scheme": "HTTP",
    "securityContext": {},
    "successThreshold": 1,
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "timeoutSeconds": 1,
}
"""Defaults that depend on nothing else."""
_PLAIN = frozenset(key for key, value in _DEFAULTS.items() if isinstance(value, str | int)) - {"apiVersion"}
_USERS_KEYS = frozenset({"labels", "annotations", "nodeSelector", "limits", "requests", "matchLabels"})
"""Maps whose keys are not names of fields."""


def kubernetes_default(field: str) -> Json:
    """What the API server fills in for a field of a pod, by its name; None where that depends on other fields."""
    return _DEFAULTS[field] if field in _PLAIN else None


def without_defaults(value: Json) -> Json:
    """A pod template, or any part of it, without nulls and without the API server's defaults."""
    if isinstance(value, str | int):  # most values are, and asking whether they are a map costs more
        return value
    if isinstance(value, Mapping):
        return {
            key: item if key in _USERS_KEYS else without_defaults(item)
            for key, item in value.items()
            if item is not None and not _is_default(key, item, value)
        }
    if isinstance(value, list | tuple):
        return [without_defaults(item) for item in value]
    return value


def default_of(key: str, among: Mapping[str, Json]) -> Json:
    """The API server's default of a field of a pod, among the others of its map; None if it has none."""
    if key == "imagePullPolicy":
        return _pull_policy(str(among["image"])) if among.get("image") else None
    if key == "serviceAccountName":
        return "default"
    return _DEFAULTS.get(key) or None


def _is_default(key: str, item: Json, among: Mapping[str, Json]) -> bool:
    if key == "imagePullPolicy":
        return bool(item == _pull_policy(str(among.get("image") or "")))
    if key == "serviceAccount":
        return bool(item == among.get("serviceAccountName"))
    return key in _DEFAULTS and bool(item == _DEFAULTS[key])


def _pull_policy(image: str) -> str:
    """`Always` for the tag `latest`, written or not."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if not digest and tag in {"", "latest"} else "IfNotPresent"
