"""Nothing volatile is in a pod template: time, replicas, what was observed and what was reported roll no pod."""

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.component import sync as component_hook
from hooks.graph import sync as graph_hook
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, gvk_of
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.metacontroller.wire import parse_sync_request
from tests import make
from tests.templates import find_changes, find_templates

ROOT = Path(__file__).parent.parent
EXAMPLES = [path for path in sorted((ROOT / "examples").rglob("*.yaml")) if "0.9" not in path.parts]
"""Those of 0.9 have other arguments and fewer probes, which are the same in all circumstances."""
CALLS = sorted(path.parent for path in (ROOT / "tests" / "golden").glob("*/sync/*/request.yaml"))
HOOKS: Mapping[Any, Any] = {contract.GRAPH: graph_hook, contract.COMPONENT: component_hook}
RELATED = {kinds.POD.kind, kinds.POD_CLIQUE.kind, kinds.POD_CLIQUE_SCALING_GROUP.kind}
PATHS = {"components": (), "groups": ("lws", "volcano"), "Grove": ("grove",)}
LATER = make.NOW + timedelta(days=400, seconds=7)
KEY = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "mpi-run-ssh-secret", "namespace": make.NAMESPACE},
    "data": {"private.key": "cHJpdmF0ZQ==", "private.key.pub": "cHVibGlj"},
}


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """When a document is rendered and what is there then.

    `before` is there at first, `after` once there are children: registry Secrets and labelled ServiceAccounts.
    `seen` writes the status of each child that is there, None where nothing is there yet; `reported` that of the
    parents, from what their hook said before. `replicas` are those of every service but endpoint pickers, `adapted`
    what its scaling adapter asks for.
    """

    now: datetime = make.NOW
    seen: Callable[[Manifest], Any] | None = None
    reported: Callable[[Any], Any] = lambda status: status
    replicas: int | None = None
    adapted: int | None = None
    before: tuple[Manifest, ...] = ()
    after: tuple[Manifest, ...] = ()


def up(child: Manifest) -> dict[str, Any]:
    return _counts(child, child.get("spec", {}).get("replicas", 1), "True")


def down(child: Manifest) -> dict[str, Any]:
    return _counts(child, 0, "False")


def outdated(child: Manifest) -> dict[str, Any]:
    return {**_counts(child, 7, "True"), "observedGeneration": 0, "lastErrors": [{"description": "no quota"}]}


def _counts(child: Manifest, count: Any, available: str) -> dict[str, Any]:
    moment = "2026-02-01T10:11:12Z"
    conditions = [{"type": "Available", "status": available, "message": "m", "lastTransitionTime": moment}]
    names = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
    counts = dict.fromkeys(names, count)
    return {
        "observedGeneration": child["metadata"]["generation"],
        **counts,
        "conditions": conditions,
        "service": counts,
    }


def failed(status: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "False", "reason": "x", "lastTransitionTime": "2020-01-01T00:00:00Z"}]
    return {**status, "state": "failed", "conditions": conditions, "services": {"gone": {"replicas": 9}}}


def going(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "deletionTimestamp": "2026-03-01T11:00:00Z"}}


