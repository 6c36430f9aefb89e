"""What our hooks make of upstream's golden inputs is what upstream expects, but for a written list.

Its expected objects say nothing of statuses. Those of requests are compared with what its controller writes.

Source: Dynamo operator 1.5, internal/controller/testdata; dynamographdeploymentrequest_controller.go.
"""

from collections import Counter
from typing import Any

import pytest

from hooks.ground import contract
from hooks.language.versions import convert
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from tests.upstream.comparison import Difference, How
from tests.upstream.differences import Known, find_stale, find_unknown
from tests.upstream.golden import NAMESPACE, Case, find_differences, load_cases, run_case

CASES = load_cases()
needs_golden = pytest.mark.skipif(not CASES, reason="the corpus upstream-1.5-golden is not in ../shared/corpus")
_POD = r"(Deployment template|LeaderWorkerSet leaderWorkerTemplate\.(leader|worker)Template)"
_COMPONENT = "DynamoComponentDeployment"
_UNRELEASED = "the image of a component alone has no release in its tag, so its pod is that of 0.9"


def _known(what: str, how: How, reason: str, here: str = ".*", there: str = ".*") -> Known:
    return Known(what=what, how=how, reason=reason, here=here, there=there)


KNOWN = (
    _known(rf"{_POD}\.metadata\.labels\.nvidia.com/dynamo-component-type", How.OTHER, _UNRELEASED, "worker", "decode"),
    _known(rf"{_POD}.*\.env\[DYN_COMPONENT\]\.value", How.OTHER, _UNRELEASED, "worker", "decode"),
    _known(rf"{_POD}.*\.env\[(DYN_FORWARDPASS_METRIC_PORT|NIXL_TELEMETRY_.*)\]\.value", How.THERE, _UNRELEASED),
    _known(rf"{_POD}.*\.ports\[nixl\]\..*", How.THERE, _UNRELEASED),
    _known(rf"{_POD}.*\.env\[DYN_STORE_KV\]\.value", How.HERE, _UNRELEASED, "mem"),
    _known(
        rf"{_POD}\.spec\.serviceAccount(Name)?",
        How.OTHER,
        "a component that belongs to no graph has no account of its own",
        "default",
    ),
    _known(
        rf"{_POD}.*\.env\[DYN_PARENT_DGD_K8S_NAME\]\.value",
        How.THERE,
        "a component that belongs to no graph names none",
    ),
    _known(
        rf"{_POD}\.metadata\.labels\.nvidia.com/dynamo-graph-deployment-name",
        How.HERE,
        "a component that belongs to no graph names none",
        "",
    ),
    _known(
        rf"({_COMPONENT} podTemplate|PodCliqueSet) ?.*\.annotations\.nvidia.com/dynamo-operator-origin-version",
        How.THERE,
        "the release of an operator is written by its admission; here the release of the image decides",
    ),
    _known(
        rf"{_POD}\.metadata\.annotations\.nvidia.com/dynamo-(discovery-backend|operator-origin-version)",
        How.HERE,
        "pods have the annotations that decide how they start",
    ),
    _known(
        rf"{_COMPONENT} podTemplate\.metadata\.labels\.nvidia.com/dynamo-worker-hash",
        How.THERE,
        "a component has its generation as a label of itself",
    ),
    _known(
        rf"{_COMPONENT} podTemplate\.spec\.containers\[main\]\.env\[DYN_NAMESPACE_WORKER_SUFFIX\]\.value",
        How.HERE,
        "a component has the suffix of its workers' generation",
    ),
    _known(r".*\.terminationGracePeriodSeconds", How.OTHER, "an engine of 1.x takes up to 90 s to drain", "100", "60"),
    _known(
        r"PodCliqueSet .*\.labels\.nvidia.com/selector",
        How.OTHER,
        "each clique of several nodes has a selector of its own",
        ".*-(ldr|wkr)",
    ),
    _known(r"PodCliqueSet .*\.labels\.role", How.HERE, "pods of a replica over several nodes say which role they have"),
    _known(
        r"DynamoGraphDeployment components\[.*\]\.minAvailable",
        How.THERE,
        "no admission fills in the least number of pods; a graph without it means 1",
        there="1",
    ),
    _known(
        rf"{_POD}\.spec\.schedulerName",
        How.HERE,
        "Volcano schedules the pods of a LeaderWorkerSet, as it does the PodGroups",
        "volcano",
    ),
)
"""Fields that differ, and why."""

