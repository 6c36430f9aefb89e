"""The right of the hooks to read engines' pods, as the chart grants it, on a real API server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hooks.model.seen.pod_addresses import OWN, AddressVerdict, NamedAddress
from hooks.server.clients.pod_reader import PodReader
from tests.cluster.acting_hooks import effects_client
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import HOOKS_ACCOUNT, ControlPlane
from tests.cluster.dynamo import CHART
from tests.cluster.namespaces import own_namespace
from tests.contract.backend import Manifest

SWITCHES = ("effectEvents", "effectScale", "effectWriteBack", "resourceCounts", "serving")
FORBIDDEN = "the hooks may not read the pod; give their account the right to get pods, or set engine_addresses=routable"
RBAC = "rbac.authorization.k8s.io/v1"


@pytest.fixture
def other(admin: ApiClient) -> Iterator[ApiClient]:
    """A client in a second namespace."""
    with own_namespace(admin) as client:
        yield client


def rights(plane: ControlPlane, *values: str) -> list[Manifest]:
    """The chart's objects that give the hooks' account its rights, with all effects off."""
    options = [f"--set={value}" for value in (*values, *(f"settings.{switch}=off" for switch in SWITCHES))]
    _, _, namespace, release = HOOKS_ACCOUNT.split(":")
    text = plane.helm("template", release, CHART, f"--namespace={namespace}", *options)
    return [
        found
        for found in yaml.load_all(text, yaml.CSafeLoader)
        if found and found["apiVersion"] == RBAC and found["metadata"]["name"] == f"{release}-effects"
    ]


def start_pod(api: ApiClient) -> NamedAddress:
    """A pod with an address, as its EndpointSlice names it."""
    spec = {"containers": [{"name": "main", "image": "main"}]}
    api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w0"}, "spec": spec})
    wait_for(lambda: (api.get("v1", "Pod", "w0") or {}).get("status", {}).get("podIP"), "the pod has an address")
    found = api.get("v1", "Pod", "w0")
    assert found is not None
    return NamedAddress(api.namespace, "w0", found["metadata"]["uid"], found["status"]["podIP"])


def check(plane: ControlPlane, folder: Path, *named: NamedAddress) -> list[AddressVerdict]:
    """The verdicts of hooks that have just started."""
    verdicts = PodReader(effects_client(plane, folder).server, new_seconds=0).check(named)
    return [verdicts[one] for one in named]


@pytest.mark.parametrize("is_restricted", [False, True], ids=["whole cluster", "one namespace"])
def test_hooks_read_pods_where_the_chart_lets_them(
    plane: ControlPlane, admin: ApiClient, api: ApiClient, other: ApiClient, tmp_path: Path, is_restricted: bool
) -> None:
    here, there = start_pod(api), start_pod(other)
    before = check(plane, tmp_path, here)
    assert before[0].doubt.endswith(FORBIDDEN), "without the chart's objects the account has no rights"
    values = ("settings.installation=team-a", f"settings.installationNamespace={api.namespace}")
    granted = rights(plane, *(values if is_restricted else ()))
    assert [found["kind"] for found in granted] == (
        ["Role", "RoleBinding"] if is_restricted else ["ClusterRole", "ClusterRoleBinding"]
    )
    assert granted[0]["rules"] == [
        {"apiGroups": ["nvidia.com"], "resources": ["dynamomodels"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]
    for found in granted:
        admin.create(found, strict=True)
    try:
        wait_for(lambda: check(plane, tmp_path, here) == [OWN], "the pod can be read")
        mine, foreign = check(plane, tmp_path, here, there)
        assert mine == OWN
        assert foreign == OWN if not is_restricted else foreign.doubt.endswith(FORBIDDEN)
        stolen = here._replace(address=there.address)
        assert "is not an address of pod w0" in check(plane, tmp_path, stolen)[0].refusal
    finally:
        for found in granted:
            admin.delete(RBAC, found["kind"], found["metadata"]["name"], found["metadata"].get("namespace"))
