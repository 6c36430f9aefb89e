"""The served model and the runtime's component, read from command lines."""

from typing import Any

import pytest

from hooks.component.spec.runtime_names import find_runtime_component, find_served_model, find_value
from hooks.language.api.component_spec import ComponentSpec

VLLM = ["python3", "-m", "dynamo.vllm"]


def spec_of(args: Any, *, command: Any = VLLM, env: Any = (), envs: Any = ()) -> ComponentSpec:
    container = {"command": command, "args": args, "env": list(env)}
    return ComponentSpec.model_validate({"extraPodSpec": {"mainContainer": container}, "envs": list(envs)})


MODELS: list[tuple[str, list[str], str]] = [
    ("model", ["--model", "Qwen/Qwen3-0.6B"], "Qwen/Qwen3-0.6B"),
    ("served name before all", ["--model", "a", "--model-name", "b", "--served-model-name", "c"], "c"),
    ("name before model", ["--model-path", "/models/a", "--model-name", "b", "--model", "c"], "b"),
    ("path alone, as for SGLang", ["--model-path", "/models/a"], "/models/a"),
    ("first of several served names", ["--served-model-name", "a", "b"], "a"),
    ("equals sign", ["--served-model-name=a=b"], "a=b"),
    ("several words in one argument", ["--model Qwen/Qwen3-0.6B --tensor-parallel-size 2"], "Qwen/Qwen3-0.6B"),
    ("quoted", ["--model", "'my model'"], "my model"),
    ("longer flag of the same beginning", ["--model-impl", "x"], ""),
    ("flag without value", ["--enforce-eager", "--model"], ""),
    ("flag before another flag", ["--model", "--enforce-eager"], ""),
    ("none", [], ""),
]


@pytest.mark.parametrize(("args", "model"), [case[1:] for case in MODELS], ids=[case[0] for case in MODELS])
def test_served_model_of_arguments(args: list[str], model: str) -> None:
    assert find_served_model(spec_of(args)) == model


SCRIPTS: list[tuple[str, str, str]] = [
    ("lines", "cd /workspace\npython3 -m dynamo.vllm \\\n  --model Qwen/Q \\\n  --enforce-eager\n", "Qwen/Q"),
    ("line ends after the flag", "python3 -m dynamo.vllm --model \\\n  Qwen/Q", "Qwen/Q"),
    ("operator right after it", "python3 -m dynamo.vllm --model Qwen/Q; sleep 1", "Qwen/Q"),
    ("background", "python3 -m dynamo.vllm --model Qwen/Q& wait", "Qwen/Q"),
    ("double quotes", 'python3 -m dynamo.vllm --model "Qwen/Q"', "Qwen/Q"),
    ("quote that is not closed", "echo it's so; python3 -m dynamo.vllm --model Qwen/Q;", "Qwen/Q"),
    ("hash that is no comment", "python3 -m dynamo.vllm --opt a#b --model Qwen/Q", "Qwen/Q"),
    ("variable of the shell", "python3 -m dynamo.vllm --model $MODEL", "Qwen/Q"),
    ("variable in braces", 'python3 -m dynamo.vllm --model "${MODEL}"', "Qwen/Q"),
    ("default of a variable", "python3 -m dynamo.vllm --model ${OTHER:-x}", ""),
    ("output of a command", "python3 -m dynamo.vllm --model $(cat /model)", ""),
    ("output of a command, the old way", "python3 -m dynamo.vllm --model `cat`", ""),
]


@pytest.mark.parametrize(("script", "model"), [case[1:] for case in SCRIPTS], ids=[case[0] for case in SCRIPTS])
def test_served_model_of_a_script(script: str, model: str) -> None:
    env = [{"name": "MODEL", "value": "Qwen/Q"}]
    assert find_served_model(spec_of([script], command=["/bin/sh", "-c"], env=env)) == model


VARIABLES: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]], str]] = [
    ("of the container", [{"name": "MODEL", "value": "a"}], [], "a"),
    ("of the spec, which wins", [{"name": "MODEL", "value": "a"}], [{"name": "MODEL", "value": "b"}], "b"),
    ("of another variable", [{"name": "MODEL", "value": "$(HUB)/a"}, {"name": "HUB", "value": "Qwen"}], [], "Qwen/a"),
    ("from a Secret", [{"name": "MODEL", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}], [], ""),
    ("from a Secret of the spec", [{"name": "MODEL", "value": "a"}], [{"name": "MODEL", "valueFrom": {}}], ""),
    ("unknown", [], [], ""),
]


@pytest.mark.parametrize(
    ("env", "envs", "model"), [case[1:] for case in VARIABLES], ids=[case[0] for case in VARIABLES]
)
def test_reference_to_a_variable(env: list[dict[str, Any]], envs: list[dict[str, Any]], model: str) -> None:
    assert find_served_model(spec_of(["--model", "$(MODEL)"], env=env, envs=envs)) == model


def test_variables_that_grow_without_end_give_no_name() -> None:
    growing = [{"name": f"V{number}", "value": f"$(V{number + 1})" * 9} for number in range(12)]
    env = [*growing, {"name": "V12", "value": "x" * 99}]
    assert find_served_model(spec_of(["--model", "$(V0)"], env=env)) == ""


def test_command_counts_too() -> None:
    assert find_served_model(spec_of([], command=[*VLLM, "--model", "a"])) == "a"


@pytest.mark.parametrize(
    ("endpoint", "component"),
    [
        ("dyn://ns.prefill.generate", "prefill"),
        ("ns.backend.generate", "backend"),
        ("dyn://$(DYN_NAMESPACE).prefill.generate", "prefill"),
        ("dyn://ns.$(PART).generate", ""),
        ("dyn://ns.generate", ""),
        ("dyn://a.b.c.d", ""),
        ("http://host:8000", ""),
    ],
)
def test_component_of_the_endpoint(endpoint: str, component: str) -> None:
    assert find_runtime_component(spec_of(["--endpoint", endpoint])) == component


def test_no_endpoint_no_component() -> None:
    assert find_runtime_component(spec_of(["--model", "a.b.c"])) == ""


def test_value_that_the_api_server_refuses_is_none() -> None:
    env = [{"name": "FLAG", "value": {"a": "yes"}}, {"name": "OTHER", "value": "yes"}]
    assert [find_value(spec_of([], env=env), variable=name) for name in ("FLAG", "OTHER")] == ["", "yes"]
    for broken in ({"name": {"a": "b"}, "value": "yes"}, {"value": "yes"}, "text", 1.5):
        assert find_value(spec_of([], env=[*env, broken]), variable="OTHER") == ""
