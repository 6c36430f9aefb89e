"""Every invariant can fail: hooks that lie in one way each, and the invariant that objects.

A lie takes request, honest answer and time, and gives the answer that is sent instead.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.hashing import canonical_json
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.simulator.store import copy_json
from hooks.tools.offline.simulator.workloads import deployments
from hooks.wire.metacontroller.controllers import RECORDS
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.policy import rendering_mark
from hooks.wire.policy.rollout_pace import read_pace
from tests import make
from tests.sequences import generations, invariants, rest, restarts, rollouts
from tests.sequences.operator_releases import origins_stay
from tests.sequences.secrets import secrets_roll_nothing
from tests.sequences.sequence import Temper, run_sequence
from tests.sequences.upgrades import upgrades_roll_nothing
from tests.sequences.world import Check, Violation, World

Lie = Callable[[SyncRequest, SyncAnswer, Facts], SyncAnswer]
SEEDS = 30
_ALL_AT_REST: tuple[Check, ...] = ()


def with_conditions(answer: SyncAnswer, **fields: str) -> SyncAnswer:
    status = answer.status or {}
    conditions = [{**condition, **fields} for condition in status.get("conditions", ())]
    return replace(answer, status={**status, "conditions": conditions})


def with_children(answer: SyncAnswer, change: Callable[[Manifest], Manifest], kind: str = "") -> SyncAnswer:
    children = [change(copy_json(child)) if kind in {"", child["kind"]} else child for child in answer.children]
    return replace(answer, children=children)


def say_ready(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    return with_conditions(answer, status="True")


def forget_edits(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """Once there is a revision, no other is recorded."""
    known = {one["metadata"]["name"] for one in request.children.of(kinds.CONTROLLER_REVISION)}
    kept = [
        one for one in answer.children if gvk_of(one) not in RECORDS or one["metadata"]["name"] in known or not known
    ]
    return replace(answer, children=kept)


def say_unready(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    return with_conditions(answer, status="False", lastTransitionTime="2026-01-01T00:00:00Z")


def say_time(_request: SyncRequest, answer: SyncAnswer, facts: Facts) -> SyncAnswer:
    return with_conditions(answer, lastTransitionTime=facts.now.strftime("%Y-%m-%dT%H:%M:%SZ"))


def say_date(_request: SyncRequest, answer: SyncAnswer, facts: Facts) -> SyncAnswer:
    """Something ripens with time, and no deadline says so."""
    return with_conditions(answer, message=facts.now.date().isoformat())


def say_nothing_at_first(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    return answer if request.status else replace(answer, status={})


def let_new_defaults_in(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """As if nothing were held: the group of the present version, and its mark."""

    def change(child: Manifest) -> Manifest:
        child["spec"]["template"]["spec"]["securityContext"] = {"fsGroup": contract.DEFAULT_FS_GROUP}
        mark = rendering_mark.read_mark(child)
        return rendering_mark.mark(child, mark.digest) if mark else child

    return with_children(answer, change, "Deployment") if request.children.all() else answer


def fail(_request: SyncRequest, _answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    raise InvalidSpec(make.problem("a lie"))


def drift() -> Lie:
    numbers = count()

    def lie(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
        return with_conditions(answer, message=str(next(numbers)))

    return lie


def forget_origin(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """As if the graph chose anew whenever it has components."""

    def change(child: Manifest) -> Manifest:
        own = child["spec"].get("annotations") or {}
        left = {key: value for key, value in own.items() if key != contract.ANNOTATION_ORIGIN_VERSION}
        return {**child, "spec": {**child["spec"], "annotations": left}}

    return with_children(answer, change, contract.COMPONENT.kind) if request.children.all() else answer


def accuse(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """As if a change on its way were somebody's."""
    status = answer.status or {}
    found = status.get("conditions") or []
    said = [{**one, "message": one["message"].replace("wait", invariants.ACCUSATIONS[0])} for one in found]
    return replace(answer, status={**status, "conditions": said})


