"""What must hold of rollouts in complete sets, read from ReplicaSets, pods, and what the hooks answer."""

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.k8s.types import Manifest, annotations_of, controller_of, labels_of, name_of
from hooks.tools.offline.simulator.resources import REPLICA_SET
from tests.sequences.calls import Call
from tests.sequences.generations import BY_HAND, deployment_of, is_worker, may_lose_none, serves, suffix_in, suffix_of
from tests.sequences.world import Step, World

_NO_ROOM = frozenset({"Unschedulable", "QuotaDenied"})
_PACE, _PAUSED = contract.ANNOTATION_PACE, contract.ANNOTATION_ROLLOUT_PAUSED


def complete_sets_are_kept(world: World, step: Step) -> Iterator[str]:
    """No ready old pod of a worker ends while old and new sets together are fewer than wanted.

    One set, or a quarter, may be given up once new pods had no room. The new generation counts as it was at its best,
    and old pods as their ReplicaSets ask for them: what fails, begins or is lost meanwhile was no decision. A
    rollout in which the wanted numbers change is left aside.
    """
    roles = {name_of(one): one for one in world.list_kind(kinds.DEPLOYMENT) if is_worker(one)}
    _take_down(world, step, roles)
    removed = {write.name for write in step.writes if write.actor == "workload-controller" and write.verb == "delete"}
    for change in step.changes:
        lost = change.old
        if change.ref.kind != kinds.POD.kind or change.ref.name not in removed or lost is None or not serves(lost):
            continue
        if _began_now(world, lost):
            continue
        role = roles.get(deployment_of(lost))
        new = suffix_in(role["spec"]["template"]) if role is not None else ""
        if role is None or len(roles) < 2 or suffix_of(lost) == new or _is_left_aside(world, roles, new):
            continue
        part = _count_sets(world, roles, new)
        if part == _count_sets(world, roles, new, also=deployment_of(lost)):
            continue  # it belonged to no complete set
        budget = _budget(roles) if new in world.ledger.crowded else Fraction(0)
        if part < 1 - budget:
            yield f"pod {change.ref.name} of generation {suffix_of(lost)} ends, and only {part} of the sets are left"


def _began_now(world: World, pod: Manifest) -> bool:
    """Whether a pod became ready a moment ago, perhaps after it was decided that it may go, as it was not ready."""
    ready: Manifest = next((one for one in pod["status"]["conditions"] if one["type"] == "Ready"), {})
    return bool(ready.get("lastTransitionTime") == world.cluster.clock.timestamp)


def _take_down(world: World, step: Step, roles: Mapping[str, Manifest]) -> None:
    """How many pods of each generation were ready at the same time, how many were wanted, and which lacked room."""
    if not any(change.ref.kind in {"Pod", "Deployment", contract.COMPONENT.kind} for change in step.changes):
        return
    ready = Counter((suffix_of(pod), deployment_of(pod)) for pod in world.list_kind(kinds.POD) if serves(pod))
    for key, count in ready.items():
        world.ledger.most_ready[key] = max(count, world.ledger.most_ready.get(key, 0))
    crowded = any(_lacks_room(one) for one in world.list_kind(contract.COMPONENT))
    for name, role in roles.items():
        new = suffix_in(role["spec"]["template"])
        world.ledger.wanted.setdefault(new, {}).setdefault(name, set()).add(role["spec"]["replicas"])
        if crowded:
            world.ledger.crowded.add(new)


def _is_left_aside(world: World, roles: Mapping[str, Manifest], new: str) -> bool:
    sizes = world.ledger.wanted.get(new, {})
    is_scaled = any(len(counts) > 1 for counts in sizes.values()) or sizes.keys() != roles.keys()
    is_scaled |= any(_asked_of(world, role) != role["spec"]["replicas"] for role in roles.values())
    is_by_hand = bool({new, *(suffix_in(one["spec"]["template"]) for one in roles.values())} & BY_HAND)
    return is_scaled or is_by_hand or not all(may_lose_none(world, one) for one in roles.values())


def _asked_of(world: World, role: Manifest) -> int:
    """The replicas that the graph asks for; a policy can keep them from the Deployment."""
    services = world.graph["spec"].get("services") or {} if world.graph else {}
    found = (services.get(labels_of(role).get(contract.LABEL_COMPONENT, "")) or {}).get("replicas")
    return 1 if found is None else int(found)


