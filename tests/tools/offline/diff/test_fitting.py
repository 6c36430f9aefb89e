"""`diff --fit`: which pods of a change find no node, and why; on nodes that are made up."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.server.clients.api_server import Refused
from hooks.server.commands.main import main
from hooks.tools.cli import live_comparison as command
from hooks.tools.offline.diff.fitting import Fit, Machines, judge_fit
from hooks.tools.offline.diff.nodes import find_obstacle, read_nodes
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.resources import Rollout
from hooks.tools.offline.diff.rollouts import PodChange, PodFate
from hooks.tools.offline.diff.wording import describe_fit
from hooks.tools.offline.simulation.trees import is_ready
from tests import make
from tests.tools.offline.diff.compared import annotated, compare, edited_service, example
from tests.tools.offline.diff.test_resources import made
from tests.tools.offline.picture.drawn import engine
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.operating.migration.played_cluster import PlayedCluster, play

GPU = "nvidia.com/gpu"
TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}


def node(name: str, gpus: int = 8, *, labels: Any = None, spec: Any = None, **room: str) -> Manifest:
    allocatable = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(gpus), **room}
    metadata = {"name": name, "labels": labels or {}}
    status = {"allocatable": allocatable}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec or {}, "status": status}


def running(place: str, gpus: int, name: str = "p", phase: str = "Running", **labels: str) -> Manifest:
    containers = [{"name": "main", "resources": {"limits": {GPU: str(gpus)}}}]
    metadata = {"name": name, "namespace": "default", "labels": labels}
    spec = {"nodeName": place, "containers": containers}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def change(old: PodSet | None, new: PodSet | None, fate: PodFate = PodFate.START, **more: Any) -> PodChange:
    return PodChange(fate=fate, rollout=Rollout(old=old, new=new, restarts=fate is PodFate.RESTART, **more))


def judge(nodes: list[Manifest], *changes: PodChange, pods: list[Manifest] | None = None) -> Fit:
    return judge_fit(changes, Machines(nodes=nodes, pods=pods))


def told(fit: Fit) -> list[tuple[int, bool]]:
    return [(one.pods, one.is_lasting) for one in fit.shortages]


def with_spec(pod_set: PodSet, **spec: Any) -> dict[str, Any]:
    return {"template": {"spec": {**pod_set.pod_spec, **spec}}}


def test_eight_on_one_node_twice_are_not_sixteen_somewhere() -> None:
    two = change(None, made(2, 8))
    assert judge([node("a"), node("b")], two).verdict == "fits"
    split = judge([node(name, 4) for name in "abcd"], two)
    assert (split.verdict, told(split)) == ("pending", [(2, True)])
    assert list(describe_fit(split)) == [
        (
            "Deployment default/a: 2 pods would stay Pending, because a pod needs 8 nvidia.com/gpu on one node, "
            "and of 4 nodes 4 have at most 4 nvidia.com/gpu free (16 in all)"
        )
    ]


def test_what_runs_takes_room_and_what_has_ended_does_not() -> None:
    wanted = change(None, made(1, 8))
    assert judge([node("a")], wanted, pods=[running("a", 1)]).verdict == "pending"
    for other in (running("a", 1, phase="Succeeded"), running("", 1), running("b", 8)):
        assert judge([node("a")], wanted, pods=[other]).verdict == "fits"


SURGE = {"surge": 1, "unavailable": 0}


@pytest.mark.parametrize(
    ("old", "new", "gpus", "expected"),
    [
        (made(2), made(2, **SURGE), 3, ("fits", [])),
        (made(2), made(2, **SURGE), 2, ("pending", [(1, True)])),
        (made(2), made(2, surge=1, unavailable=1), 2, ("fits", [(1, False)])),
        (made(2), made(2), 2, ("fits", [])),
        (made(2), made(2, is_recreated=True), 2, ("fits", [])),
        (made(2), made(3), 2, ("pending", [(1, True)])),
        (made(2), made(1, 2, **SURGE), 2, ("pending", [(1, True)])),
        (made(2), made(1, 2, is_recreated=True), 2, ("fits", [])),
        (made(1), made(4, **SURGE), 4, ("pending", [(1, True)])),
    ],
    ids=[
        "room for the surge",
        "stuck",
        "waits",
        "no surge",
        "recreated",
        "more",
        "larger",
        "larger, recreated",
        "grows",
    ],
)
def test_rollout_needs_its_surge_unless_old_pods_may_go_first(
    old: PodSet, new: PodSet, gpus: int, expected: Any
) -> None:
    found = judge([node("a", gpus)], change(old, new, PodFate.RESTART))
    assert (found.verdict, told(found)) == expected


def test_pods_of_before_are_where_they_run() -> None:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, **with_spec(made(1, 4))["template"]}
    old, new = made(2, 4, template=template), made(2, 4, template=template)
    pods = [running("a", 4, "p", **labels), running("b", 4, "q", **labels)]
    restart = change(old, new, PodFate.RESTART)
    assert judge([node("a", 4), node("b", 4)], restart, pods=pods).verdict == "fits"
    larger = change(old, made(2, 8, **SURGE), PodFate.RESTART)
    assert judge([node("a"), node("b")], larger, pods=pods).verdict == "pending"
    stranger = [{**pod, "metadata": {**pod["metadata"], "namespace": "other"}} for pod in pods]
    assert judge([node("a", 4), node("b", 4)], restart, pods=stranger).verdict == "pending"


def test_fewer_pods_make_room_for_others() -> None:
    fewer = change(made(4), made(1), PodFate.SCALE)
    assert judge([node("a", 4)], fewer, change(None, made(3))).verdict == "fits"
    assert judge([node("a", 4)], fewer, change(None, made(4))).verdict == "pending"
    gone = change(made(4), None, PodFate.STOP)
    assert judge([node("a", 4)], change(None, made(4)), gone).verdict == "fits"


def test_services_that_restart_in_turn_need_one_surge_at_a_time() -> None:
    both = [
        change(made(2), made(2, **SURGE, role=role), PodFate.RESTART, in_turn=turn)
        for role, turn in (("a", "g"), ("b", "g"))
    ]
    assert told(judge([node("a", 5)], *both)) == []
    assert judge([node("a", 4)], *both).verdict == "pending"
    assert len(judge([node("a", 4)], *both).shortages) == 1


def test_pods_that_fit_only_if_packed_are_said_to_be_so() -> None:
    apart = [change(None, made(2, 2, role="small")), change(None, made(1, 2, role="late"))]
    assert judge([node("a", 4), node("b", 4)], *apart).verdict == "fits"
    order = [change(None, made(2, 2, role="large")), change(made(4, 1), made(4, 1), PodFate.STAY)]
    nodes = [node("a", 4), node("b", 4)]
    assert judge(nodes, *order).verdict == "fits"
    mixed = [change(None, made(3, 3, role="x")), change(None, made(3, 2, role="y"))]
    spread = judge([node("a", 9), node("b", 6)], *mixed)
    assert (spread.verdict, told(spread)) == ("packed", [(1, True)])
    assert "may stay Pending, unless pods are packed more tightly" in next(iter(describe_fit(spread)))


@pytest.mark.parametrize(
    ("spec", "of_node", "obstacle"),
    [
        ({}, {}, ""),
        ({}, {"spec": {"unschedulable": True}}, "is cordoned"),
        ({}, {"spec": {"taints": [TAINT]}}, "has the taint dedicated=x:NoSchedule, which the pods do not tolerate"),
        ({}, {"spec": {"taints": [{**TAINT, "effect": "PreferNoSchedule"}]}}, ""),
        ({"tolerations": [{"key": "dedicated", "value": "x"}]}, {"spec": {"taints": [TAINT]}}, ""),
        ({"tolerations": [{"key": "dedicated", "value": "y"}]}, {"spec": {"taints": [TAINT]}}, "has the taint"),
        ({"tolerations": [{"key": "dedicated", "operator": "Exists"}]}, {"spec": {"taints": [TAINT]}}, ""),
        ({"tolerations": [{"operator": "Exists"}]}, {"spec": {"taints": [TAINT]}}, ""),
        (
            {"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]},
            {"spec": {"taints": [TAINT]}},
            "has the taint",
        ),
        ({"nodeSelector": {"pool": "gpu"}}, {"labels": {"pool": "gpu"}}, ""),
        ({"nodeSelector": {"pool": "gpu"}}, {}, "does not have the label pool=gpu of nodeSelector"),
    ],
    ids=str,
)
def test_node_is_open_only_to_pods_that_may_run_there(spec: Any, of_node: Any, obstacle: str) -> None:
    (found,) = read_nodes([node("a", **of_node)], [])
    assert find_obstacle(found, spec).startswith(obstacle)
    assert bool(find_obstacle(found, spec)) is bool(obstacle)


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ["h100", "h200"], True),
        ("In", ["a100"], False),
        ("NotIn", ["a100"], True),
        ("NotIn", ["h100"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["4"], False),
        ("Near", ["h100"], False),
    ],
)
def test_required_node_affinity_is_honoured(operator: str, values: list[str], matches: bool) -> None:
    def needing(*expressions: dict[str, Any], **more: Any) -> dict[str, Any]:
        terms = [{"matchExpressions": list(expressions), **more}, {}]
        return {
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            }
        }

    (found,) = read_nodes([node("a", labels={"gpu": "h100", "size": "8"})], [])
    asked = {"key": "gpu", "operator": operator, "values": values}
    assert (find_obstacle(found, needing(asked)) == "") is matches
    size = {"key": "size", "operator": "Gt", "values": ["7"]}
    assert (find_obstacle(found, needing(asked, size)) == "") is matches
    assert find_obstacle(found, needing(size, {**size, "operator": "Lt"})) != ""
    named = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    assert find_obstacle(found, needing(matchFields=[named])) == "does not match the required node affinity"


def test_reasons_are_counted_by_node() -> None:
    unready = {**node("f"), "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    nodes = [
        node("a", 2),
        node("b", 0),
        node("c", spec={"taints": [TAINT]}),
        node("d", spec={"taints": [TAINT]}),
        node("e", spec={"unschedulable": True}),
        unready,
        node("g", pods="0"),
    ]
    (said,) = describe_fit(judge(nodes, change(None, made(1, 4, service="decode"))))
    assert said == (
        "decode (Deployment default/a): 1 pod would stay Pending, because a pod needs 4 nvidia.com/gpu on one node, "
        "and of 7 nodes 2 have at most 2 nvidia.com/gpu free, 1 takes no more pods, 2 have the taint "
        "dedicated=x:NoSchedule, which the pods do not tolerate, 1 is cordoned, 1 is not ready"
    )
    (said,) = describe_fit(judge([], change(None, made(1))))
    assert said.endswith("on one node, and there is no node")


def test_memory_and_cpu_count_too() -> None:
    asked = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "500m", "memory": "3Gi"}}}]}
    two = change(None, made(2, template={"spec": asked}))
    assert judge([node("a", cpu="1", memory="6Gi")], two).verdict == "fits"
    assert judge([node("a", cpu="999m", memory="6Gi")], two).verdict == "pending"
    (said,) = describe_fit(judge([node("a", cpu="1", memory="5Gi")], two))
    assert said.endswith("needs 0.5 cpu and 3Gi memory on one node, and of 1 node 1 has at most 2Gi memory free")


def test_moved_graph_takes_the_room_of_its_old_pods() -> None:
    old, new = (annotated(example("vllm-agg"), enable_grove=one) for one in ("false", "true"))
    moved = compare(old, new, "grove")
    assert judge([node("a", 1)], *moved.pods).verdict == "fits"
    assert judge([node("a", 0)], *moved.pods).verdict == "pending"


# the command

DISAGG = example("vllm-disagg")
LARGER = edited_service(DISAGG, "VllmDecodeWorker", lambda spec: spec.update(resources={"limits": {"gpu": "8"}}))


def diff(folder: Path, *options: str, nodes: Any = None) -> Any:
    for name, documents in (("old.yaml", DISAGG), ("new.yaml", LARGER), ("nodes.yaml", nodes or [node("a", 4)])):
        (folder / name).write_text(yaml.safe_dump_all(documents))
    files = (str(folder / "old.yaml"), str(folder / "new.yaml"))
    return CliRunner().invoke(main, ["diff", "--fit", "--nodes", str(folder / "nodes.yaml"), *options, *files])


def test_all_forms_say_which_service_finds_no_node(tmp_path: Path) -> None:
    sentence = "VllmDecodeWorker (Deployment default/vllm-disagg-vllmdecodeworker): 1 pod would stay Pending, because "
    text = diff(tmp_path).stdout
    assert f"\nNodes (an estimate)\n  {sentence}a pod needs 8 nvidia.com/gpu" in text
    assert "#### Nodes (an estimate)\n\n- VllmDecodeWorker (Deployment" in diff(tmp_path, "-o", "markdown").stdout
    found = orjson.loads(diff(tmp_path, "-o", "json").stdout)["fit"]
    assert (found["verdict"], found["nodes"]) == ("pending", 1)
    (short,) = found["pending"]
    assert (short["service"], short["pods"], short["lasting"]) == ("VllmDecodeWorker", 1, True)
    enough = [node("a", 4), *(node(name) for name in "bcde")]
    assert "All pods find room on the 5 nodes." in diff(tmp_path, nodes=enough).stdout


def test_file_of_kubectl_has_lists_of_nodes_and_pods(tmp_path: Path) -> None:
    other = [running("b", 1)]
    listed = {"apiVersion": "v1", "kind": "List", "items": [node("a", 4), node("b"), *other]}
    (tmp_path / "nodes.json").write_bytes(orjson.dumps(listed))
    for options in ((), ("--nodes", str(tmp_path / "nodes.json"))):
        found = orjson.loads(diff(tmp_path, "-o", "json", *options, nodes=[listed]).stdout)["fit"]
        assert (found["verdict"], found["nodes"], found["notes"]) == ("pending", 2, [])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "nodes.yaml",
            "a: [",
            (
                "nodes.yaml:2 cannot be read: did not find expected node content; write the file with kubectl get "
                "nodes -o yaml"
            ),
        ),
        (
            "nodes.yaml",
            "[" * 40_000,
            (
                "nodes.yaml:1 cannot be read: it is nested more than 100 deep, or an alias contains itself; write the "
                "file with kubectl get nodes -o yaml"
            ),
        ),
        ("nodes.json", "[" * 40_000, "nodes.json is not JSON; write it with kubectl get nodes -o json"),
        ("nodes.json", "{", "nodes.json is not JSON; write it with kubectl get nodes -o json"),
        ("nodes.yaml", "- 1\n", "nodes.yaml has no Node; write it with kubectl get nodes -o yaml"),
        ("nodes.yaml", None, "nodes.yaml cannot be read: No such file or directory"),
    ],
)
def test_file_without_nodes_gets_a_sentence(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    result = CliRunner().invoke(main, ["diff", "--fit", "--nodes", str(path), "a.yaml", "b.yaml"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(f"{said}\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fit"], "--fit needs nodes; give --nodes FILE or --from-cluster"),
        (["--nodes", "n.yaml"], "--nodes is for --fit; give both"),
    ],
)
def test_misuse_is_one_sentence(options: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["diff", *options, "a.yaml", "b.yaml"])
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Compares with a simulated cluster in which the graph runs on the node `a`; options are those of `play`."""
    world = build_cluster()
    body = make.graph({"Worker": engine(resources={"limits": {"gpu": "2"}}, replicas=2)})
    body = {**body, "metadata": {"name": "llm", "namespace": "default"}}
    world.apply(body)
    assert world.run_until(lambda: is_ready(world.list_kind(contract.GRAPH, "default")[0]), 300)
    for found in world.list_kind(kinds.POD, "default"):
        world.replace({**found, "spec": {**found["spec"], "nodeName": "a"}})
    path = tmp_path / "new.yaml"
    more = {**body["spec"]["services"]["Worker"], "replicas": 3}
    path.write_text(yaml.safe_dump({**body, "spec": {"services": {"Worker": more}}}))

    def run(nodes: list[Manifest], **options: Any) -> Any:
        @contextmanager
        def connect(_connection: Any) -> Any:
            yield play(world, **options)

        def read_all(self: PlayedCluster, kind: Any, namespace: str = "", **query: str) -> Any:
            if kind.kind == "Node" and "nodes" not in self.forbidden:
                return iter(nodes)
            if kind.kind == "Pod" and not namespace and options:
                raise Refused("pods is forbidden", 403)
            return plain(self, kind, namespace, **query)

        plain = PlayedCluster.read_all
        with monkeypatch.context() as patched:
            patched.setattr(command, "connect", connect)
            patched.setattr(PlayedCluster, "read_all", read_all)
            return CliRunner().invoke(main, ["diff", "--from-cluster", "--fit", str(path)])

    return run


def test_cluster_says_what_is_free(live: Callable[..., Any]) -> None:
    assert "All pods find room on the 1 node." in live([node("a", 6)]).stdout
    short = live([node("a", 5), node("b", 1)]).stdout
    assert "1 pod would stay Pending, because a pod needs 2 nvidia.com/gpu on one node" in short
    assert "of 2 nodes 2 have at most 1 nvidia.com/gpu free (2 in all)" in short


def test_cluster_whose_nodes_may_not_be_read_gets_a_sentence(live: Callable[..., Any]) -> None:
    refused = live([], forbidden=frozenset({"nodes"}))
    assert refused.exit_code == 2
    assert "; --fit needs the nodes, and --nodes takes them from a file; you lack this right: " in refused.stderr
    partly = live([node("a", 6)], forbidden=frozenset({"secrets"}))
    assert "you may not read the pods of all namespaces, so only those of default count" in partly.stdout
    assert "All pods find room on the 1 node." in partly.stdout
