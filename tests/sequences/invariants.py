"""What must hold after every step; each function says what in its docstring, and yields a sentence if it does not."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from hooks.graph.report.rollout_reasons import ROLLOUT
from hooks.graph.report.sharing import SHARED
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.hashing import canonical_json
from hooks.ground.k8s.types import Manifest, annotations_of, controller_of
from hooks.tools.offline.simulator.resources import REPLICA_SET
from hooks.tools.offline.simulator.store import Ref, StoreChange, ref_of
from hooks.tools.offline.simulator.workloads.owned import pods_of as pods_of_set
from hooks.tools.offline.simulator.workloads.pods import is_ready
from hooks.wire.policy import identity
from hooks.wire.policy.new_defaults import HELD
from hooks.wire.policy.rollout_pace import read_pace
from tests.sequences.calls import Call
from tests.sequences.generations import (
    complete_generation_outlasts_the_next,
    every_worker_is_seen,
    typo_leaves_no_generation,
    workers_of_two_specs_never_meet,
)
from tests.sequences.operator_releases import origins_stay
from tests.sequences.removals import why_removed
from tests.sequences.restarts import (
    finished_restart_stays_finished,
    restart_keeps_its_order,
    told_services_stay_told,
)
from tests.sequences.rollouts import complete_sets_are_kept, paused_rollout_stands
from tests.sequences.secrets import PULL_SECRETS, secrets_roll_nothing
from tests.sequences.seen import is_numbered, pending_writes, says_ready, why_unready
from tests.sequences.truth import find_lie, is_condition_true, replicas_of, run_by
from tests.sequences.upgrades import upgrades_roll_nothing
from tests.sequences.world import Check, Step, World

READY = "Ready"
METACONTROLLER = "metacontroller"
REPEATED = 3
"""The calls of every third step are repeated."""
LATER = tuple(timedelta(seconds=seconds) for seconds in (7, 61, 601, 30 * 86_400))
"""After so long what is remembered may be asked for again."""


def hooks_answer(_world: World, step: Step) -> Iterator[str]:
    """A hook answers every call that reaches it."""
    for call in step.calls:
        if call.code not in {200, 504}:
            yield f"{call.path} answered {call.code}: {call.answer.decode()}"


def writes_are_accepted(world: World, step: Step) -> Iterator[str]:
    """Nothing that follows from an answer is refused, but for what is stale or gone, or against a policy."""
    for write in step.writes:
        is_policy = write.code == 403 and (write.resource, write.name) in world.refused
        if (
            write.actor in {METACONTROLLER, "dynamo-hooks"}
            and write.code >= 400
            and not (is_policy or write.code in {404, 409})
        ):
            yield f"{write.verb} {write.resource}/{write.name} was refused with {write.code}"


def same_question_same_answer(world: World, step: Step) -> Iterator[str]:
    """The answer to the same request is the same bytes; some calls are repeated, as each costs as much as the first."""
    for call in step.calls if step.number % REPEATED == 0 else ():
        code, answer, effects = world.server.repeat(call, call.now)
        if answer != call.answer or effects != call.effects or (call.code == 200 and code != 200):
            yield f"{call.path} answered {answer.decode()} and before {call.answer.decode()}"


def rest_does_not_ripen(world: World, step: Step) -> Iterator[str]:
    """An answer that a server may remember is the same bytes at any later time."""
    for call in step.calls:
        if world.server.is_at_rest(call):
            later = call.now + LATER[step.number % len(LATER)]
            _, answer, effects = world.server.repeat(call, later)
            if answer != call.answer or effects:
                told = call.answer.decode()
                yield f"{call.path} may be remembered, but answers {answer.decode()} at {later}, not {told}"


def ready_is_what_was_seen(_world: World, step: Step) -> Iterator[str]:
    """Ready is answered only where the request shows every workload complete, of the wanted template."""
    for call in step.calls:
        why = why_unready(call) if says_ready(call) else ""
        if why:
            yield f"{call.path} says Ready of {call.parent['metadata']['name']}, but {why}"


def ready_changes_nothing(_world: World, step: Step) -> Iterator[str]:
    """Ready is answered only where Metacontroller would write no child: all exist, and all are as the answer wants."""
    for call in step.calls:
        why = next(pending_writes(call), "") if says_ready(call) else ""
        if why:
            yield f"{call.path} says Ready of {call.parent['metadata']['name']}, but Metacontroller will {why}"


def ready_came_true(world: World, step: Step) -> Iterator[str]:
    """A graph that is stored as Ready is one whose pods, when last complete, were what it asks for."""
    for change in step.changes:
        graph = change.new
        if change.ref.kind == contract.GRAPH.kind and graph is not None and is_condition_true(graph, READY):
            for lie in world.ledger.never_so(world.cluster.reader, graph):
                yield f"graph {change.ref.name} is Ready, but {lie}"


def idle_cluster_tells_the_truth(world: World, step: Step) -> Iterator[str]:
    """Where nothing is on its way any more, no graph is stored as Ready that is not; a refused change is not."""
    if not step.is_idle or world.server.unheard or (world.cluster.has_retries and not world.refused):
        return
    for graph in world.cluster.reader.list_kind(contract.GRAPH):
        if "deletionTimestamp" in graph["metadata"] or not is_condition_true(graph, READY):
            continue
        lie = find_lie(world.cluster.reader, graph)
        if lie:
            yield f"nothing happens any more and graph {graph['metadata']['name']} is Ready, but {lie}"


def replicas_are_those_asked(_world: World, step: Step) -> Iterator[str]:
    """A hook asks for as many replicas as its parent, or the adapter that it is shown, and never for fewer."""
    for call in step.calls:
        if call.stage != "sync" or not call.said or is_frozen(call):
            continue
        spec, name = call.parent["spec"], call.parent["metadata"]["name"]
        if call.hook == "component":
            for found in call.wanted("Deployment").values():
                if found["spec"]["replicas"] != spec.get("replicas", 1):
                    yield f"Deployment {name} gets {found['spec']['replicas']} replicas, not {spec.get('replicas', 1)}"
            groups = sum(found["spec"]["replicas"] for found in call.wanted("LeaderWorkerSet").values())
            pace = read_pace(annotations_of(call.parent).get(contract.ANNOTATION_PACE, ""))
            if groups > max(spec.get("replicas", 1), pace.most if pace is not None else 0):
                yield f"LeaderWorkerSets of {name} get {groups} replicas, not {spec.get('replicas', 1)}"
        elif call.hook == "graph":
            for service in spec["services"]:
                asked = replicas_of(call.parent, service, call.children(contract.SCALING_ADAPTER.kind))
                child = call.wanted(contract.COMPONENT.kind).get(identity.component_name(name, service))
                if child is not None and child["spec"].get("replicas", 1) != asked:
                    yield f"component of {service} gets {child['spec'].get('replicas', 1)} replicas, not {asked}"


def strategy_is_the_one_asked(_world: World, step: Step) -> Iterator[str]:
    """A component's Deployment leaves as many pods ready during an update as the component's annotation says.

    While its graph's workers roll together, the graph says how many old pods stay.
    """
    for call in step.calls:
        if call.hook == "component" and call.stage == "sync" and not is_frozen(call):
            annotations = call.parent["spec"].get("annotations") or {}
            asked = annotations.get(contract.ANNOTATION_MAX_UNAVAILABLE, "25%")
            pace = read_pace(annotations_of(call.parent).get(contract.ANNOTATION_PACE, ""))
            if pace is not None:
                asked = str(max(0, call.parent["spec"].get("replicas", 1) - pace.kept))
            for found in call.wanted("Deployment").values():
                given = found["spec"]["strategy"].get("rollingUpdate", {}).get("maxUnavailable", "everything")
                if str(given) != asked:
                    yield f"{found['metadata']['name']} may lose {given} of its pods, not {asked}"


def nothing_is_removed_unasked(_world: World, step: Step) -> Iterator[str]:
    """Metacontroller deletes a child only where its parent's spec, as the hook was shown it, has no use for it."""
    for write in step.writes:
        if write.actor == METACONTROLLER and write.verb == "delete" and write.code < 400:
            call = step.calls[-1]
            if not why_removed(call, write.resource, write.name):
                yield f"{write.resource}/{write.name} was deleted, which nobody asked for"


