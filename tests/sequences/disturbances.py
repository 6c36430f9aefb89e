"""What happens to a cluster: users who edit, pods that fail, calls and news that get lost, programs that start again.

Each takes the world, does one thing and says what; an empty text means that there was nothing to do it to.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import is_pod_ready
from hooks.ground.k8s.types import GroupVersionKind, Manifest, controller_of
from hooks.tools.offline.simulator.store import copy_json, ref_of
from hooks.tools.offline.simulator.workloads.pods import PodFault
from tests import make
from tests.sequences.calls import Loss, Reading, forget
from tests.sequences.wishes import GRAPH, MAX_REPLICAS, graph
from tests.sequences.world import NAMESPACE, World

Disturbance = Callable[[World], str]
_LONGEST_WAIT = 40


def write_graph(world: World) -> str:
    """Create the graph where there is none."""
    if world.graph is not None:
        return ""
    world.write(graph(copy_json(dict(world.road.services))), is_valid=True)
    return f"graph {GRAPH}"


def edit_graph(world: World, name: str = "") -> str:
    """Change the graph, by an edit of the road's; the change of one that cannot be rendered puts it right."""
    live = _editable(world)
    if live is None:
        return ""
    wanted = _renewed(live, world.valid)
    said = world.road.edits[name or world.rng.choice(sorted(world.road.edits))](world.rng, wanted)
    if not said:
        return ""
    world.write(wanted, is_valid=True)
    return said


def break_graph(world: World, name: str = "") -> str:
    """Write a graph that cannot be rendered, past admission, by a mistake of the road's."""
    live = _editable(world)
    if live is None or not world.is_valid:
        return ""
    wanted = copy_json(live)
    said = world.road.breaks[name or world.rng.choice(sorted(world.road.breaks))](world.rng, wanted)
    if not said:
        return ""
    world.write(wanted, is_valid=False)
    return said


def mend_graph(world: World) -> str:
    """Take back what cannot be rendered."""
    live = _editable(world)
    if live is None or world.is_valid:
        return ""
    world.write(_renewed(live, world.valid), is_valid=True)
    return "as it was"


def scale_by_adapter(world: World) -> str:
    """An autoscaler scales."""
    adapters = world.list_kind(contract.SCALING_ADAPTER)
    if not adapters:
        return ""
    name = world.rng.choice(adapters)["metadata"]["name"]
    replicas = world.rng.randint(0, MAX_REPLICAS)
    world.cluster.patch(contract.SCALING_ADAPTER, name, {"spec": {"replicas": replicas}}, NAMESPACE)
    return f"{name} to {replicas}"


def break_pods(world: World) -> str:
    """Pods of a service, those there are and those to come, fail in one way; or those to come take long."""
    if world.road.slow and world.rng.random() < 0.3:
        return _take_room(world)
    if world.road.slow:
        glob = world.rng.choice(world.road.slow)
        world.cluster.block(glob)
        world.broken.add(glob)
        return f"{glob} takes long"
    return give_fault(
        world, world.rng.choice([f"{GRAPH}-*", "*frontend*", "*worker*"]), world.rng.choice(sorted(PodFault))
    )


def _take_room(world: World) -> str:
    """Pods that are not ready find no room."""
    waiting = [pod["metadata"]["name"] for pod in world.list_kind(kinds.POD) if not is_pod_ready(pod)]
    for name in waiting:
        give_fault(world, name, PodFault.UNSCHEDULABLE)
    return f"no room for {', '.join(waiting)}" if waiting else ""


def give_fault(world: World, glob: str, fault: PodFault) -> str:
    """Pods of one glob fail in one way."""
    world.cluster.break_pods(glob, fault)
    world.broken.add(glob)
    return f"{fault} of {glob}"


def break_pod(world: World) -> str:
    """One pod fails."""
    pods = world.list_kind(kinds.POD)
    if not pods:
        return ""
    name = world.rng.choice(pods)["metadata"]["name"]
    fault = world.rng.choice([PodFault.CRASH_LOOP, PodFault.PROBE])
    world.cluster.break_pods(name, fault)
    world.broken.add(name)
    return f"{fault} of {name}"


def cure_pods(world: World) -> str:
    """What made pods fail is over."""
    if not world.broken:
        return ""
    glob = world.rng.choice(sorted(world.broken))
    world.cluster.release(glob)
    world.broken.discard(glob)
    return glob


