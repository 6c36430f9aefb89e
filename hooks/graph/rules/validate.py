"""Problems for which a graph cannot be rendered, each with its field and a remedy.

The API server accepts the children of a graph without these problems. Admission has further rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hooks.component.plan.component import find_istio_warnings
from hooks.component.plan.groups import validate_groups
from hooks.component.plan.strategy import validate_strategy
from hooks.component.rules.container_rules import find_env_problems
from hooks.component.rules.metadata_rules import validate_labels, validate_metadata
from hooks.component.rules.preview import find_experimental, find_override
from hooks.component.rules.slips import find_slips
from hooks.component.rules.spec_rules import find_executor_problem, find_spec_warnings
from hooks.component.rules.validate import (
    is_for_status_only,
    validate_restart_policy,
    validate_service_object,
    validate_spec,
)
from hooks.component.spec.subject import ComponentType
from hooks.graph.grove.rules import validate_for_grove, validate_lengths
from hooks.graph.plan.graph import PRIORITY_READERS, find_configuration_problems
from hooks.graph.plan.path import may_take_grove, takes_grove
from hooks.graph.rules.change_rules import find_graph_changes
from hooks.graph.rules.replaced import find_replaced_in_service, find_replaced_of_all
from hooks.graph.rules.slips import find_graph_slips
from hooks.graph.rules.spec_rules import find_graph_problems
from hooks.graph.seen.grove_names import pod_clique_set_name, read_set_name
from hooks.graph.seen.live_path import GraphPath, read_reported_path
from hooks.graph.spec.components import read_configured
from hooks.graph.spec.ingress import default_ingress
from hooks.graph.spec.operator_release import begin, read_operator_release
from hooks.graph.spec.ports import common_envs, find_pool_problems, frontend_container_of
from hooks.graph.spec.service_metadata import REPLACED_LABELS, namespace_of, service_annotations
from hooks.graph.spec.topology import find_refused, validate_topology
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.names import MAX_LABEL, has_label_value_form, has_subdomain_form
from hooks.ground.k8s.types import GroupVersionKind, Json
from hooks.ground.problems import METADATA, SPEC, FieldPath, Key, Problem
from hooks.ground.settings import Settings, Switch
from hooks.language.api.component_spec import ComponentSpec, Ingress
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules import graph as rules
from hooks.language.rules.grove import as_warning, as_warning_without
from hooks.language.rules.spec import MIN_AVAILABLE_GROVE
from hooks.language.validation.judging import Findings, judge
from hooks.language.validation.review import Review, Verdict
from hooks.wire.policy import identity


def review_graph(review: Review) -> Verdict:
    """Review a graph that is about to be written."""
    return judge(review, GraphDeployment, of_object=_judge_graph, of_change=find_graph_changes)


def validate_graph(
    graph: GraphDeployment,
    installed: frozenset[GroupVersionKind] | None,
    live_path: GraphPath | None = None,
    known_set: str = "",
) -> tuple[Problem, ...]:
    """All problems of a graph, each once; `installed` are the kinds that the controller declares, None if unknown.

    `live_path` is the path on which the graph runs already, None for a new graph. `known_set` is the name of its
    PodCliqueSet, empty for a graph that has none.

    If they are unknown, rules of optional kinds are skipped, except Grove's limit for the length of names: upstream
    applies it to every graph that does not switch Grove off.
    """
    annotations = graph.metadata.annotations
    under_grove = installed is not None and takes_grove(annotations, installed, live_path)
    may_be_under_grove = under_grove or (installed is None and may_take_grove(annotations))
    found = (
        *find_graph_problems(graph),
        *_validate_name(graph),
        *_validate_metadata(graph),
        *_validate_envs(SPEC / "envs", graph.spec.envs),
        *_validate_distinct(graph),
        *(
            problem
            for service in sorted(graph.spec.services)
            for problem in _validate_service(graph, service, installed, may_be_under_grove=may_be_under_grove)
        ),
        *(validate_lengths(graph, known_set) if may_be_under_grove else ()),
        *(
            validate_for_grove(graph, pod_clique_set_name(graph, known_set))
            if under_grove
            else _validate_service_objects(graph)
        ),
        *find_pool_problems(graph),
        *validate_topology(graph, takes_grove=may_be_under_grove),
        *(() if may_be_under_grove else _find_idle_least(graph)),
        *find_override(graph.spec.provider_override, SPEC / "providerOverride"),
        *find_experimental(graph.spec.experimental, SPEC / "experimental"),
    )
    return tuple(dict.fromkeys(found))


def _judge_graph(graph: GraphDeployment, review: Review) -> Findings:
    doubts = _find_doubts(graph) if review.is_offline and review.installed is None else ((), ())
    found = (
        *validate_graph(graph, review.installed, _live_path(review), read_set_name(_status_of(review))),
        *_find_unknown_groups(graph, review.installed),
        *find_configuration_problems(graph),
        *(() if read_set_name(_status_of(review)) else find_refused(graph)),
    )
    problems = tuple(one for one in found if not is_for_status_only(one) and one not in doubts[0])
    begun = begin(graph, None if review.old is None else read_operator_release(review.old))
    of_services = (
        warning
        for service, spec in sorted(graph.spec.services.items())
        for warning in _find_warnings(begun, service, spec, review)
    )
    of_path = (
        *(replace(one, rule=as_warning(one.rule)) for one in doubts[0]),
        *(replace(one, rule=as_warning_without(one.rule)) for one in doubts[1]),
    )
    warnings = (
        *of_path,
        *find_graph_slips(graph),
        *find_replaced_of_all(graph),
        *_find_idle_priority(graph, review),
        *of_services,
    )
    return Findings(problems=problems, warnings=warnings)


def _live_path(review: Review) -> GraphPath | None:
    return read_reported_path(_status_of(review))


def _status_of(review: Review) -> Json:
    return (review.old or review.new).get("status")


def _find_doubts(graph: GraphDeployment) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """What only Grove would refuse, and what only Deployments would."""
    if not may_take_grove(graph.metadata.annotations):
        return (), ()
    services = ((SPEC / "services" / Key(name), spec) for name, spec in sorted(graph.spec.services.items()))
    ending = (problem for path, spec in services for problem in validate_restart_policy(spec, path))
    of_grove = (*validate_lengths(graph), *validate_for_grove(graph, pod_clique_set_name(graph)))
    return of_grove, tuple(ending)


def _find_idle_priority(graph: GraphDeployment, review: Review) -> Iterator[Problem]:
    if not graph.spec.priority_class_name:
        return
    if not _may_be_under_grove(graph, review):
        yield rules.PRIORITY_CLASS_IDLE.at(SPEC / "priorityClassName")
    elif review.installed is not None and not _has_priority_reader(graph, review.settings):
        yield rules.PRIORITY_CLASS_GROVE.at(SPEC / "priorityClassName")


def _has_priority_reader(graph: GraphDeployment, settings: Settings) -> bool:
    """Whether a scheduler that reads the graph's priority is switched on, or chosen by a service."""
    chosen = {str(spec.extra_pod_spec.get("schedulerName")) for spec in graph.spec.services.values()}
    return Switch.ON in {settings.kai_scheduler, settings.volcano_scheduler} or bool(chosen & PRIORITY_READERS)


