"""What a command asks of an image that lacks it."""

from typing import Any

import pytest

from hooks.component.image.command_line import CommandLine
from hooks.component.image.fit import find_lacks
from hooks.component.image.programs import Run, read_runs
from hooks.component.image.runtime_version import parse_image_version

_REGISTRY = "nvcr.io/nvidia/ai-dynamo"
VLLM = f"{_REGISTRY}/vllm-runtime"


def lacks(image: str, line: str, *env: str) -> list[tuple[str, str, int]]:
    """What the image lacks for a shell's script: part, name and exit code of each."""
    container: dict[str, Any] = {"image": image, "command": ["/bin/sh", "-c"], "args": [line]}
    variables = [{"name": name, "value": "1"} for name in env]
    found = find_lacks(container, parse_image_version(image), variables)
    return [(lack.part.value, lack.name, lack.exit_code) for lack in found]


@pytest.mark.parametrize(
    ("image", "line", "found"),
    [
        (f"{VLLM}:1.2.0", "ray start --head && python3 -m dynamo.vllm --model m", []),
        (f"{VLLM}:1.6.1", "ray start --head && python3 -m dynamo.vllm --model m", [("program", "ray", 127)]),
        (f"{VLLM}:1.6.1", "if command -v ray; then ray start --head; fi; python3 -m dynamo.vllm", []),
        ("corp/llm:1.6.1", "ray start --head && python3 -m dynamo.vllm --model m", []),
        (f"{VLLM}:1.3.1", "python3 -m dynamo.vllm --is-prefill-worker", []),
        (f"{VLLM}:1.4.0", "python3 -m dynamo.vllm --is-prefill-worker", [("flag", "--is-prefill-worker", 2)]),
        ("corp/llm:1.4.0", "python3 -m dynamo.vllm --is-decode-worker", [("flag", "--is-decode-worker", 2)]),
        (f"{VLLM}:1.4.0", "python3 -m dynamo.vllm --no-is-decode-worker", [("flag", "--no-is-decode-worker", 2)]),
        (f"{VLLM}:1.6.1", "python3 -m dynamo.mocker --is-prefill-worker", []),
        (f"{VLLM}:0.9.1", "python3 -m dynamo.vllm --connector nixl", []),
        (f"{VLLM}:1.0.0", "python3 -m dynamo.vllm --connector=nixl", [("flag", "--connector", 2)]),
        (f"{_REGISTRY}/tensorrtllm-runtime:1.6.1", "python3 -m dynamo.trtllm --connector nixl", []),
        (
            f"{VLLM}:0.9.1",
            "python3 -m dynamo.vllm --disaggregation-mode prefill",
            [("flag", "--disaggregation-mode", 2)],
        ),
        (f"{VLLM}:0.9.1", "python3 -m dynamo.frontend --enforce-disagg", []),
        (f"{VLLM}:1.0.2", "python3 -m dynamo.frontend --enforce-disagg", [("flag", "--enforce-disagg", 1)]),
        (f"{VLLM}:1.1.0", "python3 -m dynamo.frontend --enforce-disagg", []),
        (f"{VLLM}:0.9.1", "python3 -m dynamo.planner.planner_sla", []),
        (f"{VLLM}:1.6.1", "python3 -m dynamo.planner.planner_sla", [("module", "dynamo.planner.planner_sla", 1)]),
        (f"{VLLM}:0.9.1", "python3 -m dynamo.global_router", [("module", "dynamo.global_router", 1)]),
        (f"{_REGISTRY}/sglang-runtime:1.6.1", "python3 -m dynamo.vllm", [("module", "dynamo.vllm", 1)]),
        (f"{_REGISTRY}/dynamo-frontend:1.6.1", "python3 -m dynamo.sglang", [("module", "dynamo.sglang", 1)]),
        (f"{_REGISTRY}/sglang-runtime:1.6.1", "python3 -m dynamo.router --endpoint a.b.c", []),
        (f"{VLLM}:latest", "ray start --head; python3 -m dynamo.vllm --is-prefill-worker", []),
    ],
)
def test_image_lacks_what_the_table_says(image: str, line: str, found: list[tuple[str, str, int]]) -> None:
    assert lacks(image, line) == found


def test_variables_count_for_the_module_that_no_longer_reads_them() -> None:
    line = "python3 -m dynamo.vllm --model m"
    assert lacks(f"{VLLM}:1.6.1", line, "DYN_CONNECTOR") == [("variable", "DYN_CONNECTOR", 1)]
    assert lacks(f"{VLLM}:1.6.1", line, "DYN_AGENT_TRACE") == [("variable", "DYN_AGENT_TRACE", 0)]
    assert lacks(f"{VLLM}:0.9.1", line, "DYN_CONNECTOR", "DYN_AGENT_TRACE") == []


def test_successor_is_said() -> None:
    container = {"image": f"{VLLM}:1.6.1", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--is-decode-worker"]}
    (lack,) = find_lacks(container, parse_image_version(f"{VLLM}:1.6.1"))
    assert lack.span.instead == "--disaggregation-mode decode"
    assert str(lack.span.until) == "1.4.0"


@pytest.mark.parametrize(
    ("command", "args", "runs"),
    [
        (["python3", "-m", "dynamo.vllm"], ["--a=1", "-b"], [("python3", "dynamo.vllm", ("--a",))]),
        (["tini", "--", "python3.12", "-u", "-m", "dynamo.sglang"], ["--x"], [("tini", "dynamo.sglang", ("--x",))]),
        (
            ["mpirun", "-n", "2", "bash", "-c"],
            ["source x && launch python3 -m dynamo.trtllm --a"],
            [("source", "", ()), ("launch", "dynamo.trtllm", ("--a",))],
        ),
        (
            ["bash", "-lc"],
            ["A=1 exec python3 -m dynamo.vllm \\\n --a '--b'"],
            [("python3", "dynamo.vllm", ("--a", "--b"))],
        ),
        (
            ["sh", "-c", "until ray health-check; do\n sleep 1\ndone"],
            [],
            [("ray", "", ()), ("sleep", "", ()), ("done", "", ())],
        ),
        (["sh", "-c", "python3 -m dynamo.vllm 'open"], [], []),
        (["sh", "-c", "cat <<EOF\nray start\nEOF"], [], []),
        (["sh", "-c", "ray start; " + "x" * 30_000], [], []),
        ([], [], []),
    ],
    ids=["python", "launcher", "nested shell", "variables before", "loop", "open quote", "document", "long", "none"],
)
def test_programs_of_a_command_line(
    command: list[str], args: list[str], runs: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    found = read_runs(CommandLine(command=tuple(command), args=tuple(args)))
    assert [(run.program, run.module, run.flags) for run in found] == runs


def test_last_value_of_a_flag_counts() -> None:
    run = Run(program="python3", module="m", words=("--port", "1", "--port=2", "--port", "3", "--last"))
    assert run.value_of("--port") == "3"
    assert run.value_of("--last") is None
    assert run.value_of("--none") is None