def _count_sets(world: World, roles: Mapping[str, Manifest], new: str, *, also: str = "") -> Fraction:
    """The part of the wanted sets that is left; `also` has a pod more."""
    old: Counter[str] = Counter([also])
    for found in world.list_kind(REPLICA_SET):
        if suffix_in(found["spec"]["template"]) != new:
            old[(controller_of(found) or {}).get("name", "")] += found["spec"]["replicas"]
    wanted = {name: int(one["spec"]["replicas"]) for name, one in roles.items()}
    most = world.ledger.most_ready
    parts = [(Fraction(old[name], count), Fraction(most.get((new, name), 0), count)) for name, count in wanted.items()]
    return min(part for part, _ in parts) + min(part for _, part in parts)


def _budget(roles: Mapping[str, Manifest]) -> Fraction:
    fewest = min(int(one["spec"]["replicas"]) for one in roles.values())
    return max(Fraction(1, fewest), Fraction(1, 4)) if fewest > 1 else Fraction(1, 4)


def _lacks_room(component: Manifest) -> bool:
    ready = find_condition((component.get("status") or {}).get("conditions") or (), READY) or {}
    return ready.get("reason") in _NO_ROOM


def paused_rollout_stands(world: World, step: Step) -> Iterator[str]:
    """While a graph is paused its workers keep their pace, are paused, and no ReplicaSet of them changes its size.

    Two of them do if their Deployment's own size changes, or the room for new pods with the write that pauses it, as
    Kubernetes shares that.
    """
    for call in step.calls:
        if call.stage == "sync" and annotations_of(call.parent).get(_PAUSED) == "true" and call.said:
            yield from _pace_faults(call) if call.hook == "graph" else _pause_faults(call)
    for change in step.changes:
        old, new = change.old, change.new
        if change.ref.kind == kinds.DEPLOYMENT.kind and new is not None and new["spec"].get("paused"):
            before = new if old is None else old
            world.ledger.paused_at.setdefault(new["metadata"]["uid"], _allowed(before))
        if change.ref.kind == kinds.DEPLOYMENT.kind and (new is None or not new["spec"].get("paused")):
            world.ledger.paused_at.pop(change.current["metadata"]["uid"], None)
        if change.ref.kind == REPLICA_SET.kind and old is not None and new is not None:
            yield from _size_faults(world, old, new)


def _allowed(deployment: Manifest) -> int:
    """How many pods of all its ReplicaSets together a Deployment may have."""
    spec = deployment["spec"]
    surge = (spec["strategy"].get("rollingUpdate") or {}).get("maxSurge", 0)
    return int(spec["replicas"]) + scale_amount(surge, spec["replicas"], up=True)


def _pace_faults(call: Call) -> Iterator[str]:
    live = {name_of(one): annotations_of(one) for one in call.children(contract.COMPONENT.kind)}
    for name, child in call.wanted(contract.COMPONENT.kind).items():
        before, now = live.get(name, {}).get(_PACE), annotations_of(child)
        if _PACE in now and now.get(_PAUSED) != "true":
            yield f"{name} is not told that its rollout is paused"
        if before and _PACE in now and now[_PACE] != before:
            yield f"{name} has the pace {now[_PACE]}, and had {before} when it was paused"


def _pause_faults(call: Call) -> Iterator[str]:
    if call.hook != "component" or _PACE not in annotations_of(call.parent):
        return
    with_pods = {
        name_of(one) for one in call.children(kinds.DEPLOYMENT.kind) if (one.get("status") or {}).get("replicas")
    }
    for name, child in call.wanted(kinds.DEPLOYMENT.kind).items():
        if name in with_pods and not child["spec"].get("paused"):
            yield f"Deployment {name} is not paused"


def _size_faults(world: World, old: Manifest, new: Manifest) -> Iterator[str]:
    owner = (controller_of(new) or {}).get("name", "")
    found = world.cluster.get(kinds.DEPLOYMENT, owner, new["metadata"]["namespace"])
    if found is None or not found["spec"].get("paused") or old["spec"]["replicas"] == new["spec"]["replicas"]:
        return
    sets = (one for one in world.list_kind(REPLICA_SET) if (controller_of(one) or {}).get("name") == owner)
    if not any(one["spec"]["replicas"] for one in sets if name_of(one) != name_of(new)):
        return  # one alone gets what is wanted
    uid, wanted = found["metadata"]["uid"], _allowed(found)
    if world.ledger.paused_at.get(uid) == wanted and labels_of(found).get(contract.LABEL_COMPONENT):
        sizes = f"{new['spec']['replicas']} pods instead of {old['spec']['replicas']}"
        yield f"{name_of(new)} of the paused {owner} has {sizes}"