def claims_outlive_everything_but_their_graph(world: World, step: Step) -> Iterator[str]:
    """A claim that was made for a graph goes with the graph and never before, unless somebody deletes it."""
    for change in step.changes:
        is_going = change.new is None or "deletionTimestamp" in change.new["metadata"]
        if change.ref.kind != kinds.PERSISTENT_VOLUME_CLAIM.kind or not is_going or change.ref in world.edited:
            continue
        owner = controller_of(change.current)
        assert owner is not None
        graph = world.cluster.reader.get(Ref(contract.GROUP, owner["kind"], change.ref.namespace, owner["name"]))
        if graph is not None and graph["metadata"]["uid"] == owner["uid"] and not _is_deleting(graph):
            yield f"claim {change.ref.name} is deleted, but its graph is not"


def mistake_changes_no_child(world: World, step: Step) -> Iterator[str]:
    """A graph that cannot be rendered keeps its children as they are; only what was changed by hand is set right.

    A rollout that has begun goes on.

    A graph may be unable to change what exists. Once that is being deleted it can be rendered, so Metacontroller, if it
    has not heard yet that the graph is being deleted too, creates children. They go with the graph (tests/contract).
    """
    for call in step.calls:
        metadata = call.parent["metadata"]
        if call.hook != "graph" or (metadata["uid"], metadata["generation"]) not in world.invalid:
            continue
        is_late = _is_late(world, call)
        for change in step.changes:
            if is_late and change.old is None:
                continue
            if change.ref.kind != contract.GRAPH.kind and change.ref not in world.edited and not _is_pace(change):
                yield f"graph {metadata['name']} cannot be rendered, and still {change.ref} was changed"


