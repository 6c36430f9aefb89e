"""What holds back the pods of a service under Grove: the part of their gang that lacks pods."""

from collections.abc import Iterable
from dataclasses import replace

from hooks.graph.grove.service import GroveService
from hooks.graph.seen.grove import ObservedGrove
from hooks.ground.k8s.grove_parts import GATE
from hooks.ground.k8s.not_ready import Explanation
from hooks.ground.k8s.types import ReadManifest, name_of


def explain_gate(
    found: Explanation,
    pods: Iterable[ReadManifest],
    service: GroveService,
    *,
    seen: ObservedGrove,
    services: Iterable[GroveService],
) -> Explanation:
    """The explanation of a service; where its pod has Grove's gate, with the service for which its gang waits.

    A gang begins when all its pods exist. The pods of further replicas of a group begin when each part of the graph
    has its least number of pods on nodes.

    Source: Grove, operator/internal/controller/podclique/components/pod/syncflow.go.
    """
    pod = next((one for one in pods if name_of(one) == found.pod), None)
    gates = (pod.get("spec") or {}).get("schedulingGates") or () if pod is not None else ()
    own = seen.scalables.get((service.kind, service.target))
    if own is None or not any(gate.get("name") == GATE for gate in gates):
        return found
    parts = [(one, seen.scalables.get((one.kind, one.target))) for one in services if one is not service]
    counts = [(one, part.desired, part.replicas, part.scheduled) for one, part in parts if part is not None]
    lacking = [(one, wanted, made) for one, wanted, made, _ in counts if min(wanted, made) < one.least]
    if not lacking and own.scheduled >= service.least:
        lacking = [(one, wanted, bound) for one, wanted, _, bound in counts if bound < one.least]
    if not lacking:
        return found
    culprit, wanted, there = min(lacking, key=lambda one: one[1] >= one[0].least)
    why = f"{found.finding}, and {culprit.service} has {there} of the {culprit.least} that the gang needs"
    cure = f"set the replicas of {culprit.service} to {culprit.least} or more"
    return replace(found, finding=why, remedy=cure if wanted < culprit.least else f"see what {culprit.service} lacks")
