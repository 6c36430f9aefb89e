"""Origins as JSON, for programs."""

from collections.abc import Iterable

from hooks.ground.k8s.types import Json
from hooks.tools.offline.explain.edits import MARK
from hooks.tools.offline.explain.leaf_sources import Influence, LeafSources, Lever, Overridden, Source


def write_json(leaf_sources: Iterable[LeafSources], *, variable: str = "") -> list[Json]:
    """Each origin as a map, without values that are not shown; `variable` is the one that was asked for, if any."""
    return [_write_leaf_sources(one, is_shown=one.is_shown(variable)) for one in leaf_sources]


def _write_leaf_sources(origin: LeafSources, *, is_shown: bool) -> Json:
    place = origin.place
    return {
        "object": {"kind": place.kind, "name": place.name},
        "path": str(place.path),
        **({"value": origin.value} if is_shown else {}),
        "inputs": [_write_influence(one, is_shown=is_shown) for one in origin.influences],
        **({"builtIn": True} if origin.is_built_in else {}),
        **({} if origin.kubernetes_default is None else {"kubernetesDefault": origin.kubernetes_default}),
        "overrides": [_write_overridden(one, is_shown=is_shown) for one in origin.overridden],
        "levers": [_write_lever(one, is_shown=is_shown) for one in origin.levers],
    }


def _write_influence(influence: Influence, *, is_shown: bool) -> Json:
    releases = is_shown and influence.releases
    tells = (
        is_shown
        and not releases
        and not influence.source.is_private
        and MARK not in f"{influence.tried}{influence.then}"
    )
    return {
        "mode": influence.mode.value,
        **_write_source(influence.source, is_shown=is_shown),
        **({"tried": influence.tried, "then": influence.then} if tells else {}),
        **({"releases": [{"since": one.since, "value": one.value} for one in influence.releases]} if releases else {}),
    }


def _write_source(source: Source, *, is_shown: bool) -> dict[str, Json]:
    return {
        "kind": source.kind.value,
        "name": source.name,
        **({"file": source.file, "line": source.line} if source.file else {}),
        **({"value": source.value} if is_shown and not source.is_private and source.value is not None else {}),
    }


def _write_overridden(one: Overridden, *, is_shown: bool) -> Json:
    return {
        "without": _write_source(one.without, is_shown=False),
        **({"value": one.value} if is_shown else {}),
        "inputs": [_write_influence(found, is_shown=is_shown) for found in one.influences],
    }


def _write_lever(lever: Lever, *, is_shown: bool) -> Json:
    tells = is_shown and not lever.follows and lever.tried is not None
    return {
        "name": lever.name,
        "follows": lever.follows,
        **({"whole": True} if lever.is_whole else {}),
        **({"values": list(lever.values)} if lever.values else {}),
        **({"tried": lever.tried, "then": lever.then} if tells else {}),
    }
