"""The condition Serving of graphs, and Ready that follows it: what pods, endpoints and frontends say."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hooks.graph.reads.frontends import find_unrouted
from hooks.graph.sync import Prepared, customize, prepare
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.protocol import CustomizeRequest, SyncAnswer
from hooks.wire.metacontroller.wire import write_sync_answer
from hooks.wire.prober.frontends import (
    FrontendEntry,
    FrontendOutcome,
    FrontendReport,
    FrontendState,
    MissingModel,
    NamespaceReadiness,
)
from tests import make
from tests.graph import world

IMAGE = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"
MODEL = "Qwen/Qwen3-0.6B"
VLLM = ["python3", "-m", "dynamo.vllm", "--model", MODEL]


def frontend(image: str = IMAGE, replicas: int = 1, **more: Any) -> dict[str, Any]:
    return make.service("frontend", image, command=["python3", "-m", "dynamo.frontend"], replicas=replicas, **more)


def worker(sub: str = "", image: str = IMAGE, **more: Any) -> dict[str, Any]:
    kind = {"subComponentType": sub} if sub else {}
    return make.service(image=image, command=VLLM, replicas=1, **kind, **more)


WHOLE = {"Frontend": frontend(), "Worker": worker()}
PAIR = {"Frontend": frontend(), "Prefill": worker("prefill"), "Decode": worker("decode")}


def endpoints(*pods: str, service: str = "g-frontend", ready: bool = True, **more: Any) -> Manifest:
    """An EndpointSlice of a frontend's Service with these pods."""
    return {
        "apiVersion": kinds.ENDPOINT_SLICE.api_version,
        "kind": kinds.ENDPOINT_SLICE.kind,
        "metadata": {
            "name": f"{service}-{'-'.join(pods) or 'none'}",
            "namespace": make.NAMESPACE,
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8000}],
        "endpoints": [
            {
                "addresses": [f"10.0.0.{number}"],
                "conditions": {"ready": ready},
                "targetRef": {"kind": "Pod", "name": pod, "uid": f"u-{pod}"},
            }
            for number, pod in enumerate(pods, 1)
        ],
        **more,
    }


def run(services: Mapping[str, Any], ready: Iterable[str] = (), **more: Any) -> tuple[Manifest, list[Manifest]]:
    """The graph, and its children with pods: all are ready, or only those of services in `ready`."""
    parent = make.graph(dict(services), **more)
    children = world.run(world.apply((), world.ask(parent).children))
    unready = {name for name in services if name not in set(ready)} if ready else set()
    return parent, [_count(child, unready) for child in children]


def _count(child: Manifest, unready: set[str]) -> Manifest:
    if child["kind"] != contract.COMPONENT.kind:
        return child
    count = 0 if child["spec"]["serviceName"] in unready else child["spec"]["replicas"]
    status = child["status"]
    is_ready = "False" if child["spec"]["serviceName"] in unready else "True"
    conditions = [{"type": "Available", "status": is_ready, "message": "waits"}]
    service = {**status["service"], "readyReplicas": count, "availableReplicas": count}
    return {**child, "status": {**status, "service": service, "conditions": conditions}}


def prepared(
    graph: tuple[Manifest, list[Manifest]], related: Iterable[Manifest], facts: Facts | None = None
) -> Prepared:
    parent, children = graph
    request = make.sync_request(parent, children, related)
    return prepare(request, facts or make.facts())


def answer(
    graph: tuple[Manifest, list[Manifest]],
    related: Iterable[Manifest],
    *entries: FrontendEntry,
    facts: Facts | None = None,
    **outcome: Any,
) -> SyncAnswer:
    """The answer where the frontends said this."""
    report = FrontendReport(entries=entries) if entries else None
    found = prepared(graph, related, facts).finish(FrontendOutcome(report=report, **outcome))
    assert write_sync_answer(found, make.sync_request(*graph).children)
    return found


def says(pod: str = "f-1", *models: str, **more: Any) -> FrontendEntry:
    state = more.pop("state", FrontendState.ANSWERED)
    return FrontendEntry(address="http://10.0.0.1:8000", pod=pod, state=state, models=models, **more)


