"""What a mutating webhook fills in: replicas, the version that a graph began with, the label of the installation.

Each function returns a JSON patch (RFC 6902), empty if nothing is missing, and never raises for any object.

Source: Dynamo operator, internal/webhook/defaulting/dynamographdeployment_handler.go.
"""

from collections.abc import Callable, Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.language.validation.review import Review

JsonPatch = list[dict[str, Json]]
"""Operations in order: `op`, `path` and `value`."""


def default_graph(review: Review, find_origin: Callable[[ReadManifest], str | None]) -> JsonPatch:
    """One replica for every service without `replicas`; on create also the release that the graph began with.

    `find_origin` says which release that is, None if the graph says it already.
    """
    origin = find_origin(review.new) if review.old is None else None
    missing = {} if origin is None else {contract.ANNOTATION_ORIGIN_VERSION: origin}
    return [*_add_entries(review.new, "annotations", missing), *default_any(review), *_add_replicas(review.new)]


def default_any(review: Review) -> JsonPatch:
    """The label by which a namespace-restricted installation finds its own objects."""
    wanted = review.settings.installation
    if not wanted or _read_map(review.new, "labels").get(contract.LABEL_INSTALLATION) == wanted:
        return []
    return _add_entries(review.new, "labels", {contract.LABEL_INSTALLATION: wanted})


def _add_replicas(manifest: ReadManifest) -> JsonPatch:
    spec = manifest.get("spec")
    services = spec.get("services") if isinstance(spec, Mapping) else None
    if not isinstance(services, Mapping):
        return []
    return [
        {"op": "add", "path": f"/spec/services/{_escape(name)}/replicas", "value": 1}
        for name, service in sorted(services.items())
        if isinstance(service, Mapping) and service.get("replicas") is None
    ]


def _add_entries(manifest: ReadManifest, field: str, entries: Mapping[str, str]) -> JsonPatch:
    """Operations that set entries of `metadata.labels` or `metadata.annotations`, which may be absent."""
    metadata = manifest.get("metadata")
    if not entries or not isinstance(metadata, Mapping):
        return []
    if not isinstance(metadata.get(field), Mapping):
        return [{"op": "add", "path": f"/metadata/{field}", "value": dict(entries)}]
    return [
        {"op": "add", "path": f"/metadata/{field}/{_escape(key)}", "value": value}
        for key, value in sorted(entries.items())
    ]


def _read_map(manifest: ReadManifest, field: str) -> Mapping[str, Json]:
    metadata = manifest.get("metadata")
    found = metadata.get(field) if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _escape(key: str) -> str:
    """A key, escaped for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
