"""A cluster's answer to a graph's children in a few lines: what tests of whole syncs run against."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hooks.graph.sync import sync
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, gvk_of, name_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.controllers import NEVER_UPDATED
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.metacontroller.wire import write_sync_answer
from tests import make


def ask(
    parent: Manifest,
    children: Iterable[Manifest] = (),
    related: Iterable[Manifest] = (),
    installed: Iterable[str] = (),
    settings: Mapping[str, str] | None = None,
) -> SyncAnswer:
    """Sync, with the answer checked as the server checks it."""
    request = make.sync_request(parent, children, related, installed=installed)
    answer = sync(request, Facts(now=make.NOW, settings=parse_settings({}, settings)))
    assert write_sync_answer(answer, request.children)
    return answer


def apply(observed: Iterable[Manifest], desired: Iterable[Manifest]) -> list[Manifest]:
    """The children after Metacontroller applied an answer: unnamed ones gone, OnDelete ones untouched."""
    before = {(gvk_of(m), name_of(m)): m for m in observed}
    return [_applied(before.get((gvk_of(m), name_of(m))), m) for m in desired]


def _applied(old: Manifest | None, desired: Manifest) -> Manifest:
    new = make.observed(desired)
    if old is None:
        return new
    if gvk_of(desired) in NEVER_UPDATED[contract.GRAPH]:
        return old
    new["metadata"]["generation"] = old["metadata"]["generation"] + (old.get("spec") != new.get("spec"))
    return {**new, **({"status": old["status"]} if "status" in old else {})}


def run(children: Iterable[Manifest], *, unready: Mapping[str, str] | None = None) -> list[Manifest]:
    """The children with every component's status up to date and available, except those `unready` for a reason."""
    return [_run(child, unready or {}) if gvk_of(child) == contract.COMPONENT else child for child in children]


def _run(component: Manifest, unready: Mapping[str, str]) -> Manifest:
    name = name_of(component)
    condition = {
        "type": "Available",
        "status": "False" if name in unready else "True",
        "message": unready.get(name, ""),
    }
    count = component["spec"]["replicas"]
    service = {"componentKind": "Deployment", "componentName": name, "replicas": count, "updatedReplicas": count}
    status = {"observedGeneration": component["metadata"]["generation"], "conditions": [condition], "service": service}
    return {**component, "status": status}


def child(children: Iterable[Manifest], kind: str, name: str) -> dict[str, Any]:
    """The child of that kind and name."""
    return next(m for m in children if m["kind"] == kind and name_of(m) == name)


def names(children: Iterable[Manifest], kind: str) -> list[str]:
    """Names of the children of that kind, in order."""
    return [name_of(m) for m in children if m["kind"] == kind]


def component(parent: Manifest, service: str, settings: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The spec of a service's component at the first sync."""
    name = f"{name_of(parent)}-{service.lower()}"
    spec = child(ask(parent, settings=settings).children, "DynamoComponentDeployment", name)["spec"]
    assert isinstance(spec, dict)
    return spec


def ready(answer: SyncAnswer) -> dict[str, Any]:
    """The condition Ready."""
    return condition(answer, "Ready")


def condition(answer: SyncAnswer, type_: str) -> dict[str, Any]:
    """The condition of that type; the types are always the same, but for those of a time only, which are rare."""
    assert answer.status is not None
    found = {one["type"]: dict(one) for one in answer.status["conditions"]}
    assert [one for one in found if one not in {"Held", "Rollout", "SharesWorkers"}] == [
        "Ready",
        "Serving",
        "Applied",
        "Valid",
    ]
    return found[type_]


def text(answer: SyncAnswer) -> str:
    """Children and status as comparable text."""
    return json.dumps([answer.children, answer.status], sort_keys=True)
