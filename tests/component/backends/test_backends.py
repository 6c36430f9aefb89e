"""Which engine a worker runs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.component.image.command_line import CommandLine
from hooks.component.pod.backends import Backend, detect_backends, resolve_backend
from hooks.component.spec.subject import ComponentType
from hooks.ground.contract import Engine
from hooks.ground.errors import InvalidSpec
from hooks.language.api.schema import BACKENDS


def test_crds_and_launch_rules_know_every_engine() -> None:
    engines = {engine.value for engine in Engine}
    assert {backend.value for backend in Backend} - {Backend.NOOP.value} == engines
    assert set(BACKENDS) == engines


DETECTED = {
    "python3 -m dynamo.vllm.worker": ("vllm",),
    "python3 -m dynamo.sglang": ("sglang",),
    "python3.11 -m dynamo.trtllm": ("trtllm",),
    "/bin/sh -c echo x | wc -l && python3 -m dynamo.vllm --m": ("vllm",),
    "python3 -u -m dynamo.vllm": ("vllm",),
    "python3 -mdynamo.vllm": (),
    "python3 -m vllm.entry": (),
    "python -m dynamo.vllm_omni": ("vllm",),
    "python3 -m dynamo.vllm --x dynamo.sglang": ("vllm", "sglang"),
    "python3 -m dynamo.vllm && python3 -m dynamo.sglang": ("vllm", "sglang"),
    "python3 && -m dynamo.vllm": (),
    "": (),
}


@pytest.mark.parametrize(("text", "engines"), DETECTED.items(), ids=str)
def test_engine_is_read_from_the_command_line(text: str, engines: tuple[str, ...]) -> None:
    assert detect_backends(text) == engines


WORDS = st.sampled_from(["python", "python3.11", " ", "-m", "dynamo.vllm", "dynamo.sglang", "|", ";", "\n", "x", "&"])


@given(st.lists(WORDS, max_size=12).map("".join))
def test_detection_is_that_of_the_whole_expression(text: str) -> None:
    expression = r"python[0-9.]*\s+[^|&;]*-m\s+[^|&;]*dynamo\.{}[^|&;]*"
    expected = tuple(e for e in ("vllm", "sglang", "trtllm") if re.search(expression.format(e), text))
    assert detect_backends(text) == expected


def resolve(text: str, explicit: str = "", kind: ComponentType = ComponentType.WORKER) -> Backend:
    return resolve_backend(kind, CommandLine(command=("/bin/sh", "-c"), args=(text,) if text else ()), explicit)


RESOLVED = {
    "detected only": ("python3 -m dynamo.vllm", "", "vllm"),
    "explicit only": ("", "sglang", "sglang"),
    "both agree": ("python3 -m dynamo.vllm", "vllm", "vllm"),
    "neither": ("", "", "noop"),
    "undetectable": ("serve --fast", "", "noop"),
    "explicit settles several": ("python3 -m dynamo.vllm dynamo.sglang", "trtllm", "trtllm"),
    "explicit noop": ("", "noop", "noop"),
}


@pytest.mark.parametrize(("text", "explicit", "backend"), RESOLVED.values(), ids=RESOLVED.keys())
def test_worker_runs_the_engine_told(text: str, explicit: str, backend: str) -> None:
    assert resolve(text, explicit) == backend


@pytest.mark.parametrize("kind", [ComponentType.FRONTEND, ComponentType.PLANNER, ComponentType.OTHER])
def test_component_that_is_no_worker_runs_none(kind: ComponentType) -> None:
    assert resolve("python3 -m dynamo.vllm", "vllm", kind) is Backend.NOOP


REFUSED = {
    "mismatch": (
        "python3 -m dynamo.vllm",
        "sglang",
        (
            "spec.extraPodSpec.mainContainer: failed to determine backend framework: backend framework mismatch: "
            'detected "vllm" from command but explicitly configured as "sglang"'
        ),
    ),
    "several": (
        "python3 -m dynamo.vllm dynamo.sglang",
        "",
        (
            "spec.extraPodSpec.mainContainer: failed to determine backend framework: could not determine backend "
            "framework: multiple backend frameworks detected from command: [vllm sglang] in "
            '"/bin/sh -c python3 -m dynamo.vllm dynamo.sglang"'
        ),
    ),
    "unknown": ("", "tgi", "spec.backendFramework: unsupported backend framework: tgi"),
}


@pytest.mark.parametrize(("text", "explicit", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_engine_that_cannot_be_told_is_refused(text: str, explicit: str, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve(text, explicit)
    assert str(caught.value) == message


def test_long_command_is_read_in_linear_time() -> None:
    assert detect_backends("python -m dynamo. " * 20_000) == ()
