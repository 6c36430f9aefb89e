"""What applying manifests to a cluster will do: the objects that are live are one side of a diff."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import name_of
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.diff.comparing import ApiServerWord, compare_with_cluster
from hooks.tools.offline.diff.fitting import Machines
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.manifests.built.building import DEFAULT_BUILDING, Building
from hooks.tools.offline.manifests.inputs import Selection
from hooks.tools.offline.manifests.together import load_together
from hooks.tools.operating.after_apply import read_live_state
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.dry_run import DryRun, find_admission, find_impossible
from hooks.tools.operating.live_reader import LiveReader
from hooks.tools.operating.live_world import read_world
from hooks.tools.operating.machines import read_machines

_PODS = "pods, so diff --wait cannot say which were replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveQuestion:
    """What is asked: the manifests, the namespace of those that name none, and whether the API server tries them.

    `admission` says whether admission is registered; None to ask the cluster. `keeps_state`: what runs is noted too.
    `building` says how directories of Kustomize and Helm are read.
    """

    path: str
    namespace: str
    is_tried: bool = False
    admission: bool | None = None
    keeps_state: bool = False
    building: Building = DEFAULT_BUILDING


def compare_live(cluster: Cluster, question: LiveQuestion, settings: Settings) -> Difference:
    """The difference between the manifests of a file or directory and what is live in their namespaces.

    Raises:
        ManifestFaults: the problems of the manifests.
        Refused: the API server does not answer, or refuses.
    """
    facts = Facts(now=datetime.now(UTC), settings=settings)
    loaded = load_together([question.path], question.namespace, Selection(building=question.building))
    ours = [one for one in loaded.documents if one.is_ours]
    brought = frozenset(name_of(one.object) for one in loaded.documents if one.kind == kinds.NAMESPACE)
    places = {str(one.object["metadata"].get("namespace") or question.namespace) for one in ours}
    world = read_world(cluster, sorted(places), facts)
    reader = LiveReader(cluster=cluster)
    admission = find_admission(reader) if question.admission is None else question.admission
    live = {key: one.manifest for key, one in world.objects.items()}
    said = ApiServerWord(
        admission=admission,
        refused=find_impossible(reader, ours, brought),
        tried=DryRun(cluster, live, brought) if question.is_tried else None,
    )
    found = compare_with_cluster(world, loaded, facts, said)
    reasons = reader.warnings if found.stored else ()
    if not question.keeps_state:
        return replace(found, notes=(*found.notes, *reasons))
    pods = LiveReader(cluster=cluster)
    state = pods.attempt(_PODS, lambda: read_live_state(cluster, found, live), None)
    return replace(found, live=state, notes=(*found.notes, *reasons, *pods.warnings))


def read_machines_of(cluster: Cluster, found: Difference) -> Machines:
    """The nodes of the cluster and its pods, as far as the user may read them.

    Raises:
        Refused: the API server does not answer, or does not show the nodes.
    """
    return read_machines(cluster, sorted({one.set.workload.namespace for one in found.pods}))
