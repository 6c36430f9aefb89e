"""Metacontroller: whether it is there, its version, its pods and its CRDs."""

import re

from hooks.ground.k8s.pod_sets import wanted_replicas
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.tools.operating.doctor.facts import InstallationFacts, metacontroller_container, ready_of
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning
from hooks.tools.operating.doctor.remedies import (
    INSTALL_METACONTROLLER,
    METACONTROLLER_VERSION,
    UPDATE_METACONTROLLERS_CRDS,
)

CONTROLLER_CRDS = ("compositecontrollers.metacontroller.k8s.io", "decoratorcontrollers.metacontroller.k8s.io")


def check_presence(facts: InstallationFacts) -> list[Finding]:
    """Whether Metacontroller is installed: its CRDs, with the fields that the controllers use, and its pods."""
    if "customresourcedefinitions" in facts.unread:
        return []
    lacking = [name for name in CONTROLLER_CRDS if name not in facts.crds]
    if lacking:
        text = f"Metacontroller is not installed: the cluster has no CRD {' and no '.join(lacking)}"
        return [error("Metacontroller", text, INSTALL_METACONTROLLER)]
    old = [name for name in CONTROLLER_CRDS if not _knows_authorization(facts.crds[name])]
    if old:
        text = (
            f"it has no field for the hooks' token, so it is of a version before {METACONTROLLER_VERSION} (Helm never "
            "upgrades these CRDs), and the hooks refuse Metacontroller's calls"
        )
        return [error(f"CustomResourceDefinition {name}", text, UPDATE_METACONTROLLERS_CRDS) for name in old]
    if not facts.metacontrollers and not _is_unread(facts):
        text = (
            "no Deployment or StatefulSet of Metacontroller runs in the cluster, so its version and flags are unknown"
        )
        return [warning("Metacontroller", text, INSTALL_METACONTROLLER)]
    return [finding for found in facts.metacontrollers for finding in _check_pods(found)]


def check_version(facts: InstallationFacts) -> list[Finding]:
    """Whether Metacontroller's image is new enough."""
    return [_judge_version(found) for found in facts.metacontrollers]


def _is_unread(facts: InstallationFacts) -> bool:
    return not {"deployments", "statefulsets"}.isdisjoint(facts.unread)


def _knows_authorization(crd: ReadManifest) -> bool:
    """Whether webhooks of the CRD's kind can have an `authorization`; True if its schema keeps unknown fields."""
    for version in crd["spec"].get("versions") or ():
        node: Json = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        for name in ("spec", "hooks", "sync", "webhook", "authorization"):
            if node.get("x-kubernetes-preserve-unknown-fields"):
                return True
            node = (node.get("properties") or {}).get(name)
            if node is None:
                return False
    return True


def _check_pods(found: ReadManifest) -> list[Finding]:
    name, namespace = found["metadata"]["name"], found["metadata"]["namespace"]
    if ready_of(found) == 0:
        resource = f"{found['kind'].lower()}/{name}"
        remedy = f"kubectl --namespace {namespace} describe {resource}; kubectl --namespace {namespace} logs {resource}"
        return [error(describe(found), "none of its pods is ready", remedy)]
    return [ok(describe(found), f"{ready_of(found)} of {wanted_replicas(found)} pods ready")]


def _judge_version(found: ReadManifest) -> Finding:
    image = str((metacontroller_container(found) or {}).get("image") or "")
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    version = re.match(r"v?(\d+)\.(\d+)\.(\d+)", tag)
    if version is None:
        text = f"its image {image} names no version; {METACONTROLLER_VERSION} or later is needed"
        return warning(describe(found), text, INSTALL_METACONTROLLER)
    needed = tuple(int(part) for part in METACONTROLLER_VERSION.split("."))
    if tuple(int(part) for part in version.groups()) < needed:
        text = (
            f"Metacontroller {tag} is too old: before {METACONTROLLER_VERSION} controllers lose their resync, and "
            "before 4.16.0 it cannot show the hooks' token"
        )
        return error(describe(found), text, INSTALL_METACONTROLLER)
    return ok(describe(found), f"version {tag}")
