"""Components of workers that a Go operator from 1.0 on named by their generation are taken over under their names."""

from collections.abc import Iterable
from typing import Any

import pytest

from hooks.graph.seen.upstream_generations import Generations, find_generations, generation_of
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, labels_of, name_of
from hooks.wire.policy import rendering_mark
from tests import make
from tests.graph import world

OLD, NEW = "0a1b2c3d", "ffee0011"
OF_BEFORE = {"name": "OF_BEFORE", "value": "1"}
SERVICES: dict[str, Any] = {
    "Frontend": make.service("frontend"),
    "Prefill": make.service("worker", replicas=2),
    "Decode": make.service("worker", replicas=2),
}


def of_generation(graph: Manifest, digits: str, created: str = "2026-01-01T00:00:00Z") -> list[Manifest]:
    """The children of the graph with components as the Go operator rendered them, taken over as they are."""
    found: list[Manifest] = []
    for child in world.ask(graph).children:
        mark = rendering_mark.read_mark(child)
        if child["kind"] != contract.COMPONENT.kind or mark is None:
            found.append(make.observed(child))
            continue
        is_worker = child["spec"]["componentType"] == "worker"
        labels = {**labels_of(child), contract.LABEL_WORKER_HASH: digits} if is_worker else labels_of(child)
        name = f"{name_of(child)}-{digits}" if is_worker else name_of(child)
        metadata = {**child["metadata"], "name": name, "labels": labels}
        spec = {**child["spec"], "envs": [OF_BEFORE, *child["spec"].get("envs", ())]}
        marked = rendering_mark.mark(
            {**child, "metadata": metadata, "spec": spec}, mark.digest, rendering_mark.FOREIGN_REVISION
        )
        live = make.observed(marked)
        live["metadata"]["creationTimestamp"] = created
        found.append(live)
    return world.run(found)


def components(children: Iterable[Manifest]) -> list[str]:
    return world.names(children, contract.COMPONENT.kind)


def test_no_second_component_is_made_beside_one_of_a_generation() -> None:
    graph = make.graph(SERVICES)
    answer = world.ask(graph, of_generation(graph, NEW))
    assert components(answer.children) == [f"g-decode-{NEW}", "g-frontend", f"g-prefill-{NEW}"]
    assert world.condition(answer, "Ready")["status"] == "True"
    told = world.condition(answer, "Held")["message"]
    assert told.startswith(f"g-decode-{NEW}, g-frontend, g-prefill-{NEW}: pods keep running as they are")


def test_replicas_of_the_graph_reach_the_component() -> None:
    graph = make.graph(SERVICES)
    changed = make.graph({**SERVICES, "Decode": {**SERVICES["Decode"], "replicas": 3}})
    answer = world.ask(changed, of_generation(graph, NEW))
    spec = world.child(answer.children, contract.COMPONENT.kind, f"g-decode-{NEW}")["spec"]
    assert (spec["replicas"], spec["envs"][0]) == (3, OF_BEFORE)


def test_changed_worker_keeps_its_name_at_every_later_sync() -> None:
    graph, children = make.graph(SERVICES), of_generation(make.graph(SERVICES), NEW)
    changed = make.graph({**SERVICES, "Decode": {**SERVICES["Decode"], "envFromSecret": "s"}})
    for _ in range(3):
        answer = world.ask(changed, children)
        assert components(answer.children) == [f"g-decode-{NEW}", "g-frontend", f"g-prefill-{NEW}"]
        assert world.child(answer.children, contract.COMPONENT.kind, f"g-decode-{NEW}")["spec"]["envFromSecret"] == "s"
        children = world.run(world.apply(children, answer.children))
    assert components(world.ask(graph, children).children) == [f"g-decode-{NEW}", "g-frontend", f"g-prefill-{NEW}"]


def test_status_says_where_held_workers_register() -> None:
    graph = make.graph(SERVICES)
    answer = world.ask(graph, of_generation(graph, NEW))
    assert answer.status is not None
    services = answer.status["services"]
    assert services["Decode"]["runtimeNamespace"] == f"default-g-{NEW}"
    assert services["Frontend"]["runtimeNamespace"] == "default-g"


def test_service_that_leaves_the_spec_takes_its_component_with_it() -> None:
    graph = make.graph(SERVICES)
    smaller = make.graph({name: SERVICES[name] for name in ("Frontend", "Decode")})
    assert components(world.ask(smaller, of_generation(graph, NEW)).children) == [f"g-decode-{NEW}", "g-frontend"]


def test_restart_reaches_a_component_of_a_generation() -> None:
    graph = make.graph(SERVICES)
    restarted = make.graph(SERVICES, restart={"id": "r1", "strategy": {"type": "Parallel"}})
    answer = world.ask(restarted, of_generation(graph, NEW))
    spec = world.child(answer.children, contract.COMPONENT.kind, f"g-decode-{NEW}")["spec"]
    assert spec["annotations"][contract.ANNOTATION_RESTART_AT] == "r1"


def both(graph: Manifest, *, available: int) -> list[Manifest]:
    """An old and a new generation in the middle of a rollout; the new one has so many available replicas."""
    new = of_generation(graph, NEW, "2026-01-02T00:00:00Z")
    old = [one for one in of_generation(graph, OLD) if name_of(one).endswith(OLD)]
    return [*(_with_available(one, available) if name_of(one).endswith(NEW) else one for one in new), *old]


def _with_available(component: Manifest, available: int) -> Manifest:
    counts = {**component["status"]["service"], "availableReplicas": available, "readyReplicas": available}
    condition = {"type": "Available", "status": "True" if available == 2 else "False", "message": ""}
    return {**component, "status": {**component["status"], "service": counts, "conditions": [condition]}}


