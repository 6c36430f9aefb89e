"""What makes a kind of ours a custom resource in one version: its model, and its names and columns for `kubectl`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Json, plural_of
from hooks.language.api.base import ApiModel


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; `type` is string, integer or date. Only `-o wide` shows one that `is_wide`."""

    name: str
    path: str
    type: str = "string"
    description: str = ""
    is_wide: bool = False


_READY = '.status.conditions[?(@.type=="Ready")]'
READY = Column("Ready", f"{_READY}.status", description="Whether it is ready with its current spec")
REASON = Column("Reason", f"{_READY}.reason", description="Reason why it is not ready")
MESSAGE = Column("Message", f"{_READY}.message", description="Why it is not ready, and remarks", is_wide=True)
AGE = Column("Age", ".metadata.creationTimestamp", "date")
# The reason of a graph's condition is upstream's, and the same for whatever is not ready.
GRAPH_REASON = replace(REASON, path=".status.notReadyReason", description="The worst reason why it is not ready")
SERVING = Column(
    "Serving",
    '.status.conditions[?(@.type=="Serving")].status',
    description="Whether its frontends take requests for its models",
)
COMPONENTS = Column("Components", ".status.componentsReady", description="Ready components of all")
GPUS = Column("GPUs", ".status.gpus", "integer", "GPUs that all wanted pods request")
PATH = Column("Path", ".status.path", description="What runs the pods", is_wide=True)
AVAILABLE = Column(
    "Available", ".status.conditions[?(@.type=='Available')].status", description="Whether it is available"
)
ADAPTERS_STATE = tuple(replace(column, name=column.name.upper()) for column in (READY, REASON, AGE, MESSAGE))
"""The last columns of a scaling adapter, of which upstream writes all names in upper case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomResource:
    """A kind of ours in one version."""

    kind: str
    short_name: str
    model: type[ApiModel]
    columns: tuple[Column, ...]
    subresources: Mapping[str, Json] = field(default_factory=lambda: {"status": {}})
    labels: Mapping[str, str] = field(default_factory=dict)
    version: str = contract.VERSION

    @property
    def api_version(self) -> str:
        """`nvidia.com/v1alpha1`."""
        return f"{contract.GROUP}/{self.version}"

    @property
    def plural(self) -> str:
        """`dynamographdeployments`."""
        return plural_of(GroupVersionKind(contract.GROUP, self.version, self.kind))


SCALE: Mapping[str, Json] = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
"""The scale subresource of a scaling adapter."""
