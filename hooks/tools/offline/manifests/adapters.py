"""Adapters of several workers whose frontends send requests to any of them, also before all have the adapter."""

from collections.abc import Iterable, Iterator, Sequence

from hooks.component.image.runtime_version import RuntimeVersion, is_since, resolve_runtime_version
from hooks.component.spec.subject import ComponentType, base_model_of
from hooks.graph.plan.frontends import chooses_by_adapter
from hooks.ground import contract
from hooks.ground.problems import SPEC
from hooks.language.api.base import read_parent
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment
from hooks.language.api.model import Model
from hooks.language.crds import apply_defaults
from hooks.language.rules import slips
from hooks.tools.offline.manifests.across import Service
from hooks.tools.offline.manifests.document import Document, Fault

_CHOOSES_SINCE = RuntimeVersion(1, 5)
"""A frontend can know which workers have an adapter."""


def find_adapter_slips(services: Sequence[Service], documents: Iterable[Document]) -> Iterator[Fault]:
    """A warning for each adapter that frontends do not know the holders of, though its graph has several workers."""
    for document in documents:
        if document.kind != contract.MODEL:
            continue
        model, _ = read_parent(Model, apply_defaults(document.object))
        if not model.is_lora:
            continue
        for frontend in _find_unaware(services, model):
            yield document.place(
                slips.ADAPTER_ANYWHERE.at(
                    SPEC / "modelName", name=model.spec.model_name, other=frontend.describe(), place=frontend.place
                )
            )


def _find_unaware(services: Sequence[Service], model: Model) -> Iterator[Service]:
    """The frontends beside several workers of the model's base that send requests to any of these."""
    for frontend in services:
        kind = ComponentType.of(frontend.spec.component_type)
        if kind is not ComponentType.FRONTEND or frontend.namespace != model.metadata.namespace:
            continue
        beside = [one.spec for one in services if one.document is frontend.document]
        workers = [one for one in beside if base_model_of(one) == model.spec.base_model_name]
        has_several = sum(1 if one.replicas is None else one.replicas for one in workers) > 1
        if not has_several or not is_since(resolve_runtime_version(frontend.spec), _CHOOSES_SINCE):
            continue
        if not chooses_by_adapter(_with_common(frontend)):
            yield frontend


def _with_common(one: Service) -> ComponentSpec:
    """The service's spec with the variables of its graph."""
    graph, _ = read_parent(GraphDeployment, apply_defaults(one.document.object))
    return one.spec.model_copy(update={"envs": [*graph.spec.envs, *one.spec.envs]})