ONE, TWO = (make.pull_secret(name, "docker.io") for name in ("b-one", "a-two"))
MINE, FIRST = (make.account(name) for name in ("mine", "first"))
CIRCUMSTANCES = {
    "at another time": Circumstances(now=LATER),
    "all up": Circumstances(seen=up),
    "all up at another time": Circumstances(seen=up, now=LATER),
    "all down": Circumstances(seen=down),
    "outdated statuses": Circumstances(seen=outdated),
    "status lost": Circumstances(seen=up, reported=lambda _: {}),
    "failure reported": Circumstances(seen=up, reported=failed),
    "more replicas": Circumstances(replicas=4),
    "more replicas of what is up": Circumstances(seen=up, replicas=3),
    "no replicas": Circumstances(seen=down, replicas=0),
    "adapters": Circumstances(adapted=1),
    "adapters ask for more": Circumstances(seen=up, adapted=5),
    "Secret added": Circumstances(seen=up, after=(ONE,)),
    "Secret removed": Circumstances(seen=up, before=(ONE,)),
    "Secret being deleted": Circumstances(seen=up, before=(ONE,), after=(going(ONE),)),
    "second Secret": Circumstances(seen=up, before=(ONE,), after=(ONE, TWO)),
    "Secret under another name": Circumstances(seen=up, before=(ONE,), after=(TWO,)),
    "Secret removed from what is down": Circumstances(seen=down, before=(ONE,)),
    "Secret added to what starts": Circumstances(seen=down, after=(ONE,)),
    "Secret added while scaled": Circumstances(seen=up, replicas=3, after=(ONE,)),
    "account added": Circumstances(seen=up, after=(MINE,)),
    "further account": Circumstances(seen=up, before=(MINE,), after=(MINE, FIRST)),
    "further account removed": Circumstances(seen=up, before=(FIRST, MINE), after=(FIRST,)),
    "all of it": Circumstances(seen=up, before=(ONE, MINE), after=(TWO, MINE, FIRST)),
}


def render(document: Manifest, installed: Iterable[str], given: Circumstances) -> list[Manifest]:
    """All children of a document, down to the workloads, as they come to be under these circumstances."""
    parent = scaled({**document, "metadata": {"namespace": make.NAMESPACE, **document["metadata"]}}, given)
    parent["metadata"].update(uid="u-parent", generation=1)
    return descend(parent, list(installed), given)


def descend(parent: Manifest, installed: list[str], given: Circumstances) -> list[Manifest]:
    answer = answer_to(parent, given.before, installed, given)
    if given.seen is not None:
        children = [observe(child, given) for child in answer.children]
        # A second generation, so that nothing hangs on it.
        metadata = {**parent["metadata"], "generation": 2, "resourceVersion": "77"}
        reported = {**parent, "metadata": metadata, "status": given.reported(answer.status)}
        parts = [part for child in children for part in parts_of(child, given)]
        answer = answer_to(reported, [*children, *parts, *given.after], installed, given)
    below = [child for child in answer.children if gvk_of(child) == contract.COMPONENT]
    return [*answer.children, *(found for child in below for found in descend(adopt(child), installed, given))]


def answer_to(parent: Manifest, seen: Iterable[Manifest], installed: list[str], given: Circumstances) -> SyncAnswer:
    """The hook's answer; pods, Grove's objects and what nobody owns are related, what else is seen are children."""
    parts = [found for found in seen if found["kind"] in RELATED or found in (*given.before, *given.after)]
    children = [found for found in seen if found not in parts]
    request = make.sync_request(parent, children, [KEY, *parts], installed=installed)
    answer: SyncAnswer = HOOKS[gvk_of(parent)].sync(request, make.facts(given.now, grove_topology="pack"))
    assert answer.problems == ()
    return answer


def observe(child: Manifest, given: Circumstances) -> Manifest:
    seen = make.observed(child)
    seen["metadata"].update(generation=3, resourceVersion="9", creationTimestamp="2026-01-02T03:04:05Z")
    if given.adapted is not None and child["kind"] == contract.SCALING_ADAPTER.kind:
        seen["spec"]["replicas"] = given.adapted
    assert given.seen is not None
    return {**seen, "status": given.seen(seen)}


def parts_of(child: Manifest, given: Circumstances) -> list[Manifest]:
    """A pod of each template; and what Grove makes of a PodCliqueSet, which somebody scaled."""
    pods = [_pod(template, number, given) for number, template in enumerate(find_templates([child]).values())]
    return [*pods, *(_grove_parts(child, given) if child["kind"] == kinds.POD_CLIQUE_SET.kind else ())]


def _pod(template: Any, number: int, given: Circumstances) -> Manifest:
    labels = template["metadata"]["labels"] if "metadata" in template else template["labels"]
    metadata = {"name": f"pod-{number}", "namespace": make.NAMESPACE, "generation": 1, "labels": labels}
    pod = {"apiVersion": "v1", "kind": kinds.POD.kind, "metadata": metadata, "spec": {"nodeName": "n"}}
    assert given.seen is not None
    return {**pod, "status": {**given.seen(pod), "phase": "Pending"}}


