"""Limits of a pod's fields that Kubernetes checks in code: its OpenAPI has neither limits nor these enumerations.

Source: Kubernetes, pkg/apis/core/validation/validation.go; apimachinery, pkg/apis/meta/v1/validation.
"""

from collections.abc import Mapping
from typing import Any

_CORE = "io.k8s.api.core.v1"
_PORT = {"minimum": 1, "maximum": 65535}
_MODE = {"minimum": 0, "maximum": 0o777}
_ID = {"minimum": 0, "maximum": 2**31 - 1}
_NOT_NEGATIVE = {"minimum": 0}
_POSITIVE = {"minimum": 1}
_WEIGHT = {"minimum": 1, "maximum": 100}
_BYTE = {"minimum": 0, "maximum": 255}
_PROBE_NUMBERS = ("failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold", "timeoutSeconds")
_VOLUMES_WITH_MODE = (
    "ConfigMapVolumeSource",
    "DownwardAPIVolumeSource",
    "ProjectedVolumeSource",
    "SecretVolumeSource",
)

_BY_NAME: Mapping[tuple[str, str], Mapping[str, Any]] = {
    **{("Probe", field): _NOT_NEGATIVE for field in _PROBE_NUMBERS},
    **{(volume, "defaultMode"): _MODE for volume in _VOLUMES_WITH_MODE},
    **{
        (context, field): _ID
        for context in ("PodSecurityContext", "SecurityContext")
        for field in ("runAsUser", "runAsGroup")
    },
    ("AWSElasticBlockStoreVolumeSource", "partition"): _BYTE,
    ("Container", "restartPolicyRules"): {"maxItems": 20},
    ("ContainerPort", "containerPort"): _PORT,
    ("ContainerPort", "hostPort"): {"minimum": 0, "maximum": 65535},
    ("DownwardAPIVolumeFile", "mode"): _MODE,
    ("GCEPersistentDiskVolumeSource", "partition"): _BYTE,
    ("GRPCAction", "port"): _PORT,
    ("ISCSIVolumeSource", "lun"): _BYTE,
    ("KeyToPath", "mode"): _MODE,
    ("PodDNSConfig", "nameservers"): {"maxItems": 3},
    ("PodDNSConfig", "searches"): {"maxItems": 32},
    ("PodSecurityContext", "fsGroup"): _ID,
    ("PreferredSchedulingTerm", "weight"): _WEIGHT,
    ("Probe", "terminationGracePeriodSeconds"): _POSITIVE,
    ("ServiceAccountTokenProjection", "expirationSeconds"): {"minimum": 600, "maximum": 2**32},
    ("TopologySpreadConstraint", "maxSkew"): _POSITIVE,
    ("TopologySpreadConstraint", "minDomains"): _POSITIVE,
    ("WeightedPodAffinityTerm", "weight"): _WEIGHT,
}

LIMITS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    (f"{_CORE}.{name}", field): limit for (name, field), limit in _BY_NAME.items()
}
"""By definition and field: what the schema of the field gets."""

ENUMERATIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    (f"{_CORE}.Container", "restartPolicy"): ("Always", "Never", "OnFailure"),
    (f"{_CORE}.ContainerResizePolicy", "resourceName"): ("cpu", "memory"),
    (f"{_CORE}.ContainerResizePolicy", "restartPolicy"): ("NotRequired", "RestartContainer"),
    (f"{_CORE}.ContainerRestartRule", "action"): ("Restart", "RestartAllContainers"),
    (f"{_CORE}.ContainerRestartRuleOnExitCodes", "operator"): ("In", "NotIn"),
    (f"{_CORE}.PodOS", "name"): ("linux", "windows"),
    (f"{_CORE}.PodSecurityContext", "seLinuxChangePolicy"): ("MountOption", "Recursive"),
    (f"{_CORE}.VolumeMount", "recursiveReadOnly"): ("Disabled", "Enabled", "IfPossible"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement", "operator"): (
        *("DoesNotExist", "Exists", "In", "NotIn"),
    ),
}
"""By definition and field: enumerations whose Go types are plain strings."""
