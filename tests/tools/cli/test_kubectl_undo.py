"""`kubectl dynamo rollout history` and `undo` with a simulated cluster, whose hooks record the specs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from yaml import safe_load

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, annotations_of
from hooks.language.versions import convert
from hooks.tools.cli.kubectl import restart as restart_module
from hooks.tools.cli.kubectl.main import group
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.client import merge_patch
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.wire.policy.spec_restoring import restore
from hooks.wire.policy.spec_revisions import KEPT_ANNOTATION, pack, unpack
from tests import make
from tests.tools.cli.test_kubectl import graph, run, said, use
from tests.tools.cli.test_kubectl_rollout import (
    CANARY,
    PAUSED,
    WORKERS,
    annotations,
    build_world,
    change,
    rollout,
    written_by,
)
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.operating.migration.played_cluster import PlayedCluster, play

EXAMPLES = Path(__file__).parents[3] / "examples"
ENVS = [{"name": "A", "value": "1"}]


@pytest.fixture
def world() -> SimulatedCluster:
    """A cluster with the ready graph `llm`."""
    return build_world(llm=WORKERS)


@pytest.fixture
def played(world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> PlayedCluster:
    cluster = play(world)
    use(monkeypatch, cluster)
    monkeypatch.setattr(restart_module, "sleep", world.run_for)
    return cluster


def edit(world: SimulatedCluster, *values: str) -> None:
    for value in values:
        change(world, value=value)
        world.run_for(60)


def revisions(world: SimulatedCluster) -> dict[int, Manifest]:
    return {one["revision"]: one for one in world.list_kind(kinds.CONTROLLER_REVISION, "default")}


def decode(world: SimulatedCluster) -> Mapping[str, Any]:
    found: Mapping[str, Any] = graph(world)["spec"]["services"]["decode"]
    return found


def spec_of(world: SimulatedCluster, **change: Any) -> None:
    world.patch(contract.GRAPH, "llm", {"spec": change}, "default")
    world.run_for(60)


@pytest.mark.usefixtures("played")
def test_history_lists_each_spec_with_what_it_changed(world: SimulatedCluster) -> None:
    edit(world, "1")
    spec_of(world, services={"decode": {"envs": [{"name": "A", "value": "2"}], "resources": {"limits": {"gpu": "1"}}}})
    before = world.everything()
    head, *lines = rollout("history", "llm").stdout.splitlines()
    assert head.split() == ["REVISION", "SINCE", "GENERATION", "CHANGED"]
    numbers, changed = [line.split()[0] for line in lines], [line.split("   ")[-1].strip() for line in lines]
    assert numbers == ["3", "2", "1"]
    assert lines[0].startswith("3 (present)   20")
    assert changed == [
        "spec.services[decode].envs[A].value, spec.services[decode].resources",
        "spec.services[decode].envs",
        "the first that is kept",
    ]
    generations = [line.replace(" (present)", "").split()[2] for line in lines]
    assert len(set(generations)) == 3
    hashes = {
        one["metadata"]["labels"].get(contract.LABEL_WORKER_HASH) for one in world.list_kind(kinds.POD, "default")
    }
    assert generations[0] in hashes
    assert world.everything() == before


@pytest.mark.usefixtures("played")
def test_a_revision_is_shown_as_a_spec(world: SimulatedCluster) -> None:
    edit(world, "1")
    shown = rollout("history", "llm", "--revision", "1").stdout
    assert shown.startswith("# revision 1 of graph llm, since 20")
    assert "envs" not in safe_load(shown)["spec"]["services"]["decode"]
    assert said("rollout", "history", "llm", "--revision", "7") == (1, "graph llm has no revision 7; it has 1, 2")


@pytest.mark.usefixtures("played")
def test_undo_goes_back_and_the_workers_have_their_generation_again(world: SimulatedCluster) -> None:
    first = revisions(world)[1]["metadata"]["labels"][contract.LABEL_WORKER_HASH]
    edit(world, "1")
    spec_of(world, restart={"id": "r1"})
    spec_of(world, services={"decode": {"replicas": 3}})
    result = rollout("undo", "llm")
    assert result.stdout.splitlines() == [
        "graph llm: the spec of revision 1 is written back: spec.services[decode].envs",
        "replicas and restart stay as they are; follow it with: kubectl dynamo rollout status llm -n default --watch",
    ]
    assert (result.exit_code, result.stderr) == (0, "")
    world.run_for(120)
    assert is_ready(graph(world))
    assert "envs" not in decode(world)
    assert (decode(world)["replicas"], graph(world)["spec"]["restart"]) == (3, {"id": "r1"})
    assert sorted(revisions(world)) == [2, 3]
    pods = [one for one in world.list_kind(kinds.POD, "default") if "-decode-" in one["metadata"]["name"]]
    assert {one["metadata"]["labels"][contract.LABEL_WORKER_HASH] for one in pods} == {first}
    again = rollout("undo", "llm")
    assert again.stdout.startswith("graph llm: the spec of revision 2 is written back: spec.services[decode].envs\n")


@pytest.mark.usefixtures("played")
def test_undo_to_a_revision(world: SimulatedCluster) -> None:
    edit(world, "1", "2", "3")
    assert rollout("undo", "llm", "--to-revision", "2").exit_code == 0
    assert decode(world)["envs"] == [{"name": "A", "value": "1"}]
    world.run_for(60)
    assert sorted(revisions(world)) == [1, 3, 4, 5]


@pytest.mark.usefixtures("played")
def test_undo_of_a_removed_service_brings_it_with_its_replicas(world: SimulatedCluster) -> None:
    services = {name: spec for name, spec in graph(world)["spec"]["services"].items() if name != "decode"}
    found = graph(world)
    world.replace({**found, "spec": {**found["spec"], "services": services}})
    world.run_for(60)
    assert rollout("undo", "llm").exit_code == 0
    assert decode(world)["replicas"] == 2


@pytest.mark.parametrize(
    ("answer", "options", "is_done"),
    [("y\n", (), True), ("n\n", (), False), ("", (), False), ("", ("--yes",), True)],
    ids=["yes", "no", "nobody", "unasked"],
)
def test_undo_asks_before_it_removes_a_pause_and_a_canary(
    world: SimulatedCluster, played: PlayedCluster, answer: str, options: tuple[str, ...], is_done: bool
) -> None:
    edit(world, "1")
    world.patch(contract.GRAPH, "llm", {"metadata": {"annotations": {PAUSED: "true", CANARY: "1"}}}, "default")
    result = CliRunner().invoke(group, ["rollout", "undo", "llm", *options], input=answer)
    question = f"graph llm has the annotations {PAUSED} and {CANARY}: the way back would wait as well."
    assert (question in result.stdout) == (not options)
    assert (result.exit_code == 0) == is_done
    assert (annotations(world) == {}) == is_done
    assert ("envs" not in decode(world)) == is_done
    assert bool(played.writes) == is_done


@pytest.mark.usefixtures("played")
def test_undo_says_who_writes_the_spec_again(world: SimulatedCluster) -> None:
    edit(world, "1")
    written_by(world, "kustomize-controller", {"f:spec": {"f:services": {"f:decode": {"f:envs": {}}}}})
    assert rollout("undo", "llm").stderr == (
        "warning: Flux has written spec of this graph, and will do so again: take the change back there too\n"
    )


def test_undo_does_not_overwrite_what_others_write_meanwhile(
    world: SimulatedCluster, played: PlayedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(world, "1")
    others: Iterator[Manifest] = iter(({"metadata": {"labels": {"turn": "1"}}}, {"spec": {"envs": []}}))
    find = PlayedCluster.find

    def find_then_change(self: PlayedCluster, *place: Any) -> Any:
        found, other = find(self, *place), next(others, None)
        if other:
            world.patch(contract.GRAPH, "llm", other, "default")
        return found

    monkeypatch.setattr(PlayedCluster, "find", find_then_change)
    sentence = "the spec of graph llm was changed at the same time; nothing is done, try again"
    code, text = said("rollout", "undo", "llm")
    assert (code, text) == (1, sentence)
    assert decode(world)["envs"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("undo", "llm"), "graph llm has no earlier revision; the history begins with its present spec"),
        (("undo", "llm", "--to-revision", "1"), "graph llm has the spec of revision 1 already; there is nothing to do"),
        (("undo", "llm", "--to-revision", "4"), "graph llm has no revision 4; it has 1"),
        (("undo", "lm"), "there is no graph lm in namespace default; it has llm"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_undone_gets_a_sentence(played: PlayedCluster, words: tuple[str, ...], sentence: str) -> None:
    assert said("rollout", *words) == (1, sentence)
    assert played.writes == []


def test_without_recorded_specs_a_sentence_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    world = build_cluster(revision_history="0")
    world.apply({**make.graph(WORKERS), "metadata": {"name": "llm", "namespace": "default"}})
    assert world.run_until(lambda: is_ready(graph(world)), 300)
    use(monkeypatch, play(world))
    for command in ("history", "undo"):
        code, sentence = said("rollout", command, "llm")
        assert (code, sentence.partition(":")[0]) == (1, "graph llm has no history yet")


def test_revision_that_cannot_be_read_gets_a_sentence(world: SimulatedCluster, played: PlayedCluster) -> None:
    edit(world, "1")
    world.stop_controller("dynamo-graph")
    found = revisions(world)[1]
    world.replace({**found, "data": {"version": 1, "size": 5_000_000}})
    assert said("rollout", "undo", "llm") == (
        1,
        "revision 1 cannot be used: its spec of 5000000 bytes was too large to be kept",
    )
    assert "its spec of 5000000 bytes was too large to be kept" in rollout("history", "llm").stdout
    assert played.writes == []


def test_fields_of_v1beta1_come_back_and_go() -> None:
    parent = make.graph(WORKERS)
    document = {"spec": parent["spec"], "annotations": {KEPT_ANNOTATION: "{}"}}
    assert restore(parent, document) == {"metadata": {"annotations": {KEPT_ANNOTATION: "{}"}}}
    kept = {**parent, "metadata": {**parent["metadata"], "annotations": {KEPT_ANNOTATION: "{}"}}}
    assert annotations_of(kept)
    assert restore(kept, {"spec": parent["spec"]}) == {"metadata": {"annotations": {KEPT_ANNOTATION: None}}}
    assert restore(kept, document) == {}


def test_status_tree_shows_no_revisions(world: SimulatedCluster, played: PlayedCluster) -> None:
    assert revisions(world)
    assert "ControllerRevision" not in run("status", "llm").stdout
    assert played.writes == []


@pytest.mark.parametrize("name", ["vllm-disagg", "vllm-disagg-planner", "trtllm-disagg-multinode"])
def test_graph_that_is_stored_as_v1beta1_gets_its_whole_spec_again(name: str) -> None:
    """The hooks and the command see it as v1alpha1; what that cannot say is in an annotation."""
    earlier = convert(safe_load((EXAMPLES / f"{name}.yaml").read_text()), "v1beta1")
    first, *others = earlier["spec"]["components"]
    only_beta = {"metadata": {"generateName": "x-"}, "spec": {"containers": [{"name": "main", "image": "r:1.6.1"}]}}
    earlier = {**earlier, "spec": {**earlier["spec"], "components": [{**first, "podTemplate": only_beta}, *others]}}
    later = {**earlier, "spec": {**earlier["spec"], "components": [{**first, "replicas": 1}, *others], "envs": ENVS}}
    recorded = unpack(pack(convert(earlier, "v1alpha1")))
    present = convert(later, "v1alpha1")
    assert recorded["annotations"].keys() == {KEPT_ANNOTATION}
    restored = convert(merge_patch(present, restore(present, recorded)), "v1beta1")
    assert restored["spec"]["components"][1:] == earlier["spec"]["components"][1:]
    assert restored["spec"]["components"][0] == {**earlier["spec"]["components"][0], "replicas": 1}
    assert {**restored["spec"], "components": []} == {**earlier["spec"], "components": []}
    assert restored["metadata"].get("annotations") == earlier["metadata"].get("annotations")
