"""A profiler's output: where the graph is found in it, what is refused, what comes along."""

from typing import Any

import pytest
import yaml

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import name_of
from hooks.ground.problems import HERE, SPEC
from hooks.language.versions import convert
from hooks.request.seen.generated_graph import MAX_ADDITIONAL_BYTES, check_graph, read_output, refuse_graph
from tests import make
from tests.request.world import generated


def text(*documents: Any) -> str:
    return yaml.safe_dump_all(documents)


def bare(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}, **fields}


@pytest.mark.parametrize("position", [0, 1, 2])
def test_graph_is_found_wherever_it_stands(position: int) -> None:
    others = [bare("b"), bare("a")]
    found = read_output(text(*others[:position], generated(), *others[position:]), "q")
    assert found.graph == generated()
    assert [name_of(config_map) for config_map in found.config_maps] == ["a", "b"]
    assert found.remarks == ()


def test_graph_without_a_name_gets_the_requests() -> None:
    assert name_of(read_output(text({**generated(), "metadata": {}}), "q").graph) == "q"


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("", "no DynamoGraphDeployment found in YAML content"),
        ("- a\n- b\n", "no DynamoGraphDeployment found in YAML content"),
        ([bare("a")], "no DynamoGraphDeployment found in YAML content"),
        (
            [{**generated(), "apiVersion": "nvidia.com/v1"}],
            "the generated graph has apiVersion nvidia.com/v1, must be nvidia.com/v1alpha1 or nvidia.com/v1beta1",
        ),
        ([generated("n" * 210_000)], "the generated graph has 210290 bytes as JSON, must have at most 200704"),
        (
            [generated(), *[bare(f"c{i}", data={"a": "x" * 100_000}) for i in range(3)]],
            f"additional resources have 300237 bytes, must have at most {MAX_ADDITIONAL_BYTES}",
        ),
    ],
    ids=["empty", "list", "no graph", "version", "too large", "too much beside"],
)
def test_unusable_output_is_refused(output: str | list[Any], problem: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        read_output(output if isinstance(output, str) else text(*output), "q")
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("output", "line", "message"),
    [
        ("a: b: c", 1, "mapping values are not allowed in this context"),
        ("a: !Thing b", 1, "a has the YAML tag !Thing, which Kubernetes does not know"),
        ("a: 1\na: 2", 2, "a is given twice"),
        ("a: &a [*a]", 1, "it is nested more than 100 deep, or an alias contains itself"),
    ],
    ids=["no YAML", "tag", "key twice", "alias of itself"],
)
def test_output_that_is_no_yaml_is_refused_with_its_line(output: str, line: int, message: str) -> None:
    with pytest.raises(SyntaxError) as refused:
        read_output(output, "q")
    assert (refused.value.lineno, refused.value.msg) == (line, message)


def test_aliases_are_written_out() -> None:
    shared = {"requests": {"cpu": "1"}}
    services = {name: {"componentType": "worker", "resources": shared} for name in ("A", "B")}
    output = text(generated(services=services))
    assert "&id001" in output
    found = read_output(output, "q").graph["spec"]["services"]
    assert found["A"]["resources"] == found["B"]["resources"] == shared


def test_aliases_do_not_outgrow_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(SyntaxError, match="its aliases stand for more than 10000 values; use fewer aliases"):
        read_output("\n".join(lines), "q")


def test_nulls_go_and_whole_floats_become_integers() -> None:
    services = {"A": {"componentType": "worker", "replicas": 2.0, "envs": None}}
    found = read_output(text(generated(services=services)), "q").graph["spec"]["services"]["A"]
    assert found == {"componentType": "worker", "replicas": 2}
    assert isinstance(found["replicas"], int)


def test_dates_stay_text() -> None:
    found = read_output(
        f"{text(generated())}  annotations: {{}}\n".replace("annotations: {}", "restart: {id: 2026-01-01}"), "q"
    )
    assert found.graph["spec"]["restart"]["id"] == "2026-01-01"


def test_fraction_in_a_free_configuration_is_refused() -> None:
    services = {"Epp": {"componentType": "epp", "eppConfig": {"config": {"weights": [1, 0.7]}}}}
    with pytest.raises(InvalidSpec) as refused:
        read_output(text(generated(services=services)), "q")
    assert str(refused.value) == (
        "the generated graph is refused: spec.services[Epp].eppConfig.config.weights[1]: is 0.7, but only whole "
        "numbers are possible there; put the configuration into a ConfigMap and name it in "
        "spec.services[Epp].eppConfig.configMapRef"
    )


def test_problem_of_the_generated_graph_keeps_its_rule_and_its_field() -> None:
    (inner,) = check_graph(generated(services={"A": make.service("epp")}), "default")
    (problem,) = refuse_graph([inner])
    assert problem.text == f"the generated graph is refused: {inner}"
    assert str(problem.path) == "status.generatedDeployment.spec.services[A].eppConfig"
    assert dict(problem.values)["problem"] == inner
    assert problem.under(HERE / "other", instead_of=SPEC) == problem, "the inner path is the graph's own"


