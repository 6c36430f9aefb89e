"""The scaling adapter hook: its stages in order, nothing else.

It has no children and changes no replicas: the graph's hook sees the adapter as a child and renders its replicas.
"""

from hooks.adapter.plan.write_back import WriteBack, plan_write_back
from hooks.adapter.report.status import PreviousAdapterStatus, ScalingAdapterState, find_state, report, report_problems
from hooks.adapter.rules.validate import validate_adapter
from hooks.adapter.seen.observe import observe_graph
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import ReadManifest, is_deleting
from hooks.ground.settings.facts import Facts
from hooks.language.api.base import parse_parent, read_parent
from hooks.language.api.scaling_adapter import GraphScalingAdapter
from hooks.language.validation.reading import add_problems
from hooks.wire.metacontroller.effects import Event
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.wire.policy.conditions import reference_of

_LOOK_AGAIN_SECONDS = 5
"""While replicas are written back to the graph: a failed effect causes no event that would start a sync."""


def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """Answer the status of a scaling adapter; while it is being deleted, change nothing."""
    if is_deleting(request.parent):
        return SyncAnswer(notes=("being deleted: unchanged",))
    previous = PreviousAdapterStatus(status=request.status, generation=request.generation, now=facts.now)
    adapter, misfits = read_parent(GraphScalingAdapter, request.parent)
    if misfits:
        problems = add_problems(misfits, validate_adapter(adapter))
        return SyncAnswer(status=report_problems(problems, previous), problems=problems)
    graph = observe_graph(request, adapter)
    state, written = find_state(adapter, graph), WriteBack()
    if graph and graph.service and state.controls_replicas:
        failed = _failure(request.parent, adapter, previous)
        written = plan_write_back(adapter, graph, graph.service, facts.settings, failed=failed)
    return SyncAnswer(
        status=report(adapter, graph, state, remark=written.remark, previous=previous),
        resync_after_seconds=_LOOK_AGAIN_SECONDS if written.effect else 0,
        effects=(*([written.effect] if written.effect else []), *_events(request.parent, adapter, state, previous)),
        notes=(state.message, *([written.remark] if written.remark else [])),
    )


def customize(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:  # noqa: ARG001 - every hook's signature
    """Answer which related object sync needs: the graph that the adapter names."""
    try:
        adapter = parse_parent(GraphScalingAdapter, request.parent)
    except InvalidSpec:
        return []  # sync reports the problems; a new spec is a new call
    name = adapter.spec.dgd_ref.name
    return [RelatedRule.of(contract.GRAPH, adapter.metadata.namespace, names=(name,))] if name else []


def _events(
    parent: ReadManifest, adapter: GraphScalingAdapter, state: ScalingAdapterState, previous: PreviousAdapterStatus
) -> list[Event]:
    """The Event that the service is scaled, in upstream's words; at the first sync of a new spec only.

    It names the replicas of the former spec and of this one, not how many pods run.
    """
    before, asked = previous.desired_replicas, adapter.spec.replicas
    if not (previous.is_rescaled and state.controls_replicas) or before is None or before == asked:
        return []
    message = f"Scaled service {adapter.spec.dgd_ref.service_name} from {before} to {asked} replicas"
    occasion = f"generation {previous.generation}"
    return [Event(about=reference_of(parent), type="Normal", reason="Scaled", message=message, occasion=occasion)]


def _failure(parent: ReadManifest, adapter: GraphScalingAdapter, previous: PreviousAdapterStatus) -> Event:
    """The Event that the write to the graph failed, in upstream's words; once for each generation."""
    message, occasion = f"Failed to update DGD {adapter.spec.dgd_ref.name}", f"generation {previous.generation}"
    return Event(about=reference_of(parent), type="Warning", reason="UpdateFailed", message=message, occasion=occasion)
