"""Versions, generations, finalizers, status subresource, optimistic locking."""

from collections.abc import Callable
from typing import Any

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.store import ApiError, Propagation
from tests.tools.offline.simulator.worlds import WIDGET, config_map, deployment, service, widget, world


def test_a_new_object_gets_uid_version_generation_and_creation_time() -> None:
    metadata = world().create(widget())["metadata"]
    assert metadata["generation"] == 1
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert {"uid", "resourceVersion"} <= set(metadata)


def test_no_two_objects_share_a_uid() -> None:
    cluster = world()
    uids = {cluster.create(widget(f"w{number}"))["metadata"]["uid"] for number in range(20)}
    assert len(uids) == 20


@pytest.mark.parametrize(
    ("change", "generation"),
    [
        ({"spec": {"size": 2}}, 2),
        ({"spec": {"size": 1}}, 1),
        ({"extra": {"field": "beside spec counts in a custom resource"}}, 2),
        ({"metadata": {"labels": {"a": "b"}}}, 1),
        ({"status": {"phase": "ignored, there is a subresource"}}, 1),
    ],
    ids=["spec", "same-spec", "other-field", "labels", "status"],
)
def test_the_generation_counts_changes_of_what_is_wanted(change: Any, generation: int) -> None:
    cluster = world()
    cluster.create(widget())
    assert cluster.patch(WIDGET, "w", change, "default")["metadata"]["generation"] == generation


def test_an_update_that_changes_nothing_keeps_the_resource_version() -> None:
    cluster = world()
    before = cluster.create(widget())
    assert cluster.patch(WIDGET, "w", {"spec": {"size": 1}}, "default") == before


def test_a_status_is_written_only_through_its_subresource() -> None:
    cluster = world()
    cluster.create({**widget(), "status": {"phase": "ignored"}})
    assert "status" not in cluster.patch(WIDGET, "w", {"status": {"phase": "ignored"}}, "default")
    after = cluster.patch_status(WIDGET, "w", {"status": {"phase": "Up"}, "spec": {"size": 9}}, "default")
    assert (after["status"], after["spec"], after["metadata"]["generation"]) == ({"phase": "Up"}, {"size": 1}, 1)


def test_a_config_map_has_neither_generation_nor_status() -> None:
    cluster = world()
    assert "generation" not in cluster.create(config_map())["metadata"]
    with pytest.raises(ApiError, match="no status subresource"):
        cluster.patch_status(kinds.CONFIG_MAP, "c", {"status": {}}, "default")


def test_a_float_without_fraction_is_stored_as_an_integer() -> None:
    assert world().create(widget(spec={"size": 3.0}))["spec"] == {"size": 3}


def _twice(cluster: SimulatedCluster) -> None:
    cluster.create(widget())
    cluster.create(widget())


def _stale(cluster: SimulatedCluster) -> None:
    old = cluster.create(widget())
    cluster.patch(WIDGET, "w", {"spec": {"size": 2}}, "default")
    cluster.patch(WIDGET, "w", {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}}, "default")


