"""Parts of a set that are judged for themselves, because Grove's counters of the set stand still."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from hooks.graph.grove.scaling import NEVER
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.effects import ScalePodClique
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.graph import world

HASH = "grove.io/pod-template-hash"
GROUP = "grove.io/podcliquescalinggroup"
GATE = "grove.io/podgang-pending-creation"
SGLANG = ["python3", "-m", "dynamo.sglang"]
REFUSED = (
    "[Operation: Sync, Code: ERR_SYNC_PODS] message: p, cause: "
    "[Operation: Sync, Code: ERR_CREATE_POD] message: q, cause: "
    'pods "g-0-frontend-x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
)


def big(replicas: int = 1) -> dict[str, Any]:
    limits = {"limits": {"gpu": "2"}}
    return make.service(command=SGLANG, multinode={"nodeCount": 2}, replicas=replicas, resources=limits)


def services(idle: int = 1, frontend: int = 1, **more: Any) -> dict[str, Any]:
    return {"Frontend": make.service("frontend", replicas=frontend), "Idle": make.service(replicas=idle), **more}


def ask(graph: Manifest, children: Any = (), related: Any = ()) -> SyncAnswer:
    return world.ask(graph, children, related, installed=("grove",), settings={})


def stuck(graph: Manifest, **spec: Any) -> list[Manifest]:
    """The children of a graph as wanted, whose set Grove observes no more."""
    children = world.apply([], ask(graph).children)
    return [
        {
            **child,
            "metadata": {**child["metadata"], "generation": 4},
            "spec": {**child["spec"], **spec},
            "status": STUCK,
        }
        if child["kind"] == "PodCliqueSet"
        else child
        for child in children
    ]


STUCK = {"observedGeneration": 1, "updateProgress": {"updateStartedAt": "2026-11-01T00:00:00Z"}}


def clique(
    children: list[Manifest], name: str, of: str, replicas: int = 1, *, ready: int | None = None, **status: Any
) -> Manifest:
    """A PodClique that has its template, with all its pods ready, unless something else is said."""
    found = world.child(children, "PodCliqueSet", "g")
    template = copy.deepcopy(next(c for c in found["spec"]["template"]["cliques"] if c["name"] == of))
    pods = replicas if ready is None else ready
    counts = {"replicas": replicas, "updatedReplicas": replicas, "scheduledReplicas": replicas, "readyReplicas": pods}
    labels = {**template["labels"], "app.kubernetes.io/part-of": "g", "app.kubernetes.io/name": name, HASH: "h1"}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodClique",
        "metadata": {
            "name": name,
            "namespace": "default",
            "generation": 2,
            "labels": labels,
            "annotations": template.get("annotations", {}),
        },
        "spec": {**template["spec"], "replicas": replicas},
        "status": {"observedGeneration": 2, "currentPodTemplateHash": "h1", **counts, **status},
    }


def group(name: str, replicas: int, available: int, scheduled: int) -> Manifest:
    counts = {"replicas": replicas, "updatedReplicas": available, "availableReplicas": available}
    metadata = {"name": name, "namespace": "default", "generation": 1, "labels": {"app.kubernetes.io/part-of": "g"}}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueScalingGroup",
        "metadata": metadata,
        "spec": {"replicas": replicas, "minAvailable": 1},
        "status": {"observedGeneration": 1, "scheduledReplicas": scheduled, **counts},
    }


def member(children: list[Manifest], replica: int, of: str, **status: Any) -> Manifest:
    found = clique(children, f"g-0-big-{replica}-{of}", of, **status)
    found["metadata"]["labels"][GROUP] = "g-0-big"
    env = found["spec"]["podSpec"]["containers"][-1].setdefault("env", [])
    env.insert(0, {"name": "GROVE_PCSG_TEMPLATE_NUM_PODS", "value": "2"})
    return found


def message(answer: SyncAnswer) -> str:
    return str(world.ready(answer)["message"])


def test_service_at_none_does_not_make_the_others_unready() -> None:
    graph = make.graph(services(idle=0))
    children = stuck(graph)
    parts = [clique(children, "g-0-frontend", "frontend"), clique(children, "g-0-idle", "idle", 0)]
    answer = ask(graph, children, parts)
    assert world.ready(answer)["status"] == "True", message(answer)
    assert world.child(answer.children, "PodCliqueSet", "g")["spec"]["template"]["terminationDelay"] == NEVER


def test_set_is_waited_for_where_no_part_is_short_of_pods() -> None:
    """Grove will observe the generation by itself, and knows of changes that no PodClique shows."""
    graph = make.graph(services())
    children = stuck(graph)
    parts = [clique(children, "g-0-frontend", "frontend"), clique(children, "g-0-idle", "idle")]
    assert "generation=4, observedGeneration=1" in message(ask(graph, children, parts))


def _label(part: Manifest) -> None:
    part["metadata"]["labels"]["nvidia.com/dynamo-namespace"] = "before"


def _annotation(part: Manifest) -> None:
    part["metadata"]["annotations"] = {**part["metadata"]["annotations"], "removed-from-the-template": "x"}


def _image(part: Manifest) -> None:
    part["spec"]["podSpec"]["containers"][-1]["image"] = "before"


def _generation(part: Manifest) -> None:
    part["metadata"]["generation"] = 3


def _hash(part: Manifest) -> None:
    part["metadata"]["labels"][HASH] = "h2"


def _update(part: Manifest) -> None:
    part["status"]["updateProgress"] = {"updateStartedAt": "2026-11-01T00:00:00Z", "podTemplateHash": "h1"}


def _other_update(part: Manifest) -> None:
    ended = {"updateStartedAt": "2026-11-01T00:00:00Z", "updateEndedAt": "2026-11-01T00:00:01Z"}
    part["status"]["updateProgress"] = {**ended, "podTemplateHash": "h0"}


OLD = {
    "label": (_label, "podclique g-0-frontend does not have the set's template yet"),
    "annotation": (_annotation, "podclique g-0-frontend does not have the set's template yet"),
    "image": (_image, "podclique g-0-frontend does not have the set's template yet"),
    "generation": (_generation, "spec not yet processed: generation=3, observedGeneration=2"),
    "hash": (_hash, "performing rolling update of its pods"),
    "update that runs": (_update, "performing rolling update of its pods"),
    "update to something else": (_other_update, "performing rolling update of its pods"),
}


@pytest.mark.parametrize(("change", "reason"), OLD.values(), ids=OLD)
def test_part_that_may_have_an_old_pod_is_never_ready(change: Any, reason: str) -> None:
    graph = make.graph(services(idle=0))
    children = stuck(graph)
    frontend = clique(children, "g-0-frontend", "frontend")
    change(frontend)
    answer = ask(graph, children, [frontend, clique(children, "g-0-idle", "idle", 0)])
    assert world.ready(answer)["status"] == "False"
    assert message(answer).startswith("podclique/g-0-frontend: ")
    assert reason in message(answer)


def test_members_of_a_group_have_variables_of_grove() -> None:
    graph = make.graph(services(idle=0, Big=big()))
    children = stuck(graph)
    names = [c["name"] for c in world.child(children, "PodCliqueSet", "g")["spec"]["template"]["cliques"]]
    assert {"big-ldr", "big-wkr"} < set(names)
    members = [member(children, 0, "big-ldr"), member(children, 0, "big-wkr")]
    others = [clique(children, "g-0-frontend", "frontend"), clique(children, "g-0-idle", "idle", 0)]
    answer = ask(graph, children, [*others, *members, group("g-0-big", 1, 1, 1)])
    assert world.ready(answer)["status"] == "True", message(answer)
    _image(members[1])
    answer = ask(graph, children, [*others, *members, group("g-0-big", 1, 1, 1)])
    assert "pcsg/g-0-big: RollingOut: wait for the new pods (podclique g-0-big-0-big-wkr does not have" in message(
        answer
    )


POD = {"nodeName": "n", "containers": [{"name": "main", "image": "i"}]}


def pod(name: str, of: str, service: str, **status: Any) -> Manifest:
    labels = {"nvidia.com/dynamo-component": service, "grove.io/podclique": of, HASH: "h1"}
    metadata = {"name": name, "namespace": "default", "labels": labels, "creationTimestamp": "2026-11-01T00:00:00Z"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": POD, "status": status}


CRASH = {
    "name": "main",
    "ready": False,
    "restartCount": 4,
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-07-01T10:00:00Z"}},
}


def test_crash_is_told_after_a_change_of_another_service() -> None:
    graph = make.graph(services(frontend=2))
    children = stuck(graph)
    crashing = pod("g-0-idle-x", "g-0-idle", "Idle", phase="Running", containerStatuses=[CRASH])
    parts = [clique(children, "g-0-frontend", "frontend", 2), clique(children, "g-0-idle", "idle", ready=0), crashing]
    assert message(ask(graph, children, parts)).startswith("podclique/g-0-idle: CrashLoop: pod g-0-idle-x")


def test_refused_pods_are_told_in_the_words_of_the_api_server() -> None:
    graph = make.graph(services())
    children = stuck(graph)
    errors = [{"code": "ERR_SYNC_PODS", "description": REFUSED, "observedAt": "2026-11-01T00:00:00Z"}]
    refused = clique(children, "g-0-frontend", "frontend", ready=0, scheduledReplicas=0, lastErrors=errors)
    refused["status"]["replicas"] = 0
    gated = pod("g-0-idle-x", "g-0-idle", "Idle", conditions=[GATED])
    gated["spec"] = {"schedulingGates": [{"name": GATE}]}
    parts = [
        refused,
        clique(children, "g-0-idle", "idle", ready=0, scheduledReplicas=0),
        gated,
    ]
    first, second = message(ask(graph, children, parts)).split("; ")[:2]
    assert first.startswith('podclique/g-0-frontend: AdmissionDenied: pods "g-0-frontend-x" is forbidden: violates Pod')
    assert "its scheduling is held back by grove.io/podgang-pending-creation" in second
    assert "Frontend has 0 of the 1 that the gang needs - see what Frontend lacks" in second


GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "x"}


def test_errors_that_are_over_are_not_told() -> None:
    """Grove leaves them in the status when all pods are there."""
    graph = make.graph(services())
    children = stuck(graph)
    errors = [{"code": "ERR_SYNC_PODS", "description": REFUSED}]
    parts = [clique(children, "g-0-frontend", "frontend", ready=0, lastErrors=errors)]
    assert "AdmissionDenied" not in message(ask(graph, children, parts))


def test_group_that_cannot_grow_names_the_service_that_is_at_none() -> None:
    graph = make.graph(services(idle=0, Big=big(replicas=2)))
    children = stuck(graph)
    gated = pod("g-0-big-1-big-ldr-x", "g-0-big-1-big-ldr", "Big", conditions=[GATED])
    gated["spec"] = {"schedulingGates": [{"name": GATE}]}
    lacking = {"ready": 0, "scheduledReplicas": 0}
    members = [
        *(member(children, 0, of) for of in ("big-ldr", "big-wkr")),
        *(member(children, 1, of, **lacking) for of in ("big-ldr", "big-wkr")),
    ]
    others = [clique(children, "g-0-frontend", "frontend"), clique(children, "g-0-idle", "idle", 0)]
    answer = ask(graph, children, [*others, *members, group("g-0-big", 2, 1, 1), gated])
    assert "Idle has 0 of the 1 that the gang needs - set the replicas of Idle to 1 or more" in message(answer)


SELECTED: Mapping[str, Any] = {"current": "a", "completed": ["b"]}


def rolling(children: list[Manifest], replicas: int, **progress: Any) -> Manifest:
    update = {"updateStartedAt": "2026-11-01T00:00:00Z", "podTemplateHash": "h2", **progress}
    found = clique(children, "g-0-idle", "idle", replicas, updateProgress=update)
    found["metadata"]["labels"][HASH] = "h2"
    return found


def scalings(answer: SyncAnswer) -> list[int]:
    return [effect.replicas for effect in answer.effects if isinstance(effect, ScalePodClique)]


def test_clique_is_not_scaled_in_while_it_is_updated() -> None:
    children = stuck(make.graph(services(idle=4)))
    graph = make.graph(services(idle=1))
    part = rolling(children, 4, readyPodsSelectedToUpdate=SELECTED)
    frontend = clique(children, "g-0-frontend", "frontend")
    answer = ask(graph, children, [frontend, part])
    assert scalings(answer) == []
    assert "replicas=4, wanted=1: it is scaled in when its update has ended" in message(answer)
    part["status"]["updateProgress"]["updateEndedAt"] = "2026-11-01T00:01:00Z"
    part["status"]["currentPodTemplateHash"] = "h2"
    assert scalings(ask(graph, children, [frontend, part])) == [1]


def test_clique_may_grow_while_it_is_updated() -> None:
    children = stuck(make.graph(services(idle=4)))
    part = rolling(children, 4, readyPodsSelectedToUpdate=SELECTED)
    assert scalings(ask(make.graph(services(idle=6)), children, [part])) == [6]


def test_clique_without_a_ready_pod_may_shrink_while_it_is_updated() -> None:
    """Grove selects ready pods alone, and waits for as many new ones."""
    children = stuck(make.graph(services(idle=4)))
    part = rolling(children, 4)
    part["status"]["readyReplicas"] = 0
    assert scalings(ask(make.graph(services(idle=0)), children, [part])) == [0]


def test_clique_that_cannot_roll_may_go_to_none() -> None:
    children = stuck(make.graph(services(idle=1)))
    part = rolling(children, 1, readyPodsSelectedToUpdate=SELECTED)
    assert scalings(ask(make.graph(services(idle=0)), children, [part])) == [0]


def test_update_that_cannot_end_names_the_way_out() -> None:
    graph = make.graph(services(idle=1))
    children = stuck(graph)
    part = rolling(children, 1, readyPodsSelectedToUpdate=SELECTED)
    answer = ask(graph, children, [clique(children, "g-0-frontend", "frontend"), part])
    assert "Grove waits for 2 new pods - set its replicas to 2 until the update has ended" in message(answer)


def test_old_pods_are_for_users_to_delete_where_nothing_replaces_them() -> None:
    graph = make.graph(services())
    graph["metadata"]["annotations"] = {"nvidia.com/grove-update-strategy": "OnDelete"}
    children = stuck(graph)
    (of_graph,) = [child for child in children if child["kind"] == "PodCliqueSet"]
    of_graph["status"] = {"observedGeneration": 4}
    part = clique(children, "g-0-idle", "idle", updatedReplicas=0)
    answer = ask(graph, children, [clique(children, "g-0-frontend", "frontend"), part])
    labels = "grove.io/podclique=g-0-idle,grove.io/pod-template-hash notin (h1)"
    assert f"delete the old pods: kubectl delete pods -n default -l '{labels}'" in message(answer)
