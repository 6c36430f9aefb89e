"""Which rules and which defaults hold for which resource; admission, the command line and tests find them here."""

from collections.abc import Callable, Mapping
from functools import partial

from hooks.adapter.rules.validate import review_adapter
from hooks.component.rules.validate import review_component
from hooks.graph.rules.validate import review_graph
from hooks.graph.spec.operator_release import find_missing_operator_release
from hooks.ground import contract
from hooks.ground.k8s.types import plural_of
from hooks.language.validation.defaulting import JsonPatch, default_any, default_graph
from hooks.language.validation.review import Review, Verdict
from hooks.model.rules.validate import review_model


def _review_request(review: Review) -> Verdict:
    from hooks.request.rules.validate import review_request  # noqa: PLC0415 - few manifests have a request

    return review_request(review)


RULES: Mapping[str, Callable[[Review], Verdict]] = {
    plural_of(contract.GRAPH): review_graph,
    plural_of(contract.COMPONENT): review_component,
    plural_of(contract.MODEL): review_model,
    plural_of(contract.GRAPH_REQUEST): _review_request,
    plural_of(contract.SCALING_ADAPTER): review_adapter,
}
"""By resource (`dynamographdeployments`): the function that finds the problems of a write."""

DEFAULTS: Mapping[str, Callable[[Review], JsonPatch]] = {
    plural_of(contract.GRAPH): partial(default_graph, find_origin=find_missing_operator_release),
    plural_of(contract.COMPONENT): default_any,
    plural_of(contract.MODEL): default_any,
    plural_of(contract.GRAPH_REQUEST): default_any,
    plural_of(contract.SCALING_ADAPTER): default_any,
}
"""By resource: the JSON patch that fills in what an object leaves out."""
