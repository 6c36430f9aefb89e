"""What `dynamo-hooks diff` does with a cluster, or with the nodes of one: reads them, compares, estimates the fit."""

from dataclasses import replace
from datetime import UTC, datetime

from hooks.cli.cluster_options import connect
from hooks.cli.file_comparison import Sides, compare_files, fail
from hooks.cli.refusals import describe_refusal
from hooks.cli.render import load_together
from hooks.clients.api_server import Refused
from hooks.offline.diff.comparing import compare_with_cluster
from hooks.offline.diff.fitting import Machines, judge_fit
from hooks.offline.diff.plan import Difference
from hooks.operating.cluster import Cluster
from hooks.operating.live_world import read_world
from hooks.operating.machines import InvalidNodes, read_machines, read_machines_file
from hooks.settings import Settings
from hooks.settings.facts import Facts


def compare_on_nodes(sides: Sides, settings: Settings) -> Difference:
    """The difference, with an estimate of the fit if it is asked for; ends the process if something cannot be read.

    Raises:
        ManifestFaults: the problems of the manifests.
    """
    try:
        machines = read_machines_file(sides.nodes) if sides.nodes else None
        if sides.cluster is None:
            found = compare_files(sides, settings)
        else:
            with connect(sides.cluster) as cluster:
                found = _compare_live(cluster, sides, settings)
                machines = _read_live_machines(cluster, found) if sides.fits and machines is None else machines
    except Refused as refused:
        fail([describe_refusal(refused)])
    except InvalidNodes as error:
        fail([str(error)])
    return found if machines is None else replace(found, fit=judge_fit(found.pods, machines))


def _compare_live(cluster: Cluster, sides: Sides, settings: Settings) -> Difference:
    facts = Facts(now=datetime.now(UTC), settings=settings)
    namespace = sides.namespace or cluster.namespace
    loaded = load_together([sides.files[0]], namespace)
    places = {str(one.object["metadata"].get("namespace") or namespace) for one in loaded.documents if one.is_ours}
    found = read_world(cluster, sorted(places), facts)
    return compare_with_cluster(found, loaded, facts)


def _read_live_machines(cluster: Cluster, found: Difference) -> Machines:
    return read_machines(cluster, sorted({one.set.workload.namespace for one in found.pods}))