@pytest.mark.parametrize("available", [0, 1])
def test_older_generation_gives_up_its_replicas_as_the_new_one_becomes_available(available: int) -> None:
    graph = make.graph(SERVICES)
    answer = world.ask(graph, both(graph, available=available))
    kept = {name_of(one): one["spec"]["replicas"] for one in answer.children if name_of(one).endswith(OLD)}
    assert kept == {f"g-decode-{OLD}": 2 - available, f"g-prefill-{OLD}": 2 - available}
    new = world.child(answer.children, contract.COMPONENT.kind, f"g-decode-{NEW}")
    assert new["spec"]["replicas"] == 2


def test_older_generation_ends_once_the_new_one_is_ready() -> None:
    graph = make.graph(SERVICES)
    answer = world.ask(graph, both(graph, available=2))
    assert components(answer.children) == [f"g-decode-{NEW}", "g-frontend", f"g-prefill-{NEW}"]


def test_incomplete_generation_is_not_current() -> None:
    graph = make.graph(SERVICES)
    found = [one for one in both(graph, available=0) if name_of(one) != f"g-prefill-{NEW}"]
    answer = world.ask(graph, found)
    assert components(answer.children) == [
        *(f"g-decode-{OLD}", "g-frontend", f"g-prefill-{OLD}"),
    ]


def test_component_that_is_not_adopted_yet_has_no_second_one_beside_it() -> None:
    graph = make.graph(SERVICES)
    left = [one for one in of_generation(graph, NEW) if name_of(one).endswith(NEW)]
    for one in left:
        del one["metadata"]["labels"][contract.LABEL_CONTROLLER_UID]
        del one["metadata"]["annotations"]
    answer = world.ask(graph, (), left)
    assert components(answer.children) == [f"g-decode-{NEW}", "g-frontend", f"g-prefill-{NEW}"]
    assert world.condition(answer, "Ready")["status"] == "False"


@pytest.mark.parametrize("tag", ["1.6.1", "mine"])
@pytest.mark.parametrize("adopted", ["decode", "prefill"])
def test_worker_that_is_not_adopted_yet_makes_no_generation_of_the_others(adopted: str, tag: str) -> None:
    image = f"r/vllm-runtime:{tag}"
    graph = make.graph({name: {**spec, **make.service("worker", image=image)} for name, spec in SERVICES.items()})
    graph["spec"]["services"]["Frontend"] = make.service("frontend", image=image)
    live = of_generation(graph, NEW)
    left = [one for one in live if name_of(one).endswith(NEW) and adopted not in name_of(one)]
    for one in left:
        del one["metadata"]["labels"][contract.LABEL_CONTROLLER_UID]
        del one["metadata"]["annotations"]
    children = [one for one in live if name_of(one) not in {name_of(other) for other in left}]
    answer = world.ask(graph, children, left)
    (worker,) = (one for one in answer.children if name_of(one) == f"g-{adopted}-{NEW}")
    assert labels_of(worker)[contract.LABEL_WORKER_HASH] == NEW
    assert OF_BEFORE in worker["spec"]["envs"], "it is held as the Go operator left it"


def named(*names: str) -> list[Manifest]:
    """Components, each younger than those before it."""
    kind = {"apiVersion": contract.COMPONENT.api_version, "kind": contract.COMPONENT.kind}
    return [
        {**kind, "metadata": {"name": name, "creationTimestamp": f"2026-01-0{day}T00:00:00Z"}}
        for day, name in enumerate(names, 1)
    ]


@pytest.mark.parametrize(
    ("names", "current", "ending"),
    [
        pytest.param(["g-a", "g-b"], {}, {}, id="of 0.9"),
        pytest.param([f"g-a-{OLD}", "g-f"], {"a": f"g-a-{OLD}"}, {}, id="of one generation"),
        pytest.param(["g-a", f"g-a-{OLD}"], {"a": f"g-a-{OLD}"}, {"a": ("g-a",)}, id="of 0.9 and of 1.0"),
        pytest.param(
            ["g-a", "g-b", f"g-a-{OLD}"], {"a": f"g-a-{OLD}"}, {"a": ("g-a",)}, id="one service was made again since"
        ),
        pytest.param([f"g-a-{OLD}x", f"g-a-{OLD.upper()}"], {}, {}, id="other names"),
        pytest.param(
            [f"g-a-{OLD}", f"g-b-{OLD}", f"g-b-{NEW}"],
            {"a": f"g-a-{OLD}", "b": f"g-b-{OLD}"},
            {"b": (f"g-b-{NEW}",)},
            id="the newest is incomplete",
        ),
    ],
)
def test_names_tell_generations(names: list[str], current: dict[str, str], ending: dict[str, tuple[str, ...]]) -> None:
    found = find_generations(parent({"a": {}, "b": {}, "f": {}}), named(*names))
    assert (found.current, found.ending) == (current, ending)
    assert found.is_behind is (f"g-b-{NEW}" in names)


@pytest.mark.parametrize("spec", [None, [], {"services": [{"name": "a"}]}, {"services": "a"}])
def test_invalid_spec_has_no_generation(spec: Any) -> None:
    assert find_generations({**parent({}), "spec": spec}, named(f"g-a-{OLD}")) == Generations()


def parent(services: dict[str, Any]) -> Manifest:
    return {"metadata": {"name": "g"}, "spec": {"services": services}}


def test_service_whose_own_name_ends_with_digits_has_no_generation() -> None:
    found = find_generations(parent({"a": {}, f"a-{OLD}": {}}), named(f"g-a-{OLD}"))
    assert found == Generations()
    assert generation_of(f"g-a-{OLD}", "g", "a") == OLD