def _grove_parts(child: Manifest, given: Circumstances) -> list[Manifest]:
    name, template = child["metadata"]["name"], child["spec"]["template"]
    groups = template.get("podCliqueScalingGroups", [])
    grouped = {clique for group in groups for clique in group["cliqueNames"]}
    single = [clique["name"] for clique in template["cliques"] if clique["name"] not in grouped]
    named = [
        *((kinds.POD_CLIQUE, clique) for clique in single),
        *((kinds.POD_CLIQUE_SCALING_GROUP, g["name"]) for g in groups),
    ]
    return [_part(kind, name, f"{name}-0-{part}", given) for kind, part in named]


def _part(kind: GroupVersionKind, graph: str, name: str, given: Circumstances) -> Manifest:
    labels = {"app.kubernetes.io/part-of": graph}
    metadata = {"name": name, "namespace": make.NAMESPACE, "generation": 4, "labels": labels}
    part = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": {"replicas": 9}}
    assert given.seen is not None
    return {**part, "status": given.seen(part)}


def adopt(child: Manifest) -> Manifest:
    owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": contract.GRAPH.kind, "name": "x", "uid": "u-parent"}
    name = child["metadata"]["labels"][contract.LABEL_GRAPH]
    seen = make.observed(child)
    seen["metadata"]["ownerReferences"] = [{**owner, "name": name, "controller": True}]
    return seen


def scaled(document: Manifest, given: Circumstances) -> Manifest:
    changed = copy.deepcopy(document)
    specs = changed["spec"]["services"].values() if "services" in changed["spec"] else [changed["spec"]]
    for spec in specs:
        if given.replicas is not None and spec.get("componentType") != "epp":
            spec["replicas"] = given.replicas
        if given.adapted is not None:
            spec["scalingAdapter"] = {"enabled": True}
    return changed


def documents() -> Iterable[Any]:
    """Each graph and component of the examples on each path that can run it."""
    for path in EXAMPLES:
        for number, document in enumerate(
            found for found in yaml.load_all(path.read_text(), yaml.CSafeLoader) if found
        ):
            if gvk_of(document) not in HOOKS:
                continue
            for name, installed in PATHS.items():
                if can_run(path, name):
                    yield pytest.param(
                        document, (*installed, "istio", "inference-pool"), id=f"{path.stem}-{number}-{name}"
                    )


def can_run(example: Path, path: str) -> bool:
    if example.parent.name == "grove":
        return path == "Grove"
    return path != "components" or "multinode" not in example.stem


@pytest.mark.sampled(every=4)  # of up to three paths one after another
@pytest.mark.parametrize(("document", "installed"), list(documents()))
def test_example_has_the_same_templates(document: Manifest, installed: tuple[str, ...]) -> None:
    assert find_templates(render(document, installed, Circumstances()))
    for name, given in CIRCUMSTANCES.items():
        first = find_templates(render(document, installed, Circumstances(before=given.before)))
        second = find_templates(render(document, installed, given))
        changed = find_changes(first, second)
        if given.replicas == 0:  # each replica over several nodes is an object of its own, so that there is none
            changed = [key for key in changed if key in second or not key.startswith("LeaderWorkerSet")]
        assert changed == [], name


@pytest.mark.parametrize("path", PATHS)
def test_what_is_there_at_first_is_part_of_the_templates(path: str) -> None:
    """Without which the circumstances above would say nothing of Secrets and accounts."""
    alone = make.component("c", **make.service())
    for document in (make.graph({"a": make.service()}), alone):
        first, with_secret, with_account = (
            find_templates(render(document, PATHS[path], Circumstances(before=before)))
            for before in ((), (ONE,), (MINE,))
        )
        assert find_changes(first, with_secret) == sorted(first)
        assert find_changes(first, with_account) == (sorted(first) if document is alone else [])


def name_of_call(path: Path) -> str:
    return "/".join(path.parts[-3:])