def in_v1beta1(**spec: Any) -> dict[str, Any]:
    return convert(generated(**spec), "v1beta1")


def test_graph_of_v1beta1_becomes_the_same_as_one_of_v1alpha1() -> None:
    found = read_output(text(bare("a"), in_v1beta1()), "q")
    assert found.written == in_v1beta1()
    assert found.graph == generated()
    assert check_graph(found.graph, "default", written=found.written) == ()


def test_problem_of_a_graph_of_v1beta1_has_its_paths_and_words() -> None:
    beta = in_v1beta1(services={"A": {**make.service("worker"), "gpuMemoryService": {"enabled": True}}})
    (component,) = beta["spec"]["components"]
    nameless = {
        "name": "B",
        "type": "worker",
        "podTemplate": {"spec": {"containers": [{"name": "other", "image": "i:1"}]}},
    }
    output = read_output(text({**beta, "spec": {"components": [component, nameless]}}), "q")
    assert [str(one) for one in check_graph(output.graph, "default", written=output.written)] == [
        (
            "spec.components[0].experimental.gpuMemoryService: the GPU memory service is not supported, because it "
            "needs GPUs by Dynamic Resource Allocation; remove gpuMemoryService"
        ),
        (
            "spec.components[1].podTemplate.spec.containers: no container is named main; name the container that runs "
            "Dynamo main, and give it an image"
        ),
    ]


def test_fraction_in_a_graph_of_v1beta1_has_its_path() -> None:
    services = {"Epp": {"componentType": "epp", "eppConfig": {"config": {"weights": [1, 0.7]}}}}
    with pytest.raises(InvalidSpec) as refused:
        read_output(text(in_v1beta1(services=services)), "q")
    assert str(refused.value).startswith(
        "the generated graph is refused: spec.components[0].eppConfig.config.weights[1]: is 0.7"
    )


@pytest.mark.parametrize(
    ("found", "remark"),
    [
        (bare("No"), "ConfigMap 'No' cannot be created: its name must be a DNS subdomain"),
        ({**bare(""), "metadata": {}}, "ConfigMap None cannot be created: its name must be a DNS subdomain"),
        (
            bare("a", metadata={"name": "a", "labels": "b"}),
            "ConfigMap a cannot be created: labels of its metadata must be an object",
        ),
        (bare("a", data={"n": 1}), "ConfigMap a cannot be created: all values of data must be strings"),
        (
            bare("a", data={"n": "x" * 210_000}),
            "ConfigMap a cannot be created: it has 210078 bytes, must have at most 200704",
        ),
    ],
    ids=["name", "no name", "labels", "no text", "too large"],
)
def test_config_map_that_cannot_be_is_left_out_and_reported(found: Any, remark: str) -> None:
    output = read_output(text(generated(), found), "q")
    assert output.config_maps == ()
    assert output.remarks == (remark,)


def test_other_resources_are_passed_over() -> None:
    output = read_output(text(generated(), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}), "q")
    assert (output.config_maps, output.remarks) == ((), ())


def test_first_of_two_config_maps_of_one_name_counts() -> None:
    output = read_output(text(bare("a", data={"n": "1"}), generated(), bare("a", data={"n": "2"})), "q")
    assert [config_map["data"] for config_map in output.config_maps] == [{"n": "1"}]


@pytest.mark.parametrize(
    ("services", "problem"),
    [
        ({"A": {"replicas": "two"}}, "spec.services[A].replicas: "),
        ({"A" * 70: make.service()}, f"spec.services[{'A' * 70}]: the name "),
        ({"A": make.service("epp")}, "spec.services[A].eppConfig is required for EPP components"),
    ],
)
def test_generated_graph_goes_by_our_own_rules(services: Any, problem: str) -> None:
    (found,) = check_graph(generated(services=services), "default")
    assert found.text.startswith(problem)


def test_field_that_the_server_would_drop_is_no_fault() -> None:
    assert check_graph(generated(newField="of a newer version"), "default") == ()


def test_image_that_the_request_gives_to_workers_is_no_fault() -> None:
    worker = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"command": ["a"]}}}
    (found,) = check_graph(generated(services={"A": worker}), "default")
    assert found.text.startswith("spec.services[A].extraPodSpec.mainContainer.image: is required")
    assert check_graph(generated(services={"A": worker}), "default", "img:2") == ()


@pytest.mark.parametrize(("annotation", "refused"), [("true", False), ("false", True)])
def test_what_only_grove_can_do_is_refused_only_without_it(annotation: str, refused: bool) -> None:
    metadata = {"name": "g", "annotations": {"nvidia.com/enable-grove": annotation}}
    graph = {**generated(), "metadata": metadata}
    graph["spec"]["services"]["Worker"] |= {"replicas": 2, "minAvailable": 1}
    found = check_graph(graph, make.NAMESPACE)
    assert ["only for Grove-backed" in problem.text for problem in found] == [True] * refused