def shrink(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    def change(child: Manifest) -> Manifest:
        return {**child, "spec": {**child["spec"], "replicas": max(0, child["spec"]["replicas"] - 1)}}

    return with_children(answer, change, "Deployment")


def recreate(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    def change(child: Manifest) -> Manifest:
        return {**child, "spec": {**child["spec"], "strategy": {"type": "Recreate"}}}

    return with_children(answer, change, "Deployment")


def other_selector(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    def change(child: Manifest) -> Manifest:
        return {**child, "spec": {**child["spec"], "selector": {"matchLabels": {"other": "label"}}}}

    return with_children(answer, change, "Deployment")


def other_image(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    def change(child: Manifest) -> Manifest:
        for container in child["spec"]["template"]["spec"]["containers"]:
            container["image"] = "nobody:asked"
        return child

    return with_children(answer, change, "Deployment")


def number_sets(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """As an older version of the hooks does, which knows only LeaderWorkerSets of one replica."""

    def change(child: Manifest) -> Manifest:
        for field in ("leaderTemplate", "workerTemplate"):
            pods = child["spec"]["leaderWorkerTemplate"][field]["metadata"]
            pods["annotations"] = {**pods.get("annotations", {}), contract.ANNOTATION_GANG: child["metadata"]["name"]}
        return child

    return with_children(answer, change, "LeaderWorkerSet") if request.children.all() else answer


def observed_in_template(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    ready = sum((child.get("status") or {}).get("readyReplicas", 0) for child in request.children.of(kinds.DEPLOYMENT))

    def change(child: Manifest) -> Manifest:
        child["spec"]["template"]["metadata"].setdefault("annotations", {})["ready"] = str(ready)
        return child

    return with_children(answer, change, "Deployment")


def follow_secrets(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    secrets = [{"name": secret["metadata"]["name"]} for secret in request.related.of(kinds.SECRET)]

    def change(child: Manifest) -> Manifest:
        pod = {key: value for key, value in child["spec"]["template"]["spec"].items() if key != "imagePullSecrets"}
        child["spec"]["template"]["spec"] = {**pod, **({"imagePullSecrets": secrets} if secrets else {})}
        return child

    return with_children(answer, change, "Deployment")


def remember_in_label(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    is_old = request.generation > 1

    def change(child: Manifest) -> Manifest:
        child["metadata"].setdefault("labels", {})["past"] = "some"
        return child

    return with_children(answer, change, contract.SCALING_ADAPTER.kind) if is_old else answer


def one_generation_for_all(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """Workers stay in one Dynamo namespace, whatever their spec is."""

    def change(child: Manifest) -> Manifest:
        for labels in (child["metadata"]["labels"], child["spec"]["labels"]):
            if contract.LABEL_WORKER_HASH in labels:
                labels[contract.LABEL_WORKER_HASH] = "0a1b2c3d"
        for entry in child["spec"].get("envs") or ():
            if entry["name"] == contract.WORKER_SUFFIX:
                entry["value"] = "0a1b2c3d"
        return child

    return with_children(answer, change, contract.COMPONENT.kind)


def leave_generations(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """As if an image of no release were one of a release that sees no generations."""
    pod = request.parent["spec"].get("extraPodSpec") or {}
    has_release = "1.6.l" not in canonical_json(pod) and "bad" not in canonical_json(pod)

    def change(child: Manifest) -> Manifest:
        for container in child["spec"]["template"]["spec"]["containers"]:
            envs = container.get("env") or ()
            container["env"] = [entry for entry in envs if entry["name"] != contract.WORKER_SUFFIX]
        return child

    return answer if has_release else with_children(answer, change, "Deployment")


def without_prefix(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """Frontends look into one Dynamo namespace, although their workers register in those of generations."""

    def change(child: Manifest) -> Manifest:
        for container in child["spec"]["template"]["spec"]["containers"]:
            container["env"] = [entry for entry in container.get("env") or () if entry["name"] != generations.PREFIX]
        return child

    return with_children(answer, change, "Deployment")


def without_pace(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """Each worker rolls for itself."""
    return without_annotation(answer, contract.ANNOTATION_PACE)


def without_annotation(answer: SyncAnswer, name: str) -> SyncAnswer:
    """The answer whose components lack an annotation."""

    def change(child: Manifest) -> Manifest:
        annotations = child["metadata"].get("annotations") or {}
        kept = {key: value for key, value in annotations.items() if key != name}
        return {**child, "metadata": {**child["metadata"], "annotations": kept}}

    return with_children(answer, change, contract.COMPONENT.kind)


def keep_one_less(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """Workers keep an old pod less than their share."""

    def change(child: Manifest) -> Manifest:
        annotations = child["metadata"].get("annotations") or {}
        pace = read_pace(annotations.get(contract.ANNOTATION_PACE, ""))
        if pace is None:
            return child
        said = {**annotations, contract.ANNOTATION_PACE: str(replace(pace, kept=max(0, pace.kept - 1)))}
        return {**child, "metadata": {**child["metadata"], "annotations": said}}

    return with_children(answer, change, contract.COMPONENT.kind)


def go_on(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    """No worker hears that its rollout is paused."""
    return without_annotation(answer, contract.ANNOTATION_ROLLOUT_PAUSED)


def roll_for_ever(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    return replace(answer, status={**(answer.status or {}), "rollingUpdate": {"phase": "InProgress"}})


def without(kind: str) -> Lie:
    """Leave children of a kind out once they exist."""

    def lie(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
        seen = {child["metadata"]["name"] for child in request.children.all() if child["kind"] == kind}
        kept = [c for c in answer.children if c["kind"] != kind or c["metadata"]["name"] not in seen]
        return replace(answer, children=kept)

    return lie


def forget_children_of_mistake(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
    return replace(answer, children=[]) if answer.problems else answer


def tell(choose: Callable[[SyncRequest], str | None]) -> Lie:
    """Tell all components of the restart chosen; None for no lie, an empty text for none."""

    def lie(request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
        wanted = choose(request)

        def change(child: Manifest) -> Manifest:
            annotations = dict(child["spec"].get("annotations") or {})
            annotations.pop(contract.ANNOTATION_RESTART_AT, None)
            told = {contract.ANNOTATION_RESTART_AT: wanted} if wanted else {}
            return {**child, "spec": {**child["spec"], "annotations": {**annotations, **told}}}

        return answer if wanted is None else with_children(answer, change, contract.COMPONENT.kind)

    return lie


def asked_restart(request: SyncRequest) -> str | None:
    restart: dict[str, Any] = request.parent["spec"].get("restart") or {}
    return restart.get("id")


def no_restart(request: SyncRequest) -> str | None:
    """Take back what a component was told."""
    return "" if is_told(request) else None


def completed_restart(request: SyncRequest) -> str | None:
    """Take back a restart that is completed, and then tell of it again."""
    restart = request.status.get("restart") or {}
    is_over = restart.get("phase") == "Completed"
    return ("" if is_told(request) else str(restart["observedID"])) if is_over else None


def is_told(request: SyncRequest) -> bool:
    specs = (child["spec"] for child in request.children.of(contract.COMPONENT))
    return any((spec.get("annotations") or {}).get(contract.ANNOTATION_RESTART_AT) for spec in specs)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A lie of a hook, the invariant that is asked alone, and on which road; no invariant for what is asked at rest.

    `seed` is of a sequence that shows the lie soon; if it no longer does, those after it are tried.
    """

    lie: Callable[[], Lie]
    invariant: Check | None
    hook: str = "component"
    road: str = "components"
    says: str = ""
    disturbed_by: tuple[str, ...] = ()
    seed: int = 0


CASES = {
    "pull secrets are followed": Case(lie=lambda: follow_secrets, invariant=secrets_roll_nothing, seed=2),
    "new defaults go to all": Case(
        lie=lambda: let_new_defaults_in,
        invariant=upgrades_roll_nothing,
        road="components",
        disturbed_by=("edit", "cure", "mend", "upgrade"),
    ),
    "hook fails": Case(lie=lambda: fail, invariant=invariants.hooks_answer),
    "selector changes": Case(lie=lambda: other_selector, invariant=invariants.writes_are_accepted),
    "answer changes": Case(lie=drift, invariant=invariants.same_question_same_answer),
    "nobody is accused": Case(lie=lambda: accuse, invariant=invariants.nobody_is_accused_who_did_nothing),
    "rest ripens": Case(lie=lambda: say_date, invariant=invariants.rest_does_not_ripen),
    "component is ready too early": Case(lie=lambda: say_ready, invariant=invariants.ready_is_what_was_seen),
    "graph is ready too early": Case(
        lie=lambda: say_ready, invariant=invariants.ready_is_what_was_seen, hook="graph", road="grove"
    ),
    "component is ready before it is applied": Case(lie=lambda: say_ready, invariant=invariants.ready_changes_nothing),
    "graph was never ready": Case(lie=lambda: say_ready, invariant=invariants.ready_came_true, hook="graph"),
    "graph stays ready": Case(lie=lambda: say_ready, invariant=invariants.idle_cluster_tells_the_truth, hook="graph"),
    "origin is forgotten": Case(lie=lambda: forget_origin, invariant=origins_stay, hook="graph", road="lws"),
    "fewer replicas": Case(lie=lambda: shrink, invariant=invariants.replicas_are_those_asked),
    "all pods at once": Case(lie=lambda: recreate, invariant=invariants.strategy_is_the_one_asked),
    "workload left out": Case(lie=lambda: without("Deployment"), invariant=invariants.nothing_is_removed_unasked),
    "component left out": Case(
        lie=lambda: without(contract.COMPONENT.kind), invariant=invariants.nothing_is_removed_unasked, hook="graph"
    ),
    "claim left out": Case(
        lie=lambda: without("PersistentVolumeClaim"),
        invariant=invariants.claims_outlive_everything_but_their_graph,
        hook="graph",
        seed=1,
    ),
    "mistake takes children along": Case(
        lie=lambda: forget_children_of_mistake, invariant=invariants.mistake_changes_no_child, hook="graph", seed=1
    ),
    "image of nobody": Case(lie=lambda: other_image, invariant=invariants.pods_run_what_was_asked, seed=1),
    "set becomes another kind": Case(
        lie=lambda: number_sets, invariant=invariants.sets_stay_what_they_are, road="gangs"
    ),
    "template follows status": Case(
        lie=lambda: observed_in_template,
        invariant=invariants.templates_follow_from_the_wish,
        disturbed_by=("edit", "cure", "mend", "failing-pod"),
    ),
    "time moves": Case(lie=lambda: say_time, invariant=invariants.conditions_keep_their_time, seed=6),
    "no condition at first": Case(
        lie=lambda: say_nothing_at_first, invariant=invariants.conditions_are_always_there, seed=4
    ),
    "all restart at once": Case(
        lie=lambda: tell(asked_restart), invariant=restarts.restart_keeps_its_order, hook="graph", seed=8
    ),
    "restart is taken back": Case(
        lie=lambda: tell(no_restart), invariant=restarts.told_services_stay_told, hook="graph", seed=2
    ),
    "restart runs again": Case(
        lie=lambda: tell(completed_restart), invariant=restarts.finished_restart_stays_finished, hook="graph", seed=8
    ),
    "workers of two specs meet": Case(
        seed=6,
        lie=lambda: one_generation_for_all,
        invariant=generations.workers_of_two_specs_never_meet,
        hook="graph",
        road="generations-lws",
    ),
    "typo leaves generations": Case(
        lie=lambda: leave_generations,
        invariant=generations.typo_leaves_no_generation,
        disturbed_by=("edit",),
        road="sets-back",
    ),
    "frontend sees no generation": Case(
        lie=lambda: without_prefix, invariant=generations.every_worker_is_seen, road="generations-lws", seed=6
    ),
    "each worker rolls for itself": Case(
        lie=lambda: without_pace,
        invariant=generations.complete_generation_outlasts_the_next,
        hook="graph",
        road="sets",
        disturbed_by=("edit", "failing-pods", "cure"),
        seed=20,
    ),
    "an old pod too few stays": Case(
        lie=lambda: keep_one_less,
        invariant=rollouts.complete_sets_are_kept,
        hook="graph",
        road="sets",
        disturbed_by=("edit", "failing-pods", "cure"),
        seed=38,
    ),
    "pause is not heard": Case(
        lie=lambda: go_on,
        invariant=rollouts.paused_rollout_stands,
        hook="graph",
        road="sets",
        disturbed_by=("edit", "failing-pods", "cure"),
        seed=5,
    ),
    "rollout never ends": Case(
        lie=lambda: roll_for_ever, invariant=None, hook="graph", says="nothing rolls any more", road="generations"
    ),
    "status never the same": Case(lie=drift, invariant=None, says="cluster_comes_to_rest"),
    "history stands still": Case(
        lie=lambda: forget_edits, invariant=None, hook="graph", says="is not the present spec"
    ),
    "never ready": Case(lie=lambda: say_unready, invariant=None, hook="graph", says="the graph is valid, but"),
    "past in a label": Case(
        lie=lambda: remember_in_label, invariant=None, hook="graph", says="of a new graph it would be", seed=4
    ),
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_invariant_objects_to_a_lie(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "MAX_STEPS", 500)  # no sequence without a lie needs more
    checks = (case.invariant,) if case.invariant else _ALL_AT_REST
    temper = Temper(names=case.disturbed_by, weights=(1,) * len(case.disturbed_by), chance=0.1)
    found = find_violation(
        case.road,
        checks,
        lambda world: teach(world, case.hook, case.lie()),
        temper=temper if case.disturbed_by else None,
        first=case.seed,
    )
    assert found.startswith(f"{case.invariant.__name__}: ") if case.invariant else case.says in found


def test_availability_objects_to_a_deployment_that_drops_ready_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployments, "_shrink", lambda old, *_, **__: [(item, 0) for item in old])
    assert find_violation("components", (invariants.availability_is_kept,)).startswith("availability_is_kept: ")


def test_deletion_objects_to_what_a_hook_wrote_by_itself() -> None:
    def leave(world: World) -> None:
        def lie(_request: SyncRequest, answer: SyncAnswer, _facts: Facts) -> SyncAnswer:
            left = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "left", "namespace": "default"}}
            if world.cluster.get(kinds.CONFIG_MAP, "left", "default") is None:
                world.cluster.create(left)
            return answer

        teach(world, "graph", lie)

    assert find_violation("components", _ALL_AT_REST, leave, first=1).startswith("deletion_leaves_nothing: ConfigMap")


def test_each_invariant_has_its_lie() -> None:
    told = {case.invariant for case in CASES.values()} | {invariants.availability_is_kept}
    assert set(invariants.INVARIANTS) - told == set()


def teach(world: World, name: str, lie: Lie) -> None:
    """Have a hook of a world lie in its syncs."""
    honest = world.server.table[name]

    def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
        return lie(request, honest.sync(request, facts), facts)

    world.server.table[name] = replace(honest, sync=sync)


def find_violation(
    road: str,
    checks: tuple[Check, ...],
    prepare: Callable[[World], None] = lambda _world: None,
    temper: Temper | None = None,
    first: int = 0,
) -> str:
    """The message of the first violation among some sequences, from the seed `first` on."""
    for seed in range(first, first + SEEDS):
        try:
            run_sequence(road, seed, checks, prepare=prepare, temper=temper)
        except Violation as found:
            return str(found)
    return "nobody objects"