def pods_run_what_was_asked(world: World, step: Step) -> Iterator[str]:
    """A pod is made of what a user asked for of its service at some time."""
    for change in step.changes:
        if change.ref.kind != kinds.POD.kind or change.old is not None or change.new is None:
            continue
        service = change.new["metadata"]["labels"].get(contract.LABEL_COMPONENT, "")
        is_asked = run_by(change.new) in world.ledger.asked.get(service, ())
        if not is_asked and not any(ref.kind in _OF_PODS for ref in world.edited):
            yield f"pod {change.ref.name} of {service} runs {run_by(change.new)}, which nobody asked for"


def templates_follow_from_the_wish(world: World, step: Step) -> Iterator[str]:
    """The same spec but for numbers of replicas gives the same pod templates, whatever was observed meanwhile.

    What tells pods of one LeaderWorkerSet from those of another is left out: `sets_stay_what_they_are` is about that.
    Pull secrets follow from what was there at the last change; `secrets_roll_nothing` is about them. After an upgrade,
    templates follow from when they last changed; `upgrades_roll_nothing` is about that. Which generation workers have,
    and what waits for the next one, follows from what runs; `workers_of_two_specs_never_meet` is about that.
    """
    if world.server.version:
        return
    for call in step.calls:
        if call.hook == "graph" and world.road.has_generations:
            continue
        if call.stage != "sync" or not call.said.get("children") or is_frozen(call):
            continue
        question = (call.hook, call.parent["metadata"]["uid"], str(call.parent["metadata"]["generation"]))
        if not world.ledger.is_news(question, call.said["children"]):
            continue
        wish = canonical_json(_without_counts(call.parent))
        for child in call.said["children"]:
            if child["kind"] not in _TEMPLATES:
                continue
            key = (call.hook, wish, child["kind"], child["metadata"]["name"])
            template = canonical_json(_without_counts(_without_oldest_origin(child)))
            if world.ledger.templates.setdefault(key, template) != template:
                yield f"{child['kind']} {child['metadata']['name']} was {world.ledger.templates[key]}, is {template}"


def sets_stay_what_they_are(_world: World, step: Step) -> Iterator[str]:
    """A LeaderWorkerSet of one replica stays one, and so does that of all replicas, whatever is set meanwhile."""
    for call in step.calls:
        wanted = call.wanted("LeaderWorkerSet") if call.stage == "sync" and call.said else {}
        for live in call.children("LeaderWorkerSet") if wanted else ():
            name = live["metadata"]["name"]
            if name in wanted and is_numbered(live) != is_numbered(wanted[name]):
                yield f"LeaderWorkerSet {name} becomes another kind of set"


def availability_is_kept(world: World, step: Step) -> Iterator[str]:
    """No Deployment loses a ready pod by its controller while fewer would be left than its strategy allows.

    Pods of a generation that did not become whole before the next one came never count as available.
    """
    removed = {w.name for w in step.writes if w.actor == "workload-controller" and w.verb == "delete"}
    for change in step.changes:
        lost = change.old
        if change.ref.kind != kinds.POD.kind or change.new is not None or lost is None or not is_ready(lost):
            continue
        deployment = _deployment_of(world, lost)
        if change.ref.name in removed and deployment is not None and _was_available(world, lost):
            ready = _count_ready(world, deployment)
            floor = _floor(deployment)
            if ready < floor:
                yield f"Deployment {deployment['metadata']['name']} has {ready} ready pods, less than {floor}"


