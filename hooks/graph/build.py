"""The children of a planned graph; decides nothing."""

from hooks.graph.accounts import build_account
from hooks.graph.claims import build_claims
from hooks.graph.components import build_component
from hooks.graph.inference_pool import build_picker
from hooks.graph.model_services import build_model_service
from hooks.graph.plan import GraphPlan
from hooks.graph.scaling import build_adapter
from hooks.k8s.types import Manifest, sort_manifests


def build_children(plan: GraphPlan) -> list[Manifest]:
    """Build all children, sorted by kind and name."""
    return sort_manifests(
        [
            *(build_component(component) for component in plan.components),
            *(build_adapter(adapter) for adapter in plan.adapters),
            *build_claims(plan.claims),
            *(child for account in plan.accounts for child in build_account(account)),
            *(build_picker(plan.picker) if plan.picker else ()),
            *(build_model_service(service) for service in plan.model_services),
        ]
    )