def serving(found: SyncAnswer) -> tuple[str, str]:
    condition = world.condition(found, "Serving")
    return condition["status"], condition["reason"]


def is_ready(found: SyncAnswer) -> bool:
    return bool(world.ready(found)["status"] == "True")


def with_status(graph: tuple[Manifest, list[Manifest]], found: SyncAnswer) -> tuple[Manifest, list[Manifest]]:
    return {**graph[0], "status": found.status}, graph[1]


def test_frontends_that_route_the_model_make_a_graph_ready() -> None:
    found = answer(run(WHOLE), [endpoints("f-1")], says("f-1", MODEL), can_push=True)
    assert serving(found) == ("True", "Answering")
    assert is_ready(found)
    assert world.condition(found, "Serving")["message"] == f"1 of 1 frontends answer for {MODEL}"
    assert found.status is not None
    assert found.status["serving"] == {"models": [{"name": MODEL, "frontends": "1/1"}]}
    assert found.resync_after_seconds == 0, "the prober tells what changes"


def test_question_has_ready_frontends_and_what_their_workers_serve() -> None:
    old = endpoints("f-2", ready=False)
    foreign = endpoints("x-1", service="other")
    found = prepared(run(WHOLE), [endpoints("f-1"), old, foreign]).question
    assert found is not None
    assert [(one.address, one.pod, one.path) for one in found.targets] == [
        ("http://10.0.0.1:8000", "f-1", "/v1/models")
    ]
    assert (found.key, found.expected, found.namespaces) == ("default/g", (MODEL,), ())
    assert not found.is_changing


def test_frontend_is_asked_where_it_listens() -> None:
    env = [{"name": "DYN_HTTP_SVC_MODELS_PATH", "value": "/x/models"}, {"name": "DYN_LORA_ENABLED", "value": "true"}]
    of = {**frontend(envs=env), "extraPodSpec": {"mainContainer": {"image": IMAGE, "args": ["--tls-cert-path", "/c"]}}}
    six = endpoints("f-1", addressType="IPv6", endpoints=[
        {"addresses": ["fd00::7"], "targetRef": {"kind": "Pod", "name": "f-1", "uid": "u"}}
    ])  # fmt: skip
    found = prepared(run({**WHOLE, "Frontend": of}), [six]).question
    assert found is not None
    assert [(one.address, one.path) for one in found.targets] == [("https://[fd00::7]:8000", "/x/models")]
    assert found.chooses_by_adapter


@pytest.mark.parametrize(
    "broken",
    [
        {"ports": []},
        {"endpoints": [{"addresses": ["10.0.0.1"]}]},
        {"endpoints": [{"addresses": ["evil.example"], "targetRef": {"kind": "Pod", "name": "f-1"}}]},
        {"endpoints": [{"addresses": ["1.2.3.4/../"], "targetRef": {"kind": "Pod", "name": "f-1"}}]},
    ],
)
def test_endpoint_that_is_none_is_not_asked(broken: dict[str, Any]) -> None:
    assert prepared(run(WHOLE), [endpoints("f-1", **broken)]).question is None


def test_pod_with_two_addresses_is_asked_once() -> None:
    six = {**endpoints("f-1"), "addressType": "IPv6"}
    six = {**six, "metadata": {**six["metadata"], "name": "six"}}
    found = prepared(run(WHOLE), [six, endpoints("f-1")]).question
    assert found is not None
    assert [one.address for one in found.targets] == ["http://10.0.0.1:8000"]


