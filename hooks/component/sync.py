"""The component hook: its stages in order, and nothing else."""

from functools import lru_cache

from hooks.api.base import parse_parent
from hooks.api.component import ComponentDeployment
from hooks.component.build import build_children, workload_of
from hooks.component.observe import Observed, observe, observe_deployment
from hooks.component.plan import plan_component, refuse_multinode
from hooks.component.related import resolve_related
from hooks.component.status import NO_ORCHESTRATOR_AVAILABLE, VALIDATION_FAILED, report, report_problems
from hooks.component.subject import resolve_deleted_subject
from hooks.component.validate import validate_component
from hooks.contract import DISCOVERY_ETCD
from hooks.effects import EtcdPrefixDrop
from hooks.errors import InvalidSpec
from hooks.facts import Facts
from hooks.last_good import last_good_children
from hooks.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.wording import REMEMBERED, parent_of, wording_of


def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """Answer which children and which status a component should have.

    Where the spec cannot be rendered, the children are those of the last good sync.

    Raises:
        InvalidSpec: the spec cannot be rendered, and a child does not say what was last applied.
    """
    try:
        component = _read_valid(wording_of(request.parent))
        seen = observe(request)
        refusal = refuse_multinode(component, seen)
        if not refusal:
            return _render(request, component, seen, facts)
    except InvalidSpec as error:
        # Sorted: the order in which a request happens to hold its keys is no part of the answer.
        return _freeze(request, tuple(sorted(error.problems)), VALIDATION_FAILED, facts)
    return _freeze(request, (refusal,), NO_ORCHESTRATOR_AVAILABLE, facts)


def finalize(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """Answer that a deleted component may go; with etcd discovery what it left there is to be dropped.

    Works on a component whose spec is invalid.
    """
    subject = resolve_deleted_subject(request.parent, facts.settings)
    prefix = f"/{subject.dynamo_namespace}/components/{subject.service}"
    effects = (EtcdPrefixDrop(prefix=prefix),) if subject.discovery == DISCOVERY_ETCD else ()
    return SyncAnswer(children=[], status=dict(request.status), finalized=True, effects=effects)


def customize(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
    """Answer which related objects a component's sync wants to see; none while its spec is invalid.

    The answer is kept for as long as the spec is the same, so it must follow from the spec alone.
    """
    try:
        component = _read_valid(wording_of(request.parent))
    except InvalidSpec:
        return []  # sync says what is wrong; a new spec is a new question
    return resolve_related(component, facts.settings)


@lru_cache(maxsize=4 * REMEMBERED)
def _read_valid(wording: bytes) -> ComponentDeployment:
    component = parse_parent(ComponentDeployment, parent_of(wording))
    if problems := validate_component(component):
        raise InvalidSpec(problems)
    return component


def _render(request: SyncRequest, component: ComponentDeployment, seen: Observed, facts: Facts) -> SyncAnswer:
    plan = plan_component(component, seen, facts.settings)
    children = build_children(plan)
    status = report(request, plan, desired=workload_of(children), observed=seen.deployment, now=facts.now)
    return SyncAnswer(children=children, status=status, notes=(*plan.notes, *plan.warnings))


def _freeze(request: SyncRequest, problems: tuple[str, ...], reason: str, facts: Facts) -> SyncAnswer:
    children = last_good_children(request.children.all(), problems)
    observed = observe_deployment(request)
    status = report_problems(request, problems, reason=reason, observed=observed, now=facts.now)
    return SyncAnswer(children=children, status=status, notes=problems, problems=problems)
