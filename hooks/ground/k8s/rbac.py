"""Builds ServiceAccounts, Roles and RoleBindings.

Source: Kubernetes API reference, rbac.authorization.k8s.io/v1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, build_manifest, build_metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """The verbs allowed for some resources of one API group; the core group is empty."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleReference:
    """The role of a binding, which can never change; `kind` is `Role` or `ClusterRole`."""

    kind: str
    name: str

    def to_json(self) -> dict[str, str]:
        """Write `roleRef`."""
        return {"apiGroup": kinds.ROLE.group, "kind": self.kind, "name": self.name}


def build_service_account(name: str, namespace: str, labels: Mapping[str, str]) -> Manifest:
    """Build a ServiceAccount."""
    return build_manifest(kinds.SERVICE_ACCOUNT, build_metadata(name, namespace, labels=labels))


def build_role(name: str, namespace: str, labels: Mapping[str, str], rules: Sequence[PolicyRule]) -> Manifest:
    """Build a Role; the rules keep their order."""
    written = [
        {"apiGroups": [rule.group], "resources": list(rule.resources), "verbs": list(rule.verbs)} for rule in rules
    ]
    return build_manifest(kinds.ROLE, build_metadata(name, namespace, labels=labels), rules=written)


def build_role_binding(
    name: str, namespace: str, labels: Mapping[str, str], *, account: str, role: RoleReference
) -> Manifest:
    """Build a RoleBinding for one ServiceAccount of the same namespace."""
    subject = {"kind": kinds.SERVICE_ACCOUNT.kind, "name": account, "namespace": namespace}
    metadata = build_metadata(name, namespace, labels=labels)
    return build_manifest(kinds.ROLE_BINDING, metadata, roleRef=role.to_json(), subjects=[subject])
