"""What a component's sync is shown: its workload, accounts, registry Secrets, and which optional kinds exist."""

from dataclasses import dataclass

from hooks import contract
from hooks.component.pull_secrets import RegistrySecret, observe_registry_secrets
from hooks.k8s import kinds
from hooks.k8s.types import ReadManifest, is_deleting, labels_of, name_of
from hooks.protocol import SyncRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Children and related objects of one component; `accounts` are those labelled for components, by name."""

    deployment: ReadManifest | None
    accounts: tuple[str, ...]
    registry_secrets: tuple[RegistrySecret, ...]
    has_virtual_services: bool
    has_leader_worker_sets: bool


def observe(request: SyncRequest) -> Observed:
    """Read a request's children and related objects."""
    return Observed(
        deployment=observe_deployment(request),
        accounts=tuple(
            sorted(
                name_of(account)
                for account in request.related.of(kinds.SERVICE_ACCOUNT)
                if labels_of(account).get(contract.LABEL_COMPONENT_POD) == "true" and not is_deleting(account)
            )
        ),
        registry_secrets=observe_registry_secrets(request.related.of(kinds.SECRET)),
        has_virtual_services=request.children.has_kind(kinds.VIRTUAL_SERVICE),
        has_leader_worker_sets=(
            request.children.has_kind(kinds.LEADER_WORKER_SET) and request.children.has_kind(kinds.POD_GROUP)
        ),
    )


def observe_deployment(request: SyncRequest) -> ReadManifest | None:
    """The component's Deployment, or None while there is none."""
    metadata = request.parent["metadata"]
    return request.children.get(kinds.DEPLOYMENT, metadata["name"], metadata["namespace"])