def lose_node(world: World) -> str:
    """A node is gone, and its pods with it."""
    lost = [pod["metadata"]["name"] for pod in world.list_kind(kinds.POD) if world.rng.random() < 0.5]
    for name in lost:
        if world.cluster.get(kinds.POD, name, NAMESPACE) is not None:
            world.cluster.delete(kinds.POD, name, NAMESPACE)
    return ", ".join(lost)


def change_registry_secrets(world: World) -> str:
    """Somebody makes a Secret for the registry of all images, or deletes it."""
    name = world.rng.choice(["pull-a", "pull-b"])
    if world.cluster.get(kinds.SECRET, name, NAMESPACE) is not None:
        world.cluster.delete(kinds.SECRET, name, NAMESPACE)
        return f"without {name}"
    world.cluster.create(make.pull_secret(name, "docker.io"))
    return f"with {name}"


def lose_calls(world: World) -> str:
    """The next calls of the hooks come to nothing."""
    losses = [world.rng.choice(list(Loss)) for _ in range(world.rng.randint(1, 3))]
    world.server.losses += losses
    return ", ".join(losses)


def lose_effects(world: World) -> str:
    """The next effects fail."""
    world.lost_effects = world.rng.randint(1, 3)
    return str(world.lost_effects)


def repeat_events(world: World) -> str:
    """Every parent is synced although nothing changed."""
    world.cluster.sync_again()
    return "all"


def break_watches(world: World) -> str:
    """Changes on their way are lost, the last state arrives."""
    world.cluster.break_watches()
    return "all"


def restart_hooks(world: World) -> str:
    """The hooks forget what they remember."""
    forget()
    return "all"


def upgrade_hooks(world: World) -> str:
    """The hooks are replaced by a version that renders other pods."""
    world.server.version += 1
    forget()
    return f"to version {world.server.version}"


def switch_gangs(world: World) -> str:
    """Another kind of LeaderWorkerSets is set for new components; the hooks start again with every setting."""
    if "lws" not in world.road.installed:
        return ""
    value = world.server.switch("lws_gangs")
    forget()
    return f"by LeaderWorkerSet {value}"


def switch_rollout(world: World) -> str:
    """A user lets new defaults in now, or takes that back."""
    live = world.graph
    if live is None:
        return ""
    is_on = contract.ANNOTATION_ROLLOUT in live["metadata"].get("annotations", {})
    value = None if is_on else "now"
    patch = {"metadata": {"annotations": {contract.ANNOTATION_ROLLOUT: value}}}
    world.cluster.patch(contract.GRAPH, GRAPH, patch, NAMESPACE)
    return "later" if is_on else "now"


def restart_metacontroller(world: World) -> str:
    """Metacontroller forgets its queues and caches."""
    world.cluster.restart_metacontroller()
    return "all"


def wait(world: World) -> str:
    """Time passes that nobody uses."""
    seconds = world.rng.randint(1, _LONGEST_WAIT)
    world.clock.advance_to(world.clock.seconds + seconds)
    return f"{seconds} s"


def wipe_status(world: World) -> str:
    """A backup without statuses is laid over the graph or one of its components."""
    found = [*([world.graph] if world.graph else []), *world.list_kind(contract.COMPONENT)]
    if not found:
        return ""
    chosen = world.rng.choice(found)
    empty = dict.fromkeys(chosen.get("status", {}))
    kind = contract.GRAPH if chosen["kind"] == contract.GRAPH.kind else contract.COMPONENT
    world.cluster.patch_status(kind, chosen["metadata"]["name"], {"status": empty}, NAMESPACE)
    world.edited.add(ref_of(chosen))
    return f"{chosen['kind']} {chosen['metadata']['name']}"


def edit_child(world: World) -> str:
    """A user changes a child by hand."""
    kind = world.rng.choice(list(_HAND_EDITS))
    found = world.list_kind(kind)
    if not found:
        return ""
    chosen = world.rng.choice(found)
    change = world.rng.choice(_HAND_EDITS[kind])
    world.edited.add(ref_of(chosen))
    world.cluster.patch(kind, chosen["metadata"]["name"], change(chosen), NAMESPACE)
    return f"{kind.kind} {chosen['metadata']['name']}:{change.__name__.replace('_', ' ')}"


def edit_for_good(world: World) -> str:
    """A user changes a child by hand, and a policy refuses to change it back."""
    said = edit_child(world)
    if said:
        kind, _, name = said.partition(":")[0].partition(" ")
        world.refused.add((f"{kind.lower()}s", name))
    return said


