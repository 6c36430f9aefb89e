"""What must hold of generations of workers, read from pods and not from what a status says."""

from collections.abc import Iterator, Mapping

from hooks.component.change.kept_release import read_release
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import is_pod_ready
from hooks.ground.k8s.hashing import canonical_json
from hooks.ground.k8s.types import Json, Manifest, annotations_of, labels_of, plural_of
from hooks.tools.offline.simulator.store import StoreChange
from tests.sequences.world import Step, World

PREFIX = "DYN_NAMESPACE_PREFIX"
_CHANGING = frozenset({"Pod", contract.COMPONENT.kind, kinds.DEPLOYMENT.kind})


def workers_of_two_specs_never_meet(world: World, step: Step) -> Iterator[str]:
    """All pods of a service that register in the Dynamo namespace of one generation are of one spec.

    Somebody who deletes all sets of a service over several nodes, with its status or its other children, lets it begin
    anew, with another way to span them.
    """
    for change in step.changes:
        pod = change.new
        if change.old is not None or pod is None or pod["kind"] != kinds.POD.kind or not (suffix := suffix_of(pod)):
            continue
        if suffix in BY_HAND or _is_edited(pod):
            continue
        service, spec = labels_of(pod)[contract.LABEL_COMPONENT], _spec_of(pod)
        known = world.ledger.generations.setdefault((suffix, service, _role_of(pod), _release_of(pod)), spec)
        if known != spec:
            yield f"pod {pod['metadata']['name']} of generation {suffix} is {spec}, another one was {known}"


def every_worker_is_seen(world: World, step: Step) -> Iterator[str]:
    """A ready worker of a generation is seen by some pod of a frontend, if there is one.

    Whoever deletes the frontend's component, or its workload, takes away what saw the workers: where a new frontend
    sees no generations, those of before are then seen by none until they end. The same where somebody wipes the status
    that says where they register, and where a policy keeps what somebody made of a component. A new frontend whose tag
    names no release sees none either, not even those that are made again.
    """
    frontend = world.graph["spec"]["services"].get("Frontend") if world.graph else None
    if world.ledger.began_anew and frontend and read_release(frontend) is None:
        return
    if not any(change.ref.kind in _CHANGING for change in step.changes):
        return
    is_kept = any(resource == plural_of(contract.COMPONENT) for resource, _ in world.refused)
    pods = [pod for pod in world.list_kind(kinds.POD) if "deletionTimestamp" not in pod["metadata"]]
    frontends = [pod for pod in pods if _type_of(pod) == "frontend"]
    unseen = world.ledger.unseen
    if is_kept or any(_takes_frontend_away(change) or _forgets(change) for change in step.changes):
        unseen |= {pod["metadata"]["uid"] for pod in pods if suffix_of(pod)}
    hidden = [
        pod
        for pod in pods
        if suffix_of(pod)
        and suffix_of(pod) not in BY_HAND
        and is_pod_ready(pod)
        and pod["metadata"]["uid"] not in unseen
    ]
    if hidden and frontends and all(PREFIX not in _variables(pod) for pod in frontends):
        yield f"{_names(frontends)} do not see {_names(hidden)}"


def typo_leaves_no_generation(world: World, step: Step) -> Iterator[str]:
    """Workers stay in generations where all tags that name a release are of one that sees them, whatever others say.

    Whoever deletes a component, or the PodCliqueSet, takes away what says which release ran before.
    """
    if "typo" not in world.road.edits:
        return
    ledger, graph = world.ledger, world.graph
    for change in step.changes:
        new = change.new
        if new is None:
            ledger.began_anew |= change.ref.kind in {contract.COMPONENT.kind, kinds.POD_CLIQUE_SET.kind}
        elif new["kind"] == contract.GRAPH.kind:
            ledger.began_anew |= contract.WORKER_SUFFIX in canonical_json(new["spec"])
        elif change.old is None and new["kind"] == kinds.POD.kind and _type_of(new) in _WORKERS:
            service, suffix = labels_of(new)[contract.LABEL_COMPONENT], suffix_of(new)
            if not suffix and service in ledger.in_generations and not ledger.began_anew:
                yield f"pod {new['metadata']['name']} has no generation, as those before it had"
            services = graph["spec"]["services"] if graph else {}
            is_whole = world.list_kind(kinds.POD_CLIQUE_SET) or len(world.list_kind(contract.COMPONENT)) == len(
                services
            )
            if suffix and is_whole:
                ledger.in_generations.add(service)


def complete_generation_outlasts_the_next(world: World, step: Step) -> Iterator[str]:
    """Workers whose generation is complete stay so until each of them had a ready pod of the next one.

    A generation is complete while every worker with a Deployment has a ready pod of it. Only what controllers delete
    counts, and only where no pod may be missing and nobody edited a worker's Deployment. Of two old ones that are
    complete, one stays.
    """
    if not any(change.ref.kind == kinds.POD.kind for change in step.changes):
        return
    roles = {one["metadata"]["name"]: one for one in world.list_kind(kinds.DEPLOYMENT) if is_worker(one)}
    ready = {(suffix_of(pod), deployment_of(pod)) for pod in world.list_kind(kinds.POD) if serves(pod)}
    world.ledger.reached |= ready
    removed = {write.name for write in step.writes if write.actor == "workload-controller" and write.verb == "delete"}
    for change in step.changes:
        lost = change.old
        if change.ref.kind != kinds.POD.kind or change.ref.name not in removed or lost is None or not serves(lost):
            continue
        role, old = roles.get(deployment_of(lost)), suffix_of(lost)
        suffixes = {old, *(suffix_in(one["spec"]["template"]) for one in roles.values())}
        if role is None or len(roles) < 2 or suffixes & BY_HAND or (change.new is not None and serves(change.new)):
            continue
        new = suffix_in(role["spec"]["template"])
        was_complete = all((old, name) in ready | {(old, deployment_of(lost))} for name in roles)
        is_complete = any(all((one, name) in ready for name in roles) for one, _ in ready)
        missing = [name for name in sorted(roles) if (new, name) not in world.ledger.reached]
        is_ours = not any(is_edited(world, one) for one in roles.values())
        if old != new and was_complete and not is_complete and missing and is_ours and may_lose_none(world, role):
            yield f"pod {change.ref.name} of generation {old} ends before {', '.join(missing)} is ready in {new}"


