"""Accepted before, accepted after, on a real API server: what it takes in one version, it takes in the other.

Copies are created as dry runs, with strict validation. What only one version can say is what `convert` refuses.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from hooks.ground import contract
from hooks.ground.problems import Problem
from hooks.language.versions import CONVERTIBLE_KINDS, convert
from hooks.tools.offline.manifests.converting import find_refused
from tests.cluster.api_client import ApiClient
from tests.cluster.binaries import Binaries
from tests.cluster.conversion import BETA, Converted, converted_plane
from tests.cluster.dynamo import DYNAMO, GRAPH
from tests.cluster.judged_mutations import judge
from tests.contract.backend import ApiRefused, Manifest
from tests.effort import MUTATIONS
from tests.language.api.conversion.test_rendering import EXAMPLES, PUBLISHED, corpus

OTHER = {DYNAMO: contract.BETA_VERSION, BETA: contract.VERSION}
TYPES = ("main", "default", "epp", "worker", "")
VARIABLES = [{"name": "X", "value": "a"}, {"name": "Y", "value": "$(X)"}, {"name": "X", "value": "b"}]
ODD_FIELDS: tuple[dict[str, Any], ...] = (
    {"envs": VARIABLES},
    {"frontendSidecar": {"image": "a:1", "envs": VARIABLES}},
    {"runtimeVersionOverride": "1.2.0-rc1"},
    {"roles": [{"name": "leader"}, {"name": "leader", "replicas": 1}]},
    {"topologyConstraint": {}},
    {"checkpoint": {"mode": "Manual"}},
    {"resources": {"limits": {"cpu": "lots", "gpu": "1"}, "claims": [{"name": "a"}, {"name": "a"}]}},
    {"volumeMounts": [{"name": "a", "mountPoint": "/a"}, {"name": "b", "mountPoint": "/a"}]},
)
"""What v1alpha1 takes in a service, and v1beta1 does not."""


@pytest.fixture(scope="module")
def converted(programs: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converted]:
    with converted_plane(programs, tmp_path_factory.mktemp("plane")) as started:
        yield started


@pytest.fixture(scope="module")
def api(converted: Converted) -> ApiClient:
    return converted.admin.within("default")


def refusal(api: ApiClient, document: Manifest) -> str:
    """Why the API server does not take the object; empty if it does."""
    kept = {key: value for key, value in document["metadata"].items() if key in {"name", "labels", "annotations"}}
    metadata = {**kept, "namespace": api.namespace}
    try:
        api.create({**document, "metadata": metadata}, strict=True, dry_run=True)
    except ApiRefused as refused:
        return refused.message
    return ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """An object that the API server takes, and what it and `convert` say of it in the other version."""

    document: Manifest
    result: Manifest
    said: str
    problems: tuple[Problem, ...]

    def describe(self) -> str:
        return f"{self.document}\n  {self.result}\n  {self.said or 'taken'}\n  {[one.text for one in self.problems]}"


def odd_graphs() -> Iterator[Manifest]:
    """Graphs of v1alpha1 with what v1beta1 does not take."""
    pod = {"mainContainer": {"image": "a:1"}}
    for number, odd in enumerate(({}, *ODD_FIELDS)):
        for kind in TYPES:
            typed = {"componentType": kind} if kind else {}
            services = {name: {**typed, "replicas": 1, "extraPodSpec": pod, **odd} for name in ("A", "B")}
            metadata = {"name": f"odd-{number}"}
            yield {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": metadata, "spec": {"services": services}}


def documents() -> Iterator[Manifest]:
    yield from odd_graphs()
    for path in (*EXAMPLES, *PUBLISHED):
        yield from filter(None, yaml.load_all(path.read_text(), yaml.CSafeLoader))
    yield from corpus()
    yield from (judge(seed).manifest for seed in range(MUTATIONS))


@pytest.fixture(scope="module")
def outcomes(api: ApiClient) -> list[Outcome]:
    """Everything that is taken as it was written, and what is made of it, in turn."""
    found = []
    for written in documents():
        if written["kind"] not in CONVERTIBLE_KINDS:
            continue
        document = {**written, "metadata": {"name": "example", **written.get("metadata", {})}}
        if refusal(api, document):
            continue
        for _ in ("there", "and back"):
            result = convert(document, OTHER[document["apiVersion"]])
            found.append(Outcome(document, result, refusal(api, result), tuple(find_refused(result))))
            document = result
    return found


def test_what_convert_does_not_refuse_is_taken_in_the_other_version(outcomes: list[Outcome]) -> None:
    assert [one.describe() for one in outcomes if one.said and not one.problems] == []


def test_what_convert_refuses_is_not_taken(outcomes: list[Outcome]) -> None:
    assert [one.describe() for one in outcomes if one.problems and not one.said] == []


def test_most_objects_are_taken_both_ways(outcomes: list[Outcome]) -> None:
    assert len(outcomes) > MUTATIONS / 2
    assert sum(not one.said for one in outcomes) > 0.9 * len(outcomes)


def test_odd_graph_can_be_edited_in_v1beta1_and_keeps_what_was_written(api: ApiClient) -> None:
    """As `kubectl edit` and a planner's patch do: the whole graph is judged as v1beta1."""
    for number, graph in enumerate(odd_graphs()):
        name = f"edited-{number}"
        labels = {contract.LABEL_INSTALLATION: "none"}
        stored = {**graph, "metadata": {"name": name, "labels": labels, "namespace": api.namespace}}
        try:
            before = api.create(stored)["spec"]
        except ApiRefused:
            continue
        beta = api.get(BETA, GRAPH, name)
        assert beta is not None
        components = [{**one, "minAvailable": 1} for one in beta["spec"]["components"]]
        edited = {**beta, "spec": {**beta["spec"], "components": components}}
        api.replace({**edited, "metadata": {**beta["metadata"], "labels": {**labels, "edited": "yes"}}})
        api.patch(BETA, GRAPH, name, {"spec": {"components": components}, "metadata": {"annotations": {"a": "b"}}})
        after = api.get(DYNAMO, GRAPH, name)
        assert after is not None
        services = {key: {**service, "minAvailable": 1} for key, service in before["services"].items()}
        assert after["spec"] == {"services": services}
        api.delete(BETA, GRAPH, name)