REFUSALS: dict[str, tuple[Callable[[SimulatedCluster], object], int]] = {
    "name-taken": (_twice, 409),
    "old-version": (_stale, 409),
    "unknown-kind": (lambda cluster: cluster.create({**widget(), "kind": "Ghost"}), 404),
    "unknown-version": (lambda cluster: cluster.create({**widget(), "apiVersion": "example.com/v2"}), 404),
    "unknown-namespace": (lambda cluster: cluster.create(widget(namespace="absent")), 404),
    "no-namespace": (lambda cluster: cluster.create(widget(namespace="")), 400),
    "no-name": (lambda cluster: cluster.create(widget("")), 422),
    "patch-of-nothing": (lambda cluster: cluster.patch(WIDGET, "w", {}, "default"), 404),
    "delete-of-nothing": (lambda cluster: cluster.delete(WIDGET, "w", "default"), 404),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_an_api_server_refuses_is_refused(name: str) -> None:
    act, code = REFUSALS[name]
    cluster = world()
    with pytest.raises(ApiError) as refused:
        act(cluster)
    assert refused.value.code == code
    if name not in {"unknown-kind", "unknown-version"}:
        assert cluster.writes[-1].code == code, "a refused write is logged like any other"


def test_a_finalizer_holds_a_deleted_object_and_bumps_its_generation() -> None:
    cluster = world()
    cluster.create(widget(finalizers=["example.com/hold"]))
    cluster.delete(WIDGET, "w", "default")
    held = cluster.get(WIDGET, "w", "default")
    assert held is not None
    assert held["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert held["metadata"]["generation"] == 2
    cluster.patch(WIDGET, "w", {"metadata": {"finalizers": None}}, "default")
    assert cluster.get(WIDGET, "w", "default") is None


@pytest.mark.parametrize(
    ("propagation", "finalizer"),
    [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")],
    ids=["foreground", "orphan"],
)
def test_propagation_is_written_down_as_a_finalizer(propagation: Propagation, finalizer: str) -> None:
    cluster = world()
    cluster.create(widget())
    cluster.delete(WIDGET, "w", "default", propagation)
    held = cluster.get(WIDGET, "w", "default")
    assert held is not None
    assert held["metadata"]["finalizers"] == [finalizer]


def test_what_is_read_can_be_changed_without_changing_the_store() -> None:
    cluster = world()
    cluster.create(widget())["spec"]["size"] = 9
    read = cluster.get(WIDGET, "w", "default")
    assert read is not None
    read["spec"]["size"] = 9
    again = cluster.get(WIDGET, "w", "default")
    assert again is not None
    assert again["spec"] == {"size": 1}


def _container(**fields: Any) -> Manifest:
    found = deployment()
    found["spec"]["template"]["spec"]["containers"][0].update(fields)
    return found


DEFAULTS: dict[str, tuple[Manifest, tuple[str | int, ...], Any]] = {
    "strategy": (
        deployment(),
        ("spec", "strategy"),
        {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
    ),
    "restart-policy": (deployment(), ("spec", "template", "spec", "restartPolicy"), "Always"),
    "pull-policy-of-a-tag": (_container(), ("image-pull",), "IfNotPresent"),
    "pull-policy-of-latest": (_container(image="registry:5000/app"), ("image-pull",), "Always"),
    "pull-policy-of-a-digest": (_container(image="app@sha256:0"), ("image-pull",), "IfNotPresent"),
    "quantities": (_container(resources={"limits": {"cpu": "1000m"}}), ("resources",), {"limits": {"cpu": "1"}}),
    "empty-env-value": (_container(env=[{"name": "A", "value": ""}]), ("env",), [{"name": "A"}]),
    "cluster-ip": (service(clusterIP="None"), ("spec", "clusterIPs"), ["None"]),
    "target-port": (
        service(ports=[{"port": 80}]),
        ("spec", "ports"),
        [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
    ),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_built_in_kinds_get_the_api_servers_defaults(name: str) -> None:
    obj, path, expected = DEFAULTS[name]
    stored: Any = world().create(obj)
    if path[0] in {"image-pull", "resources", "env"}:
        key = {"image-pull": "imagePullPolicy"}.get(str(path[0]), path[0])
        path = ("spec", "template", "spec", "containers", 0, key)
    for step in path:
        stored = stored[step]
    assert stored == expected


@pytest.mark.parametrize(
    ("obj", "change"),
    [
        (deployment(), {"spec": {"selector": {"matchLabels": {"app": "other"}}}}),
        (service(), {"spec": {"clusterIP": "None"}}),
        (service(), {"spec": {"ports": [{"port": 80}, {"port": 80}]}}),
    ],
    ids=["selector", "cluster-ip", "twice-the-same-port"],
)
def test_immutable_and_invalid_fields_are_refused(obj: Manifest, change: Any) -> None:
    cluster = world()
    stored = cluster.create(obj)
    with pytest.raises(ApiError) as refused:
        cluster.patch(
            cluster.catalogue.of(obj["apiVersion"], obj["kind"]).kind, stored["metadata"]["name"], change, "default"
        )
    assert refused.value.code == 422


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_container_without_an_image_is_refused(field: str) -> None:
    obj = deployment()
    pod = obj["spec"]["template"]["spec"]
    pod[field] = [*pod.get(field, []), {"name": "bare"}]
    with pytest.raises(ApiError, match=rf"spec\.template\.spec\.{field}\[\d\]\.image: Required value"):
        world().create(obj)


def test_custom_resources_go_through_the_given_admission() -> None:
    cluster = world(admit=lambda obj: {**obj, "spec": {"size": 1, **obj["spec"]}})
    assert cluster.create(widget(spec={"colour": "red"}))["spec"] == {"size": 1, "colour": "red"}
