"""Whether a change of a graph's spec changes pods of a service, and not only how the spec is written.

Both specs of its component are rendered by this version of the hooks, so the answer does not follow from which version
rendered what runs. A default that is written out, an empty list, or variables in another order change no pods.
"""

from collections.abc import Iterable, Mapping

from hooks.component.build import build_component
from hooks.component.plan.component import plan_component
from hooks.component.rules.validate import validate_component
from hooks.component.seen.observe import ObservedComponent, Workloads
from hooks.component.spec.mpi_key import ObservedKey
from hooks.graph.seen.observe import ChildComponent
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.pod_sets import rolling_part
from hooks.ground.k8s.types import Json, Manifest, build_manifest, build_metadata, gvk_of, name_of
from hooks.ground.settings import Settings
from hooks.language.api.base import parse_parent
from hooks.language.api.component import ComponentDeployment
from hooks.wire.policy.rendering_mark import with_restarted_at

_NOTHING = ObservedComponent(
    workloads=Workloads(deployment=None, leader_worker_sets={}),
    pods=(),
    mpi_key=ObservedKey(source=None, copy=None, can_copy=False),
    accounts=(),
    registry_secrets=(),
    has_virtual_services=False,
    has_leader_worker_sets=True,
)


def find_changed_pods(
    children: Iterable[Manifest], live: Mapping[str, ChildComponent], settings: Settings
) -> frozenset[str]:
    """The live services whose component among the children has other pods than its spec as last applied."""
    wanted = {str(one["spec"]["serviceName"]): one for one in children if gvk_of(one) == contract.COMPONENT}
    return frozenset(
        service
        for service, component in live.items()
        if service in wanted and _has_other_pods(wanted[service], component, settings)
    )


def _has_other_pods(wanted: Manifest, live: ChildComponent, settings: Settings) -> bool:
    applied = live.spec if live.applied_spec is None else live.applied_spec
    try:
        return bool(_render(wanted, applied, settings) != _render(wanted, wanted["spec"], settings))
    except InvalidSpec:
        return True


def _render(wanted: Manifest, spec: Mapping[str, Json], settings: Settings) -> Json:
    """The templates of a component's pods with that spec, restarts left aside."""
    annotations = {key: value for key, value in (spec.get("annotations") or {}).items() if key != _RESTART_AT}
    labels = spec.get("labels") or {}
    metadata = build_metadata(name_of(wanted), wanted["metadata"]["namespace"], labels=labels)
    whole = {**with_restarted_at(spec, None), "annotations": annotations, "replicas": 1}
    component = parse_parent(ComponentDeployment, build_manifest(contract.COMPONENT, metadata, spec=whole))
    problems = validate_component(component)
    if problems:
        raise InvalidSpec(problems)
    built = build_component(plan_component(component, _NOTHING, settings))
    return [rolling_part(one) for one in built.workloads]


_RESTART_AT = contract.ANNOTATION_RESTART_AT
