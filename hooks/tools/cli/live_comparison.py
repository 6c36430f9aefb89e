"""What `dynamo-hooks diff` says of a cluster, or of the nodes of one: the difference, and whether it fits."""

from dataclasses import replace

from hooks.ground.settings import Settings
from hooks.server.clients.api_server import Refused
from hooks.tools.cli.cluster_options import connect
from hooks.tools.cli.refusals import describe_refusal
from hooks.tools.cli.sides import ComparedSides, compare_sides, fail
from hooks.tools.offline.diff.fitting import judge_fit
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.operating.comparison import LiveQuestion, compare_live, read_machines_of
from hooks.tools.operating.machines import InvalidNodes, read_machines_file


def compare_on_nodes(sides: ComparedSides, settings: Settings) -> Difference:
    """The difference, with an estimate of the fit if it is asked for; ends the process if something cannot be read.

    Raises:
        ManifestFaults: the problems of the manifests.
    """
    answer = sides.answer
    try:
        machines = read_machines_file(answer.nodes) if answer.nodes else None
        if not sides.old.is_live:
            found = compare_sides(sides, settings)
        else:
            with connect(sides.connection) as cluster:
                question = LiveQuestion(
                    path=sides.files[0],
                    namespace=sides.reading.namespace or cluster.namespace,
                    is_tried=sides.old.is_tried,
                    admission=sides.old.admission,
                    keeps_state=answer.output == "json",
                    building=sides.reading.building,
                )
                found = compare_live(cluster, question, settings)
                machines = read_machines_of(cluster, found) if answer.fits and machines is None else machines
    except Refused as refused:
        fail([describe_refusal(refused)])
    except InvalidNodes as error:
        fail([str(error)])
    return found if machines is None else replace(found, fit=judge_fit(found.pods, machines, found.courses))
