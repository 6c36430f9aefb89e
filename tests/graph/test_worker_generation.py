"""Generations of workers: who gets which, when they change, and who waits for whom."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, labels_of, name_of
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy import rendering_mark
from tests import make
from tests.graph import test_grove as grove
from tests.graph import world

SUFFIX, HASH = contract.WORKER_SUFFIX, contract.LABEL_WORKER_HASH
GO = "0a1b2c3d"
PATHS: dict[str, tuple[str, ...]] = {"components": (), "Grove": ("grove",)}
on_each_path = pytest.mark.parametrize("installed", PATHS.values(), ids=PATHS)


def worker(tag: str = "1.6.1", **fields: Any) -> dict[str, Any]:
    return make.service("worker", image=f"r/vllm-runtime:{tag}", **fields)


def frontend(tag: str = "1.6.1", **fields: Any) -> dict[str, Any]:
    return make.service("frontend", image=f"r/vllm-runtime:{tag}", **fields)


RESTARTED = {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}
SERVICES: dict[str, Any] = {"decode": worker(), "prefill": worker(), "front": frontend()}
CHANGED = {**SERVICES, "decode": worker(envs=[{"name": "A", "value": "1"}])}


def suffixes(answer: SyncAnswer | Iterable[Manifest]) -> dict[str, str]:
    """By service its generation; label and variable must say the same."""
    children = answer.children if isinstance(answer, SyncAnswer) else answer
    found: dict[str, str] = {}
    for child in children:
        if child["kind"] == contract.COMPONENT.kind:
            said = {one["name"]: one.get("value") for one in child["spec"].get("envs", ())}.get(SUFFIX)
            labels = (labels_of(child).get(HASH), child["spec"]["labels"].get(HASH))
            assert labels == (said, said)
            found[child["spec"]["serviceName"]] = said or ""
        if child["kind"] == kinds.POD_CLIQUE_SET.kind:
            for clique in child["spec"]["template"]["cliques"]:
                main = clique["spec"]["podSpec"]["containers"][-1]
                said = {one["name"]: one.get("value") for one in main["env"]}.get(SUFFIX)
                assert clique["labels"].get(HASH) == said
                found[clique["labels"][contract.LABEL_COMPONENT]] = said or ""
    return found


def suffix_of(answer: SyncAnswer | Iterable[Manifest], *workers: str) -> str:
    """The generation that all workers have, and no other service."""
    found = suffixes(answer)
    named = workers or ("decode", "prefill")
    assert len({found[name] for name in named}) == 1
    assert not any(value for name, value in found.items() if name not in named)
    return found[named[0]]


def ask(services: Mapping[str, Any], children: Iterable[Manifest] = (), **fields: Any) -> SyncAnswer:
    installed, settings = fields.pop("installed", ()), fields.pop("settings", None)
    related = grove_parts(children) if installed else ()
    return world.ask(make.graph(dict(services), **fields), children, related, installed=installed, settings=settings)


def grove_parts(children: Iterable[Manifest]) -> list[Manifest]:
    cliques = [c for child in children if child["kind"] == "PodCliqueSet" for c in child["spec"]["template"]["cliques"]]
    return [grove.part("PodClique", f"g-0-{clique['name']}", desired=clique["spec"]["replicas"]) for clique in cliques]


def settle(before: Iterable[Manifest], answer: SyncAnswer, **unready: str) -> list[Manifest]:
    """The children as applied, all ready but those named."""
    applied = world.run(world.apply(before, answer.children), unready=unready)
    return [grove.processed(one) if one["kind"] == "PodCliqueSet" else one for one in map(_with_ready, applied)]


def _with_ready(child: Manifest) -> Manifest:
    if child["kind"] != contract.COMPONENT.kind:
        return child
    service = child["status"]["service"]
    counts = {**service, "readyReplicas": service["replicas"], "availableReplicas": service["replicas"]}
    return {**child, "status": {**child["status"], "service": counts}}


def without_generation(
    children: Iterable[Manifest], revision: int = rendering_mark.RENDERING_REVISION
) -> list[Manifest]:
    """Live children as hooks without generations rendered them: neither label nor variable."""
    return [_bare(child, revision) for child in children]


def _bare(child: Manifest, revision: int) -> Manifest:
    mark = rendering_mark.read_mark(child)
    if mark is None:
        return child
    applied = _drop(json.loads(child["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED]))
    found = make.observed(rendering_mark.mark(applied, mark.digest, revision))
    metadata = {**found["metadata"], "generation": child["metadata"]["generation"]}
    return {**found, "metadata": metadata, **({"status": child["status"]} if "status" in child else {})}


def _drop(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _drop(item) for key, item in value.items() if key != HASH}
        return {key: item for key, item in kept.items() if not (key == "envs" and item == [])}
    if isinstance(value, list):
        return [_drop(item) for item in value if not (isinstance(item, dict) and item.get("name") == SUFFIX)]
    return value


def remark(answer: SyncAnswer) -> str:
    message: str = world.ready(answer)["message"]
    return message


# Who gets which


@on_each_path
def test_workers_of_a_new_graph_have_one_generation_of_eight_hex_digits(installed: tuple[str, ...]) -> None:
    found = suffix_of(ask(SERVICES, installed=installed))
    assert len(found) == 8
    assert int(found, 16) >= 0
    assert found != suffix_of(ask(CHANGED, installed=installed))
    assert found != suffix_of(ask({**SERVICES, "other": worker()}, installed=installed), "decode", "prefill", "other")


@on_each_path
@pytest.mark.parametrize(
    "same",
    [
        pytest.param({"decode": worker(replicas=3)}, id="replicas"),
        pytest.param({"decode": worker(scalingAdapter={"enabled": True})}, id="adapter"),
        pytest.param({"decode": worker(ingress={"enabled": True, "host": "h"})}, id="ingress"),
        pytest.param({"front": frontend(envFromSecret="s")}, id="frontend"),
        pytest.param({"decode": worker(extraPodMetadata=RESTARTED)}, id="restart of one service"),
        pytest.param({"decode": worker(annotations={contract.ANNOTATION_MAX_SURGE: "1"})}, id="strategy"),
        pytest.param({}, id="claims, restart"),
    ],
)
def test_what_changes_no_worker_changes_no_generation(same: dict[str, Any], installed: tuple[str, ...]) -> None:
    first = ask(SERVICES, installed=installed)
    children = settle((), first)
    rest = {} if same else {"restart": {"id": "r1"}, "pvcs": [{"name": "c"}]}
    answer = ask({**SERVICES, **same}, children, installed=installed, **rest)
    assert suffix_of(answer) == suffix_of(first)


@on_each_path
def test_moving_annotation_of_grove_changes_no_generation(installed: tuple[str, ...]) -> None:
    path = "true" if installed else "false"
    moved = ask(SERVICES, installed=installed, annotations={contract.ANNOTATION_ENABLE_GROVE: path})
    assert suffix_of(moved) == suffix_of(ask(SERVICES, installed=installed))


@on_each_path
def test_change_of_one_worker_gives_all_the_next_generation_and_a_revert_the_last_one(
    installed: tuple[str, ...],
) -> None:
    first = ask(SERVICES, installed=installed)
    children = settle((), first)
    second = ask(CHANGED, children, installed=installed)
    assert suffix_of(second) == suffix_of(ask(CHANGED, installed=installed)) != suffix_of(first)
    after = settle(children, second)
    assert suffix_of(ask(CHANGED, after, installed=installed)) == suffix_of(second)
    assert suffix_of(ask(SERVICES, after, installed=installed)) == suffix_of(first)


def partly(before: list[Manifest], answer: SyncAnswer, *written: str) -> list[Manifest]:
    """Children of which only some components were written."""
    applied = world.apply(before, answer.children)
    names = {f"g-{service}" for service in written}
    return [new if name_of(new) in names else old for old, new in zip(before, applied, strict=True)]


def test_rollout_that_was_written_in_part_goes_on_and_comes_back() -> None:
    first = ask(SERVICES)
    children = settle((), first)
    second = ask(CHANGED, children)
    half = partly(children, second, "prefill")
    assert len(set(suffixes(half).values())) == 3
    assert suffix_of(ask(CHANGED, half)) == suffix_of(second)
    assert suffix_of(ask(SERVICES, half)) == suffix_of(first)
    third = {**CHANGED, "prefill": worker(envFromSecret="s")}
    assert suffix_of(ask(third, half)) == suffix_of(ask(third))


def test_deleted_component_of_a_worker_gets_the_generation_of_the_others() -> None:
    graph_of_before = without_generation(settle((), ask(SERVICES)))
    left = [one for one in graph_of_before if name_of(one) != "g-decode"]
    assert suffix_of(ask(SERVICES, left)) == ""
    labelled = [one for one in settle((), ask(SERVICES)) if name_of(one) != "g-decode"]
    assert suffix_of(ask(SERVICES, labelled)) == suffix_of(ask(SERVICES))


# A running graph


@on_each_path
@pytest.mark.parametrize("revision", [rendering_mark.RENDERING_REVISION - 1, rendering_mark.RENDERING_REVISION])
def test_running_graph_is_left_alone_by_an_upgrade(revision: int, installed: tuple[str, ...]) -> None:
    children = without_generation(settle((), ask(SERVICES, installed=installed)), revision)
    restarted = {"prefill": worker(extraPodMetadata=RESTARTED)}
    for change in ({}, {"prefill": worker(replicas=3)}, {"front": frontend(replicas=2)}, restarted):
        answer = ask({**SERVICES, **change}, children, installed=installed)
        assert suffix_of(answer) == ""
    answer = ask(SERVICES, children, installed=installed, restart={"id": "r1", "strategy": {"type": "Parallel"}})
    assert suffix_of(answer) == ""


@on_each_path
def test_running_graph_whose_frontends_have_the_prefix_gets_its_first_generation_with_a_workers_change(
    installed: tuple[str, ...],
) -> None:
    children = without_generation(settle((), ask(SERVICES, installed=installed)))
    answer = ask(CHANGED, children, installed=installed)
    assert suffix_of(answer) == suffix_of(ask(CHANGED, installed=installed))
    after = settle(children, answer)
    assert suffix_of(ask(SERVICES, after, installed=installed)) == suffix_of(ask(SERVICES, installed=installed))


def test_revert_before_the_first_generation_was_written_restarts_nothing() -> None:
    children = without_generation(settle((), ask(SERVICES)))
    ask(CHANGED, children)
    assert suffix_of(ask(SERVICES, children)) == ""


def test_setting_and_annotation_that_let_new_defaults_in_give_the_first_generation() -> None:
    children = without_generation(settle((), ask(SERVICES)))
    assert suffix_of(ask(SERVICES, children, settings={"new_defaults": "now"})) == suffix_of(ask(SERVICES))
    asked = ask(SERVICES, children, annotations={contract.ANNOTATION_ROLLOUT: "now"})
    assert suffix_of(asked) == suffix_of(ask(SERVICES))


OLDER = 2
"""The last revision of the hooks whose frontends have no prefix."""


def test_workers_wait_with_their_change_until_frontends_of_before_have_the_prefix() -> None:
    children = without_generation(settle((), ask(SERVICES)), OLDER)
    first = ask(CHANGED, children)
    assert suffix_of(first) == ""
    component = world.child(first.children, contract.COMPONENT.kind, "g-decode")
    assert component == json.loads(
        next(one for one in children if name_of(one) == "g-decode")["metadata"]["annotations"][
            contract.ANNOTATION_LAST_APPLIED
        ]
    )
    front = world.child(first.children, contract.COMPONENT.kind, "g-front")
    assert front["spec"]["annotations"][contract.ANNOTATION_NAMESPACE_PREFIX] == "true"
    assert "g-decode: it waits until all pods of front see the workers of the next generation" in remark(first)
    assert world.ready(first)["status"] == "False"

    rolling = settle(children, first, **{"g-front": "its pods start"})
    assert suffix_of(ask(CHANGED, rolling)) == ""
    ready = settle(children, first)
    second = ask(CHANGED, ready)
    assert suffix_of(second) == suffix_of(ask(CHANGED))
    for _ in range(2):
        ready = settle(ready, second)
        again = ask(CHANGED, ready)
        assert world.text(again) == world.text(ask(CHANGED, ready))
        assert world.child(again.children, contract.COMPONENT.kind, "g-front") == world.child(
            second.children, contract.COMPONENT.kind, "g-front"
        )
    assert world.ready(again)["status"] == "True"


def test_revert_while_workers_wait_leaves_them_as_they_are() -> None:
    children = without_generation(settle((), ask(SERVICES)), OLDER)
    waiting = settle(children, ask(CHANGED, children))
    assert suffix_of(ask(SERVICES, waiting)) == ""


def test_workers_without_a_ready_pod_wait_for_nothing() -> None:
    down = {"g-decode": "down", "g-prefill": "down"}
    children = without_generation(world.run(world.apply([], ask(SERVICES).children), unready=down), OLDER)
    assert suffix_of(ask(CHANGED, children)) == suffix_of(ask(CHANGED))


def test_set_whose_frontend_lacks_the_prefix_gets_it_first_and_the_generation_with_the_next_change() -> None:
    installed = ("grove",)
    children = without_generation(settle((), ask(SERVICES, installed=installed)), OLDER)
    text = json.dumps(children)
    for name in ("DYN_NAMESPACE_PREFIX_STRICT", "DYN_NAMESPACE_PREFIX"):
        text = text.replace(f'\\"{name}\\"', '\\"DYN_OTHER\\"').replace(f'"{name}"', '"DYN_OTHER"')
    first = ask(CHANGED, json.loads(text), installed=installed)
    assert suffix_of(first) == ""
    then = settle(json.loads(text), first)
    assert suffix_of(ask(CHANGED, then, installed=installed)) == ""
    next_ = {**CHANGED, "prefill": worker(envFromSecret="s")}
    assert suffix_of(ask(next_, then, installed=installed)) == suffix_of(ask(next_, installed=installed))


# What a Go operator left


def of_go(children: Iterable[Manifest], digits: str = GO) -> list[Manifest]:
    """Live children whose workers have the generation that a Go operator gave them, taken over as they are."""
    own = suffix_of(children)
    text = json.dumps(list(children)).replace(own, digits)
    found: list[Manifest] = json.loads(text)
    return [_foreign(one) for one in found]


def _foreign(child: Manifest) -> Manifest:
    mark = rendering_mark.read_mark(child)
    if mark is None:
        return child
    applied = json.loads(child["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED])
    found = make.observed(rendering_mark.mark(applied, mark.digest, rendering_mark.FOREIGN_REVISION))
    return {**child, "metadata": {**child["metadata"], "annotations": found["metadata"]["annotations"]}}


@on_each_path
def test_graph_of_a_go_operator_keeps_its_generation_until_a_worker_changes(installed: tuple[str, ...]) -> None:
    children = of_go(settle((), ask(SERVICES, installed=installed)))
    assert suffix_of(ask(SERVICES, children, installed=installed)) == GO
    scaled = {**SERVICES, "decode": worker(replicas=3)}
    assert suffix_of(ask(scaled, children, installed=installed)) == GO
    fronted = {**SERVICES, "front": frontend(envFromSecret="s")}
    assert suffix_of(ask(fronted, children, installed=installed)) == GO
    assert suffix_of(ask(CHANGED, children, installed=installed)) == suffix_of(ask(CHANGED, installed=installed))


def test_graph_of_a_go_operator_keeps_its_generation_where_we_would_give_none() -> None:
    unsafe = {**SERVICES, "front": frontend("mine")}
    children = of_go(settle((), ask(SERVICES)))
    children = [one for one in children if name_of(one) != "g-front"]
    answer = ask(unsafe, children)
    front = next(make.observed(one) for one in answer.children if name_of(one) == "g-front")
    assert suffix_of(ask(unsafe, world.run([*children, front]))) == GO


# Where workers get none

NONE = {
    "frontend of before": ({"front": frontend("1.0.1")}, "front has a frontend of 1.0.1, which knows no generations"),
    "frontend of unknown release": ({"front": frontend("mine")}, "front has a frontend of unknown release"),
    "worker of before": ({"prefill": worker("1.0.1")}, "prefill runs 1.0.1, which knows no generations"),
    "worker of unknown release": ({"prefill": worker("mine")}, "prefill runs an unknown release"),
    "shared namespace": (
        {"prefill": worker(globalDynamoNamespace=True)},
        "prefill is in the Dynamo namespace that all graphs share",
    ),
    "old picker": ({"p": make.service("epp", eppConfig={"config": {}})}, "p is an endpoint picker of before 1.5"),
    "old planner": (
        {"p": make.service("planner", image="r/planner:1.3.0")},
        "p is a planner of 1.3.0, which does not read where workers register",
    ),
    "old router as a worker": (
        {"prefill": worker("1.4.2", command=["python3", "-m", "dynamo.router"], args=["--endpoint", "a.b.c"])},
        "prefill runs dynamo.router of 1.4.2, which looks for workers in the Dynamo namespace alone",
    ),
    "old router as a worker, by a script": (
        {
            "prefill": worker(
                "1.3.0", command=["sh", "-c"], args=["python3 -m dynamo.thunderagent_router --endpoint a.b.c"]
            )
        },
        "prefill runs dynamo.thunderagent_router of 1.3.0, which looks for workers in the Dynamo namespace alone",
    ),
    "global router as a worker": (
        {"prefill": worker("1.6.1", command=["python3", "-m", "dynamo.global_router"], args=["--config", "c.json"])},
        "prefill runs dynamo.global_router of 1.6.1, which looks for workers in the Dynamo namespace alone",
    ),
    "router of one's own": ({"r": make.service("", image="r/x:1.6.1")}, "r has no type that is known"),
    "namespace by hand": (
        {"front": frontend(envs=[{"name": "DYN_NAMESPACE", "value": "x"}])},
        "front has DYN_NAMESPACE set by hand",
    ),
}


@on_each_path
@pytest.mark.parametrize(("change", "reason"), NONE.values(), ids=NONE)
def test_workers_get_no_generation_where_something_would_not_see_them(
    change: dict[str, Any], reason: str, installed: tuple[str, ...]
) -> None:
    services = {**SERVICES, **change}
    answer = ask(services, installed=("inference-pool", *installed))
    assert suffix_of(answer) == ""
    assert f"share a Dynamo namespace: {reason}" in remark(answer)


def test_graph_without_a_frontend_has_no_generations() -> None:
    answer = ask({"decode": worker()})
    assert suffix_of(answer, "decode") == ""
    assert "the graph has no frontend" in remark(answer)


def test_releases_without_generations_get_no_remark() -> None:
    answer = ask({"decode": worker("0.9.1"), "front": frontend("0.9.1")})
    assert suffix_of(answer, "decode") == ""
    assert "generations" not in remark(answer)


SEEN = {
    "frontend 1.4 and worker 1.6": ({"front": frontend("1.4.0")}, ()),
    "worker 1.0.2": ({"decode": worker("1.0.2")}, ()),
    "picker of 1.5": ({"p": make.service("epp", image="r/f:1.5.1")}, ("inference-pool",)),
    "planner of 1.4": ({"p": make.service("planner", image="r/planner:1.4.0", args=["--config", "{}"])}, ()),
    "frontend beside a worker": ({"decode": worker(frontendSidecar={"image": "r/f:1.5.1"})}, ()),
    "router of 1.5 as a worker": (
        {"prefill": worker("1.5.0", command=["python3", "-m", "dynamo.router"], args=["--endpoint", "a.b.c"])},
        (),
    ),
    "another program": ({"redis": make.service("", image="redis:7", command=["redis-server"])}, ()),
}


@pytest.mark.parametrize(("change", "installed"), SEEN.values(), ids=SEEN)
def test_workers_get_a_generation_where_all_see_them(change: dict[str, Any], installed: tuple[str, ...]) -> None:
    assert suffix_of(world.ask(make.graph({**SERVICES, **change}), installed=installed)) != ""


def test_bare_prefix_that_another_graph_forbids_forbids_generations() -> None:
    labels = {contract.LABEL_APP_MANAGED_BY: contract.MANAGER}
    metadata = {"name": "g2-k8s-service-discovery", "namespace": "default", "labels": labels}
    other = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    answer = world.ask(make.graph({**SERVICES, "front": frontend("1.5.1")}), (), [other])
    assert suffix_of(answer) == ""
    assert "whose prefix would also match another graph's Dynamo namespace" in remark(answer)
    assert suffix_of(world.ask(make.graph(SERVICES), (), [other])) != ""


def test_frontend_that_will_see_no_generation_waits_until_no_worker_has_one() -> None:
    children = settle((), ask(SERVICES))
    blind = {**SERVICES, "front": frontend("1.0.1")}
    first = ask(blind, children)
    assert suffix_of(first) == ""
    front = world.child(first.children, contract.COMPONENT.kind, "g-front")
    assert front["spec"]["extraPodSpec"]["mainContainer"]["image"] == "r/vllm-runtime:1.6.1"
    assert "g-front: it waits, because it will not see the workers of a generation" in remark(first)
    rolling = settle(children, first)
    for one in rolling:
        if name_of(one) == "g-decode":
            one["status"]["service"]["runtimeNamespace"] = f"default-g-{suffix_of(children)}"
    front = world.child(ask(blind, rolling).children, contract.COMPONENT.kind, "g-front")
    assert front["spec"]["extraPodSpec"]["mainContainer"]["image"] == "r/vllm-runtime:1.6.1"
    done = ask(blind, settle(children, first))
    front = world.child(done.children, contract.COMPONENT.kind, "g-front")
    assert front["spec"]["extraPodSpec"]["mainContainer"]["image"] == "r/vllm-runtime:1.0.1"
    assert suffix_of(done) == ""


# By hand

MINE = {"name": SUFFIX, "value": "blue"}
BY_HAND: dict[str, dict[str, Any]] = {
    "variable": {"envs": [MINE]},
    "variable of the main container": {"extraPodSpec": {"mainContainer": {"image": "r/w:1.6.1", "env": [MINE]}}},
    "label": {"labels": {HASH: "blue"}},
    "label of pods": {"extraPodMetadata": {"labels": {HASH: "blue"}}},
}


@pytest.mark.parametrize("mine", BY_HAND.values(), ids=BY_HAND)
def test_generation_that_a_user_sets_by_hand_stays_and_no_other_worker_gets_one(mine: dict[str, Any]) -> None:
    services = {**SERVICES, "decode": {**worker(), **mine}}
    answer = ask(services)
    written = json.dumps(world.child(answer.children, contract.COMPONENT.kind, "g-decode"))
    assert '"blue"' in written
    prefill = world.child(answer.children, contract.COMPONENT.kind, "g-prefill")
    assert (HASH in labels_of(prefill), SUFFIX in json.dumps(prefill)) == (False, False)
    assert "the generation of workers is set by hand: decode" in remark(answer)
    assert json.loads(written)["spec"].get("envs", []) == services["decode"].get("envs", [])


def test_generation_by_hand_for_the_whole_graph_reaches_all_its_workers() -> None:
    answer = ask(SERVICES, envs=[MINE])
    for name in ("g-decode", "g-prefill"):
        assert world.child(answer.children, contract.COMPONENT.kind, name)["spec"]["envs"] == [MINE]
    assert "decode (DYN_NAMESPACE_WORKER_SUFFIX), prefill" in remark(answer)
