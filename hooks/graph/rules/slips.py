"""Warnings about a graph that is accepted, but probably does not do what is meant."""

from collections.abc import Iterator, Mapping

from hooks.component.rules.slips import find_annotation_slips, find_repeats, find_rollout_slip
from hooks.component.spec.subject import ComponentType
from hooks.graph.plan.path import WORKLOAD_PROVIDERS
from hooks.ground import contract
from hooks.ground.problems import METADATA, SPEC, Key, Problem
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules import slips as rules
from hooks.language.rules.values import suggest

_GROVE_CHOICES = ("true", "false")


def find_graph_slips(graph: GraphDeployment) -> Iterator[Problem]:
    """Warnings about the graph as a whole; those about single services are found with the service."""
    path, annotations = METADATA / "annotations", graph.metadata.annotations
    yield from find_annotation_slips(annotations, path)
    yield from find_annotation_slips(graph.spec.annotations, SPEC / "annotations")
    yield from find_rollout_slip(annotations)
    if all(isinstance(entry, Mapping) and isinstance(entry.get("name"), str) for entry in graph.spec.envs):
        yield from find_repeats(graph.spec.envs, SPEC / "envs")
    grove = annotations.get(contract.ANNOTATION_ENABLE_GROVE, "")
    if grove and grove.lower() not in _GROVE_CHOICES:
        yield _has_no_effect(contract.ANNOTATION_ENABLE_GROVE, grove, _GROVE_CHOICES)
    provider = annotations.get(contract.ANNOTATION_WORKLOAD_PROVIDER, "")
    if provider and provider not in WORKLOAD_PROVIDERS:
        yield _has_no_effect(contract.ANNOTATION_WORKLOAD_PROVIDER, provider, WORKLOAD_PROVIDERS)
    yield from _find_picker_slips(graph)


def _has_no_effect(name: str, value: str, choices: tuple[str, ...]) -> Problem:
    guess, path = suggest(value, choices), METADATA / "annotations" / Key(name)
    return rules.ANNOTATION_VALUE.at(path, value=value, choices=", ".join(choices), hint=f"; {guess}" if guess else "")


def _find_picker_slips(graph: GraphDeployment) -> Iterator[Problem]:
    pickers = [name for name, spec in sorted(graph.spec.services.items()) if spec.component_type == ComponentType.EPP]
    if not pickers:
        return
    first, path = pickers[0], SPEC / "services"
    for name in pickers[1:]:
        config = graph.spec.services[name].epp_config
        if config is not None and not config.config_map_ref:
            yield rules.SECOND_PICKER.at(path / Key(name) / "eppConfig.config", other=path / Key(first))
    namespace = graph.spec.services[first].global_dynamo_namespace
    services = graph.spec.services.values()
    workers = (spec for spec in services if ComponentType.of(spec.component_type).is_worker)
    if not any(spec.global_dynamo_namespace == namespace for spec in workers):
        yield rules.EMPTY_POOL.at(path / Key(first))
