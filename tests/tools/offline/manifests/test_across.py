"""What several manifests do to each other: names that collide, a shared Dynamo namespace, a Secret that is missing."""

from pathlib import Path

import pytest

from hooks.tools.offline.manifests.checking import check_manifests
from hooks.tools.offline.manifests.reading import load_manifests
from tests import make
from tests.tools.cli.versions import ALPHA, BETA

GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: {name}
spec:
  services:
    {service}:
      componentType: worker
      extraPodSpec:
        mainContainer: {{image: i:0.9.1}}
"""
GLOBAL = GRAPH.replace("componentType: worker", "componentType: worker\n      globalDynamoNamespace: true")
COMPONENT = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoComponentDeployment
metadata:
  name: a-b-c
spec:
  extraPodSpec:
    mainContainer: {image: i:0.9.1}
"""
NODES = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: big
spec:
  backendFramework: trtllm
  services:
    main:
      componentType: worker
      multinode: {nodeCount: 2}
      resources: {limits: {gpu: "8"}}
      extraPodSpec:
        mainContainer: {image: i:0.9.1, command: [python3, -m, dynamo.trtllm]}
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata:
  name: mpi-run-ssh-secret
data: {}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(folder: Path, *texts: str) -> tuple[list[str], list[str]]:
    """Problems and warnings of files a.yaml, b.yaml, …"""
    names = [f"{letter}.yaml" for letter, _ in zip("abcd", texts, strict=False)]
    for name, text in zip(names, texts, strict=True):
        (folder / name).write_text(text)
    checked = check_manifests(load_manifests(names, "default"), make.facts().settings, None)
    return [str(fault) for fault in checked.faults], [str(warning) for warning in checked.warnings]


def test_services_of_two_graphs_that_want_one_name_are_refused_with_both_places(folder: Path) -> None:
    faults, _ = check(folder, GRAPH.format(name="a", service="b-c"), GRAPH.format(name="a-b", service="c"))
    assert faults == [
        (
            "b.yaml:7: spec.services[c]: becomes a-b-c in namespace default, which is the "
            "name of DynamoGraphDeployment a, "
            "spec.services[b-c] (a.yaml:7) too; rename one of the graphs or services"
        )
    ]


def test_component_with_the_name_of_a_service_is_refused(folder: Path) -> None:
    faults, _ = check(folder, GRAPH.format(name="a", service="b-c"), COMPONENT)
    assert len(faults) == 1
    assert "becomes a-b-c in namespace default, which is the name of DynamoGraphDeployment a" in faults[0]


def owned(component: str, kind: str, name: str) -> str:
    reference = f"{{apiVersion: nvidia.com/v1alpha1, kind: {kind}, name: {name}, uid: u}}"
    return component.replace("  name: a-b-c\n", f"  name: a-b-c\n  ownerReferences: [{reference}]\n")


def test_component_that_the_graph_made_does_not_collide_with_it(folder: Path) -> None:
    graph, component = GRAPH.format(name="a", service="b-c"), owned(COMPONENT, "DynamoGraphDeployment", "a")
    assert check(folder, graph, component) == ([], [])
    assert check(folder, component, graph) == ([], [])


@pytest.mark.parametrize(("kind", "name"), [("DynamoGraphDeployment", "other"), ("Workflow", "a")])
def test_component_of_another_owner_collides(folder: Path, kind: str, name: str) -> None:
    faults, _ = check(folder, GRAPH.format(name="a", service="b-c"), owned(COMPONENT, kind, name))
    assert len(faults) == 1


def test_names_in_different_namespaces_do_not_collide(folder: Path) -> None:
    other = GRAPH.format(name="a-b", service="c").replace("name: a-b\n", "name: a-b\n  namespace: other\n")
    assert check(folder, GRAPH.format(name="a", service="b-c"), other) == ([], [])


