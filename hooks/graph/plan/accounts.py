"""ServiceAccounts of a graph with their rights: for discovery, for planners, for endpoint pickers.

Each graph has its own accounts, because an object can have only one controlling owner.

Source: Dynamo operator, internal/discovery/resource.go and internal/rbac/manager.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.component.spec.subject import ComponentType
from hooks.graph.seen.observe import ObservedGraph
from hooks.graph.spec.components import uses_account
from hooks.graph.spec.service_metadata import service_annotations
from hooks.ground import contract
from hooks.ground.k8s.names import fit_label_value
from hooks.ground.k8s.rbac import PolicyRule, RoleReference, build_role, build_role_binding, build_service_account
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import Settings
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy import identity

_READ = ("get", "list", "watch")
_DISCOVERY_RULES = (
    PolicyRule(group="", resources=("endpoints", "pods"), verbs=_READ),
    PolicyRule(group="discovery.k8s.io", resources=("endpointslices",), verbs=_READ),
    # Workers write their own by server-side apply, which needs create as well as patch.
    PolicyRule(
        group=contract.GROUP,
        resources=("dynamoworkermetadatas",),
        verbs=("create", "get", "list", "watch", "update", "patch", "delete"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPlan:
    """An account, the binding that grants it a role and, if we create the role too, its rules.

    `is_rebound` says that the existing binding has another role. `roleRef` cannot be changed, so the binding is left
    out once, which deletes it.
    """

    name: str
    namespace: str
    binding: str
    role: RoleReference
    rules: tuple[PolicyRule, ...] = ()
    is_rebound: bool = False


def plan_accounts(graph: GraphDeployment, seen: ObservedGraph, settings: Settings) -> tuple[AccountPlan, ...]:
    """The accounts that the graph's services need, each only if a service uses it."""
    return tuple(_wanted_accounts(graph, seen.bindings, settings))


def build_account(plan: AccountPlan) -> list[Manifest]:
    """Build the account, its role if we create it, and the binding unless the old one must be deleted first."""
    labels = {
        contract.LABEL_APP_MANAGED_BY: contract.MANAGER,
        contract.LABEL_APP_COMPONENT: "rbac",
        contract.LABEL_APP_NAME: fit_label_value(plan.name),
    }
    children = [build_service_account(plan.name, plan.namespace, labels)]
    if plan.rules:
        children.append(build_role(plan.role.name, plan.namespace, labels, plan.rules))
    if not plan.is_rebound:
        children.append(build_role_binding(plan.binding, plan.namespace, labels, account=plan.name, role=plan.role))
    return children


def _wanted_accounts(
    graph: GraphDeployment, bindings: Mapping[str, RoleReference], settings: Settings
) -> Iterator[AccountPlan]:
    name, namespace = graph.metadata.name, graph.metadata.namespace
    if _discovers_through_kubernetes(graph, settings):
        account = identity.discovery_account(name)
        role, binding = RoleReference(kind="Role", name=f"{account}-role"), f"{account}-binding"
        yield AccountPlan(
            name=account,
            namespace=namespace,
            binding=binding,
            role=role,
            rules=_DISCOVERY_RULES,
            is_rebound=bindings.get(binding, role) != role,
        )
    for component_type, account, cluster_role in (
        (ComponentType.PLANNER, identity.planner_account(name), settings.planner_cluster_role),
        (ComponentType.EPP, identity.epp_account(name), settings.epp_cluster_role),
    ):
        if _needs_account(graph, component_type, account):
            role, binding = RoleReference(kind="ClusterRole", name=cluster_role), f"{account}-binding"
            rebound = bindings.get(binding, role) != role
            yield AccountPlan(name=account, namespace=namespace, binding=binding, role=role, is_rebound=rebound)


def _discovers_through_kubernetes(graph: GraphDeployment, settings: Settings) -> bool:
    """Whether the graph, or a service by its own annotation, uses the API server for discovery."""
    described = [
        graph.metadata.annotations,
        *(service_annotations(graph, spec) for spec in graph.spec.services.values()),
    ]
    backends = (identity.discovery_backend(annotations, settings.discovery_backend) for annotations in described)
    return contract.DISCOVERY_KUBERNETES in backends


def _needs_account(graph: GraphDeployment, component_type: str, account: str) -> bool:
    return any(s.component_type == component_type and uses_account(s, account) for s in graph.spec.services.values())
