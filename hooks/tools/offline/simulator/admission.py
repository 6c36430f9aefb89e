"""How the API server changes objects of built-in kinds before it stores them: defaults, canonical values, refusals.

Only values that a three-way merge notices: if a hook returns a value that is rewritten here, every sync writes.

Source: Kubernetes 1.36 API reference (defaults), pkg/apis/*/v1/defaults.go; immutable fields as a real server
refused them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.types import Json, Manifest
from hooks.tools.offline.simulator.resources import Resource
from hooks.tools.offline.simulator.store import ApiError

Spec = dict[str, Any]


def admit_built_in(resource: Resource, new: Manifest, old: Manifest | None) -> Manifest:
    """The object as the API server stores it.

    Raises:
        ApiError: 422, a value is out of range or an immutable field changed.
    """
    obj: Manifest = _drop_empty(new)
    default = _DEFAULTS.get(resource.kind.kind)
    if default is not None and "spec" in obj:
        obj = {**obj, "spec": default(obj["spec"], obj)}
    is_fixed = old is not None and "ExternalName" not in {_at(one, "spec.type") for one in (obj, old)}
    for path in _IMMUTABLE.get(resource.kind.kind, ()) if is_fixed else ():
        if _at(obj, path) != _at(old or {}, path):
            raise ApiError(
                422, "Invalid", f"{resource.kind.kind} {obj['metadata']['name']}: {path}: field is immutable"
            )
    return obj


def complete_pod_spec(spec: Spec) -> Spec:
    """A pod's or pod template's spec with the API server's defaults."""
    defaults = {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {},
    }
    completed = {**defaults, **spec}
    for kind in ("containers", "initContainers"):
        if kind in completed:
            completed[kind] = [_complete_container(container) for container in completed[kind]]
    if "volumes" in completed:
        completed["volumes"] = [_complete_volume(volume) for volume in completed["volumes"]]
    if "serviceAccountName" in completed:
        completed["serviceAccount"] = completed["serviceAccountName"]
    return completed


def _complete_container(container: Spec) -> Spec:
    image = container.get("image", "")
    tag = image.rpartition("/")[2].partition(":")[2]
    latest = tag in {"", "latest"} and "@" not in image
    completed = {
        "imagePullPolicy": "Always" if latest else "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
        **container,
    }
    completed["resources"] = _canonical_resources(completed["resources"])
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in completed:
            completed[probe] = _complete_probe(completed[probe])
    if "ports" in completed:
        completed["ports"] = [{"protocol": "TCP", **port} for port in completed["ports"]]
    if "env" in completed:
        completed["env"] = [_complete_env(entry) for entry in completed["env"]]
    return completed


def _complete_probe(probe: Spec) -> Spec:
    completed = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3, **probe}
    if "httpGet" in completed:
        completed["httpGet"] = {"scheme": "HTTP", **completed["httpGet"]}
    return completed


def _complete_env(entry: Spec) -> Spec:
    if entry.get("value") == "":
        return {key: value for key, value in entry.items() if key != "value"}
    field = entry.get("valueFrom", {}).get("fieldRef")
    if field is None:
        return entry
    return {**entry, "valueFrom": {**entry["valueFrom"], "fieldRef": {"apiVersion": "v1", **field}}}


def _complete_volume(volume: Spec) -> Spec:
    for source in ("configMap", "secret", "projected", "downwardAPI"):
        if source in volume:
            return {**volume, source: {"defaultMode": 420, **volume[source]}}
    limit = volume.get("emptyDir", {}).get("sizeLimit")
    return volume if limit is None else {**volume, "emptyDir": {**volume["emptyDir"], "sizeLimit": _quantity(limit)}}


def _canonical_resources(resources: Spec) -> Spec:
    return {
        key: {name: _quantity(amount) for name, amount in value.items()} if key in {"limits", "requests"} else value
        for key, value in resources.items()
    }


def _quantity(value: Json) -> str:
    try:
        return canonical_quantity(value)
    except ValueError as wrong:
        raise ApiError(400, "BadRequest", str(wrong)) from None


def _complete_deployment(spec: Spec, obj: Manifest) -> Spec:
    strategy = spec.get("strategy") or {}
    completed = {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, **spec}
    completed["strategy"] = {"type": "RollingUpdate", **strategy}
    if completed["strategy"]["type"] == "RollingUpdate":
        rolling = strategy.get("rollingUpdate") or {}
        completed["strategy"]["rollingUpdate"] = {"maxSurge": "25%", "maxUnavailable": "25%", **rolling}
    return _complete_template(completed, obj)


