"""Images that lack what is asked of them, tags that are no release of Dynamo, and arguments without their command."""

from typing import Any

import pytest

from hooks.component.rules.validate import review_component
from hooks.ground.problems import texts_of
from hooks.language.validation.review import Review
from tests import make
from tests.component.api_server_cases import main, pod

_MAIN = "spec.extraPodSpec.mainContainer"
VLLM = "nvcr.io/nvidia/ai-dynamo/vllm-runtime"
SGLANG = "nvcr.io/nvidia/ai-dynamo/sglang-runtime"


def warnings(spec: dict[str, Any]) -> tuple[str, ...]:
    """What is said of a component without a graph that is about to be written."""
    component = make.component("c", "", **spec)
    review = Review(new=component, old=None, user=None, settings=make.facts(make.NOW).settings, installed=None)
    return texts_of(review_component(review).warnings)


def worker(image: str, *args: str, module: str = "dynamo.vllm", **more: Any) -> dict[str, Any]:
    """A worker that runs a module."""
    return {"componentType": "worker", **main(image=image, command=["python3", "-m", module], args=list(args)), **more}


SLIPS: dict[str, tuple[dict[str, Any], str]] = {
    "prefill flag since 1.4": (
        worker(f"{VLLM}:1.4.0", "--model", "m", "--is-prefill-worker"),
        (
            f"{_MAIN}.args: dynamo.vllm takes --is-prefill-worker only before 1.4.0, and this image has 1.4.0, so "
            "it ends at "
            "once; write --disaggregation-mode prefill"
        ),
    ),
    "flag in the command": (
        {
            "componentType": "worker",
            **main(image="r/a:1.6.1", command=["python3", "-m", "dynamo.vllm", "--connector=x"]),
        },
        (
            f"{_MAIN}.command: dynamo.vllm takes --connector only before 1.0.0, and this image has 1.6.1, so it "
            "ends at once; "
            "write --kv-transfer-config"
        ),
    ),
    "flag without a successor": (
        worker(f"{SGLANG}:1.6.1", "--enable-local-indexer", "true", module="dynamo.sglang"),
        "takes --enable-local-indexer only before 1.0.0, and this image has 1.6.1, so it ends at once; remove it",
    ),
    "flag of a later release": (
        {"componentType": "frontend", **main(image=f"{VLLM}:1.1.0", args=["-m", "dynamo.frontend", "--load-aware"])},
        (
            f"{_MAIN}.args: dynamo.frontend takes --load-aware only from 1.2.0 on, and this image has 1.1.0, so "
            "it ends at "
            "once; remove it"
        ),
    ),
    "flag that came back": (
        {
            "componentType": "frontend",
            **main(image=f"{VLLM}:1.0.1", args=["-m", "dynamo.frontend", "--enforce-disagg"]),
        },
        "takes --enforce-disagg before 1.0.0, and again from 1.1.0 on, and this image has 1.0.1",
    ),
    "release that is said by hand": (
        worker(f"{VLLM}:latest", "--is-decode-worker", runtimeVersionOverride="1.5.0"),
        "takes --is-decode-worker only before 1.4.0, and this image has 1.5.0",
    ),
    "program": (
        {"componentType": "worker", **main(image=f"{VLLM}:1.6.1", command=["sh", "-c"], args=["ray start --head"])},
        (
            f"{_MAIN}.args: '{VLLM}:1.6.1' has no program ray, which Dynamo's images have only before 1.3.0, so "
            "the container "
            "ends at once, with status 127; let another program start it, or take an image that has it"
        ),
    ),
    "module of an earlier release": (
        {
            "componentType": "planner",
            **main(image=f"{VLLM}:1.6.1", command=["python3", "-m", "dynamo.planner.planner_sla"], args=["--x=k"]),
        },
        (
            "cannot run dynamo.planner.planner_sla, which Dynamo has only before 1.0.0, so the container ends at "
            "once; run "
            "dynamo.planner --config"
        ),
    ),
    "engine of another image": (
        worker(f"{SGLANG}:1.6.1", "--model", "m"),
        (
            f"{_MAIN}.command: '{SGLANG}:1.6.1' cannot run dynamo.vllm, whose engine it does not have, so the "
            "container ends "
            "at once; take an image that has it"
        ),
    ),
    "variable that ends the engine": (
        worker(f"{VLLM}:1.6.1", "--model", "m", envs=[{"name": "A"}, {"name": "DYN_CONNECTOR", "value": "nixl"}]),
        (
            "spec.envs[1]: dynamo.vllm reads DYN_CONNECTOR only before 1.0.0, and this image has 1.6.1, so it "
            "ends at once; "
            "write --kv-transfer-config"
        ),
    ),
    "variable that is ignored": (
        {
            "componentType": "frontend",
            **main(image=f"{VLLM}:1.6.1", env=[{"name": "DYN_AGENT_TRACE", "value": "1"}]),
        },
        (
            f"{_MAIN}.env[0]: dynamo.frontend reads DYN_AGENT_TRACE only before 1.3.0, and this image has 1.6.1, so it "
            "ignores it; write DYN_REQUEST_TRACE"
        ),
    ),
    "container beside": (
        pod(
            mainContainer={"image": "r/a:1.6.1"},
            containers=[
                {
                    "name": "f",
                    "image": f"{VLLM}:1.0.2",
                    "command": ["python3", "-m", "dynamo.frontend", "--tokenizer=x"],
                }
            ],
        ),
        "spec.extraPodSpec.containers[0].command: dynamo.frontend takes --tokenizer only from 1.1.0 on",
    ),
    "frontend beside": (
        {
            **worker("r/a:1.6.1", "--model", "m"),
            "frontendSidecar": {"image": f"{VLLM}:1.6.1", "args": ["-m", "dynamo.frontend", "--store-kv", "mem"]},
        },
        (
            "spec.frontendSidecar.args: dynamo.frontend takes --store-kv only before 1.0.0, and this image has "
            "1.6.1, so it "
            "ends at once; write --discovery-backend"
        ),
    ),
    "NIM": (
        worker("nvcr.io/nim/meta/llama-3.1-8b-instruct:3.0.0", "--model", "m"),
        (
            f"{_MAIN}.image: the tag of 'nvcr.io/nim/meta/llama-3.1-8b-instruct:3.0.0' names no release of "
            "Dynamo, so a new component gets the defaults of 0.9, and a running one keeps its release; write the "
            "release into spec.runtimeVersionOverride, such as 1.5.0"
        ),
    ),
    "image of an engine": (
        {"componentType": "worker", **main(image="vllm/vllm-openai:v0.28.0", command=["serve"])},
        "the tag of 'vllm/vllm-openai:v0.28.0' names no release of Dynamo",
    ),
    "version of another product": (
        {"componentType": "worker", **main(image="registry.corp/llm:2.4.1", command=["serve"])},
        "the tag of 'registry.corp/llm:2.4.1' names no release of Dynamo",
    ),
    "release that is not known": (
        worker(f"{VLLM}:1.9.0", "--model", "m"),
        (
            f"{_MAIN}.image: the tag of '{VLLM}:1.9.0' is above 1.7.0, the newest release of Dynamo that is known "
            "here, so the "
            "component gets the defaults of that one; if the tag is the version of something else, write "
            "Dynamo's release "
            "into spec.runtimeVersionOverride"
        ),
    ),
    "arguments of a worker without command": (
        {"componentType": "worker", **main(image=f"{VLLM}:1.6.1", args=["--model", "m"])},
        (
            f"{_MAIN}.args: /bin/sh -c reads '--model' as an option of its own, and the container ends at once, "
            "with status "
            "2; write command too, such as [python3, -m, dynamo.vllm]"
        ),
    ),
    "arguments of a worker of a framework": (
        {"componentType": "decode", "backendFramework": "trtllm", **main(image="r/a:1.6.1", args=["--model", "m"])},
        "write command too, such as [python3, -m, dynamo.trtllm]",
    ),
    "arguments of a frontend without command": (
        {"componentType": "frontend", **main(image=f"{VLLM}:1.6.1", args=["--http-port", "8080"])},
        (
            f"{_MAIN}.args: python3 reads '--http-port' as an option of its own, and the container ends at once, "
            "with status "
            "2; write command too, such as [python3, -m, dynamo.frontend]"
        ),
    ),
    "arguments of a planner without command": (
        {"componentType": "planner", **main(image=f"{VLLM}:1.6.1", args=["--config", "{}"])},
        "write command too, such as [python3, -m, dynamo.planner]",
    ),
    "words of a program without command": (
        {"componentType": "worker", **main(image="r/a:1.6.1", args=["python3", "-m", "dynamo.vllm"])},
        (
            f"{_MAIN}.args: /bin/sh -c runs 'python3' alone, without the words after it, and the container ends "
            "at once; "
            "write command too, such as [python3, -m, <module>]"
        ),
    ),
    "arguments of a frontend beside": (
        {**worker("r/a:1.6.1"), "frontendSidecar": {"image": f"{VLLM}:1.6.1", "args": ["--router-mode", "kv"]}},
        "spec.frontendSidecar.args: python3 reads '--router-mode' as an option of its own",
    ),
    "frontend of 2025": (
        {
            "componentType": "main",
            **main(image=f"{VLLM}:1.6.1", command=["sh", "-c"], args=["python3 -m dynamo.frontend"]),
        },
        (
            "spec.componentType: 'main' is none of the types with defaults (frontend, worker, prefill, decode, "
            "planner, epp), "
            "so it gets no probes and no ports; write frontend"
        ),
    ),
    "frontend of 2025 without a command": (
        {"componentType": "main", **main(image=f"{VLLM}:1.6.1")},
        "so it gets no probes and no ports; write frontend",
    ),
    "worker of another name": (
        {**worker(f"{VLLM}:1.6.1", "--model", "m"), "componentType": "main"},
        "so it gets no probes and no ports; write worker",
    ),
}