def conditions_keep_their_time(_world: World, step: Step) -> Iterator[str]:
    """A condition's time moves with its status and not otherwise; the first one may be the object's creation."""
    for call in step.calls:
        created = call.parent["metadata"].get("creationTimestamp")
        before = {c["type"]: c for c in (call.parent.get("status") or {}).get("conditions", ())}
        for condition in call.said.get("status", {}).get("conditions", ()):
            was = before.get(condition["type"])
            is_same = was is not None and was["status"] == condition["status"]
            if is_same and was is not None and was["lastTransitionTime"] != condition["lastTransitionTime"]:
                yield f"{call.path}: the time of {condition['type']} moves, its status does not"
            times = {call.now.strftime("%Y-%m-%dT%H:%M:%SZ"), *([] if before else [created])}
            if not is_same and condition["lastTransitionTime"] not in times:
                yield f"{call.path}: {condition['type']} turned, but its time is {condition['lastTransitionTime']}"


def conditions_are_always_there(world: World, step: Step) -> Iterator[str]:
    """Every answer has the same types of conditions, the first one too; only those of a time come and go."""
    for call in step.calls:
        if call.stage != "sync" or "status" not in call.said:
            continue
        found = frozenset(c["type"] for c in call.said.get("status", {}).get("conditions", ()))
        types = found - {HELD, ROLLOUT, SHARED}
        before = world.ledger.types.setdefault(call.hook, types)
        if READY not in types or types != before:
            yield f"{call.path} has the conditions {sorted(types)}, before {sorted(before)}"


def nobody_is_accused_who_did_nothing(world: World, step: Step) -> Iterator[str]:
    """No status says that somebody overrides a child before anybody edited one, or a policy refused a write."""
    if world.edited or world.refused or world.foreign:
        world.ledger.has_culprit = True
    if world.ledger.has_culprit:
        return
    for call in step.calls:
        for one in call.said.get("status", {}).get("conditions", ()) if call.stage == "sync" else ():
            if any(words in one.get("message", "") for words in ACCUSATIONS):
                yield f"{call.path} says {one['type']}: {one['message']}"


INVARIANTS: tuple[Check, ...] = (
    hooks_answer,
    writes_are_accepted,
    same_question_same_answer,
    rest_does_not_ripen,
    ready_is_what_was_seen,
    ready_changes_nothing,
    ready_came_true,
    idle_cluster_tells_the_truth,
    replicas_are_those_asked,
    strategy_is_the_one_asked,
    nothing_is_removed_unasked,
    claims_outlive_everything_but_their_graph,
    mistake_changes_no_child,
    pods_run_what_was_asked,
    templates_follow_from_the_wish,
    sets_stay_what_they_are,
    secrets_roll_nothing,
    upgrades_roll_nothing,
    origins_stay,
    availability_is_kept,
    conditions_keep_their_time,
    conditions_are_always_there,
    nobody_is_accused_who_did_nothing,
    restart_keeps_its_order,
    told_services_stay_told,
    finished_restart_stays_finished,
    workers_of_two_specs_never_meet,
    every_worker_is_seen,
    typo_leaves_no_generation,
    complete_generation_outlasts_the_next,
    complete_sets_are_kept,
    paused_rollout_stands,
)

ACCUSATIONS = (
    "wrote what is not wanted",
    "overrides what is wanted",
    "again and again",
    "policy of the cluster changes",
)
_TEMPLATES = frozenset(
    kind.kind for kind in (kinds.DEPLOYMENT, kinds.LEADER_WORKER_SET, kinds.POD_CLIQUE_SET, contract.COMPONENT)
)
_OF_PODS = frozenset({kinds.DEPLOYMENT.kind, kinds.POD_CLIQUE_SET.kind, contract.COMPONENT.kind})
_NO_WISH = frozenset(
    {
        "replicas",
        "terminationDelay",  # very long while some service has no replica
        "scalingAdapter",
        "restart",
        "strategy",
        "minReadySeconds",
        "progressDeadlineSeconds",
        "paused",
        "rolloutStrategy",
        contract.ANNOTATION_PACE,
        contract.ANNOTATION_ROLLOUT_PAUSED,
        contract.ANNOTATION_ROLLOUT_CANARY,
        contract.ANNOTATION_RENDERING,
        contract.ANNOTATION_RESTART_AT,
        contract.ANNOTATION_DISCOVERED,
        contract.ANNOTATION_GANG,
        contract.ANNOTATION_IMMUTABLE_HASH,
        contract.LABEL_INSTANCE,
        PULL_SECRETS,
    }
)
_FROZEN = frozenset({"ValidationFailed", "failed_to_reconcile_the_resources", "NoOrchestratorAvailable"})


