"""Whether the spec of a request is still the profiled one."""

from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.types import Json
from hooks.language.api.graph_request import GraphRequest
from hooks.request.seen.observe import ObservedRequest
from hooks.request.seen.previous import PreviousRequestStatus
from hooks.request.spec.beta_spec import is_written_in_beta, read_beta_spec


def spec_hash(request: GraphRequest) -> str:
    """The fingerprint of a spec; a field with its default counts as absent, and 200.0 as 200.

    The API server or a client may write the same spec either way.
    """
    fields = request.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if is_written_in_beta(request):
        fields = {"asked": read_beta_spec(request), **fields}
    return short_hash(canonical_json(_whole_numbers(fields)), 16)


def _whole_numbers(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_edited(request: GraphRequest, seen: ObservedRequest, previous: PreviousRequestStatus) -> bool:
    """Whether the spec differs from the one that is or was profiled."""
    profiled = (seen.job.spec_hash if seen.job else "") or previous.spec_hash
    return bool(profiled) and profiled != spec_hash(request)
