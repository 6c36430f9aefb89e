"""What a request asks for, in the words of v1beta1, whichever version it was written in.

Requests are stored as v1alpha1; what that cannot say is in an annotation of the conversion. Profilers of Dynamo 1.x
read v1beta1.
"""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.api.graph_request import GraphRequest
from hooks.language.versions import V1BETA1, convert

_KEPT = V1BETA1.keys(contract.GRAPH_REQUEST.kind).spec


def read_beta_spec(request: GraphRequest) -> Mapping[str, Json]:
    """The request's spec in v1beta1."""
    kept = request.metadata.annotations.get(_KEPT)
    written = {
        "apiVersion": contract.GRAPH_REQUEST.api_version,
        "kind": contract.GRAPH_REQUEST.kind,
        "metadata": {"name": request.metadata.name, **({"annotations": {_KEPT: kept}} if kept else {})},
        "spec": request.spec.model_dump(mode="json", by_alias=True, exclude_unset=True),
    }
    beta_spec: Mapping[str, Json] = convert(written, contract.BETA_VERSION)["spec"]
    # An empty name is none in v1beta1, and a profiler should not look for the one that stands for it.
    return beta_spec if request.spec.model else {**beta_spec, "model": ""}


def is_written_in_beta(request: GraphRequest) -> bool:
    """Whether the request says something that only v1beta1 can say."""
    return _KEPT in request.metadata.annotations


def part_of(beta_spec: Json, *path: str) -> Mapping[str, Json]:
    """The object at this path; {} if there is none."""
    found = beta_spec
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
