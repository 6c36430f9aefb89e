"""What Grove's operator does with PodCliqueSets; each case runs on the simulated operator and on the real one.

Source: `../shared/spec/grove.md`, and Grove v0.1.0-alpha.12, operator/internal/controller.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition, is_true
from hooks.ground.k8s.grove_parts import GATE, LABEL_GROUP, LABEL_TEMPLATE_HASH
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from tests.contract.backend import ApiRefused
from tests.contract.backend_grove import GroveBackend

Case = Callable[[GroveBackend], None]
BREACHED = "MinAvailableBreached"
POD_INDEX = "grove.io/podclique-pod-index"
REPLICA = "grove.io/podcliquescalinggroup-replica-index"
EXPLICIT = "CliqueStartupTypeExplicit"


def clique(name: str, *, image: str = "i:1", replicas: int = 1, **spec: Any) -> Manifest:
    """A template whose pods have one container; all fields of `spec` are of the clique, `pod` of its pods."""
    pod = {"containers": [{"name": "main", "image": image}], **spec.pop("pod", {})}
    return {"name": name, "spec": {"roleName": name, "replicas": replicas, "minAvailable": 1, "podSpec": pod, **spec}}


def group(name: str, *cliques: str, replicas: int = 1) -> Manifest:
    """A PodCliqueScalingGroup of a template, whose least is one replica."""
    return {"name": name, "cliqueNames": list(cliques), "replicas": replicas, "minAvailable": 1}


def pcs(*cliques: Manifest, groups: Iterable[Manifest] = (), strategy: str = "", **template: Any) -> Manifest:
    """The set `p`."""
    spec = {"replicas": 1, "template": {"cliques": list(cliques), "podCliqueScalingGroups": list(groups), **template}}
    return {
        "apiVersion": kinds.POD_CLIQUE_SET.api_version,
        "kind": kinds.POD_CLIQUE_SET.kind,
        "metadata": {"name": "p"},
        "spec": {**spec, **({"updateStrategy": {"type": strategy}} if strategy else {})},
    }


# What a set makes


def case_objects_of_a_set(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a"), clique("b"), groups=[group("s", "b", replicas=2)]))
    ready(grove, "p-0-a", "p-0-s-0-b", "p-0-s-1-b")
    assert names(grove, kinds.POD_CLIQUE) == ["p-0-a", "p-0-s-0-b", "p-0-s-1-b"]
    assert names(grove, kinds.POD_CLIQUE_SCALING_GROUP) == ["p-0-s"]
    surroundings = {
        kinds.SERVICE: "p-0",
        kinds.SERVICE_ACCOUNT: "p",
        kinds.SECRET: "p-ic-sat",
        kinds.ROLE: "grove.io:pcs:p",
        kinds.ROLE_BINDING: "grove.io:pcs:p",
    }
    for kind, name in surroundings.items():
        (owner,) = found(grove, kind, name)["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("PodCliqueSet", "p")
    assert found(grove, kinds.SERVICE, "p-0")["spec"]["clusterIP"] == "None"


def case_pods_know_their_place(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("b"), groups=[group("s", "b", replicas=2)]))
    ready(grove, "p-0-s-0-b", "p-0-s-1-b")
    (pod,) = pods(grove, "p-0-s-1-b")
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("p-0-s-1-b-0", "p-0")
    env = {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in pod["spec"]["containers"][0]["env"]}
    assert {key: value for key, value in env.items() if key in _PLACE} == {
        "GROVE_PCS_NAME": "p",
        "GROVE_PCS_INDEX": "0",
        "GROVE_PCLQ_NAME": "p-0-s-1-b",
        "GROVE_PCLQ_POD_INDEX": of_label(POD_INDEX),
        "GROVE_PCSG_NAME": of_label(LABEL_GROUP),
        "GROVE_PCSG_INDEX": of_label(REPLICA),
        "GROVE_HEADLESS_SERVICE": f"p-0.{grove.namespace}.svc.cluster.local",
    }
    labels = pod["metadata"]["labels"]
    assert [labels[key] for key in (POD_INDEX, LABEL_GROUP, REPLICA)] == ["0", "p-0-s", "1"]
    assert labels["app.kubernetes.io/part-of"] == "p"
    assert labels[LABEL_TEMPLATE_HASH] == label_hash(grove, "p-0-s-1-b")


def of_label(key: str) -> Manifest:
    return {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{key}']"}}


_PLACE = frozenset(
    {
        *("GROVE_PCS_NAME", "GROVE_PCS_INDEX", "GROVE_PCLQ_NAME", "GROVE_PCLQ_POD_INDEX", "GROVE_HEADLESS_SERVICE"),
        *("GROVE_PCSG_NAME", "GROVE_PCSG_INDEX"),
    }
)


def case_all_pods_of_a_start_order_are_made_at_once(grove: GroveBackend) -> None:
    grove.hold("a")
    grove.apply(pcs(clique("a"), clique("b", startsAfter=["a"]), cliqueStartupType=EXPLICIT))
    grove.until(lambda: bool(pods(grove, "p-0-a") and pods(grove, "p-0-b")), "both have pods")
    (first,), (second,) = pods(grove, "p-0-a"), pods(grove, "p-0-b")
    assert not first["spec"].get("initContainers")
    assert [one["name"] for one in second["spec"]["initContainers"]] == ["grove-initc"]
    assert found(grove, kinds.POD_CLIQUE, "p-0-b")["spec"]["startsAfter"] == ["p-0-a"]


def case_deleted_set_takes_everything_along(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a"), clique("b"), groups=[group("s", "b")]))
    ready(grove, "p-0-a", "p-0-s-0-b")
    grove.delete(kinds.POD_CLIQUE_SET, "p")
    for kind in (kinds.POD_CLIQUE_SET, kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP, kinds.POD, kinds.ROLE):
        grove.until(partial(is_empty, grove, kind), f"no {kind.kind} is left")
    grove.until(lambda: not grove.list_kind(kinds.SERVICE), "no Service is left")


# Replicas


def case_replicas_of_the_template_count_only_for_new_parts(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a")))
    ready(grove, "p-0-a")
    grove.apply(pcs(clique("a", replicas=3)))
    observed(grove, kinds.POD_CLIQUE_SET, "p")
    grove.stays(lambda: len(pods(grove, "p-0-a")) == 1, "one pod, as when it was made")
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 2)
    ready(grove, "p-0-a")
    assert len(pods(grove, "p-0-a")) == 2


def case_group_loses_its_last_replica_first(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("b"), groups=[group("s", "b", replicas=2)]))
    ready(grove, "p-0-s-0-b", "p-0-s-1-b")
    kept = uids(grove, "p-0-s-0-b")
    grove.scale(kinds.POD_CLIQUE_SCALING_GROUP, "p-0-s", 1)
    grove.until(lambda: names(grove, kinds.POD_CLIQUE) == ["p-0-s-0-b"], "one replica is left")
    assert uids(grove, "p-0-s-0-b") == kept


# Changes of a template


def case_changed_template_replaces_pods_and_says_when_it_has(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a", replicas=2), clique("b")))
    ready(grove, "p-0-a", "p-0-b")
    before, left = uids(grove, "p-0-a"), uids(grove, "p-0-b")
    grove.apply(pcs(clique("a", replicas=2, image="i:2"), clique("b")))
    grove.until(lambda: images(grove, "p-0-a") == ["i:2", "i:2"], "new pods")
    observed(grove, kinds.POD_CLIQUE_SET, "p")
    grove.until(lambda: not is_updating(grove, kinds.POD_CLIQUE_SET, "p"), "the update has ended")
    status = found(grove, kinds.POD_CLIQUE, "p-0-a")["status"]
    assert status["currentPodTemplateHash"] == label_hash(grove, "p-0-a")
    assert status["updateProgress"].get("updateEndedAt")
    assert (status["updatedReplicas"], status["readyReplicas"]) == (2, 2)
    assert not before & uids(grove, "p-0-a")
    assert uids(grove, "p-0-b") == left


def case_ready_pods_are_replaced_one_by_one(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a", replicas=3)))
    ready(grove, "p-0-a")
    grove.hold("a")
    grove.apply(pcs(clique("a", replicas=3, image="i:2")))
    grove.until(lambda: "i:2" in images(grove, "p-0-a"), "a new pod")
    grove.stays(lambda: images(grove, "p-0-a") == ["i:1", "i:1", "i:2"], "the next waits until the new one is ready")
    assert is_updating(grove, kinds.POD_CLIQUE, "p-0-a")
    assert not is_observed(grove, kinds.POD_CLIQUE_SET, "p")
    grove.release("a")
    grove.until(lambda: images(grove, "p-0-a") == ["i:2"] * 3, "all are new")
    observed(grove, kinds.POD_CLIQUE_SET, "p")


def case_unready_pods_are_replaced_at_once(grove: GroveBackend) -> None:
    grove.hold("a")
    grove.apply(pcs(clique("a", replicas=2)))
    grove.until(lambda: len(pods(grove, "p-0-a")) == 2, "both pods")
    grove.apply(pcs(clique("a", replicas=2, image="i:2")))
    grove.until(lambda: images(grove, "p-0-a") == ["i:2", "i:2"], "both are new")


def case_group_replaces_one_replica_after_the_other(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("b"), groups=[group("s", "b", replicas=2)]))
    ready(grove, "p-0-s-0-b", "p-0-s-1-b")
    grove.hold("b")
    grove.apply(pcs(clique("b", image="i:2"), groups=[group("s", "b", replicas=2)]))
    both = ("p-0-s-0-b", "p-0-s-1-b")
    grove.until(lambda: "i:2" in images(grove, *both), "a new pod")
    grove.stays(lambda: images(grove, *both) == ["i:1", "i:2"], "the other replica waits")
    grove.release("b")
    grove.until(lambda: images(grove, *both) == ["i:2", "i:2"], "all are new")
    ready(grove, *both)
    observed(grove, kinds.POD_CLIQUE_SCALING_GROUP, "p-0-s")


def case_old_pods_stay_where_users_delete_them(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a"), strategy="OnDelete"))
    ready(grove, "p-0-a")
    grove.apply(pcs(clique("a", image="i:2"), strategy="OnDelete"))
    observed(grove, kinds.POD_CLIQUE_SET, "p")
    grove.stays(lambda: images(grove, "p-0-a") == ["i:1"], "the old pod")
    status = found(grove, kinds.POD_CLIQUE, "p-0-a")["status"]
    assert (status.get("updatedReplicas", 0), status["replicas"]) == (0, 1)
    (old,) = pods(grove, "p-0-a")
    grove.delete(kinds.POD, old["metadata"]["name"])
    grove.until(lambda: images(grove, "p-0-a") == ["i:2"], "a new pod")


def case_update_waits_for_as_many_new_pods_as_it_has_chosen(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a"), clique("b")))
    ready(grove, "p-0-a", "p-0-b")
    grove.hold("a")
    grove.apply(pcs(clique("a", image="i:2"), clique("b")))
    grove.until(lambda: images(grove, "p-0-a") == ["i:2"], "its only pod was chosen")
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 0)
    grove.until(lambda: not pods(grove, "p-0-a"), "no pod is left")
    grove.release("a")
    grove.stays(lambda: is_updating(grove, kinds.POD_CLIQUE, "p-0-a"), "an update that waits for a pod at 0")
    assert not is_observed(grove, kinds.POD_CLIQUE, "p-0-a")
    assert found(grove, kinds.POD_CLIQUE, "p-0-a")["status"].get("replicas", 0) == 0
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 1)
    grove.until(lambda: not is_updating(grove, kinds.POD_CLIQUE, "p-0-a"), "the update has ended")
    observed(grove, kinds.POD_CLIQUE, "p-0-a")


# Below its least


def case_set_observes_nothing_while_a_part_is_below_its_least(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a"), clique("b")))
    ready(grove, "p-0-a", "p-0-b")
    observed(grove, kinds.POD_CLIQUE_SET, "p")
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 0)
    grove.until(lambda: is_breached(grove, kinds.POD_CLIQUE, "p-0-a"), "it is below its least")
    grove.apply(pcs(clique("a"), clique("b", image="i:2")))
    grove.until(lambda: images(grove, "p-0-b") == ["i:2"], "a new pod")
    observed(grove, kinds.POD_CLIQUE, "p-0-b")
    grove.stays(lambda: not is_observed(grove, kinds.POD_CLIQUE_SET, "p"), "a generation that is not observed")
    assert is_updating(grove, kinds.POD_CLIQUE_SET, "p")
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 1)
    observed(grove, kinds.POD_CLIQUE_SET, "p")
    grove.until(lambda: not is_breached(grove, kinds.POD_CLIQUE, "p-0-a"), "it has enough")


def case_pods_that_wait_for_a_node_are_too_few(grove: GroveBackend) -> None:
    grove.hold("b")
    grove.apply(pcs(clique("a"), clique("b"), groups=[group("s", "b")]))
    grove.until(lambda: is_breached(grove, kinds.POD_CLIQUE, "p-0-s-0-b"), "below its least from the start")
    grove.until(lambda: is_breached(grove, kinds.POD_CLIQUE_SCALING_GROUP, "p-0-s"), "so is its group")
    grove.release("b")
    grove.until(lambda: not is_breached(grove, kinds.POD_CLIQUE, "p-0-s-0-b"), "it has enough")
    grove.until(lambda: not is_breached(grove, kinds.POD_CLIQUE_SCALING_GROUP, "p-0-s"), "so has its group")


def case_gang_ends_when_a_part_is_below_its_least_for_the_delay(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a"), clique("b", replicas=2), terminationDelay="10s"))
    ready(grove, "p-0-a", "p-0-b")
    grove.scale(kinds.POD_CLIQUE, "p-0-b", 3)
    ready(grove, "p-0-b")
    grove.stays(lambda: len(pods(grove, "p-0-a")) == 1, "a part that was well, and is no longer new")
    before = uids(grove, "p-0-a", "p-0-b")
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 0)
    grove.until(lambda: bool(uids(grove, "p-0-b")) and not before & uids(grove, "p-0-b"), "other pods of the other")
    ready(grove, "p-0-a", "p-0-b")
    assert (len(pods(grove, "p-0-a")), len(pods(grove, "p-0-b"))) == (1, 2), "the replicas of the template"


def case_delay_may_change_and_replaces_nothing(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a"), clique("b"), terminationDelay="10s"))
    ready(grove, "p-0-a", "p-0-b")
    before = uids(grove, "p-0-b")
    grove.apply(pcs(clique("a"), clique("b"), terminationDelay="87600h0m0s"))
    observed(grove, kinds.POD_CLIQUE_SET, "p")
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 0)
    grove.until(lambda: is_breached(grove, kinds.POD_CLIQUE, "p-0-a"), "it is below its least")
    grove.stays(lambda: uids(grove, "p-0-b") == before, "the pods of the other")


def case_further_replicas_of_a_group_wait_for_the_base_gang(grove: GroveBackend) -> None:
    grove.apply(pcs(clique("a"), clique("b"), groups=[group("s", "b")]))
    ready(grove, "p-0-a", "p-0-s-0-b")
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 0)
    grove.until(lambda: not pods(grove, "p-0-a"), "no pod is left")
    grove.scale(kinds.POD_CLIQUE_SCALING_GROUP, "p-0-s", 2)
    grove.until(lambda: bool(pods(grove, "p-0-s-1-b")), "a pod of the new replica")
    grove.stays(lambda: gates(grove, "p-0-s-1-b") == [GATE], "its gate")
    (pod,) = pods(grove, "p-0-s-1-b")
    condition = find_condition(pod["status"]["conditions"], "PodScheduled") or {}
    assert condition["reason"] == "SchedulingGated"
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 1)
    ready(grove, "p-0-s-1-b")


def case_refused_pods_are_errors_of_their_clique_and_hold_up_the_gang(grove: GroveBackend) -> None:
    grove.refuse_pods("b")
    grove.apply(pcs(clique("a"), clique("b")))
    grove.until(lambda: bool(errors(grove, "p-0-b")), "an error")
    (error,) = errors(grove, "p-0-b")
    assert error["code"] == "ERR_CREATE_POD"
    assert "exceeded quota" in error["description"].rpartition(", cause: ")[2]
    assert not found(grove, kinds.POD_CLIQUE_SET, "p")["status"].get("lastErrors")
    grove.stays(lambda: gates(grove, "p-0-a") == [GATE], "the gate of the other")
    grove.accept_pods("b")
    ready(grove, "p-0-a", "p-0-b")
    assert errors(grove, "p-0-b"), "the last error stays"


# What its webhooks refuse

TWICE = {"containers": [{"name": "main", "image": "i", "env": [{"name": "A"}, {"name": "A"}]}]}
CIRCLE = (clique("a", startsAfter=["b"]), clique("b", startsAfter=["a"]))
REFUSED: Mapping[str, Manifest] = {
    "a long name": pcs(clique("c" * 45)),
    "no clique": pcs(),
    "one name twice": pcs(clique("a"), clique("a")),
    "a least above the replicas": pcs(clique("a", minAvailable=2)),
    "a variable twice": pcs(clique("a", pod=TWICE)),
    "two schedulers": pcs(clique("a"), clique("b", pod={"schedulerName": "x"})),
    "an unknown member": pcs(clique("a"), groups=[group("s", "x")]),
    "an unknown predecessor": pcs(clique("a", startsAfter=["x"]), cliqueStartupType=EXPLICIT),
    "a circle": pcs(*CIRCLE, cliqueStartupType=EXPLICIT),
    "a node": pcs(clique("a", pod={"nodeName": "n"})),
}
CHANGED: Mapping[str, Manifest] = {
    "another clique": pcs(clique("a"), clique("b"), clique("c"), groups=[group("s", "b")]),
    "no clique": pcs(clique("b"), groups=[group("s", "b")]),
    "another least": pcs(clique("a", replicas=2, minAvailable=2), clique("b"), groups=[group("s", "b")]),
    "another start": pcs(
        clique("a"), clique("b"), groups=[group("s", "b")], cliqueStartupType="CliqueStartupTypeInOrder"
    ),
    "no group": pcs(clique("a"), clique("b")),
    "another scheduler": pcs(
        clique("a", pod={"schedulerName": "x"}), clique("b", pod={"schedulerName": "x"}), groups=[group("s", "b")]
    ),
}


def case_sets_that_cannot_run_are_refused(grove: GroveBackend) -> None:
    taken = [what for what, new in REFUSED.items() if is_taken(grove, new)]
    assert not taken
    assert grove.get(kinds.POD_CLIQUE_SET, "p") is None


def case_changes_that_would_need_another_gang_are_refused(grove: GroveBackend) -> None:
    first = pcs(clique("a"), clique("b"), groups=[group("s", "b")])
    grove.apply(first)
    taken = [what for what, changed in CHANGED.items() if is_taken(grove, changed)]
    assert not taken
    grove.apply(first)
    ready(grove, "p-0-a", "p-0-s-0-b")


def is_taken(grove: GroveBackend, pod_clique_set: Manifest) -> bool:
    try:
        grove.apply(pod_clique_set)
    except ApiRefused as refused:
        return refused.code not in {400, 403, 422, 500}  # 500: Grove's webhook panics where there is no clique
    return True


CASES: tuple[Case, ...] = tuple(value for name, value in globals().items() if name.startswith("case_"))


def found(grove: GroveBackend, kind: GroupVersionKind, name: str) -> Manifest:
    one = grove.get(kind, name)
    assert one is not None, f"{kind.kind} {name}"
    return one


def is_empty(grove: GroveBackend, kind: GroupVersionKind) -> bool:
    return not grove.list_kind(kind)


def names(grove: GroveBackend, kind: GroupVersionKind) -> list[str]:
    return [one["metadata"]["name"] for one in grove.list_kind(kind)]


def pods(grove: GroveBackend, *cliques: str) -> list[Manifest]:
    """The pods of PodCliques, but those that end, or whose PodClique was made anew: somebody else collects them."""
    owners = {one["metadata"]["uid"] for one in grove.list_kind(kinds.POD_CLIQUE) if one["metadata"]["name"] in cliques}
    found = [one for one in grove.list_kind(kinds.POD) if "deletionTimestamp" not in one["metadata"]]
    return [one for one in found if owners & {owner["uid"] for owner in one["metadata"]["ownerReferences"]}]


def uids(grove: GroveBackend, *cliques: str) -> set[str]:
    return {one["metadata"]["uid"] for one in pods(grove, *cliques)}


def images(grove: GroveBackend, *cliques: str) -> list[str]:
    return sorted(one["spec"]["containers"][0]["image"] for one in pods(grove, *cliques))


def gates(grove: GroveBackend, name: str) -> list[str]:
    return [gate["name"] for one in pods(grove, name) for gate in one["spec"].get("schedulingGates") or ()]


def label_hash(grove: GroveBackend, name: str) -> str:
    text: str = found(grove, kinds.POD_CLIQUE, name)["metadata"]["labels"][LABEL_TEMPLATE_HASH]
    return text


def errors(grove: GroveBackend, name: str) -> list[Manifest]:
    one = grove.get(kinds.POD_CLIQUE, name) or {}
    return list((one.get("status") or {}).get("lastErrors") or ())


def ready(grove: GroveBackend, *cliques: str) -> None:
    """Wait until PodCliques have all their pods."""

    def is_ready(name: str) -> bool:
        one = grove.get(kinds.POD_CLIQUE, name)
        counts = (one or {}).get("status") or {}
        return one is not None and {counts.get("readyReplicas"), counts.get("replicas")} == {one["spec"]["replicas"]}

    for name in cliques:
        grove.until(partial(is_ready, name), f"{name} has its pods")


def is_observed(grove: GroveBackend, kind: GroupVersionKind, name: str) -> bool:
    one = found(grove, kind, name)
    return bool((one.get("status") or {}).get("observedGeneration") == one["metadata"]["generation"])


def observed(grove: GroveBackend, kind: GroupVersionKind, name: str) -> None:
    grove.until(lambda: is_observed(grove, kind, name), f"the generation of {name} is observed")


def is_updating(grove: GroveBackend, kind: GroupVersionKind, name: str) -> bool:
    progress = found(grove, kind, name)["status"].get("updateProgress")
    return progress is not None and not progress.get("updateEndedAt")


def is_breached(grove: GroveBackend, kind: GroupVersionKind, name: str) -> bool:
    return is_true(((grove.get(kind, name) or {}).get("status") or {}).get("conditions") or (), BREACHED)
