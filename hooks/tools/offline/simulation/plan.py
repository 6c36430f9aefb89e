"""What a simulation is to do, and the cluster that it does it in."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, gvk_of, labels_of
from hooks.language.crds import build_crds
from hooks.tools.offline.manifests.document import Document
from hooks.tools.offline.pod_starts import find_override, find_trouble
from hooks.tools.offline.pod_troubles import Trouble
from hooks.tools.offline.simulation.applied_documents import admit_custom
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import Hook
from hooks.tools.offline.simulator.workloads.kubelet import PodJudges
from hooks.tools.offline.simulator.workloads.pods import PodFault, pod_address
from hooks.tools.offline.simulator.workloads.profiler import Profiler
from hooks.wire.metacontroller import install_files


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationPlan:
    """The options of a simulation; times are seconds of the cluster, `speed` of them pass in a real second.

    `given` are globs of `Kind/name`: claims, Secrets and ConfigMaps that count as there although no document has them.
    `profiler_output` is the output of every profiler; if it is empty, the simulated profiler generates a graph.
    """

    documents: tuple[Document, ...]
    installed: frozenset[str]
    timeout: float
    speed: float
    blocked: tuple[str, ...]
    broken: Mapping[str, PodFault]
    given: tuple[str, ...] = ()
    profiler_output: str = ""

    @property
    def has_models(self) -> bool:
        """Whether there is a DynamoModel, which needs engines."""
        return any(gvk_of(document.object) == contract.MODEL for document in self.documents if document.is_ours)

    @property
    def needs_prober(self) -> bool:
        """Whether there is a graph or a model, whose frontends or engines a prober asks."""
        asked = {contract.GRAPH, contract.MODEL, contract.GRAPH_REQUEST}
        return any(gvk_of(document.object) in asked for document in self.documents if document.is_ours)


def build_cluster(plan: SimulationPlan, hook: Hook, hooks_url: str, block: int = 0) -> SimulatedCluster:
    """Build the cluster with the Dynamo CRDs and controllers, the wanted optional kinds, and the rules for its pods.

    The addresses of pods begin with those of the block.
    """
    namespaces = {document.object["metadata"].get("namespace") or "default" for document in plan.documents}
    setup = Setup(
        hook=hook,
        controllers=install_files.controllers(hooks_url, plan.installed),
        crds=build_crds(),
        optional=plan.installed,
        admit=admit_custom,
        namespaces=sorted({"default", *namespaces, *_target_namespaces(plan.documents)}),
        profiler=Profiler(output=plan.profiler_output),
        judges=PodJudges(
            troubled=_find_trouble,
            block=block,
            given=lambda found, _: any(fnmatchcase(f"{found.kind.kind}/{found.name}", glob) for glob in plan.given),
        ),
    )
    cluster = SimulatedCluster(setup, Clock(datetime.now(UTC)))
    for glob in plan.blocked:
        cluster.block(glob)
    for glob, fault in plan.broken.items():
        cluster.break_pods(glob, fault)
    return cluster


def _find_trouble(pod: Manifest, owners: list[Manifest]) -> Trouble | None:
    override = find_override(owners, labels_of(pod).get(contract.LABEL_COMPONENT, ""))
    return find_trouble(pod["spec"], override, pod_address(pod))


def _target_namespaces(documents: Iterable[Document]) -> Iterator[str]:
    """Namespaces that requests want their graphs in."""
    for document in documents:
        if document.is_ours and gvk_of(document.object) == contract.GRAPH_REQUEST:
            overrides = document.object.get("spec", {}).get("deploymentOverrides") or {}
            yield overrides.get("namespace") or "default"
