"""The rollout of workers to the next generation, in the graph's status: figures, the old Dynamo namespace, an end."""

from collections.abc import Iterable
from typing import Any

import pytest

from hooks.graph.change.complete_sets import WorkerPods
from hooks.graph.change.pacing import RolloutInSets, RolloutState
from hooks.graph.change.room import LackOfRoom
from hooks.graph.sync import prepare
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, annotations_of, name_of
from hooks.language.versions import convert
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy.rollout_pace import RolloutPace
from hooks.wire.policy.rollout_wishes import RolloutWishes
from hooks.wire.prober.frontends import (
    FrontendEntry,
    FrontendOutcome,
    FrontendReport,
    FrontendState,
    NamespaceReadiness,
)
from tests import make
from tests.graph import test_grove as grove
from tests.graph import test_worker_generation as generation
from tests.graph import world

BASE = "default-g"
SERVICES = {
    "decode": generation.worker(replicas=5),
    "prefill": generation.worker(replicas=3),
    "f": generation.frontend(),
}
CHANGED = {**SERVICES, "decode": generation.worker(replicas=5, envFromSecret="s")}


def counting(children: Iterable[Manifest], namespace: str, **counts: tuple[int, int, int]) -> list[Manifest]:
    """The components where workers still report that Dynamo namespace: replicas, updated, ready, by service."""
    found: list[Manifest] = []
    for child in children:
        service = child["spec"].get("serviceName") if child["kind"] == contract.COMPONENT.kind else None
        if service in counts:
            replicas, updated, ready = counts[service]
            said = {"replicas": replicas, "updatedReplicas": updated, "readyReplicas": ready}
            entry = {**child["status"]["service"], **said, "runtimeNamespace": namespace}
            ready_ = {"type": "Available", "status": "False", "message": ""}
            status = {**child["status"], "service": entry, "conditions": [ready_]}
            found.append({**child, "status": status})
        else:
            found.append(child)
    return found


def paces(answer: SyncAnswer) -> dict[str, str]:
    found = {name_of(one): annotations_of(one).get(contract.ANNOTATION_PACE, "") for one in answer.children}
    return {name: pace for name, pace in found.items() if pace}


def unrouted(namespace: str) -> FrontendOutcome:
    """What a frontend says that routes nothing to this Dynamo namespace yet."""
    said = NamespaceReadiness(namespace=namespace, model="m", is_ready=False)
    entry = FrontendEntry(address="http://10.0.0.1:8000", pod="f-1", state=FrontendState.ANSWERED, namespaces=(said,))
    return FrontendOutcome(report=FrontendReport(entries=(entry,)))


def namespaces(answer: SyncAnswer) -> dict[str, str]:
    assert answer.status is not None
    return {name: entry["runtimeNamespace"] for name, entry in answer.status["services"].items()}


def test_status_follows_a_rollout_to_its_end() -> None:
    first = generation.ask(SERVICES)
    children = generation.settle((), first)
    old = generation.suffix_of(first)
    before = counting(children, f"{BASE}-{old}", decode=(5, 5, 5), prefill=(3, 3, 3))
    steady = generation.ask(SERVICES, before)
    assert steady.status is not None
    assert "rollingUpdate" not in steady.status
    assert namespaces(steady) == {"decode": f"{BASE}-{old}", "prefill": f"{BASE}-{old}", "f": BASE}

    changed = generation.ask(CHANGED, before)
    new = generation.suffix_of(changed)
    assert generation.remark(changed).startswith("new generation: 0 of 8 ready; old: 8; "), "nothing is applied yet"
    applied = world.run(world.apply(before, changed.children))
    rolling = counting(applied, f"{BASE}-{old}", decode=(6, 2, 5), prefill=(4, 2, 4))
    middle = generation.ask(CHANGED, rolling)
    assert middle.status is not None
    waits = "old pods stay (5 of decode, 3 of prefill) until those of decode, prefill are known: it was not read yet"
    assert middle.status["rollingUpdate"] == {
        "phase": "InProgress",
        "startTime": "2026-03-01T12:00:00Z",
        "message": waits,
    }
    assert generation.remark(middle).startswith("new generation: 3 of 8 ready; old: 6; ")
    assert waits in generation.remark(middle)
    assert paces(middle) == {"g-decode": "5/6", "g-prefill": "3/4"}
    assert set(namespaces(middle).values()) == {f"{BASE}-{old}", BASE}
    some = [pod("d-0", "decode", new), pod("p-0", "prefill", new)]
    left = [pod(f"old-{name}-{n}", name, old) for name, count in (("decode", 5), ("prefill", 3)) for n in range(count)]
    read = world.ask(make.graph(CHANGED), rolling, [*some, *left])
    assert "old pods stay (4 of decode, 3 of prefill) until more new ones are ready: decode (1 of 5)" in (
        generation.remark(read)
    )
    assert paces(read) == {"g-decode": "4/6", "g-prefill": "3/4"}
    request = make.sync_request(make.graph(CHANGED), rolling, [*some, *left])
    held = prepare(request, make.facts()).finish(unrouted(f"{BASE}-{new}"))
    assert paces(held) == {"g-decode": "5/6", "g-prefill": "3/4"}, "as if no new pod were ready"
    assert "(5 of decode, 3 of prefill) until every frontend routes to the new generation" in generation.remark(held)
    assert paces(prepare(request, make.facts()).finish(unrouted("another"))) == paces(read)

    half = counting(rolling, f"{BASE}-{new}", prefill=(3, 3, 3))
    late = generation.ask(CHANGED, half)
    assert late.status is not None
    assert late.status["rollingUpdate"]["updatedServices"] == ["prefill"]
    assert namespaces(late)["prefill"] == f"{BASE}-{old}"

    done = counting(half, f"{BASE}-{new}", decode=(5, 5, 5))
    pods = [pod(f"{name}-{number}", name, new) for name in ("decode", "prefill") for number in range(5)]
    end = world.ask(make.graph(CHANGED), done, pods)
    assert end.status is not None
    assert "rollingUpdate" not in end.status
    assert paces(end) == {}
    assert namespaces(end) == {"decode": f"{BASE}-{new}", "prefill": f"{BASE}-{new}", "f": BASE}


