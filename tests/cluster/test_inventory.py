"""The count of custom resources on a real API server, with the rights of the plain manifests and no others."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.inventory import ResourceCounter
from hooks.server.serving.resource_counts import NOTHING
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import HOOKS_ACCOUNT, ControlPlane
from tests.cluster.dynamo import ROOT, load_example
from tests.contract.backend import Manifest

_ROLE = "dynamo-hooks-resource-counts"


@pytest.fixture
def rights(admin: ApiClient, system_namespace: str) -> Iterator[None]:
    """Both roles of the plain manifests with their bindings."""
    documents: list[Manifest] = list(yaml.safe_load_all((ROOT / "metacontroller" / "rbac.yaml").read_text()))
    granted = [document for document in documents if document["metadata"]["name"] == _ROLE]
    for document in granted:
        admin.within(system_namespace).create(document, strict=True)
    yield
    for document in granted:
        admin.within(system_namespace).delete(document["apiVersion"], document["kind"], _ROLE)


def counter(plane: ControlPlane, folder: Path, process: str) -> ResourceCounter:
    token = folder / "token"
    token.write_text(plane.tokens[HOOKS_ACCOUNT])
    server = ApiServer(url=plane.server, token_file=token, ca_file=plane.certificate)
    return ResourceCounter(server=server, clock=lambda: datetime.now(UTC), namespace="dynamo-system", process=process)


@pytest.mark.usefixtures("rights")
def test_one_process_counts_with_the_rights_of_the_plain_manifests(
    api: ApiClient, plane: ControlPlane, tmp_path: Path
) -> None:
    api.create(load_example("vllm-agg"))
    other = load_example("vllm-agg")
    labels = {"nvidia.com/dynamo-installation": "elsewhere"}
    api.create({**other, "metadata": {"name": "not-ours", "labels": labels}})
    first, second = counter(plane, tmp_path, "a/1"), counter(plane, tmp_path, "b/2")
    counted = {key: number for key, number in first.count().states.items() if key[1] == api.namespace}
    assert counted == {("DynamoGraphDeployment", api.namespace, "unknown"): 1}, "no hook has seen it yet"
    assert second.count() == NOTHING, "the first holds the Lease"


def test_without_the_rights_nothing_is_counted(plane: ControlPlane, tmp_path: Path) -> None:
    assert counter(plane, tmp_path, "c/3").count() == NOTHING