def _may_be_under_grove(graph: GraphDeployment, review: Review) -> bool:
    annotations = graph.metadata.annotations
    if review.installed is None:
        return may_take_grove(annotations)
    return takes_grove(annotations, review.installed, _live_path(review))


def _find_idle_least(graph: GraphDeployment) -> Iterator[Problem]:
    """Services whose least number of replicas nothing keeps; upstream refuses it too."""
    for service, spec in sorted(graph.spec.services.items()):
        if spec.min_available is not None:
            yield MIN_AVAILABLE_GROVE.at(SPEC / "services" / Key(service) / "minAvailable")


def _find_warnings(graph: GraphDeployment, service: str, spec: ComponentSpec, review: Review) -> Iterator[Problem]:
    path = SPEC / "services" / Key(service)
    yield from find_spec_warnings(spec, path, namespace_of(graph, spec))
    yield from find_slips(
        read_configured(graph, service)[0],
        path,
        graph.spec.backend_framework,
        service_annotations(graph, spec),
        common=common_envs(graph),
        frontend_container=frontend_container_of(graph, service),
    )
    yield from find_replaced_in_service(graph, service, review.settings, by_grove=_may_be_under_grove(graph, review))
    if contract.ANNOTATION_RESTART_AT in spec.annotations:
        yield rules.RESTART_ANNOTATION.at(path / "annotations" / Key(contract.ANNOTATION_RESTART_AT))
    if review.installed is not None:
        ingress = spec.ingress
        if ingress is None and spec.component_type == ComponentType.FRONTEND:
            ingress = Ingress.model_validate(default_ingress(graph.metadata.name, review.settings))
        yield from find_istio_warnings(ingress, path, review.installed)