def test_rollout_stays_what_it_is_in_both_versions() -> None:
    status = {"rollingUpdate": {"phase": "InProgress", "updatedServices": ["decode"]}}
    beta = convert({**make.graph(SERVICES), "status": status}, contract.BETA_VERSION)
    assert beta["status"]["rollingUpdate"] == {"phase": "InProgress", "updatedComponents": ["decode"]}


def pod(name: str, service: str, suffix: str, *, ready: bool = True, phase: str = "Running") -> Manifest:
    values = {"DYN_NAMESPACE": BASE, contract.WORKER_SUFFIX: suffix}
    env = [{"name": key, "value": value} for key, value in values.items() if value]
    labels = {contract.LABEL_COMPONENT: service, contract.LABEL_GRAPH: "g"}
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"containers": [{"name": "main", "env": env}]},
        "status": {"phase": phase, "conditions": [condition]},
    }


@pytest.mark.parametrize("ended", [False, True], ids=["an old pod is left", "it has failed long ago"])
def test_pods_under_grove_say_what_is_left(ended: bool) -> None:
    services: dict[str, Any] = {"decode": generation.worker(replicas=2), "f": generation.frontend()}
    graph = make.graph(services)
    first = world.ask(graph, installed=("grove",))
    new = generation.suffix_of(first, "decode")
    children = [grove.processed(one) for one in world.apply([], first.children)]
    old = pod("d-1", "decode", "", phase="Failed" if ended else "Running")
    related = [
        grove.part("PodClique", "g-0-f", desired=1),
        grove.part("PodClique", "g-0-decode", desired=2),
        pod("d-0", "decode", new),
        old,
    ]
    answer = world.ask(graph, children, related, installed=("grove",))
    assert answer.status is not None
    assert ("rollingUpdate" in answer.status) is not ended
    assert namespaces(answer)["decode"] == (f"{BASE}-{new}" if ended else BASE)
    assert ("new generation: 1 of 1 ready; old: 1" in generation.remark(answer)) is not ended


def test_invalid_graph_has_no_rollout() -> None:
    children = generation.settle((), generation.ask(SERVICES))
    broken = make.graph({**SERVICES, "f": generation.frontend(replicas=-1)})
    broken["status"] = {"rollingUpdate": {"phase": "InProgress"}}
    answer = world.ask(broken, children)
    assert answer.status is not None
    assert answer.status["state"] == "failed"
    assert "rollingUpdate" not in answer.status
    assert [name_of(one) for one in answer.children]


PACES = {"d": RolloutPace(kept=1, most=2)}
ROLES = {"d": WorkerPods(wanted=1, ready=0, old=1)}
READY = {"d": WorkerPods(wanted=1, ready=1, old=1)}
CROWDED = LackOfRoom(crowded=("d",))
STATES: dict[str, tuple[RolloutInSets, RolloutState]] = {
    "nothing rolls": (RolloutInSets(), RolloutState.AT_REST),
    "pods are not known": (
        RolloutInSets(paces=PACES, roles=ROLES, unread={"d": "403"}, shortage=CROWDED),
        RolloutState.UNKNOWN,
    ),
    "no room": (RolloutInSets(paces=PACES, roles=ROLES, shortage=CROWDED, stands_since="t"), RolloutState.NO_ROOM),
    "a set makes room": (
        RolloutInSets(paces={"d": RolloutPace(kept=0, most=1)}, roles=ROLES, shortage=CROWDED),
        RolloutState.ROLLING,
    ),
    "it stands": (RolloutInSets(paces=PACES, roles=ROLES, stands_since="t"), RolloutState.STALLED),
    "a canary comes up": (
        RolloutInSets(paces=PACES, roles=ROLES, wishes=RolloutWishes(canary="1")),
        RolloutState.ROLLING,
    ),
    "a canary is ready": (
        RolloutInSets(paces=PACES, roles=READY, wishes=RolloutWishes(canary="1"), stands_since="t"),
        RolloutState.CANARY,
    ),
    "it is paused": (
        RolloutInSets(paces=PACES, unread={"d": "403"}, wishes=RolloutWishes(is_paused=True)),
        RolloutState.PAUSED,
    ),
    "it goes on": (RolloutInSets(paces=PACES, roles=ROLES), RolloutState.ROLLING),
}


@pytest.mark.parametrize(("rollout", "state"), STATES.values(), ids=STATES)
def test_state_is_the_first_that_holds(rollout: RolloutInSets, state: RolloutState) -> None:
    assert rollout.state is state