def test_same_service_of_two_graphs_in_the_global_namespace_is_warned_about(folder: Path) -> None:
    faults, warnings = check(folder, GLOBAL.format(name="a", service="main"), GLOBAL.format(name="b", service="main"))
    assert faults == []
    assert warnings == [
        (
            "b.yaml:9: spec.services[main].globalDynamoNamespace: DynamoGraphDeployment a, "
            "spec.services[main] (a.yaml:7) "
            "is a service of the same name in the same global Dynamo namespace, so requests "
            "for one reach the other; rename "
            "one, or remove globalDynamoNamespace"
        )
    ]


def test_same_service_of_two_graphs_without_the_global_namespace_is_right(folder: Path) -> None:
    assert check(folder, GRAPH.format(name="a", service="m"), GLOBAL.format(name="b", service="m")) == ([], [])


def test_ssh_key_that_is_not_given_is_warned_about(folder: Path) -> None:
    assert check(folder, NODES, SECRET) == ([], [])
    faults, (warning,) = check(folder, NODES)
    assert faults == []
    assert warning.startswith(
        "a.yaml:10: spec.services[main].multinode: TensorRT-LLM over several nodes starts by mpirun over SSH, with "
        "private.key and private.key.pub of Secret default/mpi-run-ssh-secret; these manifests have no such Secret"
    )


@pytest.mark.parametrize("command", ["1", "python3", "{a: b}"])
def test_command_of_another_type_is_a_problem_of_its_own_service(folder: Path, command: str) -> None:
    faults, warnings = check(folder, NODES.replace("[python3, -m, dynamo.trtllm]", command))
    assert any("mainContainer.command: is" in fault for fault in faults)
    assert not any("Secret" in warning for warning in warnings)


def test_one_graph_in_two_versions_collides_as_a_whole_and_not_by_its_services(folder: Path) -> None:
    faults, warnings = check(folder, ALPHA, BETA)
    assert faults == []
    assert warnings[0].startswith("b.yaml:4: metadata.name: DynamoGraphDeployment g is also in a.yaml:1")


SEEING = GRAPH.replace("componentType: worker", "componentType: frontend\n      runtimeVersionOverride: {release}")


@pytest.mark.parametrize(("release", "is_warned"), [("1.5.1", True), ("1.6.1", False), ("0.9.1", False)])
def test_graph_whose_workers_another_graph_may_see_is_warned_about(folder: Path, release: str, is_warned: bool) -> None:
    faults, warnings = check(
        folder, SEEING.format(name="vd", service="m", release=release), GRAPH.format(name="vd-b", service="n")
    )
    told = [one for one in warnings if "begins with that of" in one]
    assert faults == []
    the_namespace = "metadata.name: the Dynamo namespace of"
    expected = [
        f"a.yaml:4: {the_namespace} DynamoGraphDeployment vd-b (b.yaml) begins with that of this graph",
        f"b.yaml:4: {the_namespace} this graph begins with that of DynamoGraphDeployment vd (a.yaml)",
    ]
    assert sorted(one.split(", and")[0] for one in told) == (expected if is_warned else [])


SETS = "a-long-name-of-a-graph-1408", "a-long-name-of-a-graph-2504"
"""Names of graphs that are cut to one with a service of 19 characters."""


def test_graphs_whose_sets_would_have_one_name_are_refused_under_grove(folder: Path) -> None:
    texts = [GRAPH.format(name=name, service="VllmDecodeWorker222") for name in SETS]
    said = (
        "b.yaml:4: metadata.name: its PodCliqueSet becomes a-long-name-of-a-grap-024a in namespace default, as that "
        "of DynamoGraphDeployment a-long-name-of-a-graph-1408 (a.yaml:4) does; rename one of the graphs"
    )
    faults, warnings = check(folder, *texts)
    assert (faults, warnings) == ([], [f"{said} (under Grove this is refused)"])
    names = [folder / "a.yaml", folder / "b.yaml"]
    loaded = load_manifests([name.name for name in names], "default")
    for installed, expected in ((frozenset({"grove"}), [said]), (frozenset[str](), [])):
        checked = check_manifests(loaded, make.facts().settings, installed)
        assert [str(fault) for fault in checked.faults] == expected
    away = ("metadata:\n", "metadata:\n  namespace: b\n")
    assert check(folder, texts[0], texts[1].replace(*away)) == ([], [])
    off = ("metadata:\n", 'metadata:\n  annotations: {nvidia.com/enable-grove: "false"}\n')
    assert check(folder, texts[0], texts[1].replace(*off)) == ([], [])


