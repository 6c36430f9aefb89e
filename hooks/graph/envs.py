"""Environment variables of a graph laid under those of its services.

Source: Dynamo operator, internal/dynamo/graph.go, MergeEnvs.
"""

from collections.abc import Iterable

from hooks.k8s.types import Json


def merge_envs(common: Iterable[Json], specific: Iterable[Json]) -> list[Json]:
    """Merge two lists of EnvVar by name, sorted by name; `specific` wins with the whole entry, later ones win."""
    merged = {entry["name"]: entry for entry in (*common, *specific)}
    return [merged[name] for name in sorted(merged)]


def find_env(envs: Iterable[Json], name: str) -> Json | None:
    """The first entry of that name, or None."""
    return next((entry for entry in envs if entry["name"] == name), None)


def replace_env(envs: Iterable[Json], old: Json, new: Json) -> list[Json]:
    """The list with that very entry replaced, in its place."""
    return [new if entry is old else entry for entry in envs]