def _find_unknown_groups(graph: GraphDeployment, installed: frozenset[GroupVersionKind] | None) -> Iterator[Problem]:
    """Problems of services over several nodes if the graph switches Grove off and the installed kinds are unknown.

    Then only LeaderWorkerSets can run these services. If the kinds are known, planning finds these problems.
    """
    if installed is not None or may_take_grove(graph.metadata.annotations):
        return
    for service, spec in sorted(graph.spec.services.items()):
        name = identity.component_name(graph.metadata.name, service)
        yield from validate_groups(spec, name, SPEC / "services" / Key(service))


def _validate_name(graph: GraphDeployment) -> Iterator[Problem]:
    name = graph.metadata.name
    if len(name) > MAX_LABEL:
        yield rules.GRAPH_NAME_LENGTH.at(METADATA / "name", length=len(name))
    if not has_subdomain_form(name):
        yield rules.GRAPH_NAME_FORM.at(METADATA / "name", name=name)


def _validate_metadata(graph: GraphDeployment) -> Iterator[Problem]:
    """Problems of the labels and annotations that all services get."""
    annotations, path = graph.spec.annotations, SPEC / "annotations"
    yield from validate_labels(graph.spec.labels, annotations, SPEC, replaced=REPLACED_LABELS)
    if annotations:
        yield from find_executor_problem(annotations, path)
        yield from validate_strategy(annotations, path)


def _validate_envs(path: FieldPath, envs: Sequence[Json]) -> Iterator[Problem]:
    for index, entry in enumerate(envs):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            yield rules.ENV_NAME_REQUIRED.at(path / index / "name")
        elif not isinstance(entry.get("value") or "", str):
            yield rules.ENV_VALUE_STRING.at(path / index / "value", name=entry["name"])
        elif isinstance(entry.get("valueFrom") or {}, Mapping):
            yield from find_env_problems([(path, index, entry)])


def _validate_distinct(graph: GraphDeployment) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for service in sorted(graph.spec.services):
        first = seen.setdefault(service.lower(), service)
        if first != service:
            name = identity.component_name(graph.metadata.name, service)
            path, other = (SPEC / "services" / Key(one) for one in (service, first))
            yield rules.SERVICE_NAMES_DIFFER.at(path, other=other, name=name)


def _validate_service(
    graph: GraphDeployment, service: str, installed: frozenset[GroupVersionKind] | None, *, may_be_under_grove: bool
) -> Iterator[Problem]:
    path, spec = SPEC / "services" / Key(service), graph.spec.services[service]
    if not may_be_under_grove:
        yield from validate_restart_policy(spec, path)
    lacks_pool = installed is not None and kinds.INFERENCE_POOL not in installed
    configured, _ = read_configured(graph, service)
    framework = graph.spec.backend_framework
    yield from validate_spec(
        configured,
        path,
        framework=framework,
        lacks_pool=lacks_pool,
        common=common_envs(graph),
        frontend_container=frontend_container_of(graph, service),
    )
    yield from validate_metadata(spec, path, replaced=REPLACED_LABELS)
    yield from _validate_service_name(graph, service)


def _validate_service_objects(graph: GraphDeployment) -> Iterator[Problem]:
    for service, spec in sorted(graph.spec.services.items()):
        name = identity.component_name(graph.metadata.name, service)
        yield from validate_service_object(spec, name, SPEC / "services" / Key(service))


def _validate_service_name(graph: GraphDeployment, service: str) -> Iterator[Problem]:
    path, metadata = SPEC / "services" / Key(service), graph.metadata
    name = identity.component_name(metadata.name, service)
    if not has_label_value_form(service) or not has_subdomain_form(name):
        yield rules.SERVICE_NAME.at(path, name=name)
    if len(name) > MAX_LABEL:
        yield rules.SERVICE_NAME_LENGTH.at(
            path, name=name, length=len(name), graph_length=len(metadata.name), service_length=len(service)
        )
