"""A component's children, as its plan says; no decision is made here."""

from hooks import contract
from hooks.component.exposure import build_exposure
from hooks.component.plan import ComponentPlan
from hooks.component.pod_template import build_pod_spec
from hooks.k8s import kinds
from hooks.k8s.types import Manifest, build_metadata, sort_manifests
from hooks.k8s.workloads import PodTemplate, build_deployment


def build_children(plan: ComponentPlan) -> list[Manifest]:
    """Build the Deployment and what exposes it, in a fixed order.

    Raises:
        InvalidSpec: the pod cannot be built from what the user wrote.
    """
    exposed = build_exposure(plan.subject, plan.exposure, labels=plan.labels, annotations=plan.annotations)
    return sort_manifests([_build_workload(plan), *exposed])


def workload_of(children: list[Manifest]) -> Manifest:
    """The Deployment among a component's children."""
    return next(child for child in children if child["kind"] == kinds.DEPLOYMENT.kind)


def _build_workload(plan: ComponentPlan) -> Manifest:
    """Build the Deployment; its selector is the component's own label alone, as it can never change."""
    name, namespace = plan.subject.name, plan.subject.namespace
    return build_deployment(
        build_metadata(name, namespace, labels=plan.labels, annotations=plan.annotations),
        replicas=plan.replicas,
        match_labels={contract.LABEL_SELECTOR: name},
        strategy=plan.strategy,
        template=PodTemplate(labels=plan.pod_labels, annotations=plan.pod_annotations, spec=build_pod_spec(plan.pod)),
    )
