"""Whether the Services of a component select its pods, by the labels of the live workloads' templates.

Nothing of an EndpointSlice is read: a Service that selects nothing has an empty list of endpoints, and so has one whose
pods are not ready yet.
"""

from collections.abc import Iterable, Iterator, Mapping

from hooks.component.plan.component import ComponentPlan
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.not_ready import Explanation, NotReadyReason
from hooks.ground.k8s.pod_sets import pods_by_role
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, gvk_of, name_of
from hooks.wire.policy.new_defaults import NOW


def find_unselected(children: Iterable[Manifest], workloads: Iterable[ReadManifest]) -> str:
    """Half a sentence about the first Service that selects no pod of the live workloads; empty if each selects some."""
    labels = [pods.labels for workload in workloads for pods in pods_by_role(workload)]
    for child in children if labels else ():
        selector = (child.get("spec") or {}).get("selector") if gvk_of(child) == kinds.SERVICE else None
        if selector and not any(selector.items() <= found.items() for found in labels):
            differing = min((tuple(_differing(selector, found)) for found in labels), key=len)
            return f"Service {name_of(child)} selects none of its pods: {', '.join(differing)}"
    return ""


def explain_unselected(plan: ComponentPlan, unselected: str) -> Explanation:
    """The explanation, with the command that gives the pods the labels of today."""
    name, namespace = plan.subject.name, plan.subject.namespace
    command = f"kubectl annotate dcd {name} -n {namespace} {contract.ANNOTATION_ROLLOUT}={NOW} --overwrite"
    remedy = f"{command} replaces the pods by ones with these labels"
    return Explanation(reason=NotReadyReason.DIFFERS, finding=unselected, remedy=remedy)


def _differing(selector: Mapping[str, Json], labels: Mapping[str, Json]) -> Iterator[str]:
    for key, value in sorted(selector.items()):
        if labels.get(key) != value:
            yield f"it asks for {key}={value}, and they have {labels.get(key) or 'no such label'}"
