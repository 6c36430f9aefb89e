"""Mutated services of the examples: what the API server refuses in a child is what we refuse in the manifest.

The children of each are sent to the API server as a dry run. `STRICTER` and `LOOSER` list the differences that stay,
with their reasons.
"""

import re
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import Rule
from hooks.language.rules import graph, pod, pod_values, ports, schema, spec
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import ControlPlane
from tests.cluster.judged_mutations import Judged, judge, key_of
from tests.contract.backend import ApiRefused
from tests.effort import MUTATIONS

THREADS = 6
FIRST_SEED = 0

STRICTER: dict[Rule, str] = {
    **dict.fromkeys(
        (
            schema.REQUIRED,
            schema.TYPE,
            schema.REPEATED,
            schema.UNKNOWN_FIELD,
            schema.ENUM,
            schema.MINIMUM,
            schema.MAXIMUM,
        ),
        "the API server refuses the manifest itself, by the CRD's schema; some of these values never reach the pod, or "
        "the pod's own validation fills them in",
    ),
    pod.FIELD_TYPE: "the same, found by the hooks",
    pod.PROBE_HANDLER: "a service's probe without a handler would remove our probe",
    pod_values.PORT_TWICE: "Metacontroller's merge keeps only one of two ports with one number",
    **dict.fromkeys(
        (ports.PORTS_DIFFER, ports.PORT_SHARED, ports.POOL_PORTS),
        "Kubernetes does not know at which port a program listens",
    ),
    pod.MOUNT_PATH_TAKEN: "one of the two mounts is replaced by ours",
    **dict.fromkeys(
        (spec.SHARED_MEMORY_SIZE, *graph.CREATED_CLAIM.values()),
        "upstream's rule: the value must be written although the API server has one for it",
    ),
}
"""Rules by which we refuse what the API server takes in a child, with the reason."""

LOOSER: dict[str, str] = {
    r"tolerations\[\d+\]\.operator: Unsupported value: \"[GL]t\"": "a feature gate of the cluster decides",
    r"windows|os\.name|stopSignal": "engines run on Linux; fields of Windows pods are not judged",
    r"hostProcess": "as above",
}
"""What the API server may say in a refusal of what we pass, with the reason."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A mutation, and what the API server says of its children: refusals only."""

    judged: Judged
    refusals: tuple[str, ...]

    def describe(self) -> str:
        said = "; ".join(problem.text for problem in self.judged.problems) or "we pass it"
        refused = " / ".join(self.refusals) or "the API server takes it"
        return f"seed {self.judged.seed}, {self.judged.what}\n  {said[:500]}\n  {refused[-500:]}"


@pytest.fixture(scope="module")
def outcomes(plane: ControlPlane) -> list[Outcome]:
    """All mutations, judged by us and by the API server; equal children are sent once."""
    ask = _asker(plane)
    answers: dict[str, Future[str]] = {}
    judgements: list[Judged] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for seed in range(FIRST_SEED, FIRST_SEED + MUTATIONS):
            judged = judge(seed)
            judgements.append(judged)
            for child in judged.children or ():
                key = key_of(child)
                if key not in answers:
                    answers[key] = pool.submit(ask, child)
    return [
        Outcome(one, tuple(filter(None, (answers[key_of(child)].result() for child in one.children))))
        for one in judgements
        if one.children is not None
    ]


def test_what_the_api_server_refuses_in_a_child_is_refused_in_the_manifest(outcomes: list[Outcome]) -> None:
    passed = [one for one in outcomes if not one.judged.problems]
    missed = [one for one in passed if any(not is_known(text) for text in one.refusals)]
    assert [one.describe() for one in missed] == []


def test_what_we_refuse_for_the_pods_sake_the_api_server_refuses_too(outcomes: list[Outcome]) -> None:
    refused = [one for one in outcomes if one.judged.problems and not one.refusals]
    wrong = [one for one in refused if all(problem.rule not in STRICTER for problem in one.judged.problems)]
    assert [one.describe() for one in wrong] == []


def test_mutations_are_right_and_wrong_in_fair_shares(outcomes: list[Outcome]) -> None:
    refused = sum(bool(one.refusals) for one in outcomes)
    assert len(outcomes) > 0.9 * MUTATIONS
    assert 0.2 < refused / len(outcomes) < 0.8


def test_every_problem_of_a_mutation_names_a_field(outcomes: list[Outcome]) -> None:
    unnamed = [problem.text for one in outcomes for problem in one.judged.problems if not problem.path.parts]
    assert unnamed == []


def is_known(refusal: str) -> bool:
    """Whether the refusal is one of those that we leave to the API server."""
    return any(re.search(pattern, refusal) for pattern in LOOSER)


def _asker(plane: ControlPlane) -> Callable[[Manifest], str]:
    """A function that sends a child and gives the refusal, empty if it is taken; each thread has its own connection."""
    local = threading.local()

    def ask(child: Manifest) -> str:
        if not hasattr(local, "client"):
            local.client = plane.client()
        client: ApiClient = local.client
        metadata = {**child["metadata"], "namespace": "default"}
        try:
            client.create({**child, "metadata": metadata}, strict=True, dry_run=True)
        except ApiRefused as refused:
            return refused.message
        return ""

    return ask
