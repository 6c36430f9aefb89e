"""What is refused of a graph's services, as in a component, and what only the graph sees; what is warned of."""

from typing import Any

import pytest

from hooks.graph.rules.validate import review_graph
from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind
from hooks.ground.problems import texts_of
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Review, Verdict
from hooks.wire.metacontroller.controllers import declared_kinds
from tests import make

FAILED = "failed to reconcile Dynamo components deployments"
MAIN = "spec.services[main]"
FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}
NO_GROVE = {contract.ANNOTATION_ENABLE_GROVE: "false"}
ISTIO = {"enabled": True, "host": "h", "useVirtualService": True, "virtualServiceGateway": "a/b"}


def kinds_of(*names: str) -> frozenset[GroupVersionKind]:
    return frozenset(declared_kinds(names))


def judge(
    spec: dict[str, Any], installed: frozenset[GroupVersionKind] | None = None, gateway: str = "", **graph: Any
) -> Verdict:
    """What is said of a graph with one service `main`."""
    new = make.graph({"main": spec}, **graph)
    settings = parse_settings({}, {"ingress_gateway": gateway})
    return review_graph(Review(new=new, old=None, user=None, settings=settings, installed=installed))


def config(text: str) -> dict[str, Any]:
    return {"envs": [{"name": "DYN_DEPLOYMENT_CONFIG", "value": text}]}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "label": ({"labels": {"team": "a b"}}, f"{MAIN}.labels[team]: 'a b' is not a label value"),
    "no image": (
        {"extraPodSpec": {"mainContainer": {"image": ""}}},
        f"{MAIN}.extraPodSpec.mainContainer.image: is required",
    ),
    "request above the limit that the configuration sets": (
        {
            "extraPodSpec": {"mainContainer": {"resources": {"requests": {"cpu": "4", "memory": "1Gi"}}}},
            "resources": {"limits": {"memory": "512Mi"}},
            **config('{"main": {"ServiceArgs": {"Resources": {"CPU": "2"}}}}'),
        },
        f"{MAIN}.extraPodSpec.mainContainer.resources.requests[memory]: is 1Gi, must be at most the limit",
    ),
    "configuration that is no JSON": (
        config("{"),
        f"{FAILED}: {MAIN}.envs[0].value: failed to parse DYN_DEPLOYMENT_CONFIG: it is not",
    ),
    "configuration of a frontend": (
        {"componentType": "frontend", **config("[]")},
        f"{FAILED}: {MAIN}.envs[0].value: failed to unmarshal DYN_DEPLOYMENT_CONFIG: it is",
    ),
    "quantity of the configuration": (
        config('{"main": {"ServiceArgs": {"Resources": {"CPU": "-2"}}}}'),
        f"{MAIN}.resources.limits.cpu: is -2, must not be negative",
    ),
}


