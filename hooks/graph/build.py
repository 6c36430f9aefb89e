"""The children of a planned graph; decides nothing."""

from hooks.component.spec.mpi_key import build_key
from hooks.graph.grove.plan import build_grove
from hooks.graph.plan.accounts import build_account
from hooks.graph.plan.claims import build_claims
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.spec.components import build_component
from hooks.graph.spec.inference_pool import build_picker
from hooks.graph.spec.model_services import build_model_service
from hooks.graph.spec.scaling import build_adapter
from hooks.ground.k8s.types import Manifest, sort_manifests
from hooks.wire.metacontroller.installation import label_like_parent


def build_children(plan: GraphPlan) -> list[Manifest]:
    """Build all children, sorted by kind and name; no workload while one of the other path is still there."""
    children = [
        *(() if plan.blocked_by else _build_workloads(plan)),
        *(build_key(plan.mpi_key) if plan.mpi_key else ()),
        *(build_adapter(adapter) for adapter in plan.adapters),
        *build_claims(plan.claims),
        *(child for account in plan.accounts for child in build_account(account)),
        *(build_picker(plan.picker) if plan.picker else ()),
        *(build_model_service(service) for service in plan.model_services),
    ]
    return sort_manifests([label_like_parent(plan.labels, child) for child in children])


def _build_workloads(plan: GraphPlan) -> list[Manifest]:
    if plan.grove is not None:
        return build_grove(plan.grove)
    return [build_component(component) for component in plan.components]
