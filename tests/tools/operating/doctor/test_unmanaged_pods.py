"""Pods that have the label of a graph, and that no workload of a graph manages."""

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of
from hooks.tools.operating.doctor.checks.unmanaged_pods import check_unmanaged_pods
from hooks.tools.operating.doctor.finding import Level
from hooks.tools.operating.live_reader import LiveReader
from hooks.tools.operating.unmanaged_pods import read_unmanaged
from tests.tools.operating.doctor.parts import good, only, problems
from tests.tools.operating.migration.left_behind import stand_in
from tests.tools.operating.migration.moved import Moved, moved
from tests.tools.operating.migration.played_cluster import play


def pod(name: str, owner: str = "") -> Manifest:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
    metadata = {"name": name, "namespace": "team", "uid": name, **({"ownerReferences": [reference]} if owner else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def test_owners_of_such_pods_are_named_each_once() -> None:
    pods = (pod("a-1", "a"), pod("a-2", "a"), pod("alone"))
    found = problems(check_unmanaged_pods(good(unmanaged_pods=pods)))
    assert [(one.level, one.object) for one in found] == [
        (Level.WARNING, "Pod team/alone"),
        (Level.WARNING, "ReplicaSet team/a"),
    ]
    assert found[1].finding.startswith("2 pods, for example Pod team/a-1, have the label of a graph")
    assert "dynamo-hooks migrate --all-namespaces --apply" in found[1].remedy


def test_many_owners_are_counted() -> None:
    found = problems(check_unmanaged_pods(good(unmanaged_pods=tuple(pod(f"p{n}", f"s{n}") for n in range(9)))))
    assert len(found) == 6
    assert found[-1].finding == "the same holds for pods of 4 more owners"


def test_pods_of_workloads_are_right_if_they_could_be_read() -> None:
    (found,) = check_unmanaged_pods(good())
    assert found.level is Level.OK
    assert check_unmanaged_pods(good(unread={"pods": "403"})) == []
    assert check_unmanaged_pods(good(controllers=())) == []


def unmanaged(world: Moved, *forbidden: str) -> list[str]:
    cluster = play(world.simulated, forbidden=frozenset(forbidden))
    ours = [one for kind in (contract.GRAPH, contract.COMPONENT) for one in cluster.read_all(kind)]
    return sorted(name_of(one) for one in read_unmanaged(LiveReader(cluster=cluster), ours))


def test_pods_are_found_by_their_owners_in_the_cluster() -> None:
    world = moved([stand_in()])
    (serving,) = world.simulated.list_kind(kinds.POD)
    assert unmanaged(world) == []
    world.simulated.create(
        {**pod("stray"), "metadata": {**serving["metadata"], "name": "stray", "ownerReferences": []}}
    )
    assert unmanaged(world) == ["stray"]
    deployment = world.simulated.get(kinds.DEPLOYMENT, "llm-frontend", "default")
    assert deployment is not None
    world.simulated.replace({**deployment, "metadata": {**deployment["metadata"], "ownerReferences": []}})
    assert unmanaged(world) == sorted([name_of(serving), "stray"])
    assert unmanaged(world, "replicasets") == ["stray"]


def test_one_pod_without_owner_is_named_as_it_is() -> None:
    assert only(check_unmanaged_pods(good(unmanaged_pods=(pod("alone"),)))).finding.startswith("Pod team/alone has the")
