"""The whole plan: from what was found in the cluster to the steps in their order. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import ReadManifest, gvk_of, is_deleting, name_of
from hooks.ground.settings.facts import Facts
from hooks.language.crds.owner_versions import find_foreign_owner
from hooks.tools.operating.migration import definitions
from hooks.tools.operating.migration.changes import as_ours, refer_beside
from hooks.tools.operating.migration.children import plan_children
from hooks.tools.operating.migration.claims import Claims, find_claims
from hooks.tools.operating.migration.first_sync import Key
from hooks.tools.operating.migration.found import Found
from hooks.tools.operating.migration.steps import Action, Change, Phase, Plan, Step, sort_steps
from hooks.tools.operating.migration.upstream import (
    RunningOperator,
    find_running,
    graph_of,
    is_shared_access,
    is_shared_model_service,
    is_webhook_configuration,
    services_of,
)
from hooks.wire.world.objects import World

_FREED = (contract.GRAPH_REQUEST, contract.GRAPH, contract.COMPONENT, contract.MODEL)


def plan_migration(found: Found, facts: Facts) -> Plan:
    """Plan the migration of everything that was found."""
    world = found.world
    ours = World.live((as_ours(one.manifest) for one in world.objects.values()), world.installed, world.unread)
    found = replace(found, world=ours)
    running = [one for one in find_running(found.operators) if _concerns(one, found.namespace)]
    outcome = _plan_parents(found, facts)
    steps = [
        *_plan_webhooks(found.webhooks, running),
        *definitions.plan_definitions(found.definitions, found.stored),
        *outcome.steps,
        *_plan_shared(found),
        *_plan_finalizers(found),
    ]
    steps += _plan_references(found, steps)
    moved = {(one.namespace, one.graph) for one in steps if one.is_work}
    steps = [one for one in steps if one.action is not Action.CREATE or (one.namespace, one.graph) in moved]
    return Plan(
        steps=tuple(sort_steps(steps)),
        refusals=tuple(_refuse(one) for one in running),
        obstacles=tuple(definitions.find_obstacles(found.definitions, found.stored)),
        warnings=(*found.world.unread, *found.foreign_owned.unread, *outcome.warnings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfParents:
    steps: tuple[Step, ...]
    warnings: tuple[str, ...]


def _concerns(operator: RunningOperator, namespace: str) -> bool:
    """Whether the operator changes objects that are migrated; one for a single namespace leaves the others alone."""
    return not operator.watched or not namespace or operator.watched == namespace


def _refuse(operator: RunningOperator) -> str:
    where = f"{operator.namespace}/{operator.name}"
    what = f"the Go operator runs (Deployment {where}) and would undo the migration"
    return f"{what}: kubectl scale deployment {operator.name} -n {operator.namespace} --replicas=0"


def _plan_webhooks(configurations: Iterable[ReadManifest], running: Iterable[RunningOperator]) -> Iterator[Step]:
    """The old webhooks are deleted; those of an operator that still runs are left to it."""
    busy = {operator.namespace for operator in running}
    for found in configurations:
        if is_webhook_configuration(found) and not busy & services_of(found):
            yield Step(
                kind=gvk_of(found),
                namespace="",
                name=name_of(found),
                uid=found["metadata"].get("uid", ""),
                action=Action.DELETE,
                phase=Phase.WEBHOOKS,
                why="it calls the Go operator, which does not run, so it refuses every write of our kinds",
            )


def _plan_parents(found: Found, facts: Facts) -> _OfParents:
    """Graphs before their components, because a component may change with its graph."""
    claims = _find_all_claims(found)
    steps: list[Step] = []
    warnings: list[str] = []
    after: dict[tuple[str, str], ReadManifest] = {}
    ending: set[tuple[str, str]] = set()
    fresh: dict[tuple[str, str], ReadManifest] = {}
    for kind in (contract.GRAPH_REQUEST, contract.GRAPH, contract.COMPONENT):
        for live in found.world.of_kind(kind):
            namespace, at = live["metadata"]["namespace"], (live["metadata"]["namespace"], name_of(live))
            parent = after.get(at, live) if kind == contract.COMPONENT else live
            rendered = fresh.get(at) if kind == contract.COMPONENT else None
            mine = claims[live["metadata"]["uid"]]
            is_ending = at in ending and kind == contract.COMPONENT
            outcome = plan_children(parent, mine, found, facts, fresh=rendered, is_ending=is_ending)
            ending |= {(namespace, name) for name in outcome.ending}
            steps += outcome.steps
            warnings += outcome.warnings
            after |= {(namespace, name): component for name, component in outcome.after.items()}
            fresh |= {(namespace, name): component for name, component in outcome.fresh.items()}
    return _OfParents(steps=tuple(steps), warnings=tuple(warnings))


def _find_all_claims(found: Found) -> dict[str, Claims]:
    """The claims of every parent by its uid. What components lost is theirs, and no longer that of their graph."""
    taken: set[tuple[Key, str]] = set()
    claims: dict[str, Claims] = {}
    for kind in (contract.COMPONENT, contract.GRAPH, contract.GRAPH_REQUEST):
        for parent in found.world.of_kind(kind):
            mine = find_claims(parent, found, taken)
            taken |= {(key, parent["metadata"]["namespace"]) for key in mine.lost}
            claims[parent["metadata"]["uid"]] = mine
    return claims


def _plan_shared(found: Found) -> Iterator[Step]:
    """What a namespace's graphs share and what has no owner: accounts, which held pods use, and lost model Services."""
    for kind in (kinds.SERVICE, kinds.SERVICE_ACCOUNT, kinds.ROLE_BINDING):
        for live in found.world.of_kind(kind):
            is_shared = is_shared_access(live) or is_shared_model_service(live)
            if not is_shared or live["metadata"].get("ownerReferences") or is_deleting(live):
                continue
            owners = _find_sharers(live, found)
            if owners:
                use = "nothing of ours uses it" if kind == kinds.SERVICE else "pods that run may use it"
                yield Step(
                    kind=kind,
                    namespace=live["metadata"]["namespace"],
                    name=name_of(live),
                    uid=live["metadata"].get("uid", ""),
                    action=Action.KEEP,
                    phase=Phase.OTHERS,
                    why=f"{use}; it is deleted with the last {owners[0]['kind']} of its namespace",
                    change=Change(beside=tuple(refer_beside(owner) for owner in owners)),
                )


