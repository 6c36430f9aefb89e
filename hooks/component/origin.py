"""The release of the operator that a graph began with, which decides how its replicas start over several nodes.

A graph keeps it for ever, so that a new release of the operator restarts no pods. The Go operator writes its own
release into the annotation. The hooks write the release that runs in the graph: its user gets what the Go operator of
that release does, and a graph of 0.9 is what it always was.

Source: Dynamo operator 1.6, internal/features/compatibility/gates.go; docs, kubernetes/deployment/multinode.
"""

from collections.abc import Iterator, Mapping

from hooks import contract
from hooks.component.runtime_version import RuntimeVersion, is_since, parse_image_version, parse_version
from hooks.k8s.types import Json, ReadManifest

MULTIPROCESSING_SINCE = RuntimeVersion(1, 0)
"""vLLM spans nodes without Ray."""
RAY_READINESS_SINCE = RuntimeVersion(1, 5)
"""A node waits for its leader's Ray before it joins."""
ALIASES_SINCE = RuntimeVersion(1, 6)
"""Rank and leader have variables with the same names under every orchestrator."""

_OLDEST, _NEWEST = RuntimeVersion(0, 9), ALIASES_SINCE
"""The releases whose decisions the hooks know; earlier ones decide as the oldest, later ones as the newest."""


def began_with(annotations: Mapping[str, str], since: RuntimeVersion) -> bool:
    """Whether the annotation says that release or a later one; False without a readable annotation."""
    written = annotations.get(contract.ANNOTATION_ORIGIN_VERSION, "")
    return is_since(parse_version(written.removeprefix("v")), since)


def choose_origin(graph: ReadManifest) -> str:
    """The release to write for a new graph: the oldest of its services that span nodes, or of all if none does.

    A service whose image says no release counts as one of 0.9, as for all its defaults. Fields may have any type.
    """
    services = _mapping(_mapping(graph.get("spec")).get("services")).values()
    listed = [service for service in services if isinstance(service, Mapping)]
    deciding = [service for service in listed if service.get("multinode")] or listed
    oldest = min(_releases(deciding), default=_OLDEST)
    return str(min(oldest, _NEWEST) if is_since(oldest, MULTIPROCESSING_SINCE) else _OLDEST)


def _releases(services: list[Mapping[str, Json]]) -> Iterator[RuntimeVersion]:
    for service in services:
        override = service.get("runtimeVersionOverride")
        image = _mapping(_mapping(service.get("extraPodSpec")).get("mainContainer")).get("image")
        if isinstance(override, str) and override:
            yield parse_version(override) or _OLDEST
        else:
            yield (parse_image_version(image) if isinstance(image, str) else None) or _OLDEST


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
