"""Ports that contradict each other are refused, with both places; those that cannot be followed are warned of."""

from typing import Any

import pytest

from hooks.component.rules.validate import review_component
from hooks.ground.problems import texts_of
from hooks.language.validation.review import Review, Verdict
from tests import make
from tests.component.api_server_cases import main
from tests.component.test_listening import FOLLOWED, NEW, UNFOLLOWED, env, frontend, named, shell, worker

SIDECAR = {"image": NEW}
MAIN = "spec.extraPodSpec.mainContainer"


def judge(spec: dict[str, Any]) -> Verdict:
    component = make.component("c", "", **spec)
    settings = make.facts().settings
    return review_component(Review(new=component, old=None, user=None, settings=settings, installed=None))


def beside(spec: dict[str, Any], **container: Any) -> dict[str, Any]:
    """The spec with a further container."""
    other = {"name": "proxy", "image": "p:1", **container}
    return {**spec, "extraPodSpec": {**spec["extraPodSpec"], "containers": [other]}}


HTTP = ["-m", "dynamo.frontend", "--http-port", "8080"]
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "variable and flag": (
        {**frontend(args=HTTP), **env("DYN_HTTP_PORT", "8081")},
        f"{MAIN}.args[2]: says port 8080, and spec.envs[0] says 8081, so the program listens at one of them",
    ),
    "variable and name": (
        {**worker(**named("system", 9091)), **env("DYN_SYSTEM_PORT", "8081")},
        f"{MAIN}.ports[0].containerPort: says port 9091, and spec.envs[0] says 8081",
    ),
    "flag and name": (
        frontend(args=HTTP, **named("http", 8000)),
        f"{MAIN}.ports[0].containerPort: says port 8000, and {MAIN}.args[2] says 8080",
    ),
    "in a shell": (
        frontend(**shell("python3 -m dynamo.frontend --http-port=8080"), **named("http", 8000)),
        f"{MAIN}.ports[0].containerPort: says port 8000, and {MAIN}.args[0] says 8080",
    ),
    "the main container's variable": (
        worker(env=[{"name": "DYN_SYSTEM_PORT", "value": "8081"}], **named("system", 9091)),
        f"{MAIN}.ports[0].containerPort: says port 9091, and {MAIN}.env[0] says 8081",
    ),
    "a frontend beside": (
        {**worker(), "frontendSidecar": {**SIDECAR, "args": HTTP, **env("DYN_HTTP_PORT", "8081")}},
        "spec.frontendSidecar.args[2]: says port 8080, and spec.frontendSidecar.envs[0] says 8081",
    ),
    "picker without the flag": (
        {
            "componentType": "epp",
            "eppConfig": {"configMapRef": {"name": "c", "key": "k"}},
            **main(args=["-v", "4"], **named("grpc", 9102)),
        },
        f"{MAIN}.ports[0].containerPort: says port 9102, and {MAIN}.args says 9002",
    ),
    "two containers": (
        beside(frontend(), **named("web", 8000)),
        f"spec.extraPodSpec.containers[0].ports[0].containerPort: 8000 is already a port of {MAIN}, and",
    ),
    "two containers, and a flag": (
        beside(frontend(args=HTTP), **named("web", 8080)),
        f"spec.extraPodSpec.containers[0].ports[0].containerPort: 8080 is already a port of {MAIN}.args[2], and",
    ),
    "a frontend beside an engine's port": (
        {**worker(ports=[{"containerPort": 8000}]), "frontendSidecar": SIDECAR},
        f"spec.frontendSidecar: 8000 is already a port of {MAIN}.ports[0].containerPort, and",
    ),
    "a frontend with another beside it": (
        {**frontend(), "frontendSidecar": SIDECAR},
        f"spec.frontendSidecar: 8000 is already a port of {MAIN}, and",
    ),
    "two programs of one container": (
        {**worker(), **env("DYN_SYSTEM_PORT", "19090")},
        f"{MAIN}: 19090 is already a port of spec.envs[0], and",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_contradiction_is_refused_with_both_places(case: str) -> None:
    spec, beginning = REFUSED[case]
    (problem,) = judge(spec).problems
    assert problem.text.startswith(beginning)


ACCEPTED: dict[str, dict[str, Any]] = {
    **{case: spec for case, (spec, *_) in FOLLOWED.items() if "picker" not in case},
    "another protocol": beside(frontend(), ports=[{"containerPort": 8000, "protocol": "UDP"}, {"containerPort": 8001}]),
    "init container that ends": {
        **frontend(),
        "extraPodSpec": {
            "mainContainer": {"image": NEW},
            "initContainers": [{"name": "warm", "image": "w:1", **named("http", 8000)}],
        },
    },
    "a weaker variable with another number": {
        **worker(env=[{"name": "DYN_SYSTEM_PORT", "value": "1"}], **named("system", 8081)),
        **env("DYN_SYSTEM_PORT", "8081"),
    },
    "a shell gives one of two programs another port": {
        **worker(**shell("DYN_SYSTEM_PORT=1 python3 -m a & python3 -m dynamo.vllm"), **named("system", 8081)),
        **env("DYN_SYSTEM_PORT", "8081"),
    },
    "a variable that this program does not read": {**worker(**named("system", 9091)), **env("DYN_HTTP_PORT", "1")},
    "a frontend beside a worker": {**worker(), "frontendSidecar": SIDECAR},
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_does_not_contradict_is_accepted(case: str) -> None:
    verdict = judge(ACCEPTED[case])
    assert verdict.problems == ()
    said = [text for text in texts_of(make.without_release(verdict.warnings)) if "port" in text]
    assert bool(said) is (case == "a shell gives one of two programs another port"), said


SLIPS: dict[str, tuple[dict[str, Any], str]] = {
    "no port": (
        UNFOLLOWED["no port"],
        (
            "spec.envs[0]: the port cannot be followed, because '-1' is no port; the container's port system, its "
            "probes and whoever calls it use 9090"
        ),
    ),
    "a Secret": (
        UNFOLLOWED["a Secret"],
        "spec.envs[0]: the port cannot be followed, because its value is known only to the running container",
    ),
    "a variable of the image": (
        frontend(args=["-m", "dynamo.frontend", "--http-port", "$(PORT)"]),
        f"{MAIN}.args[2]: the port cannot be followed, because its value is known only to the running container",
    ),
    "several": (
        UNFOLLOWED["several"],
        f"{MAIN}.args[0]: the port cannot be followed, because the command has several ports",
    ),
    "above what the runtime reads": (
        {**worker(), **env("DYN_SYSTEM_PORT", "40000")},
        "spec.envs[0]: 40000 is above 32767, the highest port that this program can read, so it ends at its start",
    ),
}


@pytest.mark.parametrize("case", SLIPS)
def test_what_cannot_be_followed_is_said(case: str) -> None:
    spec, beginning = SLIPS[case]
    verdict = judge(spec)
    assert verdict.problems == ()
    assert [text for text in texts_of(verdict.warnings) if text.startswith(beginning)]


def test_problem_of_another_field_hides_no_contradiction() -> None:
    spec, beginning = REFUSED["variable and name"]
    container = {
        **spec["extraPodSpec"]["mainContainer"],
        "terminationMessagePolicy": "x",
        "volumeMounts": [{"name": "a"}],
    }
    texts = texts_of(judge({**spec, "extraPodSpec": {"mainContainer": container}}).problems)
    assert len(texts) > 1
    assert [text for text in texts if text.startswith(beginning)]


def test_value_of_a_wrong_type_is_the_only_problem() -> None:
    spec = {**frontend(args=HTTP), "envs": [{"name": "DYN_HTTP_PORT", "value": 8081}, {"value": "x"}]}
    assert not [text for text in texts_of(judge(spec).problems) if "says port" in text]