def refuse_updates(world: World) -> str:
    """A policy refuses what Metacontroller changes of a child."""
    found = [child for kind in _HAND_EDITS for child in world.list_kind(kind)]
    if not found:
        return ""
    chosen = world.rng.choice(found)
    world.refused.add((f"{chosen['kind'].lower()}s", chosen["metadata"]["name"]))
    return f"{chosen['kind']} {chosen['metadata']['name']}"


def allow_updates(world: World) -> str:
    """The policy is gone."""
    found = sorted(world.refused)
    world.refused.clear()
    return ", ".join(name for _, name in found)


def take_name(world: World) -> str:
    """Somebody deletes a child, and creates an object of its own that has the name."""
    kind = world.rng.choice([contract.COMPONENT, kinds.DEPLOYMENT, kinds.SERVICE, kinds.SERVICE_ACCOUNT, kinds.ROLE])
    found = [child for child in world.list_kind(kind) if controller_of(child) is not None]
    if not found or world.graph is None:
        return ""
    chosen = world.rng.choice(found)
    world.edited.add(ref_of(chosen))
    world.cluster.delete(kind, chosen["metadata"]["name"], NAMESPACE)
    world.foreign.add(ref_of(world.cluster.create(_foreign(kind, chosen["metadata"]["name"]))))
    return f"{kind.kind} {chosen['metadata']['name']}"


def give_name_back(world: World) -> str:
    """Objects that took a name are gone."""
    found = sorted(world.foreign)
    world.foreign.clear()
    for ref in found:
        kind = next(kind for kind in _FOREIGN_SPECS if kind.kind == ref.kind)
        live = world.cluster.get(kind, ref.name, NAMESPACE)
        if live is not None and controller_of(live) is None:
            world.cluster.delete(kind, ref.name, NAMESPACE)
    return ", ".join(map(str, found))


def delete_child(world: World) -> str:
    """A user deletes a child by hand."""
    kind = world.rng.choice([contract.COMPONENT, kinds.DEPLOYMENT, kinds.SERVICE, kinds.LEADER_WORKER_SET])
    found = world.list_kind(kind)
    if not found:
        return ""
    chosen = world.rng.choice(found)
    world.edited.add(ref_of(chosen))
    world.cluster.delete(kind, chosen["metadata"]["name"], NAMESPACE)
    return f"{kind.kind} {chosen['metadata']['name']}"


def _other_label(_child: Manifest) -> dict[str, Any]:
    return {"metadata": {"labels": {contract.LABEL_GRAPH: "another"}}}


def _other_replicas(child: Manifest) -> dict[str, Any]:
    return {"spec": {"replicas": child["spec"].get("replicas", 1) + 1}}


def _other_image(child: Manifest) -> dict[str, Any]:
    containers = [{**container, "image": "by-hand:0"} for container in child["spec"]["template"]["spec"]["containers"]]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


def _other_image_of_component(_child: Manifest) -> dict[str, Any]:
    return {"spec": {"extraPodSpec": {"mainContainer": {"image": "by-hand:0"}}}}


def _other_image_of_cliques(child: Manifest) -> dict[str, Any]:
    template = copy_json(child["spec"]["template"])
    for clique in template["cliques"]:
        for container in clique["spec"]["podSpec"]["containers"]:
            container["image"] = "by-hand:0"
    return {"spec": {"template": {"cliques": template["cliques"]}}}


def _foreign(kind: GroupVersionKind, name: str) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **_FOREIGN_SPECS[kind]}


_STRANGER = {"matchLabels": {"app": "stranger"}}
_FOREIGN_SPECS: Mapping[GroupVersionKind, dict[str, Any]] = {
    contract.COMPONENT: {
        "spec": {
            "componentType": "frontend",
            "replicas": 0,
            "extraPodSpec": {"mainContainer": {"image": "stranger:0"}},
        }
    },
    kinds.DEPLOYMENT: {
        "spec": {
            "replicas": 0,
            "selector": _STRANGER,
            "template": {
                "metadata": {"labels": _STRANGER["matchLabels"]},
                "spec": {"containers": [{"name": "main", "image": "stranger:0"}]},
            },
        }
    },
    kinds.SERVICE: {"spec": {"selector": {"app": "stranger"}, "ports": [{"port": 80}]}},
    kinds.SERVICE_ACCOUNT: {},
    kinds.ROLE: {"rules": []},
}


