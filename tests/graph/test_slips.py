"""Slips of a graph are warned about: values of its annotations, its endpoint pickers."""

from typing import Any

import pytest

from hooks.graph.validate import review_graph
from hooks.problems import texts_of
from hooks.validation.review import Review
from tests import make
from tests.validation.objects import graph

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
    ids=["Grove", "rollout", "discovery", "second picker", "provider", "no worker", "workers elsewhere", "right"],
)
def test_slip_of_a_graph_is_warned_about(
    services: dict[str, Any], annotations: dict[str, str], expected: list[str]
) -> None:
    new = {key.replace("_", "-"): text for key, text in annotations.items()}
    assert list(warnings(services, **new)) == expected
