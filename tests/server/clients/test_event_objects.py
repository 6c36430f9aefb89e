"""An Event effect as an object: the same effect is the same object, whoever carries it out and when."""

from dataclasses import replace
from datetime import timedelta

import pytest

from hooks.ground.k8s.names import is_subdomain
from hooks.server.clients.event_objects import build_event
from hooks.wire.metacontroller.effects import Event, ObjectReference
from tests import make

ABOUT = ObjectReference(api_version="nvidia.com/v1alpha1", kind="DynamoModel", namespace="ns", name="m", uid="u")
EVENT = Event(about=ABOUT, type="Normal", reason="R", message="words", occasion="1")


def name_of(event: Event) -> str:
    name: str = build_event(event, make.NOW)["metadata"]["name"]
    return name


def test_same_effect_has_the_same_name_at_another_time() -> None:
    later = build_event(EVENT, make.NOW + timedelta(hours=1))
    assert later["metadata"]["name"] == name_of(EVENT)


@pytest.mark.parametrize(
    "other",
    [
        replace(EVENT, type="Warning"),
        replace(EVENT, reason="S"),
        replace(EVENT, message="other words"),
        replace(EVENT, occasion="2"),
        replace(EVENT, about=replace(ABOUT, uid="v")),
        replace(EVENT, about=replace(ABOUT, kind="DynamoGraphDeployment")),
    ],
    ids=["type", "reason", "message", "occasion", "uid", "kind"],
)
def test_effects_that_differ_in_any_field_have_different_names(other: Event) -> None:
    assert name_of(other) != name_of(EVENT)


def test_name_of_an_object_with_a_long_name_fits() -> None:
    long = replace(EVENT, about=replace(ABOUT, name=".".join(["a" * 60] * 4)))
    assert is_subdomain(long.about.name)
    assert is_subdomain(name_of(long))


def test_event_about_an_object_of_the_cluster_is_kept_in_the_default_namespace() -> None:
    event = build_event(replace(EVENT, about=replace(ABOUT, namespace="")), make.NOW)
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]


@pytest.mark.parametrize(("length", "kept"), [(1024, "w" * 1024), (1025, "w" * 1023 + "…")])
def test_message_is_cut_where_no_reader_shows_more(length: int, kept: str) -> None:
    assert build_event(replace(EVENT, message="w" * length), make.NOW)["message"] == kept
