"""What must hold once nobody disturbs a cluster any more: it comes to rest, and what is there is what was asked for."""

from collections.abc import Iterator
from typing import Any

import orjson

from hooks.component.change.kept_release import read_release
from hooks.component.spec.pull_secrets import DOCKER_CONFIG_TYPE
from hooks.graph.spec.operator_release import with_operator_release
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, annotations_of, controller_of, gvk_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.rendering import every_child, render
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.store import Ref, copy_json, ref_of
from hooks.wire.metacontroller.controllers import RECORDS
from hooks.wire.policy.spec_revisions import comparable_text, read_recorded, unpack
from tests.sequences.generations import generations_at_rest
from tests.sequences.restarts import is_completed
from tests.sequences.secrets import PULL_SECRETS
from tests.sequences.truth import find_lie, is_condition_true, replicas_of
from tests.sequences.world import NAMESPACE, World

REST_SECONDS = 320
"""Longer than the controllers' period of 300 s, in which every parent is synced whether or not it changed."""

MAX_STEPS = 4000
_KEPT = 5
"""Revisions of a graph, by default."""


def come_to_rest(world: World) -> None:
    """Go on until nothing is written for `REST_SECONDS`.

    Raises:
        Violation: it never is.
    """
    end = world.number + MAX_STEPS
    last = world.clock.seconds
    while world.clock.seconds - last <= REST_SECONDS:
        before = len(world.cluster.writes)
        if not world.step():
            return
        if len(world.cluster.writes) > before:
            last = world.clock.seconds
        if world.number > end:
            world.fail("cluster_comes_to_rest", f"something is still written after {MAX_STEPS} steps")


def check_rest(world: World) -> None:
    """Check a cluster at rest in which there is a graph."""
    for fault in [
        *graph_says_how_it_is(world),
        *restart_is_over(world),
        *generations_at_rest(world),
        *(history_ends_with_the_present(world) if world.is_valid else ()),
        *(past_leaves_no_trace(world) if world.is_valid else ()),
    ]:
        world.fail("cluster_at_rest", fault)
    world.edited.clear()


def check_nothing_left(world: World) -> None:
    """Check a cluster whose graph was deleted: nothing is left but the namespace and the Secrets of registries."""
    left = [str(ref_of(obj)) for obj in world.cluster.everything() if not _is_users(obj)]
    if left:
        world.fail("deletion_leaves_nothing", f"{', '.join(left)} is left")


def _is_users(obj: Manifest) -> bool:
    return obj["kind"] == "Namespace" or obj.get("type") == DOCKER_CONFIG_TYPE


def _waits_for_its_gang(world: World, status: Manifest) -> bool:
    """Whether pods of further replicas wait for a service that is at 0, and the graph says so: Grove's own rule."""
    gated = [pod for pod in world.list_kind(kinds.POD) if pod["spec"].get("schedulingGates")]
    return bool(gated) and "below Grove's minAvailable" in str(status.get("conditions"))


def graph_says_how_it_is(world: World) -> Iterator[str]:
    """A valid graph is Ready, in status and truth; one that cannot be rendered says that it is not."""
    graph = world.graph
    assert graph is not None
    status = graph.get("status", {})
    if status.get("observedGeneration") != graph["metadata"]["generation"]:
        yield f"the status is of an older spec: {status}"
    if _waits_for_its_gang(world, status):
        return
    if is_condition_true(graph, "Ready") != world.is_valid:
        yield f"the graph is {'valid' if world.is_valid else 'not valid'}, but its status is {status}"
    lie = find_lie(world.cluster.reader, graph) if world.is_valid else ""
    if lie:
        yield lie


def restart_is_over(world: World) -> Iterator[str]:
    """A restart that was asked for is completed; all pods are of it, if it is the newest and not an earlier one."""
    graph = world.graph
    assert graph is not None
    wanted = (graph["spec"].get("restart") or {}).get("id", "")
    if not wanted or not world.is_valid or _waits_for_its_gang(world, graph.get("status", {})):
        return
    if not is_completed(graph, wanted):
        yield f"restart {wanted!r} is not completed: {graph['status'].get('restart')}"
    for pod in world.list_kind(kinds.POD) if wanted == world.ledger.restarts[-1] else ():
        told = (pod["metadata"].get("annotations") or {}).get(contract.ANNOTATION_RESTART_AT)
        if told != wanted:
            yield f"pod {pod['metadata']['name']} is of restart {told!r}, not of {wanted!r}"


def history_ends_with_the_present(world: World) -> Iterator[str]:
    """The revision with the highest number is the present spec, and there are no more than are kept."""
    graph, found = world.graph, world.list_kind(kinds.CONTROLLER_REVISION)
    assert graph is not None
    if world.server.version or not found:
        return  # hooks of before keep none
    numbers = sorted(int(one["revision"]) for one in found)
    if len(numbers) > _KEPT or len({*numbers}) < len(numbers):
        yield f"the revisions have the numbers {numbers}"
    newest = next(one for one in found if one["revision"] == numbers[-1])
    recorded = read_recorded(newest["data"])
    if recorded is None or comparable_text({"metadata": {}, **unpack(recorded)}) != comparable_text(graph):
        yield f"revision {numbers[-1]} is not the present spec"


