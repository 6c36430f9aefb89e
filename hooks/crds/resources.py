"""What makes a kind of ours a custom resource in one version: its model, and its names and columns for `kubectl`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks import contract
from hooks.api.base import ApiModel
from hooks.k8s.types import Json


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
        """`dynamographdeployments`: the kind in lower case, and an s."""
        return f"{self.kind.lower()}s"


SCALE: Mapping[str, Json] = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
"""The scale subresource of a scaling adapter."""
