"""Every decision about a graph's children, each with a note that says why.

Which path a graph takes is decided here: one DynamoComponentDeployment per service is the only one so far.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks import contract
from hooks.api.graph import GraphDeployment
from hooks.errors import InvalidSpec
from hooks.graph.accounts import AccountPlan, plan_accounts
from hooks.graph.claims import ClaimsPlan, plan_claims
from hooks.graph.components import ComponentPlan, Surroundings, plan_component
from hooks.graph.inference_pool import PickerPlan, plan_picker
from hooks.graph.ingress import default_ingress
from hooks.graph.model_services import ModelServicePlan, plan_model_services
from hooks.graph.observe import Observed
from hooks.graph.scaling import AdapterPlan, plan_adapters
from hooks.identity import component_name
from hooks.k8s import kinds
from hooks.k8s.types import GroupVersionKind, Json
from hooks.settings import Settings

_FAILED_PASS = "failed to reconcile Dynamo components deployments"  # noqa: S105 - upstream's text, no password
_NO_ORCHESTRATOR = (
    "no multinode orchestrator available: {services} span several nodes; install Grove, or LeaderWorkerSet together "
    "with Volcano, and let the controller declare their kinds"
)
_NOT_IN_THIS_VERSION = (
    "multinode is not in this version: {services} span several nodes; take multinode out, or wait for a version that "
    "renders it for {orchestrator}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPlan:
    """All children of a graph, decided but not yet shaped, sorted by name within each kind."""

    components: tuple[ComponentPlan, ...]
    adapters: tuple[AdapterPlan, ...]
    claims: ClaimsPlan
    accounts: tuple[AccountPlan, ...]
    picker: PickerPlan | None
    model_services: tuple[ModelServicePlan, ...]
    notes: tuple[str, ...]


def plan_graph(
    graph: GraphDeployment, raw: Mapping[str, Mapping[str, Json]], seen: Observed, settings: Settings
) -> GraphPlan:
    """Decide about all children; `raw` holds each service's spec by the user, without nulls and floats.

    Raises:
        InvalidSpec: services span several nodes and nothing can run them, or a service's configuration is unreadable.
    """
    note = _choose_path(graph, seen.installed)
    adapters = plan_adapters(graph, seen.adapters)
    accounts = plan_accounts(graph, seen, settings)
    return GraphPlan(
        components=_plan_components(
            graph, raw, seen, asked={a.service: a.replicas for a in adapters}, settings=settings
        ),
        adapters=adapters,
        claims=plan_claims(graph, seen),
        accounts=accounts,
        picker=plan_picker(graph),
        model_services=plan_model_services(graph),
        notes=(note, *_notes(adapters, accounts)),
    )


def _choose_path(graph: GraphDeployment, installed: frozenset[GroupVersionKind]) -> str:
    """Why the graph becomes components; multinode services are refused before anything is created.

    Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go, reconcileResources.
    """
    wants_grove = graph.metadata.annotations.get(contract.ANNOTATION_ENABLE_GROVE, "").lower() != "false"
    has_grove = kinds.POD_CLIQUE_SET in installed and wants_grove
    has_lws = {kinds.LEADER_WORKER_SET, kinds.POD_GROUP} <= installed
    multinode = sorted(name for name, spec in graph.spec.services.items() if spec.is_multinode)
    if multinode:
        services = ", ".join(f"spec.services[{name}]" for name in multinode)
        orchestrator = "Grove" if has_grove else "LeaderWorkerSet"
        text = _NOT_IN_THIS_VERSION if has_grove or has_lws else _NO_ORCHESTRATOR
        raise InvalidSpec(f"{_FAILED_PASS}: {text.format(services=services, orchestrator=orchestrator)}")
    if not wants_grove:
        return f"path: components, by the annotation {contract.ANNOTATION_ENABLE_GROVE}"
    return f"path: components, as {'this version has no other' if has_grove else 'Grove is not declared'}"


def _plan_components(
    graph: GraphDeployment,
    raw: Mapping[str, Mapping[str, Json]],
    seen: Observed,
    *,
    asked: Mapping[str, int],
    settings: Settings,
) -> tuple[ComponentPlan, ...]:
    ingress, plans, problems = default_ingress(graph.metadata.name, settings), [], []
    for service in sorted(graph.spec.services):
        observed = seen.components.get(component_name(graph.metadata.name, service))
        restart_at = observed.restart_at if observed else ""
        around = Surroundings(replicas=asked.get(service), restart_at=restart_at, ingress=ingress)
        try:
            plans.append(plan_component(graph, service, raw[service], around))
        except InvalidSpec as error:
            problems.append(f"{_FAILED_PASS}: {error}")
    if problems:
        raise InvalidSpec(tuple(problems))
    return tuple(plans)


def _notes(adapters: tuple[AdapterPlan, ...], accounts: tuple[AccountPlan, ...]) -> list[str]:
    origin = {True: "the graph's, for a new adapter", False: "the adapter's"}
    scaled = [f"{a.service}: {a.replicas} replicas, {origin[a.is_new]}" for a in adapters]
    rebound = [f"RoleBinding {a.binding} is removed once: its role changed" for a in accounts if a.is_rebound]
    return [*scaled, *rebound]