def past_leaves_no_trace(world: World) -> Iterator[str]:
    """The children are those of a new graph with the same spec and origin on the same path, and the same releases.

    Claims and pull secrets are kept, so they may differ, and so may the generation of workers that did not change.
    After an upgrade, so may all that waits with new defaults. Which kind of LeaderWorkerSets there are follows from
    what was set when they were made.
    """
    if world.server.version:
        return
    wanted, found = _fresh_children(world), _children(world.cluster, world.cluster.everything())
    for ref in sorted(wanted.keys() | found.keys()):
        if ref.kind == kinds.PERSISTENT_VOLUME_CLAIM.kind and ref not in wanted:
            continue
        if ref.kind in _OF_GROUPS and world.server.switched:
            continue
        if wanted.get(ref) != found.get(ref):
            yield f"{ref} is {found.get(ref)}, of a new graph it would be {wanted.get(ref)}"


def _fresh_children(world: World) -> dict[Ref, Manifest]:
    """What a cluster would store of the children that the graph would have if it were new."""
    graph = world.graph
    assert graph is not None
    adapters = world.list_kind(contract.SCALING_ADAPTER)
    for service, spec in graph["spec"]["services"].items():
        spec["replicas"] = replicas_of(graph, service, adapters)
        if read_release(spec) is None and (release := _kept_release(world, service)):
            spec["runtimeVersionOverride"] = release
    graph.pop("status", None)
    graph["metadata"]["annotations"] = {**_path_of(world), **(graph["metadata"].get("annotations") or {})}
    kept = (contract.COMPONENT, kinds.POD_CLIQUE_SET)
    graph = with_operator_release(graph, [child for kind in kept for child in world.list_kind(kind)])
    facts = Facts(now=world.clock.now, settings=parse_settings({}, world.road.settings))
    (rendered,) = render([graph], facts, installed=world.road.installed)
    assert not rendered.problems, rendered.problems
    empty = SimulatedCluster(Setup(hook=_no_hook, crds=world.crds, optional=world.road.installed, admit=world.admit))
    for child in every_child([rendered]):
        metadata = {"namespace": NAMESPACE, **child["metadata"]}
        empty.create({**child, "metadata": metadata})
    return {ref_of(obj): _bare(obj) for obj in empty.everything() if obj["kind"] != "Namespace"}


def _kept_release(world: World, service: str) -> str:
    """The release that a service keeps while its tag names none, empty for none."""
    for one in world.list_kind(kinds.POD_CLIQUE_SET):
        found: str = orjson.loads(annotations_of(one).get(contract.ANNOTATION_KEPT_RELEASE, "{}")).get(service, "")
        return found
    specs = (one["spec"] for one in world.list_kind(contract.COMPONENT))
    return next((str(one.get("runtimeVersionOverride", "")) for one in specs if one["serviceName"] == service), "")


def _path_of(world: World) -> dict[str, str]:
    """The annotation that puts a new graph on the path of the one that runs, which stays there without it."""
    return {contract.ANNOTATION_ENABLE_GROVE: "true" if world.list_kind(kinds.POD_CLIQUE_SET) else "false"}


def _no_hook(path: str, _body: bytes) -> Any:
    raise AssertionError(f"{path}: there is no controller")


def _children(cluster: SimulatedCluster, objects: list[Manifest]) -> dict[Ref, Manifest]:
    """Stored objects that a graph or component controls, but for records of what was."""
    parents = {contract.GRAPH.kind, contract.COMPONENT.kind}
    run = (obj for obj in objects if gvk_of(obj) not in RECORDS)
    return {ref_of(obj): _bare(obj) for obj in run if (controller_of(obj) or {}).get("kind") in parents}


_OF_GROUPS = frozenset({kinds.LEADER_WORKER_SET.kind, kinds.POD_GROUP.kind})
_OWN = frozenset({"name", "namespace", "labels", "annotations"})
_NOT_COMPARED = frozenset(
    {
        contract.ANNOTATION_RENDERING,
        contract.ANNOTATION_ROLLOUT,
        contract.ANNOTATION_LAST_APPLIED,
        contract.ANNOTATION_RESTART_AT,
        contract.LABEL_CONTROLLER_UID,
        contract.ANNOTATION_DISCOVERED,
        contract.ANNOTATION_KEPT_RELEASE,
        contract.ANNOTATION_NAMESPACE_PREFIX,
        contract.LABEL_WORKER_HASH,
        PULL_SECRETS,
    }
)
_OF_SERVER = frozenset({"clusterIP", "clusterIPs", "volumeName"})
_IDLE = frozenset({"externalName"})
"""What nobody sets back, because it means nothing in a Service of the wanted type."""


def _bare(obj: Manifest) -> Manifest:
    """An object without what a server, Metacontroller or a restart adds; variables in order of their names."""
    metadata = {key: value for key, value in obj["metadata"].items() if key in _OWN}
    found: Manifest = _ordered({**{k: v for k, v in obj.items() if k != "status"}, "metadata": metadata})
    return copy_json(found)


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _ordered(item) for key, item in value.items() if key not in _NOT_COMPARED | _OF_SERVER | _IDLE}
    if not kept.get(contract.ANNOTATION_ORIGIN_VERSION, "kept"):  # a graph that runs without it
        del kept[contract.ANNOTATION_ORIGIN_VERSION]
    for key in ("env", "envs"):
        if key in kept:
            named = (entry for entry in kept[key] if entry["name"] != contract.WORKER_SUFFIX)
            kept[key] = sorted(named, key=lambda entry: str(entry["name"]))
    return {key: item for key, item in kept.items() if item not in ({}, [])}
