"""A simulated cluster in which the Go operator's objects run, without any controller of ours yet."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, gvk_of, name_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.operating.migration.execution import carry_out
from hooks.tools.operating.migration.planner import plan_migration
from hooks.tools.operating.migration.reading import read_found
from hooks.tools.operating.migration.steps import Plan, Step
from hooks.wire.metacontroller import install_files
from tests.tools.offline.simulator.hooked import URL, build_cluster
from tests.tools.operating.migration.left_behind import NAMESPACE, Entry, components_of, graph_of
from tests.tools.operating.migration.played_cluster import Killed, PlayedCluster, play

INSTALLED = ("lws", "volcano")
FACTS = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), settings=parse_settings({}, {}))


@dataclass
class Moved:
    """The cluster; `told` are the steps that were done or not, as the executor says."""

    simulated: SimulatedCluster
    controllers: list[Manifest]
    told: list[tuple[Step, str]] = field(default_factory=list)

    def plan(self) -> Plan:
        return plan_migration(read_found(play(self.simulated), "", FACTS), FACTS)

    def apply(self, *, killed_at: int = 0) -> bool:
        """Run the command once; whether it ended by itself, with all done."""
        try:
            return self.apply_by(play(self.simulated, killed_at=killed_at))
        except Killed:
            return False

    def apply_by(self, cluster: PlayedCluster) -> bool:
        """Run the command once through this connection; whether all was done."""
        plan = plan_migration(read_found(cluster, "", FACTS), FACTS)
        return carry_out(plan, cluster, lambda step, failure: self.told.append((step, failure)), self.simulated.run_for)

    def start(self) -> None:
        """Start our controllers, and wait until nothing is left to do."""
        for controller in self.controllers:
            self.simulated.start_controller(controller)
        self.simulated.run_for(60)

    def pods(self) -> dict[str, str]:
        """The uids of all pods by their names."""
        return {name_of(pod): pod["metadata"]["uid"] for pod in self.simulated.list_kind(kinds.POD)}

    def templates(self) -> dict[str, Any]:
        """The pod template of every workload, by kind and name."""
        return {
            f"{one['kind']} {name_of(one)}": template_of(one) for one in self.simulated.everything() if template_of(one)
        }

    def names(self) -> list[str]:
        """Everything in the namespace, as `<kind> <name>`."""
        found = (one for one in self.simulated.everything() if one["metadata"].get("namespace") == NAMESPACE)
        return sorted(f"{one['kind']} {name_of(one)}" for one in found)

    def graph(self, name: str) -> Manifest:
        found = self.simulated.get(contract.GRAPH, name, NAMESPACE)
        assert found is not None
        return found


def template_of(manifest: Manifest) -> Any:
    if gvk_of(manifest) not in {kinds.DEPLOYMENT, kinds.LEADER_WORKER_SET, contract.COMPONENT}:
        return None
    spec = manifest["spec"]
    if gvk_of(manifest) == contract.COMPONENT:
        return {key: value for key, value in spec.items() if key != "replicas"}
    return spec.get("template") or spec.get("leaderWorkerTemplate")


def moved(entries: Iterable[Entry], *, installed: Iterable[str] = INSTALLED) -> Moved:
    """A cluster in which the pods of these graphs run."""
    simulated = build_cluster(tuple(installed))
    controllers = [one for one in install_files.controllers(URL, installed) if one["kind"] == "CompositeController"]
    for controller in controllers:
        simulated.stop_controller(name_of(controller))
    for number, entry in enumerate(entries):
        graph = graph_of(entry, number)
        for manifest in (graph, *components_of(entry, graph)):
            put(simulated, {key: value for key, value in manifest.items() if key != "status"})
    simulated.run_for(60)
    for component in simulated.list_kind(contract.COMPONENT):
        report(simulated, component)
    return Moved(simulated=simulated, controllers=controllers)


def put(simulated: SimulatedCluster, manifest: Manifest) -> None:
    """Store an object. Ours keep their uids, to which the others refer; the others get the API server's defaults."""
    if gvk_of(manifest).group == contract.GROUP:
        simulated.restore(manifest)
        return
    system = {"uid", "resourceVersion", "generation"}
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in system}
    simulated.create({**manifest, "metadata": metadata})


def report(simulated: SimulatedCluster, component: Manifest) -> None:
    """Write a component's status, as the Go operator does when its pods are ready."""
    name = name_of(component)
    status = {
        "conditions": [{"type": "Available", "status": "True", "reason": "DeploymentReady", "message": "x"}],
        "service": {"componentKind": "Deployment", "componentName": name, "replicas": 1, "readyReplicas": 1},
    }
    simulated.patch_status(contract.COMPONENT, name, {"status": status}, NAMESPACE)
