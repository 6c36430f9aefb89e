"""Graphs whose processes find each other by etcd: what they leave there goes with them, or they go without."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.acting_hooks import acting_hooks, effects_client, granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.contract.backend import Propagation
from tests.etcd_server import keys_of, put, running_etcd
from tests.ports import free_port

NAME = "vllm-disagg"
FRONTEND = "vllm-disagg-frontend"


@contextmanager
def graph_under_etcd(
    plane: ControlPlane, api: ApiClient, admin: ApiClient, folder: Path, address: str
) -> Iterator[None]:
    """The example graph, ready, under hooks that wait three seconds for that etcd."""
    settings = {"discovery_backend": "etcd", "etcd_address": address, "etcd_drop_deadline": "3"}
    with (
        granted_effects(admin),
        acting_hooks(effects_client(plane, folder), **settings) as url,
        running_controllers(admin, url, etcd_finalize=True),
    ):
        api.create(load_example(NAME), strict=True)
        wait_until_ready(api, NAME)
        yield
        wait_until_nothing_is_left(api)


def test_keys_of_a_deleted_graph_are_dropped_and_no_others(
    plane: ControlPlane, api: ApiClient, admin: ApiClient, metacontroller: HttpServer, tmp_path: Path
) -> None:
    root = f"/{api.namespace}-{NAME}"
    mine = [f"{root}/components/{service}/generate:1" for service in ("Frontend", "VllmDecodeWorker")]
    others = [f"{root}/components/Frontend2/generate:1", f"{root}2/components/Frontend/generate:1"]
    with running_etcd(tmp_path) as address, graph_under_etcd(plane, api, admin, tmp_path, address):
        put(address, *mine, *others)
        api.delete(DYNAMO, GRAPH, NAME)
        wait_for(lambda: not api.list(DYNAMO, COMPONENT), "the components are gone")
        assert keys_of(address) == sorted(others)


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_unreachable_etcd_holds_up_a_deletion_only_for_so_long(
    propagation: Propagation,
    plane: ControlPlane,
    api: ApiClient,
    admin: ApiClient,
    metacontroller: HttpServer,
    tmp_path: Path,
) -> None:
    with graph_under_etcd(plane, api, admin, tmp_path, f"127.0.0.1:{free_port()}"):
        component = api.get(DYNAMO, COMPONENT, FRONTEND)
        assert component is not None
        api.delete(DYNAMO, GRAPH, NAME, propagation=propagation)
        wait_for(lambda: _ready_reason(api) == "EtcdKeysNotDropped", "the component says what it waits for")
        wait_for(lambda: not api.list(DYNAMO, COMPONENT), "the components are gone")
        about = f"involvedObject.uid={component['metadata']['uid']},reason=EtcdKeysNotDropped"
        (told,) = wait_for(lambda: api.list("v1", "Event", fieldSelector=about), "an event tells what was left")
        assert f"/{api.namespace}-{NAME}/components/Frontend/ were left in etcd" in told["message"]


def _ready_reason(api: ApiClient) -> str:
    found = api.get(DYNAMO, COMPONENT, FRONTEND) or {}
    return str(condition(found, "Ready").get("reason"))
