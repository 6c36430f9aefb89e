"""Values that must not come out, the places where users write them, and the search for them in what is said."""

import base64
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.server.serving.logs import JsonFormatter

TEXT, NUMBER = "canary-5f1c", 640918273645
ENCODED = base64.b64encode(TEXT.encode()).decode()
SHAPES: dict[str, Any] = {
    "a text": TEXT,
    "a number": NUMBER,
    "a list": [TEXT, NUMBER],
    "an object": {"a": TEXT},
    "a key": {TEXT: "a"},
    "an entry": [{"name": "PASSWORD", "value": TEXT}],
    "two entries": [{"name": "PASSWORD", "value": TEXT}, {"name": "PASSWORD", "value": f"{TEXT}2"}],
    "a misspelt entry": [{"nme": "PASSWORD", "vaule": TEXT}],
    "an entry that is a list": [[TEXT]],
    "an entry with an object": [{"name": "PASSWORD", "value": {"a": [TEXT]}}],
    "an entry with both": [{"name": "P", "value": TEXT, "valueFrom": {"secretKeyRef": {"name": "s", "key": 5}}}],
}
"""A right value of some field, and what users write by mistake in its place."""

Put = Callable[[Manifest, Any], None]


def list_containers(value: Any) -> Iterator[dict[str, Any]]:
    """All containers in a manifest."""
    if isinstance(value, dict):
        if "image" in value and "spec" not in value:
            yield value
        for item in value.values():
            yield from list_containers(item)
    elif isinstance(value, list):
        for item in value:
            yield from list_containers(item)


def list_specs(value: Any) -> Iterator[dict[str, Any]]:
    """All specs of services and components in a manifest."""
    if isinstance(value, dict):
        if "componentType" in value:
            yield value
        for item in value.values():
            yield from list_specs(item)


def in_containers(field: str, wrap: Callable[[Any], Any] = lambda value: value) -> Put:
    """Puts the value into that field of each container."""

    def put(found: Manifest, value: Any) -> None:
        for container in list(list_containers(found)):
            container[field] = wrap(value)

    return put


def in_specs(field: str, wrap: Callable[[Any], Any] = lambda value: value) -> Put:
    """Puts the value into that field of each service, and of the spec."""

    def put(found: Manifest, value: Any) -> None:
        for spec in [*list_specs(found), found["spec"]]:
            spec[field] = wrap(value)

    return put


def in_annotation(name: str, write: Callable[[Any], Any] = lambda value: value) -> Put:
    """Puts the value into that annotation of the object."""

    def put(found: Manifest, value: Any) -> None:
        found["metadata"]["annotations"] = {name: write(value)}

    return put


def header(value: Any) -> Any:
    """A probe with a header."""
    return {"httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "Authorization", "value": value}]}}


def command(value: Any) -> Any:
    """A probe that runs a command."""
    return {"exec": {"command": value}}


def write_applied(value: Any) -> str:
    """What kubectl and Metacontroller record of an object."""
    return json.dumps({"kind": "x", "spec": {"envs": value, "template": {"containers": [{"env": value}]}}})


PLACES: dict[str, Put] = {
    "env": in_containers("env"),
    "envs": in_specs("envs"),
    "args": in_containers("args"),
    "command": in_containers("command"),
    "header of a probe": in_containers("livenessProbe", header),
    "header of a service's probe": in_specs("readinessProbe", header),
    "command of a probe": in_containers("startupProbe", command),
    "command at the end": in_containers("lifecycle", lambda value: {"preStop": command(value)}),
    "annotation": in_annotation("example.com/password"),
    "annotation of a service": in_specs("annotations", lambda value: {"example.com/password": value}),
    "annotations": in_specs("annotations"),
    "kubectl's record": in_annotation("kubectl.kubernetes.io/last-applied-configuration", write_applied),
    "Metacontroller's record": in_annotation(contract.ANNOTATION_LAST_APPLIED, write_applied),
    "half a record": in_annotation(contract.ANNOTATION_LAST_APPLIED, lambda value: write_applied(value)[:-3]),
    "attributes of a volume": in_specs(
        "extraPodSpec",
        lambda value: {"volumes": [{"name": "v", "csi": {"driver": "d", "volumeAttributes": {"password": value}}}]},
    ),
    "configuration of a picker": in_specs("eppConfig", lambda value: {"config": {"token": value}}),
    "configuration of a profiler": in_specs("profilingConfig", lambda value: {"config": {"token": value}}),
}
"""Where users write values, and who puts one there."""

SHOWN = frozenset({"args", "command", "command of a probe", "command at the end", "annotation"}) | frozenset(
    place for place in PLACES if place.startswith(("annotation of", "annotations", "attributes", "configuration"))
)
"""Places that bodies at DEBUG have as they are, as docs/security.md says."""


def plant(found: Manifest, place: str, shape: str) -> Manifest:
    """A copy of the manifest with a value of that shape at that place."""
    planted: Manifest = json.loads(json.dumps(found))
    PLACES[place](planted, json.loads(json.dumps(SHAPES[shape])))
    return planted


def find_canaries(said: Iterable[tuple[str, Any]]) -> list[str]:
    """Where a value stands, with what is around it."""
    found = []
    for place, value in said:
        text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
        for mark in (TEXT, str(NUMBER), ENCODED):
            if mark in text:
                at = text.index(mark)
                found.append(f"{place}: {text[max(0, at - 120) : at + 40]}")
    return found


def list_lines(caplog: pytest.LogCaptureFixture, least: int = logging.DEBUG) -> Iterator[tuple[str, str]]:
    """The lines of the log from a level upwards, as a server writes them."""
    for record in caplog.records:
        if record.levelno >= least:
            yield f"log {record.levelname}", JsonFormatter().format(record)