def _complete_template(spec: Spec, obj: Manifest) -> Spec:
    template = spec["template"]
    selector = spec.get("selector", {}).get("matchLabels", {})
    labels = template.get("metadata", {}).get("labels", {})
    if any(labels.get(key) != value for key, value in selector.items()):
        name = f"{obj['kind']} {obj['metadata']['name']}"
        raise ApiError(422, "Invalid", f"{name}: `selector` does not match template `labels`")
    _check_images(template["spec"], obj, "spec.template.spec")
    return {**spec, "template": {**template, "spec": complete_pod_spec(template["spec"])}}


def _check_images(spec: Spec, obj: Manifest, path: str) -> None:
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field, ())):
            if not container.get("image"):
                name = f"{obj['kind']} {obj['metadata']['name']}"
                raise ApiError(422, "Invalid", f"{name}: {path}.{field}[{index}].image: Required value")


def _complete_job(spec: Spec, obj: Manifest) -> Spec:
    uid, name = obj["metadata"]["uid"], obj["metadata"]["name"]
    owned = {"controller-uid": uid, "job-name": name}
    labels = {**owned, **{f"batch.kubernetes.io/{key}": value for key, value in owned.items()}}
    template = spec["template"]
    metadata = template.get("metadata", {})
    replaced = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    completed = {
        "backoffLimit": 6,
        "completions": 1,
        "parallelism": 1,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": replaced,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
        **spec,
        "template": {**template, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}}},
    }
    return _complete_template(completed, obj)


def _complete_service(spec: Spec, obj: Manifest) -> Spec:
    if spec.get("type") == "ExternalName":
        return {key: value for key, value in spec.items() if key not in _OF_CLUSTER_IPS}
    completed = {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", **spec}
    serial = int(obj["metadata"]["uid"][:8], 16)
    completed.setdefault("clusterIP", f"127.96.{serial // 250 % 250}.{serial % 250 + 1}")
    completed["clusterIPs"] = [completed["clusterIP"]]
    completed = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", **completed}
    completed["ports"] = [
        {"protocol": "TCP", "targetPort": port["port"], **port} for port in completed.get("ports", [])
    ]
    taken = [(port["port"], port["protocol"]) for port in completed["ports"]]
    if len(set(taken)) < len(taken):
        raise ApiError(422, "Invalid", f"Service {obj['metadata']['name']}: spec.ports: Duplicate value")
    if any(not 0 < port < 65536 for port, _ in taken):
        raise ApiError(422, "Invalid", f"Service {obj['metadata']['name']}: spec.ports: must be between 1 and 65535")
    return completed


_OF_CLUSTER_IPS = frozenset({"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"})
"""Fields that the API server takes from a Service that becomes an ExternalName."""


def _complete_claim(spec: Spec, _obj: Manifest) -> Spec:
    return {"volumeMode": "Filesystem", **spec, "resources": _canonical_resources(spec.get("resources", {}))}


def _complete_pod(spec: Spec, obj: Manifest) -> Spec:
    _check_images(spec, obj, "spec")
    return complete_pod_spec(spec)


_DEFAULTS: Mapping[str, Callable[[Spec, Manifest], Spec]] = {
    "Deployment": _complete_deployment,
    "ReplicaSet": _complete_template,
    "Job": _complete_job,
    "Service": _complete_service,
    "PersistentVolumeClaim": _complete_claim,
    "Pod": _complete_pod,
}

_IMMUTABLE: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("spec.selector",),
    "ReplicaSet": ("spec.selector",),
    "Service": ("spec.clusterIP",),
    "RoleBinding": ("roleRef",),
    "Job": ("spec.template", "spec.selector", "spec.completions"),
    "PersistentVolumeClaim": ("spec.accessModes", "spec.storageClassName", "spec.volumeMode"),
    "Secret": ("type",),
}

_FALSE_IS_ABSENT = frozenset(
    {"hostPID", "hostIPC", "hostNetwork", "readOnly", "publishNotReadyAddresses", "tty", "stdin"}
)
_EMPTY_IS_MEANT = frozenset({"rules", "subjects", "data", "annotations"})


def _drop_empty(value: Json) -> Json:
    """Leave out what the API server never stores: nulls, empty lists, and false where it is the zero value."""
    if isinstance(value, list):
        return [_drop_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _drop_empty(item) for key, item in value.items() if not _is_absent(key, item)}


def _is_absent(key: str, value: Json) -> bool:
    if value is None:
        return True
    if value == [] and key not in _EMPTY_IS_MEANT:
        return True
    return value is False and key in _FALSE_IS_ABSENT


def _at(obj: Mapping[str, Any], path: str) -> Json:
    found: Json = obj
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
