"""What applying manifests to a cluster will do: the objects that are live are one side of a diff."""

from datetime import UTC, datetime

from hooks.offline.diff.comparing import compare_with_cluster
from hooks.offline.diff.fitting import Machines
from hooks.offline.diff.plan import Difference
from hooks.offline.manifests.together import load_together
from hooks.operating.cluster import Cluster
from hooks.operating.live_world import read_world
from hooks.operating.machines import read_machines
from hooks.settings import Settings
from hooks.settings.facts import Facts


def compare_live(cluster: Cluster, path: str, namespace: str, settings: Settings) -> Difference:
    """The difference between the manifests of a file or directory and what is live in their namespaces.

    Raises:
        ManifestFaults: the problems of the manifests.
        Refused: the API server does not answer, or refuses.
    """
    facts = Facts(now=datetime.now(UTC), settings=settings)
    loaded = load_together([path], namespace)
    places = {str(one.object["metadata"].get("namespace") or namespace) for one in loaded.documents if one.is_ours}
    return compare_with_cluster(read_world(cluster, sorted(places), facts), loaded, facts)


def read_machines_of(cluster: Cluster, found: Difference) -> Machines:
    """The nodes of the cluster and its pods, as far as the user may read them.

    Raises:
        Refused: the API server does not answer, or does not show the nodes.
    """
    return read_machines(cluster, sorted({one.set.workload.namespace for one in found.pods}))
