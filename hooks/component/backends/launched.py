"""What an engine's launch rules return, and what they share."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.k8s.types import Json

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A main container made ready for its place, and what its pod needs beside it.

    `warnings` are sentences for the user: what was left as it is, and why that is probably not wanted.
    """

    container: Mapping[str, Json]
    volumes: tuple[Mapping[str, Json], ...] = ()
    init_containers: tuple[Mapping[str, Json], ...] = ()
    warnings: tuple[str, ...] = ()


def without_probes(container: Mapping[str, Json]) -> dict[str, Json]:
    """The container without any probe, the user's own included: a worker node of an engine serves no HTTP."""
    return {key: value for key, value in container.items() if key not in PROBES}