STATUS: dict[str, Any] = {
    "phase": "Deployed",
    "profilingJobName": "profile-{name}",
    "dgdName": "{name}-dgd",
    "observedGeneration": 1,
}
"""What upstream's controller writes in the end."""
CONDITIONS = {
    "Succeeded": ("True", "Deployed"),
    "Validation": ("True", "ValidationPassed"),
    "Profiling": ("True", "ProfilingCompleted"),
    "SpecGenerated": ("True", "SpecGenerated"),
    "DeploymentReady": ("True", "DeploymentReady"),
}
MORE_FIELDS = {
    "backend": "v1alpha1 has it",
    "deployment": "v1alpha1 has it: the graph's namespace and state",
    "hardware": "what was searched for; there it is written into the spec",
    "specHash": "by which a change of the spec is noticed, also after the status was lost",
}
MORE_CONDITIONS = {
    "Ready": "all kinds here have it, for kubectl wait and tools",
    "Valid": "all kinds here have it: whether the stored spec has problems",
}


@pytest.fixture(scope="module")
def clusters() -> dict[str, SimulatedCluster]:
    return {f"{case.kind} {case.name}": run_case(case) for case in CASES}


@pytest.fixture(scope="module")
def found(clusters: dict[str, SimulatedCluster]) -> list[Difference]:
    return [one for case in CASES for one in find_differences(case, clusters[f"{case.kind} {case.name}"])]


@needs_golden
def test_every_difference_is_on_the_list(found: list[Difference]) -> None:
    unknown = find_unknown(found, KNOWN)
    assert Counter((one.source, one.what, one.how.value) for one in unknown) == {}, unknown[:3]


@needs_golden
def test_every_entry_of_the_list_is_about_a_difference(found: list[Difference]) -> None:
    assert [(entry.what, entry.reason) for entry in find_stale(found, KNOWN)] == []


@needs_golden
def test_golden_outputs_say_nothing_of_statuses() -> None:
    said = [one.get("status") for case in CASES for one in case.expected]
    assert [one for one in said if one not in ({"$ignore": True}, "$notexists", None)] == []


@needs_golden
@pytest.mark.parametrize("case", [one for one in CASES if one.kind == "dgdr"], ids=lambda case: case.name)
def test_status_of_a_request_is_upstreams_and_a_little_more(case: Case, clusters: dict[str, SimulatedCluster]) -> None:
    name = case.given["metadata"]["name"]
    stored = clusters[f"dgdr {case.name}"].get(contract.GRAPH_REQUEST, name, NAMESPACE)
    assert stored is not None
    status = convert(stored, "v1beta1")["status"]
    expected = {key: value.format(name=name) if isinstance(value, str) else value for key, value in STATUS.items()}
    assert {key: status.get(key) for key in expected} == expected
    assert status["profilingResults"]["selectedConfig"]["kind"] == "DynamoGraphDeployment"
    replicas = status["deploymentInfo"]
    assert replicas["replicas"] == replicas["availableReplicas"] == 3
    known = {*expected, "profilingResults", "deploymentInfo", "conditions"}
    assert status.keys() - known == MORE_FIELDS.keys()
    conditions = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
    assert {key: conditions.pop(key) for key in CONDITIONS} == CONDITIONS
    assert conditions.keys() == MORE_CONDITIONS.keys()
