"""Builds a component's children from its plan; decides nothing."""

from dataclasses import dataclass, replace

from hooks.component.plan.component import ComponentPlan
from hooks.component.plan.exposure import build_exposure
from hooks.component.plan.groups import GroupMetadata, GroupsPlan, build_groups
from hooks.component.pod.placement import Orchestrator, Placement, Role
from hooks.component.pod.template import build_pod
from hooks.component.seen.discovered import write_annotation
from hooks.component.spec.mpi_key import build_key
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, build_metadata, name_of, sort_manifests
from hooks.ground.k8s.workloads import WorkloadTemplate, build_deployment
from hooks.ground.problems import Problem
from hooks.wire.metacontroller.children import Children


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A component's children, in a fixed order; if they are cached, so are their check and their JSON.

    `workloads` are its Deployment or LeaderWorkerSets, including those that this answer leaves out. `warnings` are
    about its pods. `held` names the workloads that wait with new defaults, and stay as they were last applied.
    """

    children: Children
    workloads: tuple[Manifest, ...]
    warnings: tuple[Problem, ...]
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workloads:
    """The workloads of a component.

    `wanted` are all of them. `children` are those that this answer includes, with their PodGroups.
    """

    wanted: tuple[Manifest, ...]
    children: tuple[Manifest, ...]
    warnings: tuple[Problem, ...]


def build_component(plan: ComponentPlan) -> Built:
    """Build the workloads, the SSH key, and the Services, Ingress and VirtualService.

    Raises:
        InvalidSpec: the pod cannot be built from what the user wrote.
    """
    exposed = build_exposure(plan.subject, plan.exposure, labels=plan.labels, annotations=plan.annotations)
    key = build_key(plan.mpi_key) if plan.mpi_key else []
    workloads = _build_groups(plan, plan.groups) if plan.groups else _build_deployment(plan)
    running = () if plan.waits_for else workloads.children
    return Built(
        children=Children(sort_manifests([*running, *key, *exposed])),
        workloads=workloads.wanted,
        warnings=workloads.warnings,
    )


def _build_deployment(plan: ComponentPlan) -> _Workloads:
    """Build the Deployment; its selector can never change, so it is only the label with the component's name."""
    name, namespace = plan.subject.name, plan.subject.namespace
    discovered = plan.kept.get(name, plan.pod.discovered)
    pod = build_pod(replace(plan.pod, discovered=discovered), _single_node(plan.subject.service))
    annotations = {**plan.annotations, **write_annotation(discovered.to_json())}
    deployment = build_deployment(
        build_metadata(name, namespace, labels=plan.labels, annotations=annotations),
        replicas=plan.replicas,
        match_labels={contract.LABEL_SELECTOR: name},
        strategy=plan.strategy,
        template=WorkloadTemplate(labels=plan.pod_labels, annotations=plan.pod_annotations, spec=pod.spec),
    )
    return _Workloads(wanted=(deployment,), children=(deployment,), warnings=pod.warnings)


def _build_groups(plan: ComponentPlan, groups: GroupsPlan) -> _Workloads:
    metadata = GroupMetadata(
        labels=plan.labels,
        annotations=plan.annotations,
        pod_labels=plan.pod_labels,
        pod_annotations=plan.pod_annotations,
        queue=plan.queue,
    )
    built = build_groups(groups, metadata, plan.pod, kept=plan.kept)
    present = tuple(found for found in built.sets if name_of(found) not in groups.withheld)
    return _Workloads(wanted=built.sets, children=(*present, *built.pod_groups), warnings=built.warnings)


def _single_node(service: str) -> Placement:
    """The placement of a pod that is a whole replica; the orchestrator makes no difference then."""
    return Placement(role=Role.MAIN, orchestrator=Orchestrator.LWS, node_count=1, service=service)
