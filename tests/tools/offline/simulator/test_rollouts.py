"""Rollouts of prefill and decode in the simulated cluster: at each moment one generation has ready pods of both."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, annotations_of, is_deleting, labels_of
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.tools.offline.simulator.workloads.pods import is_ready as is_pod_ready
from hooks.wire.metacontroller.effects import Effect, Event
from tests import make
from tests.tools.offline.simulator.hooked import build_cluster, build_switchable

LONG_ENOUGH = 600
ROLES = ("prefill", "decode")


def worker(tag: str, replicas: int, **fields: Any) -> dict[str, Any]:
    return make.service("worker", image=f"r/vllm-runtime:{tag}", replicas=replicas, **fields)


def services(tag: str = "1.6.1", prefill: int = 1, decode: int = 1) -> dict[str, Any]:
    return {
        "Frontend": make.service("frontend", image="r/vllm-runtime:1.6.1"),
        "prefill": worker(tag, prefill, subComponentType="prefill"),
        "decode": worker(tag, decode, subComponentType="decode"),
    }


NO_SETTINGS: Mapping[str, str] = {}


class Rolled:
    """A graph that is ready, and a look at its pods after every piece of work."""

    def __init__(self, prefill: int = 1, decode: int = 1, *, settings: Mapping[str, str] = NO_SETTINGS) -> None:
        self.effects: list[Effect] = []
        self.cluster = build_switchable((), settings, effects=self.effects)
        self.counts = {"prefill": prefill, "decode": decode}
        body = make.graph(services("1.6.1", prefill, decode))
        self.cluster.create({**body, "metadata": {"name": "g", "namespace": "default"}})
        assert self.cluster.run_until(self.is_ready, 300), self.graph["status"]
        self.least = 1.0
        self.messages: list[str] = []
        self.broken: list[str] = []

    @property
    def graph(self) -> Manifest:
        found = self.cluster.get(contract.GRAPH, "g", "default")
        assert found is not None
        return found

    def is_ready(self) -> bool:
        return is_ready(self.graph)

    def change(self, **fields: Any) -> None:
        """Change both workers' containers, as an edit of the image does."""
        main = {"extraPodSpec": {"mainContainer": fields}}
        self.cluster.patch(contract.GRAPH, "g", {"spec": {"services": dict.fromkeys(ROLES, main)}}, "default")

    def change_to_broken(self, image: str, fault: PodFault, *roles: str) -> None:
        """Change the image to one whose first pods have this fault."""
        known = {pod["metadata"]["name"] for pod in self.pods()}
        self.cluster.block("g-*")
        self.change(image=image)
        self.run()
        self.broken = [
            name for pod in self.pods() if (name := pod["metadata"]["name"]) not in known and service_of(pod) in roles
        ]
        for name in self.broken:
            self.cluster.break_pods(name, fault)
        self.cluster.release("g-*")
        self.run()

    def mend(self) -> None:
        for name in self.broken:
            self.cluster.release(name)

    def run(self, seconds: float = LONG_ENOUGH) -> None:
        for _ in steps(self.cluster, seconds):
            self.least = min(self.least, self.capacity())
            ready = next(one for one in self.graph["status"]["conditions"] if one["type"] == "Ready")
            if ready["message"] not in self.messages[-1:]:
                self.messages.append(ready["message"])

    def capacity(self) -> float:
        """The part of the wanted sets that is complete, of all generations together."""
        ready = Counter((suffix_of(pod), service_of(pod)) for pod in self.pods() if is_pod_ready(pod))
        suffixes = {suffix for suffix, _ in ready}
        return sum(min(ready[suffix, role] / self.counts[role] for role in ROLES) for suffix in suffixes)

    def pods(self) -> list[Manifest]:
        found = self.cluster.list_kind(kinds.POD, "default")
        return [pod for pod in found if service_of(pod) in ROLES and not is_deleting(pod)]

    def deployment(self, service: str) -> Manifest:
        found = self.cluster.get(kinds.DEPLOYMENT, f"g-{service}", "default")
        assert found is not None
        return found

    def assert_at_rest(self) -> None:
        assert self.is_ready(), self.messages[-1]
        assert len({suffix_of(pod) for pod in self.pods()}) == 1
        assert "rollingUpdate" not in self.graph["status"]
        for service in ROLES:
            spec = self.deployment(service)["spec"]
            assert "minReadySeconds" not in spec
            assert spec["progressDeadlineSeconds"] == 600
            assert spec["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}
        components = self.cluster.list_kind(contract.COMPONENT, "default")
        assert not any(contract.ANNOTATION_PACE in annotations_of(one) for one in components)


def steps(cluster: SimulatedCluster, seconds: float) -> Iterator[None]:
    """One piece of work after another, until nothing is left to do within so many seconds."""
    end = cluster.clock.seconds + seconds
    while True:
        yield
        if cluster.step():
            continue
        due = cluster.next_time()
        if due is None or due > end:
            return
        cluster.clock.advance_to(due)


def service_of(pod: Manifest) -> str:
    return labels_of(pod).get(contract.LABEL_COMPONENT, "")


def suffix_of(pod: Manifest) -> str:
    return labels_of(pod).get(contract.LABEL_WORKER_HASH, "")


COUNTS = {
    "one of each": {},
    "two and three": {"prefill": 2, "decode": 3},
    "one and four": {"prefill": 1, "decode": 4},
}


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("late", ROLES)
def test_as_many_sets_serve_as_are_wanted(counts: dict[str, int], late: str) -> None:
    world = Rolled(counts.get("prefill", 1), counts.get("decode", 1))
    before = {pod["metadata"]["uid"] for pod in world.pods()}
    world.cluster.block(f"g-{late}-*")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    old = [pod for pod in world.pods() if pod["metadata"]["uid"] in before]
    assert len(old) == len(before), "no old pod ends before every role has a new one"
    assert f"old pods stay ({counts.get('decode', 1)} of decode, " in world.messages[-1]
    assert f"until more new ones are ready: {late} (0 of {counts.get(late, 1)})" in world.messages[-1]
    assert world.graph["status"]["rollingUpdate"]["phase"] == "InProgress"
    world.cluster.release(f"g-{late}-*")
    world.run()
    assert world.least == 1
    world.assert_at_rest()
    assert not before & {pod["metadata"]["uid"] for pod in world.pods()}


def test_bad_image_takes_nothing_away_and_its_revert_ends() -> None:
    world = Rolled(prefill=2, decode=2)
    before = {pod["metadata"]["uid"] for pod in world.pods()}
    world.change_to_broken("r/vllm-runtime:1.6.9", PodFault.IMAGE_PULL, "decode")
    world.run(3_600)
    assert before <= {pod["metadata"]["uid"] for pod in world.pods()}
    world.change(image="r/vllm-runtime:1.6.1")
    world.run()
    assert world.least == 1
    world.assert_at_rest()
    assert before == {pod["metadata"]["uid"] for pod in world.pods()}


def test_second_edit_in_the_middle_ends_with_the_last_one() -> None:
    world = Rolled(prefill=2, decode=3)
    world.change(image="r/vllm-runtime:1.6.2")
    for number, _ in enumerate(steps(world.cluster, LONG_ENOUGH)):
        assert world.capacity() > 0
        if number == 60:
            world.change(image="r/vllm-runtime:1.6.3")
    world.run()
    world.assert_at_rest()
    images = {pod["spec"]["containers"][-1]["image"] for pod in world.pods()}
    assert images == {"r/vllm-runtime:1.6.3"}


def test_new_pods_without_room_wait_beside_the_only_set() -> None:
    world = Rolled()
    before = {pod["metadata"]["uid"] for pod in world.pods()}
    world.change_to_broken("r/vllm-runtime:1.6.2", PodFault.UNSCHEDULABLE, *ROLES)
    assert world.least == 1
    assert before <= {pod["metadata"]["uid"] for pod in world.pods()}
    assert "find no room, and the old ones serve meanwhile: add nodes or raise the quota" in world.messages[-1]
    assert "nvidia.com/deployment-strategy" in world.messages[-1]


def test_new_pods_without_room_get_that_of_one_set_of_two() -> None:
    world = Rolled(prefill=2, decode=2)
    world.change_to_broken("r/vllm-runtime:1.6.2", PodFault.UNSCHEDULABLE, *ROLES)
    assert world.least == 0.5
    world.mend()
    world.run()
    assert world.least == 0.5
    world.assert_at_rest()


@pytest.mark.parametrize("strategy", ["Recreate", "RollingUpdate"])
def test_recreate_interrupts_where_it_is_asked(strategy: str) -> None:
    world = Rolled()
    asked = {"annotations": {contract.ANNOTATION_DEPLOYMENT_STRATEGY: strategy}}
    world.cluster.patch(contract.GRAPH, "g", {"spec": {"services": dict.fromkeys(ROLES, asked)}}, "default")
    world.run()
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    assert world.least == (0 if strategy == "Recreate" else 1)
    assert world.is_ready()


def test_scaling_to_nothing_in_the_middle_ends() -> None:
    world = Rolled(prefill=2, decode=2)
    world.cluster.block("g-decode-*")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    change = {"spec": {"services": {"decode": {"replicas": 0}}}}
    world.cluster.patch(contract.GRAPH, "g", change, "default")
    world.run()
    world.assert_at_rest()


def test_without_reading_pods_each_deployment_rolls_for_itself() -> None:
    world = Rolled()
    world.cluster = build_cluster(explain_pods="off")
    body = make.graph(services())
    world.cluster.create({**body, "metadata": {"name": "g", "namespace": "default"}})
    assert world.cluster.run_until(world.is_ready, 300)
    world.cluster.block("g-decode-*")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    assert world.least == 0
    assert not any("old pods stay" in text for text in world.messages)


def annotate(world: Rolled, **annotations: str | None) -> None:
    names = {"paused": contract.ANNOTATION_ROLLOUT_PAUSED, "canary": contract.ANNOTATION_ROLLOUT_CANARY}
    body = {"metadata": {"annotations": {names[key]: value for key, value in annotations.items()}}}
    world.cluster.patch(contract.GRAPH, "g", body, "default")


def sizes(world: Rolled) -> dict[str, list[int]]:
    """By worker how many pods each template has."""
    found = {role: Counter(suffix_of(pod) for pod in world.pods() if service_of(pod) == role) for role in ROLES}
    return {role: sorted(count.values()) for role, count in found.items()}


def test_nothing_new_starts_while_it_is_paused_before_the_edit() -> None:
    world = Rolled(prefill=2, decode=3)
    before = {pod["metadata"]["uid"] for pod in world.pods()}
    annotate(world, paused="true")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    assert {pod["metadata"]["uid"] for pod in world.pods()} == before
    assert "the rollout is paused" in world.messages[-1]
    annotate(world, paused=None)
    world.run()
    world.assert_at_rest()
    assert world.least == 1
    assert not before & {pod["metadata"]["uid"] for pod in world.pods()}


def test_pods_stay_as_they_are_while_it_is_paused_in_the_middle() -> None:
    world = Rolled(prefill=2, decode=4)
    world.cluster.block("g-decode-*")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    annotate(world, paused="true")
    world.run()
    before = sizes(world)
    assert before == {"prefill": [1, 2], "decode": [1, 4]}
    world.cluster.release("g-decode-*")
    world.run()
    assert sizes(world) == before, "new pods become ready, and nothing follows from it"
    annotate(world, paused="false")
    world.run()
    world.assert_at_rest()
    assert world.least == 1


def test_second_edit_of_a_paused_rollout_moves_nothing_and_ends() -> None:
    world = Rolled(prefill=2, decode=2)
    world.cluster.block("g-decode-*")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    annotate(world, paused="true")
    world.run()
    before = sizes(world)
    world.change(image="r/vllm-runtime:1.6.3")
    world.run()
    assert sizes(world) == before
    world.cluster.release("g-decode-*")
    annotate(world, paused=None)
    world.run()
    world.assert_at_rest()
    assert world.least == 1


@pytest.mark.parametrize("canary", ["1", "25%"])
def test_canary_waits_with_one_new_set_of_two(canary: str) -> None:
    world = Rolled(prefill=2, decode=4)
    annotate(world, canary=canary)
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    assert sizes(world) == {"prefill": [1, 1], "decode": [2, 2]}
    assert "1 of 2 new sets is ready, as the annotation" in world.messages[-1]
    world.run(3_600)
    assert sizes(world) == {"prefill": [1, 1], "decode": [2, 2]}
    annotate(world, canary=None)
    world.run()
    world.assert_at_rest()
    assert world.least == 1


def test_canary_of_all_sets_keeps_an_old_one() -> None:
    world = Rolled()
    annotate(world, canary="3")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    assert sizes(world) == {"prefill": [1, 1], "decode": [1, 1]}
    assert not [role for role in ROLES if "paused" in world.deployment(role)["spec"]]
    world.change(image="r/vllm-runtime:1.6.1")
    annotate(world, canary=None)
    world.run()
    world.assert_at_rest()
    assert world.least == 1


class Alone(Rolled):
    """A graph with one worker."""

    def __init__(self, **annotations: str) -> None:
        self.cluster, self.counts = build_cluster(), dict.fromkeys(ROLES, 1)
        body = make.graph({"Frontend": services()["Frontend"], "decode": worker("1.6.1", 3)})
        self.cluster.create({**body, "metadata": {"name": "g", "namespace": "default"}})
        assert self.cluster.run_until(self.is_ready, 300), self.graph["status"]
        self.least, self.messages = 1.0, []
        annotate(self, **annotations)

    def change(self, **fields: Any) -> None:
        main = {"extraPodSpec": {"mainContainer": fields}}
        self.cluster.patch(contract.GRAPH, "g", {"spec": {"services": {"decode": main}}}, "default")

    def capacity(self) -> float:
        return min(1.0, sum(is_pod_ready(pod) for pod in self.pods()) / 3)


def test_one_worker_alone_rolls_by_itself_unless_it_is_steered() -> None:
    world = Alone()
    world.change(image="r/vllm-runtime:1.6.2")
    for _ in steps(world.cluster, LONG_ENOUGH):
        assert "minReadySeconds" not in world.deployment("decode")["spec"]
    assert is_ready(world.graph)


def test_canary_and_pause_of_one_worker_alone() -> None:
    world = Alone(canary="1")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    assert sizes(world)["decode"] == [1, 2]
    assert "1 of 3 new sets is ready" in world.messages[-1]
    annotate(world, canary=None, paused="true")
    world.run()
    assert sizes(world)["decode"] == [1, 2]
    annotate(world, paused=None)
    world.run()
    assert world.is_ready()
    assert sizes(world)["decode"] == [3]
    assert world.least == 1


def test_new_pods_without_room_wait_a_minute_before_a_set_makes_it() -> None:
    world = Rolled(prefill=2, decode=2)
    asked = {"resources": {"limits": {"gpu": "1"}}}
    world.cluster.patch(contract.GRAPH, "g", {"spec": {"services": dict.fromkeys(ROLES, asked)}}, "default")
    world.run()
    world.change_to_broken("r/vllm-runtime:1.6.2", PodFault.UNSCHEDULABLE, *ROLES)
    first = next(text for text in world.messages if "find no room" in text)
    assert "the next set lacks 2 GPUs (1 of decode, 1 of prefill): " in first
    assert "old pods stay (2 of decode, 2 of prefill)" in first, "none makes room at once"
    assert "old pods stay (1 of decode, 1 of prefill)" in world.messages[-1]


def test_rollout_that_makes_no_progress_is_stalled_and_goes_on() -> None:
    world = Rolled()
    world.cluster.block("g-decode-*")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run(1_200)
    assert "the rollout is stalled" not in world.messages[-1]
    world.run(1_200)
    assert "the rollout is stalled: no new pod became ready since 2026-" in world.messages[-1]
    world.cluster.release("g-decode-*")
    world.run()
    assert world.least == 1
    world.assert_at_rest()


def test_broken_old_pods_make_room_first() -> None:
    world = Rolled(prefill=2, decode=2)
    broken = next(pod["metadata"]["name"] for pod in world.pods() if service_of(pod) == "decode")
    world.cluster.break_pods(broken, PodFault.CRASH_LOOP)
    world.run(300)
    world.cluster.block("g-*")
    world.change(image="r/vllm-runtime:1.6.2")
    world.run()
    assert broken not in {pod["metadata"]["name"] for pod in world.pods()}
    assert len([pod for pod in world.pods() if is_pod_ready(pod)]) == 3, "no pod that serves ended"
    world.cluster.release("g-*")
    world.run()
    world.assert_at_rest()


GOES_BACK = {"effect_go_back": "on"}


def reason_of(world: Rolled) -> str:
    return next((one["reason"] for one in world.graph["status"]["conditions"] if one["type"] == "Rollout"), "")


def images(world: Rolled) -> set[str]:
    return {pod["spec"]["containers"][-1]["image"] for pod in world.pods()}


def test_stalled_rollout_goes_back_by_itself_and_only_once_from_a_spec() -> None:
    world = Rolled(settings=GOES_BACK, prefill=2, decode=2)
    before = {pod["metadata"]["uid"] for pod in world.pods()}
    world.change_to_broken("r/vllm-runtime:1.6.9", PodFault.IMAGE_PULL, "decode")
    world.run(3_600)
    assert "it goes back to the spec of revision 1 (g-" in "".join(world.messages)
    assert world.least == 1
    world.assert_at_rest()
    assert before == {pod["metadata"]["uid"] for pod in world.pods()}
    assert images(world) == {"r/vllm-runtime:1.6.1"}
    events = [one for one in world.effects if isinstance(one, Event) and one.reason == "RolloutWentBack"]
    assert {one.type for one in events} == {"Warning"}
    world.change_to_broken("r/vllm-runtime:1.6.9", PodFault.IMAGE_PULL, "decode")
    world.run(3_600)
    assert reason_of(world) == "RolloutStalled"
    assert "because the last way back was from this spec or to it" in world.messages[-1]
    assert before <= {pod["metadata"]["uid"] for pod in world.pods()}
    world.mend()
    world.run(3_600)
    world.assert_at_rest()
    assert images(world) == {"r/vllm-runtime:1.6.9"}


def test_it_goes_back_to_the_pods_that_serve_past_an_edit_that_never_came_up() -> None:
    world = Rolled(settings=GOES_BACK)
    before = {pod["metadata"]["uid"] for pod in world.pods()}
    world.change_to_broken("r/vllm-runtime:1.6.8", PodFault.IMAGE_PULL, *ROLES)
    world.change_to_broken("r/vllm-runtime:1.6.9", PodFault.IMAGE_PULL, *ROLES)
    world.run(7_200)
    world.assert_at_rest()
    assert before == {pod["metadata"]["uid"] for pod in world.pods()}


def test_it_stays_where_no_history_is_kept() -> None:
    world = Rolled(settings={**GOES_BACK, "revision_history": "0"})
    world.change_to_broken("r/vllm-runtime:1.6.9", PodFault.IMAGE_PULL, *ROLES)
    world.run(3_600)
    assert reason_of(world) == "RolloutStalled"
    assert "because the history has no spec that gives the workers that serve" in world.messages[-1]


def test_repaired_change_after_a_way_back_gets_its_time() -> None:
    world = Rolled(settings=GOES_BACK)
    world.change_to_broken("r/vllm-runtime:1.6.8", PodFault.IMAGE_PULL, *ROLES)
    world.run(3_600)
    world.change_to_broken("r/vllm-runtime:1.6.8", PodFault.IMAGE_PULL, *ROLES)
    world.run(3_600)
    assert reason_of(world) == "RolloutStalled"
    world.change(image="r/vllm-runtime:1.7.0")
    world.run(3_600)
    world.assert_at_rest()
    assert images(world) == {"r/vllm-runtime:1.7.0"}


@pytest.mark.parametrize("meanwhile", ["canary", "paused"])
def test_what_stood_because_it_was_to_goes_on_and_not_back(meanwhile: str) -> None:
    world = Rolled(2, 2, settings=GOES_BACK)
    annotate(world, **{meanwhile: "1" if meanwhile == "canary" else "true"})
    world.change(image="r/vllm-runtime:1.6.2")
    world.run(7_200)
    annotate(world, **{meanwhile: None})
    world.run()
    assert world.least == 1
    world.assert_at_rest()
    assert images(world) == {"r/vllm-runtime:1.6.2"}
    assert contract.ANNOTATION_WENT_BACK not in annotations_of(world.graph)


def test_one_worker_alone_goes_back_too() -> None:
    cluster = build_switchable((), GOES_BACK)
    body = make.graph({"Frontend": services()["Frontend"], "decode": worker("1.6.1", 2)})
    cluster.create({**body, "metadata": {"name": "g", "namespace": "default"}})

    def graph() -> Manifest:
        found = cluster.get(contract.GRAPH, "g", "default")
        assert found is not None
        return found

    assert cluster.run_until(lambda: is_ready(graph()), 300)
    known = {pod["metadata"]["name"] for pod in cluster.list_kind(kinds.POD, "default")}
    cluster.block("g-decode-*")
    change = {"extraPodSpec": {"mainContainer": {"image": "r/vllm-runtime:1.6.9"}}}
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": {"decode": change}}}, "default")
    for _ in steps(cluster, 60):
        pass
    for pod in cluster.list_kind(kinds.POD, "default"):
        if pod["metadata"]["name"] not in known:
            cluster.break_pods(pod["metadata"]["name"], PodFault.IMAGE_PULL)
    cluster.release("g-decode-*")
    assert cluster.run_until(lambda: contract.ANNOTATION_WENT_BACK in annotations_of(graph()), 3_600)
    assert cluster.run_until(lambda: is_ready(graph()), 600)
    found = graph()["spec"]["services"]["decode"]["extraPodSpec"]["mainContainer"]["image"]
    assert found == "r/vllm-runtime:1.6.1"
    assert graph()["spec"]["services"]["decode"]["replicas"] == 2
