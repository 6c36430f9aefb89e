"""The annotations in which operators of 1.0 to 1.3 kept single fields of a v1alpha1 request in v1beta1.

They are read, and replaced by the annotation of a whole spec. Later operators drop them unread.

Source: Dynamo operator 1.1, api/v1alpha1/dynamographdeploymentrequest_conversion.go.
"""

from collections.abc import Callable, Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.conversion.payloads import FormerKeys

_PREFIX = contract.CONVERSION_PREFIXES[contract.GRAPH_REQUEST.kind]
_DISCOVERY, _CLAIM = f"{_PREFIX}enable-gpu-discovery", f"{_PREFIX}output-pvc"
_REFERENCE, _CONFIG = f"{_PREFIX}config-map-ref", f"{_PREFIX}profiling-config"
_OVERRIDES = f"{_PREFIX}deployment-overrides"


def _read(annotations: Mapping[str, Json], read: Callable[[Json], Mapping[str, Json]]) -> dict[str, Json]:
    """The fields of a v1alpha1 spec that these annotations say; `read` gives a text's object, {} if it has none."""
    profiling: dict[str, Json] = {
        "configMapRef": read(annotations.get(_REFERENCE)),
        "outputPVC": annotations.get(_CLAIM),
        "config": read(annotations.get(_CONFIG)),
    }
    spec: dict[str, Json] = {
        "enableGpuDiscovery": True if annotations.get(_DISCOVERY) == "true" else None,
        "deploymentOverrides": read(annotations.get(_OVERRIDES)),
        "profilingConfig": {key: value for key, value in profiling.items() if value},
    }
    return {key: value for key, value in spec.items() if value}


RETIRED: Mapping[str, FormerKeys] = {
    contract.GRAPH_REQUEST.kind: FormerKeys(
        names=frozenset({_DISCOVERY, _CLAIM, _REFERENCE, _CONFIG, _OVERRIDES}), read=_read
    )
}
"""By kind."""
