"""What must hold of pull secrets, which follow from what is there and not from what was asked for."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from hooks.ground import contract
from hooks.ground.k8s import kinds
from tests.sequences.calls import Call
from tests.sequences.world import Step, World
from tests.templates import find_templates

PULL_SECRETS = "imagePullSecrets"
_WORKLOADS = (kinds.DEPLOYMENT.kind, kinds.LEADER_WORKER_SET.kind, kinds.POD_CLIQUE_SET.kind)


def secrets_roll_nothing(_world: World, step: Step) -> Iterator[str]:
    """A template changes in its pull secrets alone only where a pod is shown whose image cannot be pulled."""
    for call in step.calls:
        if call.stage == "sync" and call.said and not shows_missing_image(call):
            yield from _faults(call)


def _faults(call: Call) -> Iterator[str]:
    for kind in _WORKLOADS:
        wanted = call.wanted(kind)
        for live in call.children(kind):
            text = live["metadata"].get("annotations", {}).get(contract.ANNOTATION_LAST_APPLIED)
            name = live["metadata"]["name"]
            if text is None or name not in wanted or "deletionTimestamp" in live["metadata"]:
                continue
            applied = orjson.loads(text)
            if _size_of(applied) != _size_of(wanted[name]):
                continue
            before, after = find_templates([applied]), find_templates([wanted[name]])
            for key in before.keys() & after.keys():
                if before[key] != after[key] and _without_secrets(before[key]) == _without_secrets(after[key]):
                    yield f"{key} gets other pull secrets, although nothing else of it changes and no image is missing"


def _size_of(workload: Mapping[str, Any]) -> Any:
    """How many pods a group of a LeaderWorkerSet has, None of other workloads; a change makes all groups again."""
    return workload["spec"].get("leaderWorkerTemplate", {}).get("size")


def shows_missing_image(call: Call) -> bool:
    """Whether a hook is shown a pod whose image cannot be pulled."""
    related = (call.request.get("related") or {}).values()
    pods: list[Any] = [found for group in related for found in group.values() if found["kind"] == kinds.POD.kind]
    pods += [found for query, answer in call.found.items() if query.kind == kinds.POD for found in answer.objects]
    containers = [one for pod in pods for one in pod.get("status", {}).get("containerStatuses", ())]
    return any(one["state"].get("waiting", {}).get("reason") == "ImagePullBackOff" for one in containers)


def _without_secrets(template: Mapping[str, Any]) -> dict[str, Any]:
    field = "podSpec" if "podSpec" in template else "spec"
    spec = {key: value for key, value in template[field].items() if key != PULL_SECRETS}
    return {**template, field: spec}
