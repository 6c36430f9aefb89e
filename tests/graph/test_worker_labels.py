"""Labels of workers that selectors use: the type of workers of prefill and decode, and the class beside a picker."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, name_of
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy import rendering_mark
from tests import make
from tests.component import render
from tests.graph import test_grove as grove
from tests.graph import world

PCS = kinds.POD_CLIQUE_SET.kind
NEW, OLD, UNKNOWN = "r/vllm-runtime:1.5.1", "r/vllm-runtime:0.9.1", "r/vllm-runtime:mine"


def worker(image: str = NEW, role: str = "decode", **fields: Json) -> dict[str, Any]:
    sub = {"subComponentType": role} if role else {}
    return make.service("worker", image=image, **sub, **fields)


def types_of(answer: SyncAnswer) -> dict[str, str]:
    """The type that selectors find, by service, on either path."""
    components = (child for child in answer.children if child["kind"] == contract.COMPONENT.kind)
    sets = (child for child in answer.children if child["kind"] == PCS)
    cliques = (clique["labels"] for child in sets for clique in child["spec"]["template"]["cliques"])
    return {
        **{child["spec"]["serviceName"]: child["spec"]["componentType"] for child in components},
        **{labels[contract.LABEL_COMPONENT]: labels[contract.LABEL_COMPONENT_TYPE] for labels in cliques},
    }


PATHS: dict[str, tuple[str, ...]] = {"components": (), "Grove": ("grove",)}


@pytest.mark.parametrize("installed", PATHS.values(), ids=PATHS)
def test_new_worker_of_1_0_or_later_has_its_role_as_type(installed: tuple[str, ...]) -> None:
    graph = make.graph(
        {
            "a": worker(),
            "b": worker(role="prefill"),
            "c": worker(OLD),
            "d": worker(UNKNOWN),
            "e": worker(role=""),
            "f": worker(role="other"),
            "g": make.service("frontend", image=NEW),
        }
    )
    found = types_of(world.ask(graph, installed=installed))
    assert found == {
        "a": "decode",
        "b": "prefill",
        **dict.fromkeys("cdef", "worker"),
        "g": "frontend",
    }


@pytest.mark.parametrize("installed", PATHS.values(), ids=PATHS)
def test_existing_worker_keeps_the_type_that_selectors_have(installed: tuple[str, ...]) -> None:
    before = make.graph({"a": worker(OLD)})
    children = [make.observed(child) for child in world.ask(before, installed=installed).children]
    after = make.graph({"a": worker(NEW)})
    assert types_of(world.ask(after, children, installed=installed)) == {"a": "worker"}


def test_worker_beside_an_existing_one_has_its_role_as_type() -> None:
    children = [make.observed(child) for child in world.ask(make.graph({"a": worker(OLD)})).children]
    after = make.graph({"a": worker(NEW), "b": worker(NEW)})
    assert types_of(world.ask(after, children)) == {"a": "worker", "b": "decode"}


@pytest.mark.parametrize("installed", PATHS.values(), ids=PATHS)
def test_type_of_a_worker_that_has_its_role_stays(installed: tuple[str, ...]) -> None:
    graph = make.graph({"a": worker(NEW)})
    children = [make.observed(child) for child in world.ask(graph, installed=installed).children]
    assert types_of(world.ask(graph, children, installed=installed)) == {"a": "decode"}


def test_pods_say_their_type_in_label_and_variable() -> None:
    graph = make.graph({"a": worker(NEW)})
    (found,) = (child for child in world.ask(graph, installed=["grove"]).children if child["kind"] == PCS)
    (clique,) = found["spec"]["template"]["cliques"]
    labels = clique["labels"]
    assert (labels[contract.LABEL_COMPONENT_TYPE], labels[contract.LABEL_SUB_COMPONENT_TYPE]) == ("decode", "decode")
    main: Manifest = clique["spec"]["podSpec"]["containers"][-1]
    assert {"name": "DYN_COMPONENT", "value": "decode"} in main["env"]


# The class of workers beside an endpoint picker

CLASS = contract.LABEL_COMPONENT_CLASS
POOL = kinds.INFERENCE_POOL.kind
EPP = make.service("epp", image="r/frontend:1.5.1")
SERVICES = {"a": worker(), "b": worker(role=""), "f": make.service("frontend", image=NEW)}
PICKED = {**SERVICES, "p": EPP}
BY_CLASS = {CLASS: "worker", contract.LABEL_NAMESPACE: "default-g"}
BY_TYPE = {contract.LABEL_COMPONENT_TYPE: "worker", contract.LABEL_NAMESPACE: "default-g"}


def ask(
    services: dict[str, Any], children: Iterable[Manifest] = (), *, installed: Iterable[str] = (), **fields: Any
) -> SyncAnswer:
    kinds_ = ("inference-pool", *installed)
    return world.ask(make.graph(services), children, fields.get("related", ()), installed=kinds_)


def classes_of(answer: SyncAnswer) -> dict[str, str | None]:
    """The class in the labels of pods, by service, on either path."""
    found: dict[str, str | None] = {}
    for child in answer.children:
        if child["kind"] == contract.COMPONENT.kind:
            assert child["metadata"]["labels"].get(CLASS) == child["spec"]["labels"].get(CLASS)
            found[child["spec"]["serviceName"]] = child["spec"]["labels"].get(CLASS)
        if child["kind"] == PCS:
            for clique in child["spec"]["template"]["cliques"]:
                found[clique["labels"][contract.LABEL_COMPONENT]] = clique["labels"].get(CLASS)
    return found


def selector_of(answer: SyncAnswer) -> dict[str, str]:
    (pool,) = (child for child in answer.children if child["kind"] == POOL)
    found: dict[str, str] = pool["spec"]["selector"]["matchLabels"]
    return found


def of_before(services: dict[str, Any], *, installed: Iterable[str] = ()) -> list[Manifest]:
    """Ready children of that graph as the revision before rendered them: without the class, and a pool by type."""
    children = [_without_class(child) for child in ask(services, installed=installed).children]
    return world.run(make.observed(child) for child in children)


def _without_class(child: Manifest) -> Manifest:
    if child["kind"] == POOL:
        return {**child, "spec": {**child["spec"], "selector": {"matchLabels": BY_TYPE}}}
    mark = rendering_mark.read_mark(child)
    if mark is None:
        return child
    text = (
        json.dumps(child)
        .replace(f'"{CLASS}": "worker", ', "")
        .replace('"componentType": "decode"', '"componentType": "worker"')
    )
    assert CLASS not in text
    return rendering_mark.mark(json.loads(text), mark.digest, mark.revision - 1)


@pytest.mark.parametrize("installed", PATHS.values(), ids=PATHS)
def test_workers_have_their_class_only_beside_a_picker(installed: tuple[str, ...]) -> None:
    assert classes_of(ask(SERVICES, installed=installed)) == dict.fromkeys("abf")
    found = ask(PICKED, installed=installed)
    assert classes_of(found) == {"a": "worker", "b": "worker", "f": None, "p": None}
    assert selector_of(found) == BY_CLASS


def test_labels_of_a_user_do_not_hide_a_worker_from_the_picker() -> None:
    mine: dict[str, Any] = {"labels": {CLASS: "mine"}, "extraPodMetadata": {"labels": {CLASS: "mine"}}}
    (child,) = (
        child
        for child in ask({"a": worker(**mine), "p": EPP}).children
        if child["kind"] == contract.COMPONENT.kind and child["spec"]["serviceName"] == "a"
    )
    pod = render.deployment(child["spec"])["spec"]["template"]
    assert pod["metadata"]["labels"][CLASS] == "worker"


def test_running_workers_beside_a_picker_wait_with_their_class_and_the_pool_finds_them_by_type() -> None:
    answer = ask(PICKED, of_before(PICKED))
    assert classes_of(answer) == dict.fromkeys("abfp")
    assert selector_of(answer) == BY_TYPE
    assert world.condition(answer, "Held")["status"] == "True"


def test_picker_that_a_running_graph_gets_restarts_its_workers() -> None:
    answer = ask(PICKED, of_before(SERVICES))
    assert classes_of(answer) == {"a": "worker", "b": "worker", "f": None, "p": None}
    assert selector_of(answer) == BY_CLASS


def test_workers_of_a_pool_by_class_do_not_wait_because_an_earlier_write_failed() -> None:
    first = ask(PICKED, of_before(SERVICES)).children
    written = [make.observed(child) for child in first if child["kind"] == POOL or name_of(child) == "g-p"]
    rest = [child for child in of_before(SERVICES) if name_of(child) not in {name_of(one) for one in written}]
    assert classes_of(ask(PICKED, [*rest, *written]))["a"] == "worker"


def test_pool_changes_when_all_workers_have_their_class() -> None:
    children = of_before(PICKED)
    changed = {**PICKED, "a": worker(envFromSecret="s")}
    first = ask(changed, children)
    assert (classes_of(first)["a"], classes_of(first)["b"]) == ("worker", "worker")  # they change together
    assert selector_of(first) == BY_TYPE
    assert types_of(first)["a"] == "worker"
    every, third = changed, world.apply(children, first.children)
    assert selector_of(ask(every, third)) == BY_TYPE  # the new pods are not ready yet
    settled = ask(every, world.run(third))
    assert selector_of(settled) == BY_CLASS
    kept = world.run(world.apply(third, settled.children), unready={"g-a": "down"})
    assert selector_of(ask(every, kept)) == BY_CLASS


def test_pool_of_a_graph_under_grove_changes_when_its_cliques_are_ready() -> None:
    only = {"a": worker(role=""), "p": EPP}
    changed = {"a": worker(role="", envFromSecret="s"), "p": EPP}
    children = of_before(only, installed=["grove"])
    applied = world.apply(children, ask(changed, children, installed=["grove"]).children)
    applied = [grove.processed(child) if child["kind"] == PCS else child for child in applied]
    parts = [grove.part("PodClique", f"g-0-{service}", desired=1) for service in ("a", "p")]
    missing = ask(changed, applied, installed=["grove"])
    assert selector_of(missing) == BY_TYPE
    assert selector_of(ask(changed, applied, installed=["grove"], related=parts)) == BY_CLASS