def is_frozen(call: Call) -> bool:
    """Whether a hook says that it answered the children as they were."""
    conditions = call.said.get("status", {}).get("conditions", ())
    return any(c["type"] == READY and c["reason"] in _FROZEN for c in conditions)


def _without_counts(value: Any) -> Any:
    """A spec without counts of replicas and pull secrets; of metadata only what a template can follow from."""
    if isinstance(value, list):
        return [_without_counts(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if key not in _NO_WISH and key != "status"}
    if "spec" in kept and isinstance(kept.get("metadata"), dict) and "uid" in kept["metadata"]:
        metadata = kept["metadata"]
        kept["metadata"] = {key: metadata[key] for key in ("name", "labels", "annotations") if key in metadata}
        kept["metadata"].get("annotations", {}).pop(contract.ANNOTATION_LAST_APPLIED, None)
    cleaned = {key: _without_counts(item) for key, item in kept.items()}
    return {key: item for key, item in cleaned.items() if item != {}}


def _without_oldest_origin(child: Manifest) -> Manifest:
    """The object without the origin 0.9, which is the same as none: somebody may take the record away."""
    own = child["metadata"].get("annotations") or {}
    if own.get(contract.ANNOTATION_ORIGIN_VERSION) != "0.9.0":
        return child
    left = {key: value for key, value in own.items() if key != contract.ANNOTATION_ORIGIN_VERSION}
    return {**child, "metadata": {**child["metadata"], "annotations": left}}


def _is_pace(change: StoreChange) -> bool:
    """Whether a component changed in nothing but the pace of its rollout."""
    old, new = change.old, change.new
    if change.ref.kind != contract.COMPONENT.kind or old is None or new is None or old["spec"] != new["spec"]:
        return False
    return any(contract.ANNOTATION_PACE in annotations_of(one) for one in (old, new))


def _is_deleting(obj: Manifest) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _is_late(world: World, call: Call) -> bool:
    """Whether a parent is gone or being deleted, and the call does not say so."""
    found = world.cluster.reader.get(ref_of(call.parent))
    is_going = found is None or found["metadata"]["uid"] != call.parent["metadata"]["uid"] or _is_deleting(found)
    return is_going and not _is_deleting(call.parent)


def _deployment_of(world: World, pod: Manifest) -> Manifest | None:
    reader, namespace = world.cluster.reader, pod["metadata"]["namespace"]
    owner = controller_of(pod)
    if owner is None or owner["kind"] != "ReplicaSet":
        return None
    replica_set = reader.get(Ref("apps", "ReplicaSet", namespace, owner["name"]))
    above = controller_of(replica_set) if replica_set is not None else None
    found = reader.get(Ref("apps", "Deployment", namespace, above["name"])) if above is not None else None
    return None if found is None or _is_deleting(found) else found


def _was_available(world: World, pod: Manifest) -> bool:
    owner = controller_of(pod) or {}
    found = world.cluster.reader.get(Ref("apps", "ReplicaSet", pod["metadata"]["namespace"], owner.get("name", "")))
    return found is None or not found["spec"].get("minReadySeconds")


def _count_ready(world: World, deployment: Manifest) -> int:
    reader = world.cluster.reader
    sets = reader.list_kind(REPLICA_SET, deployment["metadata"]["namespace"])
    owned = [s for s in sets if (controller_of(s) or {}).get("uid") == deployment["metadata"]["uid"]]
    return sum(is_ready(pod) for found in owned for pod in pods_of_set(reader, found))


def _floor(deployment: Manifest) -> int:
    """How many pods a rolling update leaves ready; 0 where all are replaced at once."""
    spec = deployment["spec"]
    if spec["strategy"]["type"] == "Recreate":
        return 0
    rolling, wanted = spec["strategy"]["rollingUpdate"], spec["replicas"]
    amounts = {key: _absolute(rolling[key], wanted, up=key == "maxSurge") for key in ("maxSurge", "maxUnavailable")}
    return max(0, int(wanted) - (amounts["maxUnavailable"] or (0 if amounts["maxSurge"] else 1)))


def _absolute(value: int | str, of: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    percent = int(value.removesuffix("%")) * of
    return -(-percent // 100) if up else percent // 100
