"""The cases about Grove on the simulated operator."""

from collections.abc import Callable
from fnmatch import fnmatchcase

import pytest

from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.client import LoggedWrite
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.store import ApiError
from hooks.wire.metacontroller.effects import ScalePodClique
from tests.contract.backend import ApiRefused
from tests.contract.cases_grove import CASES, Case
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
