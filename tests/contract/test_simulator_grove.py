"""The cases about Grove on the simulated operator."""

from collections.abc import Callable
from fnmatch import fnmatchcase

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.client import LoggedWrite
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.store import ApiError
from hooks.wire.metacontroller.effects import ScalePodClique
from tests.contract.backend import ApiRefused
from tests.contract.cases_grove import CASES, CHANGED, REFUSED, Case, clique, group, images, is_updating, pcs
from tests.tools.offline.simulator.worlds import no_hook

MOST_SECONDS = 300.0


class SimulatedGrove:
    """The GroveBackend of `tests.contract.backend_grove` on a SimulatedCluster."""

    namespace = "case"

    def __init__(self) -> None:
        self.refused: set[str] = set()
        setup = Setup(hook=no_hook, optional=frozenset({"grove"}), namespaces=(self.namespace,), policy=self._policy)
        self.cluster = SimulatedCluster(setup)

    def apply(self, pod_clique_set: Manifest) -> None:
        metadata = {**pod_clique_set["metadata"], "namespace": self.namespace}
        try:
            self.cluster.apply({**pod_clique_set, "metadata": metadata})
        except ApiError as refused:
            raise ApiRefused(refused.code, str(refused)) from None

    def get(self, kind: GroupVersionKind, name: str) -> Manifest | None:
        return self.cluster.get(kind, name, self.namespace)

    def list_kind(self, kind: GroupVersionKind) -> list[Manifest]:
        return self.cluster.list_kind(kind, self.namespace)

    def scale(self, kind: GroupVersionKind, name: str, replicas: int) -> None:
        effect = ScalePodClique(kind=kind.kind, namespace=self.namespace, name=name, replicas=replicas)
        self.cluster.carry_out((effect,))

    def delete(self, kind: GroupVersionKind, name: str) -> None:
        self.cluster.delete(kind, name, self.namespace)

    def hold(self, clique: str) -> None:
        self.cluster.kubelet.block(f"*-{clique}-*")

    def release(self, clique: str) -> None:
        self.cluster.kubelet.release(f"*-{clique}-*")

    def refuse_pods(self, clique: str) -> None:
        self.refused.add(f"*-{clique}-*")

    def accept_pods(self, clique: str) -> None:
        self.refused.discard(f"*-{clique}-*")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        assert self.cluster.run_until(condition, MOST_SECONDS), f"never happened: {what}"

    def stays(self, condition: Callable[[], bool], what: str) -> None:
        assert not self.cluster.run_until(lambda: not condition(), MOST_SECONDS), f"did not stay: {what}"

    def _policy(self, write: LoggedWrite) -> str:
        is_refused = write.resource == "pods" and write.verb == "create"
        if is_refused and any(fnmatchcase(write.name, glob) for glob in self.refused):
            return f'pods "{write.name}" is forbidden: exceeded quota: few'
        return ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_simulated_grove_keeps_the_contract(case: Case) -> None:
    case(SimulatedGrove())


def test_update_of_a_clique_that_is_scaled_in_never_ends() -> None:
    """The real operator shows it only if it is asked between two of its passes."""
    grove = SimulatedGrove()
    grove.apply(pcs(clique("a", replicas=4)))
    grove.until(lambda: len(images(grove, "p-0-a")) == 4, "all pods")
    grove.cluster.run_for(60)
    grove.apply(pcs(clique("a", replicas=4, image="i:2")))
    grove.until(lambda: images(grove, "p-0-a").count("i:2") == 2, "half of the new pods")
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 1)
    grove.stays(lambda: is_updating(grove, kinds.POD_CLIQUE, "p-0-a"), "an update that waits for more new pods")
    assert images(grove, "p-0-a") == ["i:2"]
    grove.scale(kinds.POD_CLIQUE, "p-0-a", 4)
    grove.until(lambda: not is_updating(grove, kinds.POD_CLIQUE, "p-0-a"), "the update has ended")


SAYS_OF_NEW = {
    "a long name": "combined resource name length exceeds 45",
    "no clique": "at least one is required",
    "one name twice": "names must be unique",
    "a least above the replicas": "minAvailable must be from 1 to replicas",
    "a variable twice": "env names must be unique",
    "two schedulers": "schedulerName must be the",
    "an unknown member": "unknown clique x",
    "an unknown predecessor": "unknown startsAfter x",
    "a circle": "startsAfter is circular",
    "a node": "nodeName is forbidden",
}
SAYS_OF_CHANGES = {
    "another clique": "cliques cannot be added",
    "no clique": "cliques cannot be added or removed",
    "another least": "minAvailable is",
    "another start": "cliqueStartupType is",
    "no group": "podCliqueScalingGroups",
    "another scheduler": "schedulerName is",
}


def test_every_refusal_has_its_words() -> None:
    assert (SAYS_OF_NEW.keys(), SAYS_OF_CHANGES.keys()) == (REFUSED.keys(), CHANGED.keys())


@pytest.mark.parametrize("what", SAYS_OF_NEW)
def test_simulated_grove_says_why_it_refuses_a_set(what: str) -> None:
    with pytest.raises(ApiRefused, match=SAYS_OF_NEW[what]):
        SimulatedGrove().apply(REFUSED[what])


@pytest.mark.parametrize("what", SAYS_OF_CHANGES)
def test_simulated_grove_says_why_it_refuses_a_change(what: str) -> None:
    grove = SimulatedGrove()
    grove.apply(pcs(clique("a"), clique("b"), groups=[group("s", "b")]))
    with pytest.raises(ApiRefused, match=SAYS_OF_CHANGES[what]):
        grove.apply(CHANGED[what])
