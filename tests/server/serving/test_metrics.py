"""What is counted under which name."""

import math
import time

import pytest
import responses
from flask.testing import FlaskClient
from prometheus_client import Gauge

from hooks.ground.errors import InvalidSpec, LeaveAlone, ProberUnavailable
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.server.serving.metrics import MAX_NAMESPACES, OTHER_NAMESPACES
from hooks.server.serving.resource_counts import ResourceCounts
from hooks.server.serving.resource_metrics import MAX_GRAPHS, OTHER_GRAPHS, create_resource_metrics, show_resources
from hooks.server.serving.strangers import CALLER, Caller
from hooks.wire.metacontroller.effects import EffectOutcome, EffectResult, ScalePodClique, WriteBackReplicas
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.hook_client import GOOD, call, client_with
from tests.ports import free_port


def metrics_of(client: FlaskClient) -> dict[str, float]:
    lines = [line for line in client.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.mark.parametrize(
    ("answer", "result", "error"),
    [
        (GOOD, "success", None),
        (SyncAnswer(status={}, resync_after_seconds=5), "requeue", None),
        (LeaveAlone("not ours", retry_after=7), "requeue", None),
        (SyncAnswer(status={}, problems=make.problems("wrong")), "error", "validation"),
        (InvalidSpec(make.problem("wrong")), "error", "validation"),
        (ProberUnavailable("down"), "error", "unavailable"),
        (KeyError("k"), "error", "internal"),
        (SyncAnswer(), "error", "internal"),
    ],
    ids=["done", "resync", "left alone", "frozen", "invalid", "prober", "bug", "bad answer"],
)
def test_sync_is_counted_under_the_operators_names(
    answer: SyncAnswer | Exception, result: str, error: str | None
) -> None:
    client = client_with(answer)
    client.post("/graph/sync", data=call())
    found = metrics_of(client)
    labels = f'namespace="default",resource_type="DynamoGraphDeployment",result="{result}"'
    assert found[f"dynamo_operator_reconcile_total{{{labels}}}"] == 1
    assert found[f"dynamo_operator_reconcile_duration_seconds_count{{{labels}}}"] == 1
    errors = [name for name in found if name.startswith("dynamo_operator_reconcile_errors_total{")]
    labels = f'error_type="{error}",namespace="default",resource_type="DynamoGraphDeployment"'
    assert errors == ([f"dynamo_operator_reconcile_errors_total{{{labels}}}"] if error else [])


def test_every_call_is_counted_by_hook_kind_and_outcome() -> None:
    client = client_with(GOOD)
    client.post("/graph/sync", data=call())
    client.post("/graph/customize", data=call())
    client.post("/graph/sync", data=b"[]")
    found = metrics_of(client)
    counted = {k: v for k, v in found.items() if k.startswith("dynamo_hooks_calls_total{")}
    assert counted == {
        'dynamo_hooks_calls_total{call="sync",hook="graph",outcome="done"}': 1,
        'dynamo_hooks_calls_total{call="customize",hook="graph",outcome="done"}': 1,
        'dynamo_hooks_calls_total{call="sync",hook="graph",outcome="invalid_request"}': 1,
    }
    assert found['dynamo_hooks_call_duration_seconds_count{call="sync",hook="graph",outcome="done"}'] == 1
    assert found['dynamo_hooks_request_bytes_sum{call="customize",hook="graph"}'] == len(call())


def test_effects_are_counted_by_what_came_of_them() -> None:
    scale = ScalePodClique(kind="PodClique", namespace="ns", name="a", replicas=2)
    write = WriteBackReplicas(graph="g", namespace="ns", service="s", replicas=2)
    results = [
        EffectResult(effect=scale, outcome=EffectOutcome.DONE),
        EffectResult(effect=scale, outcome=EffectOutcome.DONE),
        EffectResult(effect=write, outcome=EffectOutcome.FAILED, reason="403"),
    ]
    client = client_with(SyncAnswer(status={}, effects=(scale, write)), carry_out=lambda _effects, _source: results)
    client.post("/graph/sync", data=call())
    counted = {k: v for k, v in metrics_of(client).items() if k.startswith("dynamo_hooks_effects_total{")}
    assert counted == {
        'dynamo_hooks_effects_total{effect="ScalePodClique",outcome="done"}': 2,
        'dynamo_hooks_effects_total{effect="WriteBackReplicas",outcome="failed"}': 1,
    }


def test_namespaces_beyond_the_limit_share_one_series() -> None:
    client = client_with(GOOD)
    for number in range(MAX_NAMESPACES + 5):
        metadata = {"name": "g", "namespace": f"n{number}"}
        client.post("/graph/sync", data=call(parent={**make.graph(), "metadata": metadata}))
    found = [name for name in metrics_of(client) if name.startswith("dynamo_operator_reconcile_total{")]
    assert len(found) == MAX_NAMESPACES + 1
    assert sum(f'namespace="{OTHER_NAMESPACES}"' in name for name in found) == 1


def samples_of(gauge: Gauge) -> dict[tuple[str, ...], float]:
    """The values of a gauge by the values of its labels."""
    (family,) = gauge.collect()
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


def test_resources_are_shown_by_kind_namespace_and_state_and_fall_to_zero() -> None:
    metrics = create_resource_metrics()
    first = {("DynamoModel", "a", "ready"): 2, ("DynamoGraphDeployment", "a", "pending"): 1}
    show_resources(metrics, ResourceCounts(states=first))
    show_resources(metrics, ResourceCounts(states={("DynamoModel", "a", "not_ready"): 2}))
    assert samples_of(metrics.resources) == {
        ("DynamoModel", "a", "ready"): 0,
        ("DynamoModel", "a", "not_ready"): 2,
        ("DynamoGraphDeployment", "a", "pending"): 0,
    }
    assert {family.name for family in metrics.registry.collect()} == {
        "dynamo_operator_resources_total",
        "dynamo_hooks_not_ready",
        "dynamo_hooks_not_ready_seconds",
        "dynamo_hooks_graph_outage",
        "dynamo_hooks_graph_rollout",
        "dynamo_hooks_graph_serving",
    }


def test_graphs_in_an_outage_are_named_up_to_a_limit_and_fall_to_zero() -> None:
    metrics = create_resource_metrics()
    outage = ("a", "llm", "frontend")
    show_resources(metrics, ResourceCounts(outages={outage}))
    assert samples_of(metrics.outages) == {outage: 1}
    many = {("b", f"g{number:04}", "engines") for number in range(MAX_GRAPHS + 5)}
    show_resources(metrics, ResourceCounts(outages=many))
    found = samples_of(metrics.outages)
    assert found[outage] == 0
    assert found[OTHER_NAMESPACES, OTHER_GRAPHS, "engines"] == 1
    assert len(found) == MAX_GRAPHS + 1
    show_resources(metrics, ResourceCounts())
    assert set(samples_of(metrics.outages).values()) == {0}


def test_rollouts_are_shown_by_what_they_do_and_fall_to_zero() -> None:
    metrics = create_resource_metrics()
    first, then = ("a", "llm", "RolloutInProgress"), ("a", "llm", "RolloutStalled")
    show_resources(metrics, ResourceCounts(rollouts={first}))
    show_resources(metrics, ResourceCounts(rollouts={then}, outages={("a", "llm", "engines")}))
    assert samples_of(metrics.rollouts) == {first: 0, then: 1}
    assert samples_of(metrics.outages) == {("a", "llm", "engines"): 1}


def known(gauge: Gauge) -> dict[tuple[str, ...], float]:
    return {labels: value for labels, value in samples_of(gauge).items() if not math.isnan(value)}


def test_models_are_shown_while_it_is_known_whether_they_are_routed() -> None:
    metrics = create_resource_metrics()
    first, second, none = ("a", "llm", "m1"), ("a", "llm", "m2"), ("a", "llm", "")
    show_resources(metrics, ResourceCounts(serving={first: True, second: False}))
    assert known(metrics.serving) == {first: 1, second: 0}
    show_resources(metrics, ResourceCounts(serving={none: False}))
    assert known(metrics.serving) == {none: 0}
    show_resources(metrics, ResourceCounts())
    assert known(metrics.serving) == {}


def test_models_are_named_up_to_a_limit_and_the_worst_of_the_others_counts() -> None:
    metrics = create_resource_metrics()
    many = {("b", "g", f"m{number:04}"): number != MAX_GRAPHS + 2 for number in range(MAX_GRAPHS + 5)}
    show_resources(metrics, ResourceCounts(serving=many))
    found = known(metrics.serving)
    other = (OTHER_NAMESPACES, OTHER_GRAPHS, OTHER_GRAPHS)
    assert len(found) == MAX_GRAPHS + 1
    assert found.pop(other) == 0
    assert set(found.values()) == {1}
    show_resources(metrics, ResourceCounts(serving={**many, ("b", "g", f"m{MAX_GRAPHS + 2:04}"): True}))
    assert known(metrics.serving)[other] == 1


def test_resources_that_are_not_ready_are_shown_with_the_longest_time_and_fall_to_zero() -> None:
    metrics = create_resource_metrics()
    key = ("DynamoGraphDeployment", "a", "ImagePull")
    show_resources(metrics, ResourceCounts(not_ready={key: [5.0, 60.0]}))
    assert (samples_of(metrics.not_ready), samples_of(metrics.not_ready_seconds)) == ({key: 2}, {key: 60})
    show_resources(metrics, ResourceCounts())
    assert (samples_of(metrics.not_ready), samples_of(metrics.not_ready_seconds)) == ({key: 0}, {key: 0})


def test_namespaces_beyond_the_limit_share_the_longest_time() -> None:
    metrics = create_resource_metrics()
    keys = [("DynamoModel", f"n{number}", "Missing") for number in range(MAX_NAMESPACES + 2)]
    show_resources(metrics, ResourceCounts(not_ready={key: [float(age)] for age, key in enumerate(keys)}))
    other = ("DynamoModel", OTHER_NAMESPACES, "Missing")
    assert samples_of(metrics.not_ready)[other] == 2
    assert samples_of(metrics.not_ready_seconds)[other] == MAX_NAMESPACES + 1


def test_page_of_the_prober_says_when_the_prober_does_not_answer() -> None:
    app = create_app(parse_settings({}, {"prober_url": f"http://127.0.0.1:{free_port()}"}), lambda: make.NOW)
    answer = app.test_client().get("/metrics/prober")
    assert answer.status_code == 503
    assert answer.text == "the prober does not answer, so it shows no metrics\n"


def test_prober_is_asked_for_its_page_once_a_second_at_most() -> None:
    client = create_app(parse_settings({}, {"prober_url": "http://127.0.0.1:9191"}), lambda: make.NOW).test_client()
    with responses.RequestsMock() as mock:
        mock.get("http://127.0.0.1:9191/metrics", body="up 1\n", content_type="text/plain")
        started = time.monotonic()
        pages = [client.get("/metrics/prober").text for _ in range(50)]
        assert len(mock.calls) <= 1 + (time.monotonic() - started)
    assert pages == ["up 1\n"] * 50


def test_request_for_the_page_of_the_prober_lets_others_in_while_it_waits() -> None:
    said: list[str] = []

    def answer(_request: object) -> tuple[int, dict[str, str], str]:
        said.append("asked")
        return 200, {}, "up 1\n"

    client = create_app(parse_settings({}, {"prober_url": "http://127.0.0.1:9191"}), lambda: make.NOW).test_client()
    with responses.RequestsMock() as mock:
        mock.add_callback("GET", "http://127.0.0.1:9191/metrics", answer)
        client.get("/metrics/prober", environ_overrides={CALLER: Caller(leave=lambda: said.append("left"))})
    assert said == ["left", "asked"]
