"""Who wins where a user's fragment is laid over ours."""

from typing import Any

import pytest

from hooks.ground.k8s.overlay import overlay, overlay_probe

OURS: dict[str, Any] = {
    "command": ["python3"],
    "restartPolicy": "Always",
    "grace": 60,
    "securityContext": {"fsGroup": 1000, "runAsUser": 5},
}
RULES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "scalar of the user wins": ({"restartPolicy": "Never"}, {"restartPolicy": "Never"}),
    "zero wins": ({"grace": 0}, {"grace": 0}),
    "false wins": ({"grace": False}, {"grace": False}),
    "empty string does not": ({"restartPolicy": ""}, {"restartPolicy": "Always"}),
    "null does not": ({"restartPolicy": None}, {"restartPolicy": "Always"}),
    "list replaces whole": ({"command": ["sh", "-c"]}, {"command": ["sh", "-c"]}),
    "empty list does not": ({"command": []}, {"command": ["python3"]}),
    "object is merged by field": (
        {"securityContext": {"fsGroup": 7}},
        {"securityContext": {"fsGroup": 7, "runAsUser": 5}},
    ),
    "empty object changes nothing": ({"securityContext": {}}, {"securityContext": {"fsGroup": 1000, "runAsUser": 5}}),
    "new field is taken": ({"affinity": {"nodeAffinity": {}}}, {"affinity": {"nodeAffinity": {}}}),
    "object over a scalar": ({"grace": {"a": 1}}, {"grace": {"a": 1}}),
}


@pytest.mark.parametrize(("users", "changed"), RULES.values(), ids=RULES.keys())
def test_user_field_is_laid_over_ours(users: dict[str, Any], changed: dict[str, Any]) -> None:
    assert overlay(OURS, users) == {**OURS, **changed}


def test_neither_argument_is_changed() -> None:
    ours = {"a": {"b": 1}}
    users = {"a": {"c": 2}}
    assert overlay(ours, users) == {"a": {"b": 1, "c": 2}}
    assert (ours, users) == ({"a": {"b": 1}}, {"a": {"c": 2}})


PROBE = {"httpGet": {"path": "/live", "port": "system"}, "periodSeconds": 5, "failureThreshold": 1}


def test_probe_with_a_handler_replaces_ours_whole() -> None:
    users = {"exec": {"command": ["true"]}, "periodSeconds": 9}
    assert overlay_probe(PROBE, users) == users


def test_probe_without_handler_keeps_ours_and_changes_its_numbers() -> None:
    assert overlay_probe(PROBE, {"failureThreshold": 9}) == {**PROBE, "failureThreshold": 9}


def test_probe_stands_alone_where_there_is_none_of_ours() -> None:
    assert overlay_probe(None, {"periodSeconds": 9}) == {"periodSeconds": 9}
