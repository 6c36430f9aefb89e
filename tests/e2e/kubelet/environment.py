"""A container's environment, command and arguments, as the kubelet makes them of a Pod.

Source: Kubernetes API, EnvVar, EnvFromSource; `$(NAME)` is replaced, `$$` is `$`, an unknown name stays as it is.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from hooks.ground.k8s.quantities import parse_quantity

Manifest = Mapping[str, Any]
Data = Callable[[str, str], Mapping[str, str] | None]
"""(`ConfigMap` or `Secret`, name) to its data as text; None where there is none."""

_REFERENCE = re.compile(r"\$(?:\$|\(([^()]*)\))")
_MAP_FIELD = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class MissingReference(Exception):
    """Something that a container refers to does not exist; the message names it."""


def expand(text: str, known: Mapping[str, str]) -> str:
    """The text with each `$(NAME)` of a known name replaced."""

    def replace(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else known.get(found[1], found[0])

    return _REFERENCE.sub(replace, text)


def build_environment(container: Manifest, pod: Manifest, address: str, data: Data) -> dict[str, str]:
    """Name to value of every variable; `address` is where the pod's processes listen.

    Raises:
        MissingReference: a ConfigMap, a Secret or a key that is not optional does not exist.
    """
    found: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        found.update(_all_of(source, data))
    for entry in container.get("env") or ():
        value = _value_of(entry, container, pod, address, data)
        if value is not None:
            found[entry["name"]] = expand(value, found) if "valueFrom" not in entry else value
    return found


def build_command(container: Manifest, environment: Mapping[str, str]) -> list[str]:
    """Command and arguments, with `$(NAME)` replaced."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return [expand(word, environment) for word in words]


def read_field(pod: Manifest, path: str, address: str) -> str:
    """The value of a `fieldRef`.

    Raises:
        MissingReference: no such field is offered.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    if found := _MAP_FIELD.fullmatch(path):
        return str((metadata.get(found[1]) or {}).get(found[2], ""))
    fields = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", "default"),
        **dict.fromkeys(("status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs"), address),
    }
    if path not in fields:
        raise MissingReference(f"fieldRef {path} is not supported")
    return str(fields[path])


def _all_of(source: Manifest, data: Data) -> Mapping[str, str]:
    field, kind = ("configMapRef", "ConfigMap") if "configMapRef" in source else ("secretRef", "Secret")
    reference = source[field]
    found = data(kind, reference["name"])
    if found is None:
        if reference.get("optional"):
            return {}
        raise MissingReference(f'{kind.lower()} "{reference["name"]}" not found')
    return {source.get("prefix", "") + key: value for key, value in found.items()}


def _value_of(entry: Manifest, container: Manifest, pod: Manifest, address: str, data: Data) -> str | None:
    source = entry.get("valueFrom")
    if source is None:
        return str(entry.get("value", ""))
    if "fieldRef" in source:
        return read_field(pod, source["fieldRef"]["fieldPath"], address)
    if "resourceFieldRef" in source:
        return _read_resource(source["resourceFieldRef"], container)
    field, kind = ("configMapKeyRef", "ConfigMap") if "configMapKeyRef" in source else ("secretKeyRef", "Secret")
    reference = source[field]
    found = data(kind, reference["name"])
    if found is not None and reference["key"] in found:
        return found[reference["key"]]
    if reference.get("optional"):
        return None
    if found is None:
        raise MissingReference(f'{kind.lower()} "{reference["name"]}" not found')
    raise MissingReference(f"couldn't find key {reference['key']} in {kind} {reference['name']}")


def _read_resource(reference: Manifest, container: Manifest) -> str:
    which, _, name = reference["resource"].partition(".")
    amount = parse_quantity(((container.get("resources") or {}).get(which) or {}).get(name, "0"))
    divisor = parse_quantity(reference.get("divisor") or "1") or 1
    return str(math.ceil((amount or 0) / divisor))