SERVING = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: a}
spec:
  services:
    w:
      componentType: worker
      modelRef: {name: Qwen/Qwen3-0.6B}
      extraPodSpec:
        mainContainer: {image: i:0.9.1}
"""
MODEL = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoModel
metadata: {name: m, namespace: NAMESPACE}
spec: {modelName: BASE, baseModelName: BASE}
"""


@pytest.mark.parametrize(
    ("base", "namespace", "is_warned"),
    [
        ("qwen/Qwen3-0.6b", "a", True),
        ("Qwen/Qwen3-0.6B", "a", False),
        ("Qwen/Qwen3-8B", "a", False),
        ("qwen/Qwen3-0.6b", "b", False),
    ],
)
def test_model_whose_base_has_other_capitals_is_warned_about(
    folder: Path, base: str, namespace: str, is_warned: bool
) -> None:
    _, warnings = check(folder, SERVING, MODEL.replace("BASE", base).replace("NAMESPACE", namespace))
    assert warnings == (
        [
            (
                f"b.yaml:4: spec.baseModelName: {base!r} differs only in capitals from 'Qwen/Qwen3-0.6B', which "
                "DynamoGraphDeployment g, spec.services[w] (a.yaml:6) serves; names are compared exactly, so the model "
                "finds no engine there; write the same name in both"
            )
        ]
        if is_warned
        else []
    )


ADAPTED = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  envs: COMMON
  services:
    Frontend:
      componentType: frontend
      envs: OWN
      extraPodSpec:
        mainContainer: {image: "dynamo-frontend:RELEASE"}
    Worker:
      componentType: worker
      replicas: REPLICAS
      modelRef: {name: base}
      extraPodSpec:
        mainContainer: {image: "vllm-runtime:RELEASE"}
"""
ADAPTER = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoModel
metadata:
  name: m
spec:
  modelName: a
  baseModelName: BASE
  modelType: lora
  source: {uri: "s3://b/a"}
"""
ON = '[{name: DYN_LORA_ENABLED, value: "true"}]'


@pytest.mark.parametrize(
    ("change", "is_warned"),
    [
        ({}, True),
        ({"OWN": ON}, False),
        ({"COMMON": ON}, False),
        ({"COMMON": ON, "OWN": ON.replace("true", "false")}, True),
        ({"REPLICAS": "1"}, False),
        ({"REPLICAS": "0"}, False),
        ({"RELEASE": "1.2.1"}, False),
        ({"BASE": "other"}, False),
    ],
)
def test_adapter_whose_frontend_sends_requests_to_any_worker_is_warned_about(
    folder: Path, change: dict[str, str], is_warned: bool
) -> None:
    values = {"COMMON": "[]", "OWN": "[]", "REPLICAS": "2", "RELEASE": "1.6.1", "BASE": "base", **change}
    texts = [ADAPTED, ADAPTER]
    for name, value in values.items():
        texts = [text.replace(name, value) for text in texts]
    _, warnings = check(folder, *texts)
    found = [one for one in warnings if "to any worker" in one]
    warning = (
        "b.yaml:6: spec.modelName: DynamoGraphDeployment g, spec.services[Frontend] (a.yaml:8) sends requests for "
        "'a' to any worker, and those fail that reach one which has not loaded it yet; set DYN_LORA_ENABLED to true at "
        "that frontend"
    )
    assert found == ([warning] if is_warned else [])
