"""Problems of files in volumes: items of ConfigMaps and Secrets, the downward API, projected volumes."""

from collections.abc import Iterator, Mapping, Sequence

from hooks.component.rules.pod_rules.forms import require
from hooks.component.rules.pod_rules.sources import (
    FIELDS_OF_FILES,
    find_field_problems,
    find_resource_field_problems,
    name_found,
)
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem
from hooks.language.rules import pod_values as rules

_KINDS = ("configMap", "downwardAPI", "secret", "serviceAccountToken")
"""Two further kinds, `clusterTrustBundle` and `podCertificate`, exist only where a feature gate is on."""


def find_items_problems(items: Sequence[Mapping[str, Json]], path: FieldPath) -> Iterator[Problem]:
    """Problems of the keys of a ConfigMap or Secret and of their files."""
    for index, item in enumerate(items):
        yield from require(item, "key", path / index)
        yield from require(item, "path", path / index, rules.LOCAL_PATH)


def find_file_problems(item: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Problems of a file of the downward API."""
    yield from require(item, "path", path, rules.LOCAL_PATH)
    if "fieldRef" in item:
        yield from find_field_problems(item["fieldRef"], path / "fieldRef", FIELDS_OF_FILES)
        if "resourceFieldRef" in item:
            yield rules.NOT_BOTH.at(path / "resourceFieldRef", other=path / "fieldRef")
    elif "resourceFieldRef" in item:
        yield from find_resource_field_problems(item["resourceFieldRef"], path / "resourceFieldRef", of_file=True)
    else:
        yield rules.ONE_OF.at(path, choices="fieldRef, resourceFieldRef", found="none")


def find_projection_problems(volume: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Problems of a projected volume."""
    seen: dict[str, FieldPath] = {}
    for index, source in enumerate(volume.get("sources", ())):
        at = path / "sources" / index
        found = [kind for kind in _KINDS if kind in source]
        if len(found) > 1:
            yield rules.ONE_OF.at(at, choices=", ".join(_KINDS), found=name_found(found))
        for kind in found:
            yield from _find_source_problems(kind, source[kind], at / kind)
            for where, name in _paths_of(kind, source[kind], at / kind):
                other = seen.setdefault(name, where)
                if other is not where:
                    yield rules.REPEATED.at(where, found=repr(name), other=other)


def _find_source_problems(kind: str, source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    match kind:
        case "configMap" | "secret":
            yield from require(source, "name", path)
            yield from find_items_problems(source.get("items", ()), path / "items")
        case "downwardAPI":
            for index, item in enumerate(source.get("items", ())):
                yield from find_file_problems(item, path / "items" / index)
        case "serviceAccountToken":
            yield from require(source, "path", path, rules.LOCAL_PATH)


def _paths_of(kind: str, source: Mapping[str, Json], path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """The files of a source, each with the path of the field that names it; a token's file is not compared."""
    match kind:
        case "configMap" | "secret" | "downwardAPI":
            for index, item in enumerate(source.get("items", ())):
                if item.get("path"):
                    yield path / "items" / index / "path", item["path"]
