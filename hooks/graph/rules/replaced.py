"""Values of a graph's user that ours replace: of its services, as of lone components, and of the graph itself."""

from collections.abc import Iterator

from hooks.component.rules.replaced import Replacing, find_replaced, may_be_replaced
from hooks.component.spec.subject import ComponentType, Subject, base_model_of
from hooks.graph.spec.ports import common_envs
from hooks.graph.spec.service_metadata import REPLACED_LABELS, namespace_of, service_annotations, service_labels
from hooks.ground import contract
from hooks.ground.k8s.grove import LABEL_KAI_QUEUE
from hooks.ground.problems import SPEC, FieldPath, Key, Problem
from hooks.ground.settings import Settings, Switch
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules import slips as rules
from hooks.wire.policy import identity


def find_replaced_of_all(graph: GraphDeployment) -> Iterator[Problem]:
    """Warnings about labels of the graph's spec that each service has with another value."""
    for key, value in sorted(graph.spec.labels.items()):
        if key in REPLACED_LABELS:
            at, used = SPEC / "labels" / Key(key), "a value of each service's own"
            yield rules.REPLACED.at(at, value=value, used=used, why="pods are found by it")


def find_replaced_in_service(
    graph: GraphDeployment, service: str, settings: Settings, *, by_grove: bool
) -> Iterator[Problem]:
    """Warnings about one service; `by_grove`: Grove runs the graph, as far as that is known."""
    spec, path = graph.spec.services[service], SPEC / "services" / Key(service)
    yield from _find_queue(graph, service, path, settings)
    if not may_be_replaced(spec):
        return
    annotations = service_annotations(graph, spec)
    ours = service_labels(graph, service)
    kept = {key: ours[key] for key in (contract.LABEL_COMPONENT_CLASS,) if ours.get(key) != spec.labels.get(key)}
    replacing = Replacing(
        subject=Subject(
            name=identity.component_name(graph.metadata.name, service),
            namespace=graph.metadata.namespace,
            service=service,
            graph=graph.metadata.name,
            type=ComponentType.of(spec.component_type),
            type_text=spec.component_type,
            sub_type=spec.sub_component_type,
            dynamo_namespace=namespace_of(graph, spec),
            discovery=identity.discovery_backend(annotations, settings.discovery_backend),
            discovery_mode="",
            base_model=base_model_of(spec),
            takes_bare_prefix=False,
        ),
        labels=kept,
        common=common_envs(graph),
        annotations=annotations,
        has_groups=spec.is_multinode and not by_grove,
        has_numbers=spec.is_multinode and not by_grove and settings.lws_gangs is not Switch.ON,
    )
    yield from find_replaced(spec, path, replacing)


def _find_queue(graph: GraphDeployment, service: str, path: FieldPath, settings: Settings) -> Iterator[Problem]:
    """The warning that the graph's annotation for KAI's queue replaces a label."""
    asked = graph.metadata.annotations.get(contract.ANNOTATION_KAI_QUEUE, "").strip()
    if not asked or settings.kai_scheduler is not Switch.ON:
        return
    spec = graph.spec.services[service]
    pods = spec.extra_pod_metadata.labels if spec.extra_pod_metadata else {}
    for at, labels in ((path / "labels", spec.labels), (path / "extraPodMetadata.labels", pods)):
        value = labels.get(LABEL_KAI_QUEUE)
        if value and value != asked:
            why = f"the graph's annotation {contract.ANNOTATION_KAI_QUEUE} names the queue"
            yield rules.REPLACED.at(at / Key(LABEL_KAI_QUEUE), value=value, used=repr(asked), why=why)
