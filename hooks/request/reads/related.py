"""Which related objects a request's sync needs.

Metacontroller caches the answer until the spec changes, so it covers all phases.
"""

from collections.abc import Iterator

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.names import fit_label_value
from hooks.ground.settings import Settings
from hooks.language.api.base import parse_parent
from hooks.language.api.graph_request import GraphRequest
from hooks.request.spec.names import output_config_map_name
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule


def resolve_related(request: CustomizeRequest, settings: Settings) -> list[RelatedRule]:
    """The rules for a request; none if its spec cannot be read, because then its children stay unchanged."""
    try:
        return list(_rules(parse_parent(GraphRequest, request.parent), settings))
    except InvalidSpec:
        return []  # sync reports the problems; a new spec is a new call


def _rules(request: GraphRequest, settings: Settings) -> Iterator[RelatedRule]:
    metadata, spec = request.metadata, request.spec
    overrides, base = spec.deployment_overrides, spec.profiling_config.config_map_ref
    target = (overrides.namespace if overrides else "") or metadata.namespace
    named = (output_config_map_name(metadata.name), *([base.name] if base and base.name else ()))
    yield RelatedRule.of(kinds.NAMESPACE, names=(target,))
    yield RelatedRule.of(kinds.CONFIG_MAP, metadata.namespace, names=named)
    if target != metadata.namespace:
        labels = {
            contract.LABEL_REQUEST_NAME: fit_label_value(metadata.name),
            contract.LABEL_REQUEST_NAMESPACE: metadata.namespace,
        }
        yield RelatedRule.of(kinds.CONFIG_MAP, target, match_labels=labels)
    if settings.image_pull_secrets != "off":
        labels = {contract.LABEL_IMAGE_PULL: "true"} if settings.image_pull_secrets == "labelled" else {}
        yield RelatedRule.of(kinds.SECRET, metadata.namespace, match_labels=labels)
    if spec.auto_apply:
        # All graphs of the namespace: the name is not known yet, and users may remove labels.
        yield RelatedRule.of(contract.GRAPH, target)
    if spec.enable_gpu_discovery and not settings.installation:
        yield RelatedRule.of(kinds.NODE)
