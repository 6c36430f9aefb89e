"""Which effects the settings let through, and in which order."""

from dataclasses import replace
from typing import Any, get_args

import pytest

from hooks.ground.settings import Settings, parse_settings
from hooks.tools.cli.simulate import NO_EFFECTS
from hooks.wire.metacontroller.effects import (
    Effect,
    Event,
    ObjectReference,
    ScalePodClique,
    WriteBackReplicas,
    WriteBackSpec,
    effects_of_api_server,
    permitted_effects,
    without_api_server,
)

ABOUT = ObjectReference(api_version="v1", kind="Pod", namespace="ns", name="p", uid="u")
EVENT = Event(about=ABOUT, type="Normal", reason="R", message="m", occasion="1")
SCALE = ScalePodClique(kind="PodClique", namespace="ns", name="a", replicas=2)
WRITE = WriteBackReplicas(graph="g", namespace="ns", service="s", replicas=2)
BACK = WriteBackSpec(graph="g", namespace="ns", revision="g-1")
EVERY: tuple[Effect, ...] = (EVENT, WRITE, SCALE, BACK)


def test_every_effect_is_among_those_tested() -> None:
    assert {type(effect) for effect in EVERY} == set(get_args(Effect))


def test_every_switch_turns_off_without_an_api_server_and_in_a_simulation() -> None:
    switches = {name for name in Settings.model_fields if name.startswith("effect_")}
    on = {"effect_write_back": "always", "effect_go_back": "on"}
    all_on = parse_settings({}, on)
    assert set(effects_of_api_server(all_on)) == switches - {"effect_etcd"}
    with_etcd = parse_settings({}, {**on, "etcd_address": "127.0.0.1:2379"})
    assert set(effects_of_api_server(with_etcd)) == switches
    assert switches <= {setting.removesuffix("=off") for setting in NO_EFFECTS}


def test_events_come_last_and_the_others_keep_their_order() -> None:
    assert permitted_effects(EVERY, parse_settings({})) == (WRITE, SCALE, EVENT)


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({"effect_events": "off"}, (WRITE, SCALE)),
        ({"effect_scale": "off"}, (WRITE, EVENT)),
        ({"effect_write_back": "off"}, (SCALE, EVENT)),
        ({"effect_write_back": "always"}, (WRITE, SCALE, EVENT)),
        ({"effect_go_back": "on"}, (WRITE, SCALE, BACK, EVENT)),
    ],
    ids=lambda value: str(value)[:40],
)
def test_each_effect_has_its_own_switch(settings: dict[str, str], left: Any) -> None:
    assert permitted_effects(EVERY, parse_settings({}, settings)) == left


@pytest.mark.parametrize("events", ["on", "off"])
@pytest.mark.parametrize("effect", [WRITE, BACK], ids=lambda one: type(one).__name__)
def test_failure_to_write_back_is_told_where_events_are_on(
    events: str, effect: WriteBackReplicas | WriteBackSpec
) -> None:
    settings = parse_settings({}, {"effect_events": events, "effect_go_back": "on"})
    (kept,) = permitted_effects((replace(effect, if_failed=EVENT),), settings)
    assert kept == (replace(effect, if_failed=EVENT) if events == "on" else effect)


def test_without_an_api_server_all_that_need_one_are_off() -> None:
    settings = parse_settings({}, {"effect_etcd": "on"})
    assert effects_of_api_server(settings) == ("effect_events", "effect_scale", "effect_write_back")
    told = without_api_server(settings)
    assert effects_of_api_server(told) == ()
    assert permitted_effects(EVERY, told) == ()
    assert told.effect_etcd == "on"
    assert told == parse_settings({}, {f"effect_{name}": "off" for name in ("events", "scale", "write_back")})