def _find_sharers(shared: ReadManifest, found: Found) -> Sequence[ReadManifest]:
    kind = contract.GRAPH_REQUEST if name_of(shared).startswith("dgdr-") else contract.GRAPH
    return [one for one in found.world.of_kind(kind, shared["metadata"]["namespace"]) if not is_deleting(one)]


def _plan_references(found: Found, steps: Iterable[Step]) -> Iterator[Step]:
    """The objects that name an owner by a version that may not be served for ever, and that no other step changes."""
    changed = {(one.kind, one.namespace, one.name) for one in steps if one.change is not None}
    for live in found.foreign_owned.objects:
        kind, namespace = gvk_of(live), str(live["metadata"].get("namespace") or "")
        if (kind, namespace, name_of(live)) not in changed:
            yield Step(
                kind=kind,
                namespace=namespace,
                name=name_of(live),
                uid=live["metadata"].get("uid", ""),
                action=Action.REFER,
                phase=Phase.OTHERS,
                why=f"it names its owner as {find_foreign_owner(live)}, which need not be served for ever",
                change=Change(),
                graph=graph_of(live),
            )


def _plan_finalizers(found: Found) -> Iterator[Step]:
    for kind in _FREED:
        for live in found.world.of_kind(kind):
            if contract.GO_FINALIZER not in (live["metadata"].get("finalizers") or ()):
                continue
            why = "only the Go operator would remove it, so the object could never be deleted"
            yield Step(
                kind=kind,
                namespace=live["metadata"]["namespace"],
                name=name_of(live),
                uid=live["metadata"].get("uid", ""),
                action=Action.FREE,
                phase=Phase.FINALIZERS,
                why="it is being deleted, and " + why if is_deleting(live) else why,
                change=Change(finalizer=contract.GO_FINALIZER),
                graph=graph_of(live),
            )
