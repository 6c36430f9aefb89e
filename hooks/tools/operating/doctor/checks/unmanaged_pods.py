"""Pods that have the label of a graph, and that no workload of a graph manages."""

from hooks.ground.k8s.types import controller_of
from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, describe, ok, warning
from hooks.tools.operating.doctor.remedies import MIGRATE

_MOST = 5
_REMEDY = f"{MIGRATE}  # takes over what a Go operator made; delete the workloads of the others"


def check_unmanaged_pods(facts: InstallationFacts) -> list[Finding]:
    """A warning for each owner of such pods, the first few of them; there is none before the hooks are installed."""
    if not facts.unmanaged_pods:
        named = "every pod with the label of a graph belongs to a workload of a graph"
        return [ok("pods", named)] if facts.own_controllers and "pods" not in facts.unread else []
    by_owner: dict[str, list[str]] = {}
    for pod in facts.unmanaged_pods:
        owner, namespace = controller_of(pod), pod["metadata"].get("namespace", "")
        of = f"{owner.get('kind')} {namespace}/{owner.get('name')}" if owner else describe(pod)
        by_owner.setdefault(of, []).append(describe(pod))
    owners = sorted(by_owner)
    found = [warning(of, _say(by_owner[of]), _REMEDY) for of in owners[:_MOST]]
    if len(owners) > _MOST:
        found.append(warning("pods", f"the same holds for pods of {len(owners) - _MOST} more owners", _REMEDY))
    return found


def _say(pods: list[str]) -> str:
    which, them, they = f"{len(pods)} pods, for example {pods[0]}, have", "them", "they go"
    if len(pods) == 1:
        which, them, they = f"{pods[0]} has", "it", "it goes"
    return (
        f"{which} the label of a graph, and no workload of a graph manages {them}: changes of the graph do not reach "
        f"{them}, and {they} on running when it is deleted"
    )