# What frontends say of a graph whose pods are all ready: status and reason of Serving, whether Ready, part of its text.
ANSWERS: dict[str, tuple[tuple[FrontendEntry, ...], tuple[str, str], bool, str]] = {
    "no model": ((says("f-1"),), ("False", "NoModel"), False, "no worker has registered a model with it"),
    "half of a pair": (
        (says("f-1", missing=(MissingModel(name=MODEL, needs=("prefill",)),)),),
        ("False", "NoModel"),
        False,
        f"{MODEL} lacks prefill workers",
    ),
    "one of two": (
        (says("f-1", MODEL), says("f-2")),
        ("False", "NotRouted"),
        False,
        f"frontend f-2 does not route {MODEL}, which another frontend routes",
    ),
    "one not asked yet": (
        (says("f-1", MODEL), says("f-2", state=FrontendState.UNASKED)),
        ("True", "Answering"),
        True,
        "",
    ),
    "one silent": (
        (says("f-1", MODEL), says("f-2", state=FrontendState.UNANSWERED, error="it refuses connections")),
        ("Unknown", "NotAsked"),
        True,
        "frontend f-2 could not be asked: it refuses connections",
    ),
    "all silent": (
        (says("f-1", state=FrontendState.UNANSWERED, error="it did not answer within 2 s"),),
        ("Unknown", "NotAsked"),
        True,
        "frontend f-1 could not be asked: it did not answer within 2 s",
    ),
    "first answer to come": (
        (says("f-1", state=FrontendState.UNASKED),),
        ("Unknown", "Asking"),
        False,
        "first answer",
    ),
    "too many models": (
        (says("f-1", MODEL), says("f-2", "other", has_more=True)),
        ("False", "NotRouted"),
        False,
        "other",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_frontends_say_decides(name: str) -> None:
    entries, expected, ready, text = ANSWERS[name]
    found = answer(run(WHOLE), [endpoints("f-1", "f-2")], *entries)
    assert (serving(found), is_ready(found)) == (expected, ready)
    assert text in world.condition(found, "Serving")["message"]
    assert found.status is not None
    if not ready:
        assert text in world.ready(found)["message"]
        assert found.status["state"] == "pending"
        assert found.status["notReadyReason"] == ("Progressing" if expected[1] == "Asking" else "NotServing")


def test_lists_that_may_be_of_different_times_accuse_nobody() -> None:
    graph, slices = run(WHOLE), [endpoints("f-1", "f-2")]
    late = (says("f-1", MODEL, "adapter"), says("f-2", MODEL, is_doubted=True))
    assert serving(answer(graph, slices, *late)) == ("Unknown", "Asking")
    before = with_status(graph, answer(graph, slices, says("f-1", MODEL), says("f-2", MODEL)))
    found = answer(before, slices, *late)
    assert (serving(found), is_ready(found)) == (("True", "Answering"), True)


def test_silent_frontend_and_different_ones_are_listed_by_pod() -> None:
    silent = says("f-2", state=FrontendState.UNANSWERED, error="it refuses connections")
    found = answer(run(WHOLE), [endpoints("f-1", "f-2", "f-3")], says("f-1", MODEL), silent, refused={"f-3": "no pod"})
    assert found.status is not None
    assert found.status["serving"] == {
        "models": [{"name": MODEL, "frontends": "1/2"}],
        "frontends": [
            {"pod": "f-1", "says": f"it routes {MODEL}"},
            {"pod": "f-2", "says": "it refuses connections"},
            {"pod": "f-3", "says": "no pod"},
        ],
    }


def test_nobody_asked_is_said_and_blocks_nothing() -> None:
    found = answer(run(WHOLE), [endpoints("f-1")], fault="the prober cannot be reached")
    assert (serving(found), is_ready(found)) == (("Unknown", "NotAsked"), True)
    assert world.condition(found, "Serving")["message"] == "the prober cannot be reached"


@pytest.mark.parametrize(("mode", "ready"), [("gate", False), ("report", True)])
def test_setting_says_whether_ready_follows(mode: str, ready: bool) -> None:
    found = answer(run(WHOLE), [endpoints("f-1")], says("f-1"), facts=make.facts(serving=mode))
    assert (serving(found), is_ready(found)) == (("False", "NoModel"), ready)


def test_switched_off_nobody_is_asked_and_nothing_is_said() -> None:
    facts = make.facts(serving="off")
    found = prepared(run(WHOLE), [endpoints("f-1")], facts)
    assert found.question is None
    status = found.finish(FrontendOutcome()).status
    assert status is not None
    assert [one["type"] for one in status["conditions"]] == ["Ready", "Applied", "Valid"]
    assert not customize_endpoints(make.graph(WHOLE), serving="off")


def customize_endpoints(parent: Manifest, **settings: str) -> list[Any]:
    facts = Facts(now=make.NOW, settings=parse_settings({}, settings))
    rules = customize(CustomizeRequest(parent=parent), facts)
    return [one.to_json() for one in rules if one.resource == "endpointslices"]


def test_endpoints_of_frontends_alone_are_asked_for() -> None:
    assert customize_endpoints(make.graph(WHOLE)) == [
        {
            "apiVersion": "discovery.k8s.io/v1",
            "resource": "endpointslices",
            "namespace": "default",
            "labelSelector": {"matchLabels": {"kubernetes.io/service-name": "g-frontend"}},
        }
    ]


# Objects alone, with frontends that cannot be asked: services, endpoints, the ready ones, what Serving says, Ready.
OBJECTS: dict[str, tuple[dict[str, Any], list[Manifest], list[str], tuple[str, str], bool]] = {
    "all well": (WHOLE, [endpoints("f-1")], [], ("Unknown", "NotAsked"), True),
    "nobody behind the Service": (WHOLE, [endpoints()], [], ("False", "NoEndpoints"), False),
    "only one that is not ready": (WHOLE, [endpoints("f-1", ready=False)], [], ("False", "NoEndpoints"), False),
    "no slice of its Service yet": (WHOLE, [endpoints("f-1", service="x")], [], ("Unknown", "NotAsked"), True),
    "no worker": (WHOLE, [endpoints("f-1")], ["Frontend"], ("False", "RoleMissing"), False),
    "half of a pair": (PAIR, [endpoints("f-1")], ["Frontend", "Prefill"], ("False", "RoleMissing"), False),
    "other half of a pair": (PAIR, [endpoints("f-1")], ["Frontend", "Decode"], ("False", "RoleMissing"), False),
    "no frontend": ({"Worker": worker()}, [endpoints("f-1")], [], ("Unknown", "NoFrontend"), True),
    "frontend asleep": (
        {**WHOLE, "Frontend": frontend(replicas=0)}, [endpoints()], [], ("False", "ScaledToZero"), True,
    ),
    "workers asleep": (
        {**WHOLE, "Worker": {**worker(), "replicas": 0}}, [endpoints("f-1")], [], ("False", "ScaledToZero"), True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_alone_say_no(name: str) -> None:
    services, slices, ready, expected, is_ready_ = OBJECTS[name]
    found = answer(run(services, ready), slices, fault="nobody was asked")
    assert (serving(found), is_ready(found)) == (expected, is_ready_)


def test_request_without_endpoints_blocks_nothing() -> None:
    found = answer(run(WHOLE), [], fault="nobody was asked")
    assert (serving(found), is_ready(found)) == (("Unknown", "NotAsked"), True)


def test_yes_of_a_frontend_does_not_count_without_ready_workers() -> None:
    found = answer(run(WHOLE, ["Frontend"]), [endpoints("f-1")], says("f-1", MODEL))
    assert serving(found) == ("False", "RoleMissing")


@pytest.mark.parametrize(
    ("image", "ready", "expected"),
    [
        ("0.9.1", "Decode", ("True", "Answering")),
        ("1.2.1", "Decode", ("True", "Answering")),
        ("1.3.1", "Decode", ("False", "RoleMissing")),
        ("0.9.1", "Prefill", ("False", "RoleMissing")),
    ],
)
def test_decode_workers_before_1_3_answer_alone_and_prefill_ones_never(
    image: str, ready: str, expected: tuple[str, str]
) -> None:
    tagged = f"nvcr.io/nvidia/ai-dynamo/vllm-runtime:{image}"
    services = {
        "Frontend": frontend(tagged),
        "Prefill": worker("prefill", tagged),
        "Decode": worker("decode", tagged),
    }
    found = answer(run(services, ["Frontend", ready]), [endpoints("f-1")], says("f-1", MODEL))
    assert serving(found) == expected


def test_graph_that_was_ready_stays_it_until_its_frontends_say_no() -> None:
    """As after an upgrade of the hooks: the first answer is to come."""
    before = with_status(run(WHOLE), answer(run(WHOLE), [endpoints("f-1")], says("f-1", MODEL)))
    waiting = answer(before, [endpoints("f-1")], says("f-1", state=FrontendState.UNASKED))
    assert (serving(waiting), is_ready(waiting)) == (("Unknown", "Asking"), True)
    no = answer(with_status(before, waiting), [endpoints("f-1")], says("f-1"))
    assert (serving(no), is_ready(no)) == (("False", "NoModel"), False)


def test_new_graph_waits_for_a_first_answer_only_for_a_while() -> None:
    graph = run(WHOLE)
    first = answer(graph, [endpoints("f-1")], says("f-1", state=FrontendState.UNASKED))
    assert first.resync_after_seconds == 1
    later = replace(make.facts(), now=make.NOW + timedelta(seconds=16))
    found = answer(with_status(graph, first), [endpoints("f-1")], says("f-1", state=FrontendState.UNASKED), facts=later)
    assert (serving(found), is_ready(found)) == (("Unknown", "Asking"), True)


@pytest.mark.parametrize(("models", "seconds"), [((MODEL,), 15), ((), 5)])
def test_where_changes_are_not_told_it_asks_again(models: tuple[str, ...], seconds: float) -> None:
    found = answer(run(WHOLE), [endpoints("f-1")], says("f-1", *models))
    assert found.resync_after_seconds == seconds


def test_model_that_was_served_and_is_not_any_more_is_missed() -> None:
    two = {**WHOLE, "Second": make.service(image=IMAGE, command=[*VLLM[:-1], "other"], replicas=1)}
    graph = run(two)
    before = with_status(graph, answer(graph, [endpoints("f-1")], says("f-1", MODEL, "other", "adapter")))
    missing = (MissingModel(name="other", needs=("decode",)),)
    found = answer(before, [endpoints("f-1")], says("f-1", MODEL, missing=missing))
    assert (serving(found), is_ready(found)) == (("False", "NotRouted"), False)
    message = world.condition(found, "Serving")["message"]
    assert message == "no frontend routes other, which the graph served before: it lacks decode workers"


def test_model_that_is_served_under_another_name_than_its_command_says_accuses_nobody() -> None:
    found = answer(run(WHOLE), [endpoints("f-1")], says("f-1", "qwen"))
    assert serving(found) == ("True", "Answering")


def test_refused_spec_says_that_nobody_is_asked() -> None:
    parent, children = run(WHOLE)
    broken = {**parent, "spec": {**parent["spec"], "services": {"a": {"replicas": "x"}}}}
    found = prepared((broken, children), [endpoints("f-1")])
    assert found.question is None
    assert serving(found.finish(FrontendOutcome())) == ("Unknown", "NotAsked")


def test_graph_that_is_being_deleted_asks_nobody() -> None:
    parent, children = run(WHOLE)
    gone = {**parent, "metadata": {**parent["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}
    assert prepared((gone, children), [endpoints("f-1")]).question is None


def test_client_certificate_is_said() -> None:
    of = frontend(envs=[{"name": "DYN_TLS_CLIENT_CA_CERT_PATH", "value": "/ca"}])
    graph = run({**WHOLE, "Frontend": of})
    assert prepared(graph, [endpoints("f-1")]).question is None
    found = answer(graph, [endpoints("f-1")])
    assert "client certificate" in world.condition(found, "Serving")["message"]


def test_old_generation_is_kept_while_a_frontend_does_not_route_to_the_new_one() -> None:
    entry = says("f-1", MODEL, namespaces=(NamespaceReadiness(namespace="new", model=MODEL, is_ready=False),))
    ready = says("f-2", MODEL, namespaces=(NamespaceReadiness(namespace="old", model=MODEL, is_ready=True),))
    assert find_unrouted(FrontendReport(entries=(entry, ready))) == {"new"}
    assert find_unrouted(None) == frozenset()
