"""What the tests of chart and plain manifests share: programs, documents, and the rights that are needed."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.ground.settings import Settings
from hooks.tools.offline.manifests.together import render_manifests
from hooks.tools.offline.rendering import every_child
from hooks.wire.metacontroller import install_files
from tests.cluster.binaries import BIN

ROOT = Path(__file__).parent.parent
READ = ("get", "list", "watch")
CHILD = (*READ, "create", "update", "delete")
RELATED = {
    ("", "nodes"),
    ("", "pods"),
    ("", "secrets"),
    ("", "serviceaccounts"),
    ("discovery.k8s.io", "endpointslices"),
}
"""What customize hooks ask for on any cluster."""
RELATED_WITH_GROVE = {("grove.io", "podcliques"), ("grove.io", "podcliquescalinggroups")}

Right = tuple[str, str, str]


def find_program(name: str) -> str | None:
    built = BIN / name
    return str(built) if built.is_file() else shutil.which(name)


def program(name: str) -> str:
    """Where it is; skips the test where it is not."""
    found = find_program(name)
    if found is None:
        pytest.skip(f"{name} is missing; make cluster builds it")
    return found


def plain(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / "metacontroller" / name).read_text()))


def of_kind(documents: Iterable[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [document for document in documents if document["kind"] in kinds]


def named(documents: Iterable[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = (document for document in of_kind(documents, kind) if document["metadata"]["name"] == name)
    return found


def rights(rules: Iterable[Mapping[str, Any]]) -> set[Right]:
    """Every (group, resource, verb) that the rules grant on objects of any name."""
    return {
        (group, resource, verb)
        for rule in rules
        if "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def expand(kinds: Iterable[tuple[str, str]], verbs: Iterable[str]) -> set[Right]:
    return {(group, resource, verb) for group, resource in kinds for verb in verbs}


def discovery_rights() -> set[Right]:
    """What the Roles grant that our hooks return; who creates them must hold it."""
    example = str(ROOT / "examples" / "vllm-disagg.yaml")
    children = every_child(render_manifests([example], "default", Settings(), frozenset()).rendered)
    return rights(rule for role in children if role["kind"] == "Role" for rule in role["rules"])


def needed_rights(installed: frozenset[str]) -> set[Right]:
    """What Metacontroller needs for our controllers on a cluster with these optional kinds."""
    specs = [controller["spec"] for controller in install_files.controllers("", installed)]
    parents = {
        ("nvidia.com", rule["resource"])
        for spec in specs
        for rule in spec.get("resources", [spec.get("parentResource")])
    }
    children = {
        (rule["apiVersion"].rpartition("/")[0], rule["resource"])
        for spec in specs
        for rule in spec.get("childResources", ())
    }
    own = expand(
        [
            ("metacontroller.k8s.io", f"{name}s")
            for name in ("compositecontroller", "controllerrevision", "decoratorcontroller")
        ]
        + [("apiextensions.k8s.io", "customresourcedefinitions")],
        READ,
    )
    return (
        own
        | expand([("", "namespaces")], ("list", "watch"))
        | expand([("", "events")], ("create", "patch"))
        | expand([("coordination.k8s.io", "leases")], ("create",))
        | expand(parents, (*READ, "update"))
        | expand([(group, f"{name}/status") for group, name in parents], ("get", "update"))
        | expand([(group, f"{name}/finalizers") for group, name in parents], ("update",))
        | expand(children, CHILD)
        | expand(RELATED | (RELATED_WITH_GROVE if "grove" in installed else set()), READ)
        | discovery_rights()
    )
