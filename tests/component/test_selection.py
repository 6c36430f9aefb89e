"""A component is ready only if its Services select the pods of its live workload; no endpoint is read for that."""

import copy
from typing import Any

import pytest

from hooks.component.plan.selection import find_unselected
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.wire.policy import rendering_mark
from tests import make
from tests.component.render import answer

SPEC: dict[str, Any] = {"componentType": "frontend", "replicas": 2}


def with_pods_of(children: list[Manifest], namespace: str) -> list[Manifest]:
    """The children, whose Deployment is of the Go operator and is held with pods of another Dynamo namespace."""
    found: list[Manifest] = []
    for child in children:
        if child["kind"] != "Deployment":
            continue
        mark = rendering_mark.read_mark(child)
        assert mark is not None
        changed = copy.deepcopy(child)
        changed["spec"]["template"]["metadata"]["labels"][contract.LABEL_NAMESPACE] = namespace
        marked = rendering_mark.mark(changed, mark.digest, rendering_mark.FOREIGN_REVISION)
        found.append(make.observed(marked, status=make.deployment_status(2)))
    return found


def ready(component: Manifest, children: list[Manifest]) -> dict[str, Any]:
    given = answer(component, children)
    assert given.status is not None
    return next(one for one in given.status["conditions"] if one["type"] == "Ready")


def test_component_is_not_ready_while_its_service_selects_no_pod() -> None:
    component = make.component("g-f", "g", **SPEC)
    children = list(answer(component).children)
    services = [make.observed(child) for child in children if child["kind"] == "Service"]
    told = ready(component, [*with_pods_of(children, "default-g-f"), *services])
    assert (told["status"], told["reason"]) == ("False", "Differs")
    assert (
        "Service g-f selects none of its pods: it asks for nvidia.com/dynamo-namespace=default-g, and they have "
        "default-g-f - kubectl annotate dcd g-f -n default nvidia.com/dynamo-hooks-rollout=now --overwrite replaces "
        "the pods by ones with these labels" in told["message"]
    )
    same = [*with_pods_of(children, "default-g"), *services]
    assert ready(component, same)["status"] == "True"


def test_component_that_lost_its_graph_keeps_the_dynamo_namespace_of_its_labels() -> None:
    component = make.component("g-f", "g", **SPEC)
    labels = {contract.LABEL_GRAPH: "g", contract.LABEL_NAMESPACE: "default-g", contract.LABEL_COMPONENT: "Frontend"}
    metadata = {**component["metadata"], "labels": labels}
    lost = {key: value for key, value in metadata.items() if key != "ownerReferences"}
    owned, alone = (answer({**component, "metadata": one}).children for one in (metadata, lost))
    assert alone == owned


def test_component_of_its_own_is_not_taken_for_one_of_a_graph() -> None:
    component = make.component("c", **SPEC)
    labelled = {**component["metadata"], "labels": {contract.LABEL_GRAPH: "g"}}
    (service,) = [one for one in answer({**component, "metadata": labelled}).children if one["kind"] == "Service"]
    assert service["spec"]["selector"][contract.LABEL_NAMESPACE] == "default-c"


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"a": "1"}}}


@pytest.mark.parametrize(
    ("service", "labels", "found"),
    [
        pytest.param(SERVICE, [{"a": "1", "b": "2"}], "", id="selected"),
        pytest.param(SERVICE, [{"a": "2"}, {"a": "1"}], "", id="one of two workloads is enough"),
        pytest.param(SERVICE, [], "", id="no workload yet"),
        pytest.param({**SERVICE, "spec": {}}, [{}], "", id="no selector"),
        pytest.param(
            SERVICE,
            [{}],
            "Service s selects none of its pods: it asks for a=1, and they have no such label",
            id="no label",
        ),
    ],
)
def test_labels_of_templates_decide(service: Manifest, labels: list[dict[str, str]], found: str) -> None:
    workloads = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"d{index}"},
            "spec": {"template": {"metadata": {"labels": one}, "spec": {}}},
        }
        for index, one in enumerate(labels)
    ]
    assert find_unselected([service], workloads) == found
