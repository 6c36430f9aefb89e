"""Whether a request is still the one that was profiled."""

from hooks.api.graph_request import GraphRequest
from hooks.graph.request.observe import Observed
from hooks.graph.request.previous import Previous
from hooks.k8s.hashing import canonical_json, short_hash
from hooks.k8s.types import Json


def spec_hash(request: GraphRequest) -> str:
    """A fingerprint of what the spec says.

    A field with its default's value is as good as one left out, 200.0 as good as 200: the same spec comes in both ways.
    """
    said = request.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return short_hash(canonical_json(_whole_numbers(said)), 16)


def _whole_numbers(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_edited(request: GraphRequest, seen: Observed, previous: Previous) -> bool:
    """Whether the spec is another one than that which is, or was, profiled."""
    profiled = (seen.job.spec_hash if seen.job else "") or previous.spec_hash
    return bool(profiled) and profiled != spec_hash(request)