@pytest.mark.parametrize("call", [call for call in CALLS if call.parts[-3] in {"graph", "component"}], ids=name_of_call)
def test_recorded_call_has_the_same_templates_whatever_is_reported(call: Path) -> None:
    body = yaml.load((call / "request.yaml").read_text(), yaml.CSafeLoader)
    first = templates_of_call(body, make.NOW)
    parent = body["parent"]
    for status in ({}, failed(parent.get("status", {}))):
        for seen in (up, down, outdated):
            other = {**body, "parent": {**parent, "status": status}, "children": restate(body["children"], seen)}
            assert find_changes(first, templates_of_call(other, LATER)) == [], seen


def templates_of_call(body: Any, now: datetime) -> dict[str, Any]:
    """Templates that a recorded call brings about, but for the id of a restart: its order goes by what is ready."""
    kind = gvk_of(body["parent"])
    answer = HOOKS[kind].sync(parse_sync_request(json.dumps(body).encode(), kind), make.facts(now))
    below = [child for child in answer.children if gvk_of(child) == contract.COMPONENT]
    deeper = [found for child in below for found in descend(adopt(child), [], Circumstances(now=now))]
    templates = find_templates([*answer.children, *deeper])
    return {key: without_restart(template) for key, template in templates.items()}


def without_restart(value: Any) -> Any:
    if isinstance(value, list):
        return [without_restart(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: without_restart(item) for key, item in value.items() if key != contract.ANNOTATION_RESTART_AT}
    return {key: item for key, item in kept.items() if key != "annotations" or item}


def restate(children: Any, seen: Callable[[Manifest], Any]) -> Any:
    """The same children with other statuses."""
    return {
        kind: {name: {**child, "status": seen(child)} for name, child in found.items()}
        for kind, found in children.items()
    }


VLLM = ["python3", "-m", "dynamo.vllm", "--tensor-parallel-size", "2"]
SGLANG = {"command": ["python3", "-m", "dynamo.sglang"], "resources": {"limits": {"gpu": "1"}}}
ASKED_FOR = {
    "image": {"image": "img:2"},
    "arguments": {"args": ["--x"]},
    "variable": {"envs": [{"name": "A", "value": "1"}]},
    "resources": {"resources": {"limits": {"cpu": "3"}}},
    "label of pods": {"extraPodMetadata": {"labels": {"a": "b"}}},
    "annotation of pods": {"extraPodMetadata": {"annotations": {"a": "b"}}},
    "shared memory": {"sharedMemory": {"size": "1Gi"}},
    "model": {"modelRef": {"name": "m"}},
    "restart": {"annotations": {contract.ANNOTATION_RESTART_AT: "r1"}},
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("change", ASKED_FOR.values(), ids=ASKED_FOR)
def test_change_that_is_asked_for_alters_the_templates_of_its_service_alone(change: Any, path: str) -> None:
    before, after = rendered({}, path), rendered(change, path)
    changed = find_changes(before, after)
    assert changed
    assert all(key.endswith(("g-a", "/a")) for key in changed), changed


@pytest.mark.parametrize("path", ["groups", "Grove"])
def test_nodes_of_a_replica_are_part_of_its_templates(path: str) -> None:
    """Each rank is told how many there are, so that another number restarts them all."""
    before, after = (rendered({**SGLANG, "multinode": {"nodeCount": nodes}}, path) for nodes in (2, 3))
    assert len(before) == 3
    assert find_changes(before, after) == sorted(key for key in before if not key.endswith("b"))


@pytest.mark.parametrize("path", PATHS)
def test_further_service_leaves_the_templates_of_the_others(path: str) -> None:
    one = make.graph({"a": make.service()})
    two = make.graph({"a": make.service(), "b": make.service("frontend")})
    first, second = (find_templates(render(graph, PATHS[path], Circumstances())) for graph in (one, two))
    assert find_changes(first, second) == []
    assert len(second) == len(first) + 1


def rendered(fields: Any, path: str) -> Any:
    """Templates of a graph of two services, of which `a` has these fields."""
    graph = make.graph({"a": make.service(**{"command": VLLM, **fields}), "b": make.service()})
    return find_templates(render(graph, PATHS[path], Circumstances()))