def _other_selector(child: Manifest) -> dict[str, Any]:
    return {"spec": {"selector": dict.fromkeys(child["spec"].get("selector", {}), "another")}}


def _elsewhere(_child: Manifest) -> dict[str, Any]:
    return {"spec": {"type": "ExternalName", "externalName": "elsewhere.example"}}


def _unready_pods(_child: Manifest) -> dict[str, Any]:
    return {"spec": {"publishNotReadyAddresses": True}}


def _other_rules(_child: Manifest) -> dict[str, Any]:
    return {"rules": []}


def spoil_reads(world: World) -> str:
    """What the hooks read on demand fails, until it is true again."""
    world.server.reading = world.rng.choice([found for found in Reading if found is not world.server.reading])
    return f"reads: {world.server.reading.name}"


_HAND_EDITS: Mapping[GroupVersionKind, tuple[Callable[[Manifest], dict[str, Any]], ...]] = {
    kinds.DEPLOYMENT: (_other_label, _other_replicas, _other_image),
    contract.COMPONENT: (_other_label, _other_replicas, _other_image_of_component),
    kinds.POD_CLIQUE_SET: (_other_image_of_cliques,),
    kinds.SERVICE: (_other_label, _other_selector, _elsewhere, _unready_pods),
    kinds.LEADER_WORKER_SET: (_other_label, _other_replicas),
    kinds.ROLE: (_other_rules,),
}

DISTURBANCES: Mapping[str, tuple[Disturbance, int]] = {
    "edit": (edit_graph, 8),
    "mistake": (break_graph, 2),
    "mend": (mend_graph, 2),
    "autoscaler": (scale_by_adapter, 4),
    "failing-pods": (break_pods, 2),
    "failing-pod": (break_pod, 3),
    "cure": (cure_pods, 5),
    "lost-node": (lose_node, 2),
    "registry-secret": (change_registry_secrets, 3),
    "lost-calls": (lose_calls, 2),
    "lost-effects": (lose_effects, 1),
    "repeated-events": (repeat_events, 2),
    "broken-watches": (break_watches, 2),
    "hooks-restart": (restart_hooks, 2),
    "upgrade": (upgrade_hooks, 2),
    "rollout-now": (switch_rollout, 2),
    "gangs": (switch_gangs, 1),
    "metacontroller-restart": (restart_metacontroller, 1),
    "wait": (wait, 2),
    "wiped-status": (wipe_status, 1),
    "hand-edit": (edit_child, 2),
    "hand-deletion": (delete_child, 1),
    "hand-edit-for-good": (edit_for_good, 2),
    "policy": (refuse_updates, 1),
    "no-policy": (allow_updates, 2),
    "taken-name": (take_name, 1),
    "name-given-back": (give_name_back, 2),
    "reads": (spoil_reads, 2),
}
"""Name to what happens and how often compared with the others."""


def calm(world: World) -> None:
    """Put everything right that is no wish of a user."""
    for glob in sorted(world.broken):
        world.cluster.release(glob)
    world.broken.clear()
    world.refused.clear()
    give_name_back(world)
    world.server.losses.clear()
    world.server.reading = Reading.IS_TRUE
    world.lost_effects = 0
    _steer_no_more(world)


def _steer_no_more(world: World) -> None:
    """Nothing is paused, and nothing is tried on a part."""
    for found in (world.valid, _editable(world)):
        annotations = (found or {}).get("metadata", {}).get("annotations", {})
        written = [key for key in _STEERING if annotations.pop(key, None) is not None]
        if found is not world.valid and written:
            patch = {"metadata": {"annotations": dict.fromkeys(written)}}
            world.cluster.patch(contract.GRAPH, GRAPH, patch, NAMESPACE)


_STEERING = (contract.ANNOTATION_ROLLOUT_PAUSED, contract.ANNOTATION_ROLLOUT_CANARY)


def _editable(world: World) -> Manifest | None:
    live = world.graph
    return None if live is None or "deletionTimestamp" in live["metadata"] else live


def _renewed(live: Manifest, valid: Manifest) -> Manifest:
    """The last valid graph as a new version of the one that is stored."""
    annotations = valid["metadata"].get("annotations")
    metadata = {key: value for key, value in live["metadata"].items() if key != "annotations"}
    kept = {"annotations": annotations} if annotations else {}
    return copy_json({**live, "spec": valid["spec"], "metadata": {**metadata, **kept}})
