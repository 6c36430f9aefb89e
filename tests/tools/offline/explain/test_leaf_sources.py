"""Every leaf of every example has an origin: an input that makes it, or a function and words of the code."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from hooks.ground import contract
from hooks.language.versions import convert
from hooks.tools.offline.explain.experiments import measure
from hooks.tools.offline.explain.explaining import BuiltDocument, explain_all
from hooks.tools.offline.explain.inputs import Input, list_inputs
from hooks.tools.offline.explain.leaf_sources import Mode, SourceKind
from hooks.tools.offline.explain.leaves import LeafPlace
from hooks.tools.offline.manifests.reading import load_manifests
from hooks.tools.offline.manifests.writing import format_as_given
from tests import effort
from tests.tools.offline.explain.asked import EVERYTHING, EXAMPLES, WITHOUT_GROVE, cases_of, is_literal, place_in

ON_GROVE = frozenset({"sglang-disagg-multinode", "vllm-cache", "vllm-multinode-grove-kai", "vllm-topology"})
"""Examples that are rendered for Grove; the others become Deployments and LeaderWorkerSets."""


def find_unexplained(case: BuiltDocument, inputs: Iterable[Input]) -> set[LeafPlace]:
    """The leaves whose words no code has, and that no input makes or decides."""
    left = {place for place, value in case.made.all_leaves().items() if not is_literal(value)}
    for one in inputs:
        if not left:
            break
        left -= measure(case.made, [one], left).keys()
    return left


def fields_of(path: Path) -> set[str]:
    """The names and values of an example that say which parts of the build it goes through."""
    text = path.read_text()
    return {"grove" if path.stem in ON_GROVE else "", *_FIELD.findall(text), *_CHOICE.findall(text)}


_FIELD = re.compile(r"^[ -]*(\w+):", re.MULTILINE)
_CHOICE = re.compile(r"(?:componentType|subComponentType|backendFramework|kind): *(\w+)")


ALL: list[Path] = sorted([*EXAMPLES.glob("*.yaml"), *EXAMPLES.glob("grove/*.yaml")])
TRIED: list[Path] = effort.cover(ALL, fields_of)


@pytest.mark.parametrize("path", TRIED, ids=lambda path: path.stem)
def test_every_leaf_of_an_example_has_an_origin(path: Path) -> None:
    installed = EVERYTHING if path.stem in ON_GROVE else WITHOUT_GROVE
    cases = cases_of(path, installed, "grove_topology=pack")
    assert cases
    for case in cases:
        assert find_unexplained(case, list_inputs(case.build, case.document)) == set()


def test_every_leaf_of_an_example_in_v1beta1_has_an_origin(tmp_path: Path) -> None:
    [written] = load_manifests([str(EXAMPLES / "vllm-disagg-planner.yaml")], "").documents
    file = tmp_path / "graph.yaml"
    file.write_text(format_as_given([convert(written.object, contract.BETA_VERSION)]))
    [case] = cases_of(file, WITHOUT_GROVE)
    assert find_unexplained(case, list_inputs(case.build, case.document)) == set()
    place = place_in(case, "Deployment/vllm-planner-vllmdecodeworker: spec.template.spec.containers[main].image")
    [origin] = explain_all(case, [place])
    [copied] = origin.by(Mode.COPIED)
    line = file.read_text().splitlines()[copied.source.line - 1]
    assert copied.source.name.endswith(".podTemplate.spec.containers[0].image")
    assert line.strip() == f"image: {origin.value}"


def test_leaf_that_no_experiment_touches_has_no_origin() -> None:
    [case] = cases_of(EXAMPLES / "vllm-agg.yaml", WITHOUT_GROVE, "nats_address=nats://bus.example:4222")
    inputs = [one for one in list_inputs(case.build, case.document) if one.source.kind is not SourceKind.SETTING]
    assert {place.path.parts[-2] for place in find_unexplained(case, inputs)} == {"NATS_SERVER"}


def test_without_experiments_most_names_have_no_origin() -> None:
    [case] = cases_of(EXAMPLES / "vllm-agg.yaml", WITHOUT_GROVE)
    assert place_in(case, "Deployment/vllm-agg-frontend: metadata.name") in find_unexplained(case, [])


@pytest.mark.parametrize(
    ("installed", "text", "modes"),
    [
        (
            WITHOUT_GROVE,
            "Deployment/vllm-agg-vllmworker: spec.template.spec.containers[main].image",
            {"spec.services[VllmWorker].extraPodSpec.mainContainer.image": Mode.COPIED},
        ),
        (
            EVERYTHING,
            "PodCliqueSet/vllm-agg: spec.template.cliques[vllmworker].spec.podSpec.containers[main].image",
            {"spec.services[VllmWorker].extraPodSpec.mainContainer.image": Mode.COPIED},
        ),
        (
            WITHOUT_GROVE,
            "Deployment/vllm-agg-vllmworker: spec.template.spec.containers[main].env[DYN_NAMESPACE].value",
            {"metadata.name": Mode.PART, "metadata.namespace": Mode.PART},
        ),
        (
            WITHOUT_GROVE,
            "Deployment/vllm-agg-vllmworker: spec.template.spec.containers[main].env[NATS_SERVER].value",
            {"nats_address": Mode.COPIED},
        ),
        (
            WITHOUT_GROVE,
            "Deployment/vllm-agg-vllmworker: spec.template.spec.containers[main].resources.limits[nvidia.com/gpu]",
            {"spec.services[VllmWorker].resources.limits.gpu": Mode.COPIED},
        ),
        (
            WITHOUT_GROVE,
            "Service/vllm-agg-vllmworker: spec.selector[nvidia.com/dynamo-component]",
            {"spec.services[VllmWorker]": Mode.COPIED},
        ),
        (
            WITHOUT_GROVE,
            "Deployment/vllm-agg-vllmworker: spec.template.spec.containers[main].livenessProbe.failureThreshold",
            {
                "spec.services[VllmWorker].componentType": Mode.DECIDES,
                "spec.services[VllmWorker].extraPodSpec.mainContainer.image": Mode.DECIDES,
            },
        ),
        (WITHOUT_GROVE, "Deployment/vllm-agg-vllmworker: spec.template.spec.restartPolicy", {}),
    ],
)
def test_inputs_of_a_leaf(installed: frozenset[str], text: str, modes: dict[str, Mode]) -> None:
    [case] = cases_of(EXAMPLES / "vllm-agg.yaml", installed, "nats_address=nats://bus.example:4222")
    [origin] = explain_all(case, [place_in(case, text)])
    assert {one.source.name: one.mode for one in origin.influences} == modes


@pytest.mark.parametrize("name", ["livenessProbe.periodSeconds", "env[DYN_SYSTEM_PORT].value"])
def test_value_that_no_input_has_is_built_in(name: str) -> None:
    [case] = cases_of(EXAMPLES / "vllm-agg.yaml", WITHOUT_GROVE)
    container = "Deployment/vllm-agg-vllmworker: spec.template.spec.containers[main]"
    built_in, copied = explain_all(case, [place_in(case, f"{container}.{one}") for one in (name, "image")])
    assert (built_in.is_built_in, copied.is_built_in) == (True, False)
