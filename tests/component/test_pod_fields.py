"""The verdict about a pod is cached by all that its rules read, and by nothing else."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from pydantic import ValidationError

from hooks.component.rules.pod_fields import PodFields, read_pod_fields, select_pod_fields, write_pod_fields
from hooks.language.api.component_spec import ComponentSpec
from tests.component.specs import ANY_SPEC

SPEC: dict[str, Any] = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": "i"}}}


def written(spec: dict[str, Any]) -> bytes:
    return write_pod_fields(select_pod_fields(ComponentSpec.model_validate(spec)))


@pytest.mark.parametrize(
    "change",
    [
        {"extraPodSpec": {"mainContainer": {"image": "j"}}},
        {"envs": [{"name": "A", "value": "1"}]},
        {"livenessProbe": {}},
        {"readinessProbe": {}},
        {"resources": {"limits": {"gpuType": "x.io/gpu"}}},
        {"resources": {"claims": [{"name": "a"}]}},
        {"volumeMounts": [{"name": "a"}]},
        {"sharedMemory": {"disabled": True}},
        {"componentType": "epp"},
        {"componentType": "frontend"},
    ],
    ids=str,
)
def test_change_of_what_the_rules_read_is_another_question(change: dict[str, Any]) -> None:
    assert written({**SPEC, **change}) != written(SPEC)


@pytest.mark.parametrize(
    "change",
    [{"labels": {"a": "b"}}, {"replicas": 3}, {"modelRef": {"name": "m"}}],
    ids=str,
)
def test_change_of_anything_else_is_the_same_question(change: dict[str, Any]) -> None:
    assert written({**SPEC, **change}) == written(SPEC)


@given(ANY_SPEC)
def test_what_was_written_is_read_back_whole(spec: dict[str, Any]) -> None:
    try:
        fields = select_pod_fields(ComponentSpec.model_validate(spec))
        text = write_pod_fields(fields)
    except (ValidationError, orjson.JSONEncodeError):
        return
    read = read_pod_fields(text)
    assert isinstance(read, PodFields)
    assert write_pod_fields(read) == text
