"""The result of an engine's launch rules, and a function that the rules share."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.ground.k8s.types import Json
from hooks.ground.problems import Problem

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A main container after the launch rules, and what its pod needs besides it.

    `warnings` are about launches that probably do not work as the user wants.
    """

    container: Mapping[str, Json]
    volumes: tuple[Mapping[str, Json], ...] = ()
    init_containers: tuple[Mapping[str, Json], ...] = ()
    warnings: tuple[Problem, ...] = ()


def without_probes(container: Mapping[str, Json]) -> dict[str, Json]:
    """The container without any probe, even the user's: a worker node of an engine serves no HTTP."""
    return {key: value for key, value in container.items() if key not in PROBES}
