"""The plan, made of what the Go operator's generators made; a small stand-in where the corpus is absent."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.errors import InvalidRequest
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, ReadManifest, annotations_of, gvk_of, name_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.operating.migration.changes import make_change
from hooks.tools.operating.migration.found import Found
from hooks.tools.operating.migration.planner import plan_migration
from hooks.tools.operating.migration.reading import WEBHOOKS
from hooks.tools.operating.migration.steps import Action, Phase, Plan, Step
from hooks.tools.world import composite_hooks
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy.rendering_mark import FOREIGN_REVISION, RenderingMark
from hooks.wire.world.objects import World
from hooks.wire.world.sync_request import WorldReader
from tests.tools.operating.migration import left_behind
from tests.tools.operating.migration.left_behind import NAMESPACE, stand_in
from tests.tools.operating.migration.test_upstream import operator, webhooks

FACTS = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), settings=parse_settings({}, {}))
GROUPS = frozenset({"lws", "volcano"})


def plan(*objects: Manifest, installed: frozenset[str] = GROUPS, **found: Any) -> Plan:
    return plan_migration(Found(world=World.live(objects, installed), **found), FACTS)


def steps_of(made: Plan, kind: GroupVersionKind, action: Action | None = None) -> list[Step]:
    return [step for step in made.steps if step.kind == kind and action in {None, step.action}]


def the_step(made: Plan, kind: GroupVersionKind, name: str = "") -> Step:
    (found,) = (
        step for step in made.steps if step.kind == kind and name in {"", step.name} and step.action is not Action.FREE
    )
    return found


def left(*, ready: bool = True) -> list[Manifest]:
    """The objects of the stand-in graph, which is the first."""
    graph = left_behind.graph_of(stand_in())
    return [graph, *left_behind.components_of(stand_in(), graph, ready=ready)]


def changed(objects: Iterable[Manifest], kind: GroupVersionKind, **metadata: Any) -> list[Manifest]:
    """The objects, with other metadata in those of a kind."""
    return [{**one, "metadata": {**one["metadata"], **metadata}} if gvk_of(one) == kind else one for one in objects]


def without_owners(objects: Iterable[Manifest]) -> list[Manifest]:
    """The objects after Metacontroller has met them: it takes away the references to owners of ours."""
    return [{**one, "metadata": {**one["metadata"], "ownerReferences": []}} for one in objects]


EVERY_FOURTH = left_behind.entries()[::4]
"""Enough of the corpus, in which most graphs come several times."""


def test_no_graph_restarts_a_pod_on_the_path_of_components() -> None:
    restarted: dict[str, str] = {}
    for entry in EVERY_FOURTH:
        graph = left_behind.graph_of(entry)
        objects = list(left_behind.components_of(entry, graph))
        made = plan(graph, *objects)
        assert not made.refusals
        assert not made.obstacles
        for kind in (kinds.DEPLOYMENT, kinds.LEADER_WORKER_SET):
            found = {step.name for step in steps_of(made, kind) if step.action is not Action.CREATE}
            assert found == names_of(objects, kind)
        restarted |= {step.title: step.why for step in made.steps if step.restarts}
    assert restarted == {}


def test_no_graph_restarts_a_pod_under_grove() -> None:
    restarted: dict[str, str] = {}
    actions = set()
    for entry in EVERY_FOURTH:
        if "pcs" not in entry["operator"]:
            continue
        graph = left_behind.graph_of(entry)
        objects = [graph, *left_behind.grove_of(entry, graph), *left_behind.parts_of(entry, graph)]
        made = plan(*objects, installed=frozenset({"grove", "inference-pool"}))
        restarted |= {step.title: step.why for step in made.steps if step.restarts}
        actions.add(the_step(made, kinds.POD_CLIQUE_SET).action)
    assert restarted == {}
    assert Action.HOLD in actions


def names_of(objects: Iterable[Manifest], kind: GroupVersionKind) -> set[str]:
    return {name_of(one) for one in objects if gvk_of(one) == kind}


def test_workload_is_held_by_a_mark_of_revision_0() -> None:
    step = the_step(plan(*left()), kinds.DEPLOYMENT)
    assert step.action is Action.HOLD
    assert step.change is not None
    assert step.change.mark.startswith(f"{FOREIGN_REVISION}.")
    assert step.change.is_recorded
    assert "its pods stay; it takes our defaults (" in step.why
    assert "at the next change of its spec" in step.why


def test_steps_are_done_in_a_safe_order() -> None:
    made = plan(*left(), webhooks=(webhook_of("dynamo-system"),))
    assert [step.phase for step in made.steps] == sorted(step.phase for step in made.steps)
    order = [step.kind.kind for step in made.steps]
    assert order[0] == "ValidatingWebhookConfiguration"
    assert order.index("Deployment") < order.index("DynamoComponentDeployment") < order.index("Service")
    assert {step.phase for step in made.steps if step.action is Action.FREE} == {Phase.FINALIZERS}
    assert made.steps[-1].action is Action.FREE


def test_workload_without_a_ready_pod_is_told_to_restart() -> None:
    step = the_step(plan(*left(ready=False)), kinds.DEPLOYMENT)
    assert step.restarts == 1
    assert step.action is Action.ADOPT
    assert step.why.startswith("none of its pods is ready, so it takes our defaults now")


def test_what_we_do_not_render_is_kept_and_not_adopted() -> None:
    made = plan(*left())
    kept = {step.name for step in steps_of(made, kinds.SERVICE, Action.KEEP)}
    assert kept == {"llm-frontend-p", "llm-frontend-d"}
    for step in steps_of(made, kinds.SERVICE, Action.KEEP):
        assert step.change is not None
        assert step.change.owner is None
        assert [one["name"] for one in step.change.beside] == ["llm-frontend"]


def test_late_graph_gets_back_what_it_lost() -> None:
    objects = left()
    early, late = plan(*objects), plan(objects[0], *without_owners(objects[1:]))
    assert late.restarts == 0
    adopted = {(step.kind, step.name) for step in early.steps if step.action in {Action.HOLD, Action.ADOPT}}
    assert {(step.kind, step.name) for step in late.steps if step.action in {Action.HOLD, Action.ADOPT}} == adopted
    assert the_step(late, kinds.DEPLOYMENT).why.startswith("it had lost its owner; ")


def test_late_service_of_somebody_else_is_left() -> None:
    objects = left()
    mine = {**objects[-1], "metadata": {"name": "llm-frontend", "namespace": NAMESPACE, "uid": "mine"}}
    others = [one for one in objects if (one["kind"], name_of(one)) != ("Service", "llm-frontend")]
    step = the_step(plan(*others, mine), kinds.SERVICE, "llm-frontend")
    assert step.action is Action.LEAVE
    assert not step.is_work
    assert "wants an object of this name, but it has no owner" in step.why


def test_object_of_another_graph_is_left() -> None:
    other = {**left_behind.graph_of(stand_in(), 7), "metadata": {"name": "other", "namespace": NAMESPACE, "uid": "o"}}
    reference = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": contract.GRAPH.kind,
        "name": "other",
        "uid": "o",
        "controller": True,
    }
    objects = changed(left(), contract.COMPONENT, ownerReferences=[reference])
    made = plan(*objects, {**other, "spec": {"services": {}}})
    (step,) = steps_of(made, contract.COMPONENT, Action.LEAVE)
    assert "it belongs to DynamoGraphDeployment other" in step.why


def test_claim_that_lost_its_owner_is_not_taken_and_never_deleted() -> None:
    graph, *rest = left()
    spec = {**graph["spec"], "pvcs": [{"name": "models", "create": True, "size": "1Gi"}]}
    claim = left_behind.claim_of(graph, "models")
    owned = plan({**graph, "spec": spec}, *rest, claim)
    assert the_step(owned, kinds.PERSISTENT_VOLUME_CLAIM).action is Action.ADOPT
    assert "never changed" in the_step(owned, kinds.PERSISTENT_VOLUME_CLAIM).why
    lost = plan({**graph, "spec": spec}, *rest, *without_owners([claim]))
    assert steps_of(lost, kinds.PERSISTENT_VOLUME_CLAIM) == []


def test_adapter_keeps_the_replicas_that_an_autoscaler_chose() -> None:
    entry = left_behind.scaled(stand_in(), "Frontend", 3)
    graph = left_behind.graph_of(entry)
    made = plan(graph, *left_behind.components_of(entry, graph), left_behind.adapter_of(graph, "Frontend", 3))
    step = the_step(made, contract.SCALING_ADAPTER)
    assert step.why == "its 3 replicas stay"
    assert step.change is not None
    assert not step.change.is_recorded
    assert made.restarts == 0
    assert step.phase < the_step(made, contract.COMPONENT).phase


def test_adapter_that_no_service_enables_is_kept() -> None:
    graph, *rest = left()
    made = plan(graph, *rest, left_behind.adapter_of(graph, "Frontend", 3))
    assert the_step(made, contract.SCALING_ADAPTER).action is Action.KEEP


def test_shared_account_is_deleted_with_the_last_graph() -> None:
    account, binding = left_behind.shared_access_of(NAMESPACE)
    objects = left()
    made = plan(*objects, account, binding)
    for kind in (kinds.SERVICE_ACCOUNT, kinds.ROLE_BINDING):
        step = the_step(made, kind, name_of(account if kind == kinds.SERVICE_ACCOUNT else binding))
        assert step.action is Action.KEEP
        assert step.change is not None
        assert [one["uid"] for one in step.change.beside] == ["graph-0"]


def test_workloads_of_the_path_that_a_graph_left_end() -> None:
    entry = stand_in()
    graph = left_behind.graph_of(entry)
    status = {"services": {"Frontend": {"componentKind": "PodClique", "componentName": "llm-0-frontend"}}}
    objects = [
        *left_behind.components_of(entry, graph),
        *left_behind.grove_of(entry, graph),
        *left_behind.parts_of(entry, graph),
    ]
    unique = list({(one["kind"], name_of(one)): one for one in objects}.values())
    made = plan({**graph, "status": status}, *unique, installed=frozenset({"grove"}))
    assert the_step(made, kinds.POD_CLIQUE_SET).action is Action.HOLD
    component = the_step(made, contract.COMPONENT)
    assert (component.action, component.phase) == (Action.DELETE, Phase.OTHERS)
    assert the_step(made, kinds.DEPLOYMENT).action is Action.END
    assert (made.starts, made.stops) == (0, 1)


def test_graph_that_is_deleted_takes_back_what_it_lost_and_is_freed() -> None:
    objects = left()
    going = changed(without_owners(objects), contract.GRAPH, deletionTimestamp="2026-01-01T00:00:00Z")
    made = plan(*going)
    component = next(step for step in steps_of(made, contract.COMPONENT) if step.action is not Action.FREE)
    assert component.action is Action.KEEP
    assert component.why.endswith("which is being deleted")
    (freed,) = steps_of(made, contract.GRAPH, Action.FREE)
    assert freed.why.startswith("it is being deleted, and only the Go operator")


def test_model_is_freed() -> None:
    metadata = {"name": "lora", "namespace": NAMESPACE, "uid": "m", "finalizers": [contract.GO_FINALIZER]}
    model = {"apiVersion": contract.MODEL.api_version, "kind": contract.MODEL.kind, "metadata": metadata, "spec": {}}
    (step,) = plan(model).steps
    assert step.action is Action.FREE


def test_spec_that_the_hooks_refuse_is_a_warning_and_changes_nothing() -> None:
    graph, *rest = left()
    broken = {**graph, "spec": {"services": {"Frontend": {"componentType": "frontend"}}}}
    made = plan(broken, *rest)
    assert made.restarts == 0
    assert the_step(made, contract.COMPONENT).action is Action.ADOPT
    assert "the hooks refuse its spec (" in made.warnings[0]


def test_hook_that_fails_about_marked_children_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = composite_hooks.ask

    def fail_when_marked(parent: ReadManifest, reader: WorldReader, facts: Facts) -> SyncAnswer:
        marked = [one for one in reader.children_of(parent) if contract.ANNOTATION_RENDERING in annotations_of(one)]
        if gvk_of(parent) == contract.COMPONENT and marked:
            raise InvalidRequest("no answer about what is marked")
        return asked(parent, reader, facts)

    monkeypatch.setattr(composite_hooks, "ask", fail_when_marked)
    made = plan(*left())
    assert made.restarts == 0
    assert not [step for step in made.steps if step.action is Action.END]
    assert {step.action for step in steps_of(made, kinds.DEPLOYMENT)} == {Action.ADOPT}
    assert any("no answer about what is marked" in one for one in made.warnings)


def test_graph_of_ours_needs_nothing() -> None:
    made = plan(*left())
    assert made.steps
    objects = [carry_out(one, made) for one in left()]
    assert plan(*objects).steps == ()


def carry_out(one: Manifest, made: Plan) -> Manifest:
    for step in made.steps:
        if (step.kind, step.name) == (gvk_of(one), name_of(one)) and step.change is not None:
            one = make_change(step.change, one)
    return one


def webhook_of(namespace: str) -> Manifest:
    found = webhooks("dynamo-platform-dynamo-operator-webhook-service")
    found["webhooks"][0]["clientConfig"]["service"]["namespace"] = namespace
    kind = WEBHOOKS[0]
    return {**found, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "old", "uid": "w"}}


def test_webhooks_of_an_operator_that_runs_are_left_to_it() -> None:
    made = plan(operators=(operator(),), webhooks=(webhook_of("dynamo-system"), webhook_of("elsewhere")))
    assert [step.action for step in made.steps] == [Action.DELETE]
    assert len(made.refusals) == 1
    assert "kubectl scale deployment manager -n dynamo-system --replicas=0" in made.refusals[0]


@pytest.mark.parametrize(
    ("watched", "namespace", "is_refused"),
    [("", "team", True), ("team", "team", True), ("other", "team", False), ("other", "", True)],
    ids=["cluster", "same", "other", "all"],
)
def test_operator_of_another_namespace_is_no_refusal(watched: str, namespace: str, is_refused: bool) -> None:
    args = [f"--restrictedNamespace={watched}"] if watched else []
    made = plan(operators=(operator(*args),), namespace=namespace)
    assert bool(made.refusals) is is_refused


def test_marks_are_read_as_the_hooks_write_them() -> None:
    step = the_step(plan(*left()), kinds.DEPLOYMENT)
    assert step.change is not None
    revision, _, digest = step.change.mark.partition(".")
    assert step.change.mark == str(RenderingMark(int(revision), digest))
