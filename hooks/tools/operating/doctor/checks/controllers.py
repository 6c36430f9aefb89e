"""The controllers: whether each installation has all five, as this package has them, and shows the token."""

from collections.abc import Iterable, Mapping
from typing import Any

from hooks import __version__
from hooks.ground.k8s.pod_sets import pod_spec_of
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, plural_of
from hooks.tools.operating.doctor.facts import (
    BASE_NAMES,
    InstallationFacts,
    base_name,
    hooks_containers,
    installation_of,
    parent_rules,
    webhooks_of,
    words_of,
)
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning
from hooks.tools.operating.doctor.remedies import install_hooks
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS
from hooks.wire.metacontroller.install_files import controllers

_OPTIONAL = frozenset((entry.kind.api_version, plural_of(entry.kind)) for entry in OPTIONAL_KINDS.values())


def check_presence(facts: InstallationFacts) -> list[Finding]:
    """Whether each installation has its five controllers, as in this package."""
    if {"compositecontrollers", "decoratorcontrollers"} & facts.unread.keys():
        return []
    if not facts.own_controllers:
        remedy = install_hooks(takes_crds=facts.has_crds)
        return [error("controllers", "Metacontroller has no controllers for the hooks", remedy)]
    findings: list[Finding] = []
    for installation in sorted({installation_of(controller) for controller in facts.own_controllers}):
        found = [c for c in facts.own_controllers if installation_of(c) == installation]
        remedy = _apply(facts, installation)
        missing = [name for name in BASE_NAMES if name not in {base_name(controller) for controller in found}]
        about = f"installation {installation}" if installation else "controllers"
        if missing:
            findings.append(error(about, f"the cluster has no controller {' and no '.join(missing)}", remedy))
        wrong = [finding for controller in found for finding in _judge(controller, installation, remedy)]
        findings.extend(wrong or ([] if missing else [ok(about, f"all five, as in {__version__}")]))
    return findings


def check_token(facts: InstallationFacts) -> list[Finding]:
    """Whether the controllers show a token, if the hooks ask for one."""
    asks = [found for found in facts.hooks if any("--token-file" in words_of(c) for c in hooks_containers(found))]
    if not asks or not facts.own_controllers:
        return []
    without = [c for c in facts.own_controllers if any(not w.get("authorization") for w in webhooks_of(c).values())]
    if not without:
        return [ok("controllers", "they show the hooks' token")]
    text = "it shows no token, so the hooks refuse Metacontroller's calls with 401"
    return [error(describe(found), text, _apply(facts, installation_of(found))) for found in without]


def _judge(controller: ReadManifest, installation: str, remedy: str) -> list[Finding]:
    """What differs from the package's controller, apart from optional kinds, the hooks' address and the token."""
    wanted = next(c for c in controllers("", installation=installation) if base_name(c) == base_name(controller))
    about, spec = describe(controller), controller["spec"]
    old = [name for name, hook in spec["hooks"].items() if (hook or {}).get("version", "v1") != "v2"]
    if old:
        return [
            error(about, f"the hooks {', '.join(sorted(old))} are not of version v2, the only one we speak", remedy)
        ]
    missing = [kind for kind in _children(wanted) if kind not in _children(controller)]
    if missing:
        return [error(about, f"it does not declare the child kinds {', '.join(missing)}", remedy)]
    lacking = [name for name in wanted["spec"]["hooks"] if name not in spec["hooks"]]
    if lacking:
        return [error(about, f"it has no hook {' and no '.join(lacking)}", remedy)]
    selectors = [rule.get("labelSelector") for rule in parent_rules(controller)]
    if selectors != [rule.get("labelSelector") for rule in parent_rules(wanted)]:
        text = "it does not select the objects of its installation, so two controllers or none look after an object"
        return [error(about, text, remedy)]
    differing = [key for key in _comparable(wanted) if _comparable(wanted)[key] != _comparable(controller).get(key)]
    return [warning(about, f"{', '.join(differing)} differ from {__version__}", remedy)] if differing else []


def _children(controller: ReadManifest) -> list[str]:
    return [f"{rule['resource']}.{rule['apiVersion']}" for rule in controller["spec"].get("childResources") or ()]


def _comparable(controller: ReadManifest) -> Manifest:
    """The parts of a spec that do not depend on the cluster."""
    spec = controller["spec"]
    strategies = {
        f"strategy of {rule['resource']}": (rule.get("updateStrategy") or {}).get("method", "OnDelete")
        for rule in spec.get("childResources") or ()
        if (rule["apiVersion"], rule["resource"]) not in _OPTIONAL
    }
    paths = {f"path of {name}": _path_of(webhook) for name, webhook in webhooks_of(controller).items()}
    wanted = {key: value for key, value in paths.items() if key != "path of finalize"}
    return {
        "generateSelector": bool(spec.get("generateSelector")),
        "resyncPeriodSeconds": spec.get("resyncPeriodSeconds"),
        **strategies,
        **wanted,
    }


def _path_of(webhook: Mapping[str, Json]) -> str:
    """`/graph/sync`, without the revision with which the chart ends it."""
    path = _without_query(webhook.get("path")) or _without_query(webhook.get("url"))
    return "/" + "/".join(path.rstrip("/").rsplit("/", 2)[-2:]).lstrip("/")


def _without_query(address: Json) -> str:
    return str(address or "").partition("?")[0]


def _apply(facts: InstallationFacts, installation: str) -> str:
    """The command that makes the controllers again, with the address, kinds and token that are in use."""
    command = "dynamo-hooks controllers"
    found = [c for c in facts.own_controllers if installation_of(c) == installation]
    url = next((_address(webhook) for c in found for webhook in webhooks_of(c).values() if _address(webhook)), "")
    command += f" --url {url}" if url else ""
    declared = {kind for controller in found for kind in _children(controller)}
    names = [
        n for n, entry in OPTIONAL_KINDS.items() if f"{plural_of(entry.kind)}.{entry.kind.api_version}" in declared
    ]
    command += f" --with {','.join(sorted(names))}" if names else ""
    command += (
        " --discovery-backend etcd" if any("finalize" in webhooks_of(c) for c in _of(found, "dynamo-component")) else ""
    )
    command += f" --installation {installation}" if installation else ""
    command += _token_option(facts, found)
    return f"{command} | kubectl apply -f -"


def _of(found: Iterable[ReadManifest], base: str) -> list[ReadManifest]:
    return [controller for controller in found if base_name(controller) == base]


def _address(webhook: Mapping[str, Json]) -> str:
    service = webhook.get("service")
    if service:
        port = service.get("port", 80)
        return f"http://{service['name']}.{service['namespace']}" + (f":{port}" if port != 80 else "")
    return _without_query(webhook.get("url")).removesuffix(_path_of(webhook))


def _token_option(facts: InstallationFacts, found: Iterable[ReadManifest]) -> str:
    """The option for the Secret that the controllers name, or that the hooks mount."""
    for controller in found:
        for webhook in webhooks_of(controller).values():
            reference: Mapping[str, Any] = (webhook.get("authorization") or {}).get("secretRef") or {}
            if reference:
                return f" --token-secret {reference['namespace']}/{reference['name']}"
    for workload in facts.hooks:
        for volume in pod_spec_of(workload).get("volumes") or ():
            if volume.get("name") == "callers" and volume.get("secret"):
                return f" --token-secret {workload['metadata']['namespace']}/{volume['secret']['secretName']}"
    return ""
