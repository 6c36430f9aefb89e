"""Who wins in the environment, and what every process is told."""

from typing import Any

import pytest

from tests.component.render import env


def spec(kind: str = "worker", *, envs: Any = (), main: Any = (), **fields: Any) -> dict[str, Any]:
    return {
        "componentType": kind,
        "envs": list(envs),
        "extraPodSpec": {"mainContainer": {"env": list(main)}},
        **fields,
    }


def value(name: str, text: str) -> dict[str, str]:
    return {"name": name, "value": text}


PRECEDENCE = {
    "service over all": (
        spec(envs=[value("DYN_SYSTEM_PORT", "1")], main=[value("DYN_SYSTEM_PORT", "2")]),
        "DYN_SYSTEM_PORT",
        "1",
    ),
    "main container over defaults": (spec(main=[value("DYN_SYSTEM_PORT", "2")]), "DYN_SYSTEM_PORT", "2"),
    "main container over settings": (spec(main=[value("NATS_SERVER", "mine")]), "NATS_SERVER", "mine"),
    "user over identity": (spec(envs=[value("DYN_NAMESPACE", "mine")]), "DYN_NAMESPACE", "mine"),
    "frontend's port": (spec("frontend", envs=[value("DYN_HTTP_PORT", "3000")]), "DYN_HTTP_PORT", "3000"),
    "frontend keeps the rest": (spec("frontend", envs=[value("DYN_HTTP_PORT", "3000")]), "DYNAMO_PORT", "8000"),
    "health checks": (spec(envs=[value("DYN_HEALTH_CHECK_ENABLED", "true")]), "DYN_HEALTH_CHECK_ENABLED", "true"),
    "store": (spec(envs=[value("DYN_STORE_KV", "file")]), "DYN_STORE_KV", "file"),
    "discovery": (spec(main=[value("DYN_DISCOVERY_BACKEND", "etcd")]), "DYN_DISCOVERY_BACKEND", "etcd"),
    "last duplicate": (spec(envs=[value("X", "1"), value("X", "2")]), "X", "2"),
    "settings": (spec(), "NATS_SERVER", "nats://x"),
}


@pytest.mark.parametrize(("given", "name", "expected"), PRECEDENCE.values(), ids=PRECEDENCE.keys())
def test_stronger_layer_wins(given: dict[str, Any], name: str, expected: str) -> None:
    assert env(given, nats_address="nats://x")[name] == expected


def test_variables_of_service_and_main_container_are_sorted_together() -> None:
    names = list(env(spec(envs=[value("Z", "1"), value("_a", "1")], main=[value("A", "1"), value("b", "1")])))
    assert names == sorted(names)
    assert {"Z", "_a", "A", "b"} <= set(names)


def test_addresses_come_from_the_settings_where_they_are_set() -> None:
    found = env(
        spec(),
        nats_address="nats://n",
        etcd_address="e:2379",
        model_express_url="http://m",
        prometheus_endpoint="http://p/",
    )
    assert [found[name] for name in ("NATS_SERVER", "ETCD_ENDPOINTS", "MODEL_EXPRESS_URL", "PROMETHEUS_ENDPOINT")] == [
        "nats://n",
        "e:2379",
        "http://m",
        "http://p/",
    ]
    assert not {"NATS_SERVER", "ETCD_ENDPOINTS", "MODEL_EXPRESS_URL", "PROMETHEUS_ENDPOINT"} & env(spec()).keys()


DISCOVERY = {
    "setting kubernetes": ({}, "kubernetes", "kubernetes"),
    "setting etcd": ({}, "etcd", "etcd"),
    "annotation over the setting": ({"nvidia.com/dynamo-discovery-backend": "kubernetes"}, "etcd", "kubernetes"),
    "unknown annotation": ({"nvidia.com/dynamo-discovery-backend": "test"}, "etcd", "test"),
    "empty annotation": ({"nvidia.com/dynamo-discovery-backend": ""}, "etcd", "etcd"),
}


@pytest.mark.parametrize(("annotations", "setting", "expected"), DISCOVERY.values(), ids=DISCOVERY.keys())
def test_discovery_backend_is_always_told(annotations: dict[str, str], setting: str, expected: str) -> None:
    given = spec(annotations=annotations)
    assert env(given, discovery_backend=setting)["DYN_DISCOVERY_BACKEND"] == expected


STORE = {
    "kubernetes without etcd": (spec(), {}, "mem"),
    "kubernetes with etcd": (spec(), {"etcd_address": "e:2379"}, None),
    "kubernetes with the user's etcd": (spec(envs=[value("ETCD_ENDPOINTS", "e")]), {}, None),
    "etcd": (spec(), {"discovery_backend": "etcd"}, None),
    "user's own discovery": (spec(envs=[value("DYN_DISCOVERY_BACKEND", "etcd")]), {}, None),
    "release 0.9": (spec(runtimeVersionOverride="0.9.1"), {}, "mem"),
    "release 1.0, which needs no store": (spec(runtimeVersionOverride="1.0.0"), {}, None),
}


@pytest.mark.parametrize(("given", "settings", "expected"), STORE.values(), ids=STORE.keys())
def test_keys_are_kept_in_memory_only_where_there_is_no_etcd(given: Any, settings: Any, expected: str | None) -> None:
    assert env(given, **settings).get("DYN_STORE_KV") == expected


def test_component_that_stands_alone_is_told_of_no_graph() -> None:
    found = env(spec(), graph="")
    assert "DYN_PARENT_DGD_K8S_NAME" not in found
    assert found["DYN_NAMESPACE"] == "default-c"


def test_component_of_the_global_namespace_is_told_so() -> None:
    assert env(spec(globalDynamoNamespace=True))["DYN_NAMESPACE"] == "dynamo"


def test_component_without_type_is_told_none() -> None:
    assert "DYN_COMPONENT" not in env({})


def test_discovery_by_container_is_told_under_kubernetes_discovery() -> None:
    annotations = {"nvidia.com/dynamo-kube-discovery-mode": "container"}
    found = env(spec(annotations=annotations))
    assert (found["CONTAINER_NAME"], found["DYN_KUBE_DISCOVERY_MODE"]) == ("main", "container")
    assert "CONTAINER_NAME" not in env(spec(annotations=annotations), discovery_backend="etcd")


def test_references_to_injected_variables_are_expanded() -> None:
    found = env(spec(envs=[value("A", "$(DYN_NAMESPACE)/x"), value("B", "$$(A)"), value("C", "$(POD_NAME)")]))
    assert (found["A"], found["B"], found["C"]) == ("default-g/x", "$$(A)", "$(POD_NAME)")


def test_variable_from_a_secret_replaces_a_literal_whole() -> None:
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    found = env(spec(envs=[{"name": "A", "valueFrom": source}], main=[value("A", "1")]))
    assert found["A"] == source
