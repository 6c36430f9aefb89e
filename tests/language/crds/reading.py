"""The definitions, and ways into their schemas."""

from collections.abc import Iterator
from typing import Any

from hooks.language.crds import build_crds

BY_KIND = {crd["spec"]["names"]["kind"]: crd for crd in build_crds()}
KINDS = list(BY_KIND)
DGD, DCD = "DynamoGraphDeployment", "DynamoComponentDeployment"
DM, DGDR = "DynamoModel", "DynamoGraphDeploymentRequest"
DGDSA, DWM = "DynamoGraphDeploymentScalingAdapter", "DynamoWorkerMetadata"

Node = dict[str, Any]


def root_of(kind: str) -> Node:
    schema: Node = BY_KIND[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def node_at(kind: str, path: str) -> Node:
    """`spec.services.*.envs[]`: `*` is any key of a map, `[]` any item of a list."""
    node = root_of(kind)
    for part in path.replace("[]", ".[]").split("."):
        match part:
            case "[]":
                node = node["items"]
            case "*":
                node = node["additionalProperties"]
            case _:
                node = node["properties"][part]
    return node


def walk(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    yield path, node
    for name, part in node.get("properties", {}).items():
        yield from walk(part, f"{path}.{name}")
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if key in node:
            yield from walk(node[key], path + mark)
