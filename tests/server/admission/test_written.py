"""What the webhook says of an object that was written in v1beta1, and reaches it in v1alpha1."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.language.versions import convert
from hooks.server.admission.app import create_admission_app
from hooks.server.admission.rules import DEFAULTS, RULES
from tests import make
from tests.reviews import post, review

BETA = {"group": "nvidia.com", "version": "v1beta1", "kind": "DynamoGraphDeployment"}
MAIN = {"name": "main", "image": "vllm:0.9.1"}
COMPONENTS: list[dict[str, Any]] = [
    {"name": "Worker", "type": "worker", "replicas": -1, "podTemplate": {"spec": {"containers": [MAIN]}}},
    {"name": "Frontend", "type": "frontend", "podTemplate": {"spec": {"containers": [MAIN]}}},
]


def refusal(graph: Any, **fields: Any) -> str:
    app = create_admission_app(parse_settings({}), RULES, DEFAULTS)
    response = post(app, "validate", review(new=graph, **fields))
    assert response["allowed"] is False
    message: str = response["status"]["message"]
    return message


@pytest.fixture
def graph() -> Any:
    """A graph of v1beta1 with a fault in its first component, as the API server converts it."""
    written = {**make.graph(), "apiVersion": "nvidia.com/v1beta1", "spec": {"components": COMPONENTS}}
    return convert(written, contract.VERSION)


def test_problem_has_the_path_of_the_version_that_was_written(graph: Any) -> None:
    assert "spec.components[0].replicas" in refusal(graph, requestKind=BETA)


def test_field_without_effect_in_v1beta1_is_a_warning() -> None:
    forced = {**COMPONENTS[1], "experimental": {"grove": {"forceScalingGroup": True}}}
    written = {**make.graph(), "apiVersion": "nvidia.com/v1beta1", "spec": {"components": [forced]}}
    app = create_admission_app(parse_settings({}), RULES, DEFAULTS)
    stored = convert(written, contract.VERSION)
    response = post(app, "validate", review(new=stored, requestKind=BETA))
    assert response["allowed"] is True
    (warning,) = response["warnings"]
    assert warning.startswith("spec.components[0].experimental.grove.forceScalingGroup: has no effect")
    assert "warnings" not in post(app, "validate", review(new=stored))


@pytest.mark.parametrize(
    "kind",
    [None, {**BETA, "version": "v1alpha1"}, "v1beta1", {"version": 1}],
    ids=["none", "v1alpha1", "text", "number"],
)
def test_problem_has_the_path_of_v1alpha1_otherwise(graph: Any, kind: Any) -> None:
    message = refusal(graph, requestKind=kind)
    assert "spec.services[Worker].replicas" in message
    assert "components" not in message
