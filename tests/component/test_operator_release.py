"""The release that a component began with, where no graph says it; and pods that need what their image lacks."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, annotations_of
from hooks.ground.problems import SPEC
from hooks.ground.settings import parse_settings
from hooks.language.rules.pod import RAY_MISSING
from hooks.language.validation.review import Review
from hooks.server.admission.rules import RULES
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.component import groups
from tests.component.render import answer

ORIGIN, EXECUTOR = contract.ANNOTATION_ORIGIN_VERSION, contract.ANNOTATION_EXECUTOR_BACKEND
ELASTIC = ["--enable-elastic-ep", "--data-parallel-size", "4"]


def spec(tag: str, *args: str, nodes: int = 2, **fields: Any) -> dict[str, Any]:
    main = {**groups.main("vllm", *args), "image": f"r/vllm-runtime:{tag}"}
    found = groups.spec(nodes, extraPodSpec={"mainContainer": main}, **fields)
    return found if nodes > 1 else {key: value for key, value in found.items() if key != "multinode"}


def ask(parent: Manifest, children: Iterable[Manifest] = ()) -> SyncAnswer:
    return answer(parent, children, installed=groups.INSTALLED)


def sets_of(given: SyncAnswer | Iterable[Manifest]) -> list[Manifest]:
    children = given.children if isinstance(given, SyncAnswer) else given
    return [one for one in children if one["kind"] == groups.SETS]


def origin_of(given: SyncAnswer) -> str | None:
    """What the sets keep; their command must fit it."""
    (origin,) = {annotations_of(one).get(ORIGIN) for one in sets_of(given)}
    for one in sets_of(given):
        text = json.dumps(one["spec"]["leaderWorkerTemplate"]["leaderTemplate"])
        is_ray = origin is None or origin == "0.9.0"
        assert ("ray start" in text, "--master-addr" in text) == (is_ray, not is_ray)
    return origin


def observed(given: SyncAnswer) -> list[Manifest]:
    return [make.observed(one) for one in given.children]


def unwritten(given: SyncAnswer) -> list[Manifest]:
    return [make.observed(_drop(json.loads(json.dumps(one)))) for one in given.children]


def _drop(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop(one) for key, one in value.items() if key != ORIGIN}
    return [_drop(one) for one in value] if isinstance(value, list) else value


OWNERS = pytest.mark.parametrize("graph", ["", "g"], ids=["alone", "of a graph"])


@OWNERS
def test_new_component_begins_with_the_release_of_its_image_and_keeps_it(graph: str) -> None:
    first = ask(make.component("c", graph, **spec("1.6.1")))
    assert origin_of(first) == "1.6.0"
    children = observed(first)
    for tag in ("1.2.0", "0.9.1", "latest"):
        again = ask(make.component("c", graph, **spec(tag)), children)
        assert origin_of(again) == "1.6.0"
        assert origin_of(ask(make.component("c", graph, **spec(tag)), observed(again))) == "1.6.0"


def test_component_keeps_it_without_replicas() -> None:
    children = observed(ask(make.component("c", **spec("1.2.0"))))
    none = ask(make.component("c", **spec("1.2.0", replicas=0)), children)
    assert sets_of(none) == []
    assert origin_of(ask(make.component("c", **spec("1.6.1")), observed(none))) == "1.2.0"


@OWNERS
def test_component_that_runs_on_ray_stays_there(graph: str) -> None:
    running = unwritten(ask(make.component("c", graph, **spec("1.2.0", annotations={ORIGIN: "0.9.0"}))))
    for tag in ("1.2.0", "1.6.1"):
        assert origin_of(ask(make.component("c", graph, **spec(tag)), running)) is None


@OWNERS
def test_component_begins_when_it_first_spans_nodes(graph: str) -> None:
    alone = ask(make.component("c", graph, **spec("1.6.1", nodes=1)))
    assert not any(ORIGIN in json.dumps(one) for one in alone.children)
    gone = [one for one in observed(alone) if one["kind"] != "Deployment"]
    assert origin_of(ask(make.component("c", graph, **spec("1.6.1")), gone)) == "1.6.0"


@OWNERS
def test_component_that_runs_on_ray_stays_there_though_its_sets_are_deleted(graph: str) -> None:
    parent = make.component("c", graph, **spec("1.6.1"))
    parent["status"] = {"service": {"componentKind": "LeaderWorkerSet", "componentName": "c-0"}}
    others = unwritten(ask(make.component("c", graph, **spec("1.6.1", annotations={ORIGIN: "0.9.0"}))))
    others = [one for one in others if one["kind"] != "LeaderWorkerSet"]
    assert origin_of(ask(parent, others)) is None


def test_component_keeps_what_its_pods_say_where_the_record_is_taken_away() -> None:
    running = observed(ask(make.component("c", **spec("1.6.1"))))
    for one in running:
        one["metadata"]["annotations"] = {}
    assert origin_of(ask(make.component("c", **spec("0.9.1")), running)) == "1.6.0"


def test_written_origin_decides() -> None:
    running = observed(ask(make.component("c", **spec("1.6.1"))))
    assert origin_of(ask(make.component("c", **spec("1.6.1", annotations={ORIGIN: "0.9.0"})), running)) == "0.9.0"


def test_component_that_a_go_operator_left_runs_on_ray() -> None:
    parent = make.component("c", "g", **spec("1.2.0"))
    parent["metadata"]["finalizers"] = [contract.GO_FINALIZER]
    assert set(map(str, map(annotations_of, sets_of(ask(parent))))) <= {"{}"}


def warned(new: Manifest, old: Manifest | None = None) -> list[str]:
    review = Review(new=new, old=old, user=None, settings=parse_settings({}, {}), installed=None)
    verdict = RULES[f"{new['kind'].lower()}s"](review)
    assert not verdict.problems
    return [str(one.path) for one in verdict.warnings if one.rule is RAY_MISSING]


IMAGE = str(SPEC / "extraPodSpec.mainContainer.image")
RAY = {EXECUTOR: "ray"}
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a release with Ray": (spec("1.2.0", annotations=RAY), []),
    "a release without": (spec("1.3.0", annotations=RAY), [IMAGE]),
    "an old origin": (spec("1.6.1", annotations={ORIGIN: "0.9.0"}), [IMAGE]),
    "no origin": (spec("1.6.1"), []),
    "elastic": (spec("1.5.0", *ELASTIC, annotations={ORIGIN: "1.5.0"}), [IMAGE]),
    "elastic on one node": (spec("1.5.0", *ELASTIC, "--data-parallel-backend", "ray", nodes=1), [IMAGE]),
    "elastic on one node, not on Ray": (spec("1.5.0", *ELASTIC, nodes=1), []),
    "an image of the user": (spec("1.5.0", annotations=RAY), []),
    "a release that is said": (spec("mine", annotations=RAY, runtimeVersionOverride="1.4.0"), [IMAGE]),
}
CASES["an image of the user"][0]["extraPodSpec"]["mainContainer"]["image"] = "r/llm:1.5.0"


@pytest.mark.parametrize(("given", "paths"), CASES.values(), ids=CASES)
def test_ray_that_the_image_lacks_is_warned_about(given: dict[str, Any], paths: list[str]) -> None:
    assert warned(make.component("c", **given)) == paths
    in_graph = [f"spec.services[a]{path.removeprefix('spec')}" for path in paths]
    assert warned(make.graph({"a": given})) == in_graph
    reported = json.dumps(ask(make.component("c", **given)).status)
    assert ("starts Ray, which the images of release" in reported) is bool(paths)


def test_script_that_starts_ray_itself_is_warned_about() -> None:
    script = {"command": ["/bin/sh", "-c"], "args": ["ray start --head && exec python3 -m dynamo.vllm"]}
    given = spec("1.4.0", nodes=1)
    given["extraPodSpec"]["mainContainer"] |= script
    assert warned(make.component("c", **given)) == [IMAGE]


def test_annotation_of_the_graph_counts() -> None:
    graph = make.graph({"a": spec("1.6.1")}, annotations=RAY)
    assert warned(graph) == ["spec.services[a].extraPodSpec.mainContainer.image"]


def test_change_to_an_image_without_ray_is_warned_about() -> None:
    older, newer = (make.graph({"a": spec(tag)}) for tag in ("0.9.1", "1.3.0"))
    assert warned(newer) == []
    assert warned(newer, older) == ["spec.services[a].extraPodSpec.mainContainer.image"]
    alone = [make.component("c", **spec(tag)) for tag in ("0.9.1", "1.3.0")]
    assert (warned(alone[1]), warned(alone[1], alone[0])) == ([], [IMAGE])
