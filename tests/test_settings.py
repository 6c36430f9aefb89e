"""Settings: parsed once, refused with a sentence."""

import pytest

from hooks.ground.errors import InvalidSettings
from hooks.ground.settings import parse_settings
from tests.setting_values import REFUSED, TAKEN


def test_defaults_hold_without_any_setting() -> None:
    settings = parse_settings({"PATH": "/bin"})
    assert (settings.discovery_backend, settings.max_body_bytes, settings.grove_termination_delay) == (
        "kubernetes",
        16 * 2**20,
        "15m0s",
    )


def test_override_wins_over_environment() -> None:
    settings = parse_settings({"DYNAMO_HOOKS_NATS_ADDRESS": "nats://a:4222"}, {"nats_address": "nats://b:4222"})
    assert settings.nats_address == "nats://b:4222"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("grove_termination_delay", "4h", "4h0m0s"),
        ("grove_termination_delay", "90s", "1m30s"),
        ("grove_termination_delay", "45s", "45s"),
        ("lora_request_timeout", "600 s", 600.0),
        ("max_body_bytes", "1MiB", 2**20),
        ("replica_writers", "system:serviceaccount:a:b, carol", ("system:serviceaccount:a:b", "carol")),
        ("accepted_registries", "mirror.example.com/, a.example:5000/b/", ("mirror.example.com/", "a.example:5000/b/")),
        ("accepted_fields", "spec.a.b[*].c,metadata.labels", ("spec.a.b[*].c", "metadata.labels")),
        ("prober_url", "http://127.0.0.1:9191/", "http://127.0.0.1:9191"),
    ],
)
def test_value_is_read(key: str, text: str, value: object) -> None:
    assert getattr(parse_settings({}, {key: text}), key) == value


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("discovery_backend", "consul", "setting discovery_backend is 'consul', should be: 'kubernetes' or 'etcd'"),
        ("engine_port", "0", "setting engine_port is '0', should be: greater than or equal to 1"),
        ("grove_termination_delay", "soon", "setting grove_termination_delay is 'soon', should be: write a duration"),
        ("engine_port", "x", "setting engine_port is 'x', should be: a whole number"),
        ("explain_pods", "yes", "setting explain_pods is 'yes', should be: 'on' or 'off'"),
        (
            "accepted_registries",
            "mirror.example.com",
            "setting accepted_registries is 'mirror.example.com', should be: write a",
        ),
        (
            "accepted_registries",
            "a/, b c/",
            "setting accepted_registries is 'a/, b c/', should be: write a",
        ),
        ("accepted_fields", "status.replicas", "setting accepted_fields is 'status.replicas', should be: write paths"),
        ("prober_url", "localhost:9191", "setting prober_url is 'localhost:9191', should be: write a URL"),
        ("max_body_bytes", "1TB", "setting max_body_bytes is '1TB', should be: write a number of bytes"),
    ],
)
def test_malformed_value_is_refused_with_what_would_be_right(key: str, text: str, sentence: str) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        parse_settings({}, {key: text})
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize(("key", "text"), TAKEN)
def test_address_and_name_are_taken_as_they_are_written(key: str, text: str) -> None:
    assert getattr(parse_settings({}, {key: text}), key) == text


@pytest.mark.parametrize(
    ("key", "text", "right"),
    [
        *REFUSED,
        ("etcd_address", "etcd:70000", "a URL or host:port, or several"),
        ("planner_cluster_role", "", "a ClusterRole's name"),
    ],
)
def test_malformed_address_and_name_are_refused_with_a_sentence_and_an_example(key: str, text: str, right: str) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        parse_settings({}, {key: text})
    assert str(refusal.value).startswith(f"setting {key} is {text!r}, should be: write ")
    assert right in str(refusal.value)
    assert "pattern" not in str(refusal.value)


def test_unknown_key_names_the_nearest() -> None:
    with pytest.raises(InvalidSettings, match=r"unknown setting nats_adress; did you mean nats_address\?"):
        parse_settings({"DYNAMO_HOOKS_NATS_ADRESS": "nats://a:4222"})


def test_unknown_key_without_a_neighbour_lists_all() -> None:
    with pytest.raises(InvalidSettings, match="unknown setting zzz; settings are discovery_backend, "):
        parse_settings({}, {"zzz": "1"})


def test_two_schedulers_under_grove_are_refused() -> None:
    assert parse_settings({}, {"volcano_scheduler": "on"}).volcano_scheduler == "on"
    with pytest.raises(InvalidSettings, match="kai_scheduler and volcano_scheduler are both on"):
        parse_settings({}, {"kai_scheduler": "on", "volcano_scheduler": "on"})


def test_two_zeros_let_no_pod_be_replaced() -> None:
    with pytest.raises(InvalidSettings, match="rollout_max_surge and rollout_max_unavailable are both 0"):
        parse_settings({}, {"rollout_max_surge": "0", "rollout_max_unavailable": "0%"})
    with pytest.raises(InvalidSettings, match="a number of pods or a percentage"):
        parse_settings({}, {"rollout_max_surge": "many"})
    assert parse_settings({}, {"rollout_max_surge": "0"}).rollout_max_surge == "0"