@pytest.mark.parametrize(("spec", "expected"), SLIPS.values(), ids=SLIPS.keys())
def test_slip_is_warned_about_at_its_field(spec: dict[str, Any], expected: str) -> None:
    found = warnings(spec)
    assert len(found) == 1, found
    assert expected in found[0]


RIGHT: dict[str, dict[str, Any]] = {
    "prefill flag before 1.4": worker(f"{VLLM}:1.3.1", "--model", "m", "--is-prefill-worker"),
    "successor": worker(f"{VLLM}:1.6.1", "--model", "m", "--disaggregation-mode", "prefill"),
    "connector of TensorRT-LLM": worker("r/a:1.6.1", "--connector", "nixl", module="dynamo.trtllm"),
    "mocker": worker(f"{VLLM}:1.6.1", "--is-prefill-worker", module="dynamo.mocker"),
    "engine by another image's name": worker("registry.corp/our-sglang-runtime:1.6.1", "--model", "m"),
    "newest release": worker(f"{VLLM}:1.7.0", "--model", "m"),
    "own image of a release": worker("registry.corp/llm:1.5.0", "--model", "m"),
    "newer release that is said by hand": worker("registry.corp/llm:3.0.0", runtimeVersionOverride="1.6.1"),
    "options of a shell": {"componentType": "worker", **main(image="r/a:1.6.1", args=["-ec", "serve"])},
    "script": {"componentType": "worker", **main(image="r/a:1.6.1", args=["exec serve --model m"])},
    "options of Python": {"componentType": "frontend", **main(image="r/a:1.6.1", args=["-m", "dynamo.frontend"])},
    "picker, whose image has the program": {
        "componentType": "epp",
        **main(image="nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.6.1", args=["--v", "4"]),
    },
    "engine beside the runtime": {
        "componentType": "worker",
        **pod(
            mainContainer={"image": "vllm/vllm-openai:v0.28.0", "args": ["--model", "m"]},
            initContainers=[{"name": "runtime", "image": f"{VLLM}:1.6.1", "restartPolicy": "Always"}],
        ),
    },
}


@pytest.mark.parametrize("spec", RIGHT.values(), ids=RIGHT.keys())
def test_right_spec_is_not_warned_about(spec: dict[str, Any]) -> None:
    assert warnings(spec) == ()
