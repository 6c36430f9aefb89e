"""Entries of lists of environment variables, by name."""

from collections.abc import Iterable

from hooks.ground.k8s.types import Json


def find_env(envs: Iterable[Json], name: str) -> Json | None:
    """The first entry of that name, or None."""
    return next((entry for entry in envs if entry["name"] == name), None)


def replace_env(envs: Iterable[Json], old: Json, new: Json) -> list[Json]:
    """The list with this entry (the same object) replaced at its index."""
    return [new if entry is old else entry for entry in envs]