def serves(pod: Manifest) -> bool:
    """Whether a pod is ready and not on its way out."""
    return is_pod_ready(pod) and "deletionTimestamp" not in pod["metadata"]


def deployment_of(pod: Manifest) -> str:
    """The Deployment of a pod, empty for none."""
    return labels_of(pod).get(contract.LABEL_SELECTOR, "")


def is_worker(deployment: Manifest) -> bool:
    """Whether a Deployment runs workers, and some are wanted."""
    is_wanted = deployment["spec"]["replicas"] > 0 and "deletionTimestamp" not in deployment["metadata"]
    return is_wanted and labels_of(deployment["spec"]["template"]).get(contract.LABEL_COMPONENT_TYPE) in _WORKERS


def may_lose_none(world: World, deployment: Manifest) -> bool:
    """Whether its annotations let no pod be missing, and nobody edited it."""
    metadata = deployment["metadata"]
    asked = (metadata.get("annotations") or {}).get(contract.ANNOTATION_MAX_UNAVAILABLE, "0")
    return asked == "0" and not is_edited(world, deployment)


def is_edited(world: World, deployment: Manifest) -> bool:
    """Whether somebody edited a Deployment or its component."""
    return any(ref.name == deployment["metadata"]["name"] for ref in world.edited)


def generations_at_rest(world: World) -> Iterator[str]:
    """At rest all workers of a valid graph have one generation, the status says which, and that nothing rolls."""
    graph, pods = world.graph, world.list_kind(kinds.POD)
    assert graph is not None
    found = {suffix_of(pod) for pod in pods if _type_of(pod) in _WORKERS} - BY_HAND
    if len(found) > 1 and world.is_valid and not any(suffix_of(pod) in BY_HAND for pod in pods):
        yield f"workers have the generations {sorted(found)}"
    status = graph.get("status", {})
    if status.get("rollingUpdate"):
        yield f"nothing rolls any more, but the status says {status['rollingUpdate']}"
    for pod in pods if world.is_valid else ():
        service, ours = labels_of(pod).get(contract.LABEL_COMPONENT, ""), _variables(pod)
        said = (status.get("services", {}).get(service) or {}).get("runtimeNamespace", "")
        wanted = "-".join(filter(None, (ours["DYN_NAMESPACE"], suffix_of(pod))))
        if said != wanted:
            yield f"{service} registers in {wanted}, but the status says {said}"


def suffix_of(pod: Manifest) -> str:
    """The generation of a pod, empty for none."""
    return _variables(pod).get(contract.WORKER_SUFFIX, "")


BY_HAND = frozenset({"blue", "green"})
_WORKERS = frozenset({"worker", "prefill", "decode"})


def suffix_in(template: Manifest) -> str:
    """The generation of a pod template, empty for none."""
    return _variables(template).get(contract.WORKER_SUFFIX, "")


def _variables(pod: Manifest) -> Mapping[str, str]:
    main = pod["spec"]["containers"][-1]
    return {entry["name"]: entry.get("value", "") for entry in main.get("env", ())}


def _spec_of(pod: Manifest) -> str:
    """What users may change of a pod."""
    main = pod["spec"]["containers"][-1]
    own = {name: value for name, value in _variables(pod).items() if name.startswith("USER_")}
    wanted: Json = [main.get("image"), main.get("command"), own]
    return canonical_json(wanted)


def _is_edited(pod: Manifest) -> bool:
    """Whether somebody changed the workload behind the hooks' back."""
    return str(pod["spec"]["containers"][-1].get("image")).startswith("by-hand")


def _role_of(pod: Manifest) -> str:
    return str(
        labels_of(pod).get(contract.LABEL_ROLE) or labels_of(pod).get("leaderworkerset.sigs.k8s.io/worker-index")
    )


def _release_of(pod: Manifest) -> str:
    return str(annotations_of(pod).get(contract.ANNOTATION_ORIGIN_VERSION, ""))


def _takes_frontend_away(change: StoreChange) -> bool:
    is_workload = change.ref.kind in _CHANGING - {"Pod"}
    labels = labels_of(change.old) if change.old is not None else {}
    return is_workload and change.new is None and labels.get(contract.LABEL_COMPONENT) == "Frontend"


def _forgets(change: StoreChange) -> bool:
    """Whether a component's status no longer says where its workers register."""
    if change.ref.kind != contract.COMPONENT.kind or change.old is None or change.new is None:
        return False
    before, after = ((one.get("status") or {}).get("service") for one in (change.old, change.new))
    return bool(before) and not after


def _type_of(pod: Manifest) -> str:
    return str(labels_of(pod).get(contract.LABEL_COMPONENT_TYPE, ""))


def _names(pods: list[Manifest]) -> str:
    return ", ".join(pod["metadata"]["name"] for pod in pods)
