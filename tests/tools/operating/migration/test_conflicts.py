"""`migrate --apply` beside programs that change the same objects: it tries again while what it decided on holds."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, gvk_of, name_of
from hooks.server.clients.api_server import Refused
from hooks.tools.operating.migration.conflicts import ATTEMPTS, retry_conflicts
from hooks.tools.operating.migration.definitions import plan_definitions
from hooks.tools.operating.migration.execution import carry_out
from hooks.tools.operating.migration.steps import Plan
from tests.tools.operating.migration.left_behind import NAMESPACE, stand_in
from tests.tools.operating.migration.moved import Moved, moved
from tests.tools.operating.migration.played_cluster import PlayedCluster, play
from tests.tools.operating.migration.test_run import GRAPH, check_taken_over
from tests.tools.operating.migration.test_storage import CRDS, GRAPHS, StoringCluster, cluster, definition

Interfere = Callable[[Moved, Manifest, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyCluster(PlayedCluster):
    """Before each write, `interfere` gets the object and how many writes of it there were, with this one."""

    moved: Moved
    interfere: Interfere
    met: Counter[str] = field(default_factory=Counter)

    def _write(self, method: str, found: Manifest, body: Mapping[str, Any], subresource: str) -> Manifest:
        title = f"{found['kind']} {name_of(found)}"
        self.met[title] += 1
        self.interfere(self.moved, found, self.met[title])
        live = self.simulated.get(gvk_of(found), name_of(found), found["metadata"].get("namespace", ""))
        return PlayedCluster._write(self, method, live or found, body, subresource)


def busy(world: Moved, interfere: Interfere) -> BusyCluster:
    played = play(world.simulated)
    same = {one.name: getattr(played, one.name) for one in fields(played)}
    return BusyCluster(**same, moved=world, interfere=interfere)


def patch(world: Moved, found: Manifest, change: Mapping[str, Any]) -> None:
    world.simulated.patch(gvk_of(found), name_of(found), change, found["metadata"].get("namespace", ""))


def annotate(world: Moved, found: Manifest, number: int) -> None:
    patch(world, found, {"metadata": {"annotations": {"example.com/changed": str(number)}}})


def three_times(world: Moved, found: Manifest, number: int) -> None:
    if number <= 3:
        annotate(world, found, number)


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
def test_objects_that_others_change_are_tried_again(late: bool) -> None:
    world = moved([stand_in()])
    pods = world.pods()
    if late:
        world.start()
    played = busy(world, three_times)
    assert world.apply_by(played)
    assert min(played.met.values()) > 3
    if not late:
        world.start()
    world.simulated.run_for(60)
    assert world.pods() == pods
    deployment = world.simulated.get(kinds.DEPLOYMENT, "llm-frontend", NAMESPACE)
    assert deployment is not None
    assert deployment["metadata"]["annotations"]["example.com/changed"] == "3"
    check_taken_over(world)


def test_object_that_others_change_without_end_is_told_and_a_later_run_does_the_rest() -> None:
    world = moved([stand_in()])
    pods = world.pods()
    played = busy(world, lambda world, found, number: annotate(world, found, number) if is_deployment(found) else None)
    assert not world.apply_by(played)
    assert played.met["Deployment llm-frontend"] == ATTEMPTS
    told = {step.title: why for step, why in world.told}
    assert told["Deployment default/llm-frontend"].startswith(
        f"other programs changed it before each of {ATTEMPTS} attempts; `kubectl get --show-managed-fields -o yaml` "
        "names them, so stop them or wait until they rest, and run the same command again ("
    )
    why = "as Deployment default/llm-frontend of its graph could not be changed"
    assert told[f"DynamoComponentDeployment {NAMESPACE}/llm-frontend"] == why
    assert contract.GO_FINALIZER in world.graph(GRAPH)["metadata"]["finalizers"]
    assert world.apply()
    world.start()
    assert world.pods() == pods
    check_taken_over(world)


def is_deployment(found: Manifest) -> bool:
    return gvk_of(found) == kinds.DEPLOYMENT


def change_pods(world: Moved, found: Manifest, number: int) -> None:
    if number == 1:
        annotate(world, found, number)
    if is_deployment(found) and number == 1:
        change = {"spec": {"template": {"metadata": {"annotations": {"example.com/changed": "1"}}}}}
        patch(world, found, change)


def test_workload_whose_pods_others_change_is_left_for_another_plan() -> None:
    world = moved([stand_in()])
    assert not world.apply_by(busy(world, change_pods))
    told = {step.title: why for step, why in world.told}
    assert told["Deployment default/llm-frontend"] == "what its pods are made from was changed since the plan was made"
    component = world.simulated.get(contract.COMPONENT, "llm-frontend", NAMESPACE)
    assert component is not None
    assert "controller-uid" not in component["metadata"]["labels"]
    world.simulated.run_for(60)
    assert world.apply()
    pods = world.pods()
    world.start()
    assert world.pods() == pods
    check_taken_over(world)


def scale(world: Moved, found: Manifest, number: int) -> None:
    if is_deployment(found) and number == 1:
        patch(world, found, {"spec": {"replicas": 2}})


def test_workload_that_is_scaled_meanwhile_is_taken_over() -> None:
    world = moved([stand_in()])
    pods = world.pods()
    assert world.apply_by(busy(world, scale))
    world.start()
    assert pods.items() <= world.pods().items()


def test_refusal_that_is_no_conflict_is_not_tried_again() -> None:
    asked = []

    def write() -> None:
        asked.append(1)
        raise Refused("forbidden", 403)

    with pytest.raises(Refused, match="forbidden"):
        retry_conflicts(write, lambda _seconds: None)
    assert len(asked) == 1


def test_pauses_grow_up_to_a_few_seconds() -> None:
    pauses: list[float] = []

    def write() -> None:
        raise Refused("conflict", 409)

    with pytest.raises(Refused) as refused:
        retry_conflicts(write, pauses.append)
    assert refused.value.status == 409
    assert len(pauses) == ATTEMPTS - 1
    assert pauses == sorted(pauses)
    assert max(pauses) <= 4


def stored_as_beta() -> Manifest:
    return definition(contract.GRAPH.kind, "v1alpha1", "v1beta1")


@pytest.mark.parametrize("conflicts", [0, 3])
def test_definition_is_changed_while_its_kind_has_no_object(conflicts: int) -> None:
    found = stored_as_beta()
    played = cluster(found, graphs=0, refused={f"{CRDS}{GRAPHS}": [409] * conflicts})
    told = carry_out_definitions(played, found)
    assert list(told.values()) == [""]
    assert played.definitions[GRAPHS]["status"]["storedVersions"] == ["v1alpha1"]


def test_definition_whose_kind_got_an_object_stays_as_it_is() -> None:
    found = stored_as_beta()
    played = cluster(found, graphs=1)
    told = carry_out_definitions(played, found)
    assert list(told.values()) == ["an object of its kind was created since the plan was made"]
    assert played.writes == []


def carry_out_definitions(played: StoringCluster, found: Manifest) -> dict[str, str]:
    told: dict[str, str] = {}
    plan = Plan(steps=tuple(plan_definitions([found], {})))
    carry_out(plan, played, lambda step, why: told.update({step.title: why}), lambda _seconds: None)
    return told
