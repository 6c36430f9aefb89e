"""Slips of a graph are warned about: values of its annotations, its endpoint pickers."""

from typing import Any

import pytest

from hooks.graph.rules.validate import review_graph
from hooks.ground.problems import texts_of
from hooks.language.validation.review import Review
from tests import make
from tests.language.validation.objects import graph

CONFIG: dict[str, Any] = {"config": {"plugins": []}}
PICKER = {"componentType": "epp", "eppConfig": CONFIG, "replicas": 1}
WORKER = {"componentType": "worker"}
OTHER_CONFIG = {**PICKER, "eppConfig": {"configMapRef": {"name": "c"}}}


def warnings(services: dict[str, Any], **annotations: str) -> tuple[str, ...]:
    new = graph(services)
    metadata = {**new["metadata"], "annotations": {f"nvidia.com/{key}": text for key, text in annotations.items()}}
    settings = make.facts().settings
    review = Review(new={**new, "metadata": metadata}, old=None, user=None, settings=settings, installed=None)
    verdict = review_graph(review)
    assert verdict.problems == ()
    return texts_of(make.without_release(verdict.warnings))


@pytest.mark.parametrize(
    ("services", "annotations", "expected"),
    [
        (
            {"main": WORKER},
            {"enable-grove": "flase"},
            [
                (
                    "metadata.annotations[nvidia.com/enable-grove]: 'flase' is none of true, false and has no effect; "
                    "did you mean false?"
                )
            ],
        ),
        (
            {"main": WORKER},
            {"dynamo-hooks-rollout": "Now"},
            [
                (
                    "metadata.annotations[nvidia.com/dynamo-hooks-rollout]: 'Now' is none of now and has no effect; "
                    "did you mean now?"
                )
            ],
        ),
        (
            {"main": WORKER},
            {"dynamo-hooks-rollout-paused": "yes", "dynamo-hooks-rollout-canary": "0"},
            [
                (
                    "metadata.annotations[nvidia.com/dynamo-hooks-rollout-paused]: 'yes' is none of true, false and "
                    "has no effect"
                ),
                (
                    "metadata.annotations[nvidia.com/dynamo-hooks-rollout-canary]: '0' is no number of complete sets "
                    "and no percentage of them, and has no effect; write 2 or 25%"
                ),
            ],
        ),
        ({"main": WORKER}, {"dynamo-hooks-rollout-paused": "false", "dynamo-hooks-rollout-canary": "100%"}, []),
        (
            {"main": WORKER},
            {"dynamo-discovery-backend": "Etcd"},
            [
                (
                    "metadata.annotations[nvidia.com/dynamo-discovery-backend]: 'Etcd' is none of kubernetes, etcd, so "
                    "processes do not find each other; did you mean etcd?"
                )
            ],
        ),
        (
            {"a": PICKER, "b": PICKER, "main": WORKER},
            {},
            [
                (
                    "spec.services[b].eppConfig.config: has no effect; a graph has one ConfigMap for "
                    "endpoint pickers, and "
                    "it holds the configuration of spec.services[a]; use configMapRef here"
                )
            ],
        ),
        (
            {"main": WORKER},
            {"workload-provider": "Grove"},
            [
                (
                    "metadata.annotations[nvidia.com/workload-provider]: 'Grove' is none of component, grove and has "
                    "no effect; did you mean grove?"
                )
            ],
        ),
        (
            {"a": PICKER, "main": {"componentType": "frontend"}},
            {},
            [
                (
                    "spec.services[a]: its InferencePool selects workers in its own Dynamo namespace, "
                    "and this graph has none"
                )
            ],
        ),
        (
            {"a": PICKER, "main": {**WORKER, "globalDynamoNamespace": True}},
            {},
            [
                (
                    "spec.services[a]: its InferencePool selects workers in its own Dynamo namespace, "
                    "and this graph has none"
                )
            ],
        ),
        ({"a": PICKER, "b": OTHER_CONFIG, "main": WORKER}, {"enable-grove": "False"}, []),
    ],
    ids=[
        *("Grove", "rollout", "steering", "steering that is right", "discovery", "second picker", "provider"),
        *("no worker", "workers elsewhere", "right"),
    ],
)
def test_slip_of_a_graph_is_warned_about(
    services: dict[str, Any], annotations: dict[str, str], expected: list[str]
) -> None:
    new = {key.replace("_", "-"): text for key, text in annotations.items()}
    assert list(warnings(services, **new)) == expected


def test_label_of_the_graph_that_each_service_has_with_its_own_value_is_said() -> None:
    new = graph({"main": WORKER}, labels={"nvidia.com/dynamo-component": "mine", "team": "a"})
    settings = make.facts().settings
    verdict = review_graph(Review(new=new, old=None, user=None, settings=settings, installed=None))
    said = [text for text in texts_of(verdict.warnings) if "has no effect" in text]
    assert said == [
        (
            "spec.labels[nvidia.com/dynamo-component]: 'mine' has no effect, and a value of each service's own is "
            "there instead, because pods are found by it; remove it"
        )
    ]


QUEUE = "kai.scheduler/queue"


@pytest.mark.parametrize("field", ["labels", "extraPodMetadata"])
def test_queue_of_a_label_that_the_graphs_annotation_replaces_is_said(field: str) -> None:
    labels = {QUEUE: "mine"}
    service = {**WORKER, field: labels if field == "labels" else {"labels": labels}}
    new = graph({"main": service})
    annotated = {**new["metadata"], "annotations": {"nvidia.com/kai-scheduler-queue": "team"}}
    settings = make.facts(make.NOW, kai_scheduler="on").settings
    review = Review(new={**new, "metadata": annotated}, old=None, user=None, settings=settings, installed=None)
    (said,) = (text for text in texts_of(review_graph(review).warnings) if QUEUE in text)
    at = "labels" if field == "labels" else "extraPodMetadata.labels"
    assert said.startswith(
        f"spec.services[main].{at}[{QUEUE}]: 'mine' has no effect, and 'team' is there instead, because the graph's "
        "annotation nvidia.com/kai-scheduler-queue names the queue"
    )


def test_variable_that_all_services_get_twice_is_warned_of_with_both_places() -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    settings, new = make.facts().settings, graph({"w": WORKER}, envs=twice)
    verdict = review_graph(Review(new=new, old=None, user=None, settings=settings, installed=None))
    assert [text for text in texts_of(verdict.warnings) if "the variable" in text] == [
        (
            "spec.envs[1]: the variable A stands at spec.envs[0] too, where it has no effect, because the last of "
            "equal names counts; remove one of them"
        )
    ]
