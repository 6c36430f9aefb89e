"""Where the values of variables and files come from: fields of the pod, resources, ConfigMaps, Secrets."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from hooks.component.rules.pod_rules.forms import check_form, require
from hooks.ground.k8s.names import is_annotation_key, is_label_key
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem
from hooks.language.rules import pod_values as rules

FIELDS_OF_VARIABLES: Final = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
FIELDS_OF_FILES: Final = (
    *("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"),
)

_FORMER_NODE_NAME = "spec.host"
_SUBSCRIPT = re.compile(r"(.*)\['(.+)'\]", re.DOTALL)
_RESOURCES = frozenset(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTE_DIVISORS = frozenset({"1", *(f"1{unit}" for unit in ("k", "M", "G", "T", "P", "E"))}) | frozenset(
    f"1{unit}i" for unit in "KMGTPE"
)
_CPU_DIVISORS = frozenset({"1", "1m"})


def find_source_problems(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Problems of a variable's `valueFrom`, each source by itself."""
    if "fieldRef" in source:
        yield from find_field_problems(source["fieldRef"], path / "fieldRef", FIELDS_OF_VARIABLES)
    if "resourceFieldRef" in source:
        yield from find_resource_field_problems(source["resourceFieldRef"], path / "resourceFieldRef", of_file=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            yield from require(source[kind], "name", path / kind, rules.OBJECT_NAME)
            yield from require(source[kind], "key", path / kind, rules.CONFIG_KEY)
    if "fileKeyRef" in source:
        yield from require(source["fileKeyRef"], "key", path / "fileKeyRef", rules.VARIABLE_PREFIX)
        yield from require(source["fileKeyRef"], "volumeName", path / "fileKeyRef", rules.DNS_LABEL)
        yield from require(source["fileKeyRef"], "path", path / "fileKeyRef", rules.PATH_WITHOUT_STEPS)


def find_env_from_problems(entries: Collection[Mapping[str, Json]], path: FieldPath) -> Iterator[Problem]:
    """Problems of a container's `envFrom`."""
    kinds = ("configMapRef", "secretRef")
    for index, entry in enumerate(entries):
        at = path / index
        yield from check_form(entry.get("prefix"), rules.VARIABLE_PREFIX, at / "prefix")
        found = [kind for kind in kinds if kind in entry]
        if len(found) != 1:
            yield rules.ONE_OF.at(at, choices=", ".join(kinds), found=name_found(found))
        for kind in found:
            name = entry[kind].get("name")
            yield from (
                require(entry[kind], "name", at / kind) if not name else check_reference(name, at / kind / "name")
            )


def check_reference(name: str, path: FieldPath) -> Iterator[Problem]:
    """The problem of a name that may end with a dash, as the API server takes it in references of variables."""
    ended = f"{name[:-1]}a" if len(name) > 1 and name.endswith("-") else name
    if next(check_form(ended, rules.OBJECT_NAME, path), None) is not None:
        yield rules.OBJECT_NAME.at(path, found=repr(name))


def find_field_problems(reference: Mapping[str, Json], path: FieldPath, allowed: Collection[str]) -> Iterator[Problem]:
    """Problems of a reference to a field of the pod."""
    version, field = reference.get("apiVersion", "v1"), reference.get("fieldPath")
    if version != "v1":
        yield rules.FIXED.at(path / "apiVersion", found=repr(version), wanted="v1, or absent")
    if not field:
        yield rules.EMPTY.at(path / "fieldPath")
        return
    if field == _FORMER_NODE_NAME and "spec.nodeName" in allowed:
        return
    subscripted = _SUBSCRIPT.fullmatch(field)
    if not (_is_known_subscript(subscripted[1], subscripted[2]) if subscripted else field in allowed):
        yield rules.FIELD_OF_POD.at(path / "fieldPath", found=repr(field), choices=", ".join(allowed))


def find_resource_field_problems(reference: Mapping[str, Json], path: FieldPath, *, of_file: bool) -> Iterator[Problem]:
    """Problems of a reference to a container's resource; a file must name the container."""
    if of_file and not reference.get("containerName"):
        yield rules.EMPTY.at(path / "containerName")
    resource, divisor = reference.get("resource", ""), reference.get("divisor", "0")
    is_byte = resource.endswith((".memory", ".ephemeral-storage")) or resource.startswith(_HUGE_PAGES)
    if resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield rules.RESOURCE_OF_CONTAINER.at(path / "resource", found=repr(resource))
    elif divisor != "0" and divisor not in (_BYTE_DIVISORS if is_byte else _CPU_DIVISORS):
        yield (rules.BYTE_DIVISOR if is_byte else rules.CPU_DIVISOR).at(path / "divisor", found=repr(divisor))


def name_found(names: Collection[str]) -> str:
    """`exec, grpc`, or `none`."""
    return ", ".join(names) or "none"


def _is_known_subscript(field: str, key: str) -> bool:
    if field == "metadata.annotations":
        return is_annotation_key(key)
    return field == "metadata.labels" and is_label_key(key)