@pytest.mark.parametrize(("spec", "beginning"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("installed", [None, kinds_of(), kinds_of("grove")], ids=["unknown", "components", "Grove"])
def test_service_is_refused_with_its_field(
    spec: dict[str, Any], beginning: str, installed: frozenset[GroupVersionKind] | None
) -> None:
    assert judge(spec, installed).problems[0].text.startswith(beginning)


PASSED: dict[str, dict[str, Any]] = {
    "request that the configuration makes equal to the limit": {
        "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "1"}},
        **config('{"main": {"ServiceArgs": {"Resources": {"CPU": "2"}}}}'),
    },
    "labels that the graph replaces": {"labels": {contract.LABEL_COMPONENT: "a b", contract.LABEL_GRAPH: "-"}},
}


@pytest.mark.parametrize("spec", PASSED.values(), ids=PASSED.keys())
def test_what_the_graph_puts_right_passes(spec: dict[str, Any]) -> None:
    assert judge(spec).problems == ()


def test_unknown_engine_is_one_problem_however_many_services_it_concerns() -> None:
    new = make.graph({"a": make.service("worker"), "b": make.service("worker")}, backendFramework="tgi")
    verdict = review_graph(Review(new=new, old=None, user=None, settings=parse_settings({}, {}), installed=None))
    assert [problem.text for problem in verdict.problems] == [
        "spec.backendFramework: unsupported backend framework: tgi"
    ]


@pytest.mark.parametrize("value", [5, True, ["a"], {"a": "b"}], ids=str)
def test_configuration_that_is_no_text_is_one_problem_at_its_field(value: Any) -> None:
    envs = [{"name": "DYN_DEPLOYMENT_CONFIG", "value": value}]
    (of_service,), (of_graph,) = judge({"envs": envs}).problems, judge({}, envs=envs).problems
    assert str(of_service.path) == f"{MAIN}.envs[0].value"
    assert str(of_graph.path) == "spec.envs[0].value"


def test_variables_of_the_graph_are_judged_at_their_place() -> None:
    envs = [{"name": "A=B"}, {"name": "C", "value": "1", "valueFrom": FIELD}]
    problems = judge({}, envs=envs).problems
    assert [str(problem.path) for problem in problems] == ["spec.envs[0].name", "spec.envs[1].valueFrom"]


POLICIES = {
    "unknown": (None, {}, False),
    "unknown, but not Grove": (None, NO_GROVE, True),
    "Grove": (kinds_of("grove"), {}, False),
    "Grove, but not for this one": (kinds_of("grove"), NO_GROVE, True),
    "components": (kinds_of(), {}, True),
}


@pytest.mark.parametrize(("installed", "annotations", "is_refused"), POLICIES.values(), ids=POLICIES.keys())
def test_pods_that_end_are_refused_where_no_grove_runs_them(
    installed: frozenset[GroupVersionKind] | None, annotations: dict[str, str], is_refused: bool
) -> None:
    found = judge({"extraPodSpec": {"restartPolicy": "Never"}}, installed, annotations=annotations)
    wanted = f"{MAIN}.extraPodSpec.restartPolicy: is 'Never', must be 'Always' or absent"
    assert texts_of(found.problems) == ((wanted,) if is_refused else ())


WARNED = {
    "unknown": ({"ingress": ISTIO}, None, "", False),
    "without Istio": ({"ingress": ISTIO}, kinds_of(), "", True),
    "with Istio": ({"ingress": ISTIO}, kinds_of("istio"), "", False),
    "frontend of the installation's gateway": ({"componentType": "frontend"}, kinds_of(), "a/b", True),
    "worker, which gets no such ingress": ({"componentType": "worker"}, kinds_of(), "a/b", False),
    "ingress that is off": ({"ingress": {**ISTIO, "enabled": False}}, kinds_of(), "", False),
}


@pytest.mark.parametrize(("spec", "installed", "gateway", "is_warned"), WARNED.values(), ids=WARNED.keys())
def test_virtual_service_that_cannot_be_made_is_warned_of(
    spec: dict[str, Any], installed: frozenset[GroupVersionKind] | None, gateway: str, is_warned: bool
) -> None:
    found = judge(spec, installed, gateway)
    assert found.problems == ()
    beginning = f"{MAIN}.ingress: the ingress asks for an Istio VirtualService"
    assert [warning.text.startswith(beginning) for warning in make.without_release(found.warnings)] == [
        True
    ] * is_warned


def test_annotation_that_restarts_write_is_warned_of() -> None:
    (warning,) = make.without_release(judge({"annotations": {contract.ANNOTATION_RESTART_AT: "u1"}}).warnings)
    assert warning.text.startswith(f"{MAIN}.annotations[nvidia.com/restartAt]: ")
    assert warning.text.endswith("use spec.restart")


@pytest.mark.parametrize(("kind", "refused"), [("frontend", True), ("epp", True), ("worker", False)])
def test_name_that_no_service_may_have_is_refused_where_there_is_one(kind: str, *, refused: bool) -> None:
    """Whether a worker has a Service is decided by its way of discovery."""
    texts = texts_of(judge({"componentType": kind}, kinds_of(), name="0odd").problems)
    assert any("'0odd-main' must begin with a letter" in text for text in texts) is refused
