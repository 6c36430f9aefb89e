"""The Lease of the acting prober, on a real API server and with the rights that the plain manifests grant."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
import requests
import yaml

from hooks.model.prober.messages import Term
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.prober_client import ProberClient
from hooks.server.clients.prober_lease import LEASE_SECONDS, TERM_ANNOTATION, LeaseState, SharedLease
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import ADMIN, ControlPlane
from tests.waiting import PATIENCE

NAME = "dynamo-hooks-prober"
RBAC = Path(__file__).parents[2] / "metacontroller" / "rbac.yaml"


@dataclass
class Prober:
    terms: list[Term] = field(default_factory=list)

    def read_term(self) -> Term:
        return self.terms[-1] if self.terms else Term(number=0)

    def set_term(self, term: Term) -> None:
        self.terms.append(term)


@pytest.fixture
def account(api: ApiClient, plane: ControlPlane, tmp_path: Path) -> ApiServer:
    """The API server, as an account sees it that has the Role of the plain manifests and no other right."""
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "dynamo-hooks"}})
    for document in yaml.safe_load_all(RBAC.read_text()):
        if document["metadata"]["name"] == "dynamo-hooks-prober-lease":
            text = yaml.safe_dump(document).replace("dynamo-system", api.namespace)
            api.create(yaml.safe_load(text))
    url = f"{plane.server}/api/v1/namespaces/{api.namespace}/serviceaccounts/dynamo-hooks/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    headers = {"Authorization": f"Bearer {plane.tokens[ADMIN]}"}
    made = requests.post(url, json=body, headers=headers, verify=str(plane.certificate), timeout=PATIENCE)
    (tmp_path / "token").write_text(made.json()["status"]["token"])
    return ApiServer(url=plane.server, token_file=tmp_path / "token", ca_file=plane.certificate)


def test_pods_take_renew_give_up_and_take_over_the_lease(account: ApiServer, api: ApiClient) -> None:
    seconds = [1000.0]
    probers = [Prober(), Prober()]
    pods = [
        SharedLease(
            server=account,
            prober=cast("ProberClient", prober),
            namespace=api.namespace,
            name=NAME,
            holder=f"pod-{number} http://10.0.0.{number + 1}:8080",
            clock=lambda: seconds[0],
        )
        for number, prober in enumerate(probers)
    ]

    def tick(pod: int, after: float = 2, *, drains: bool = False) -> LeaseState:
        seconds[0] += after
        pods[pod].renew(lambda: drains)
        return pods[pod].find_state()

    for _ in range(LEASE_SECONDS // 2 + 3):
        standing = tick(0)
    assert standing == LeaseState(is_own=True)
    assert tick(1) == LeaseState(url="http://10.0.0.1:8080")
    assert tick(0, drains=True) == LeaseState()
    assert probers[0].terms[-1] == Term(number=2)
    assert tick(1) == LeaseState(is_own=True)
    assert tick(0, 2) == LeaseState(url="http://10.0.0.2:8080")
    for _ in range(LEASE_SECONDS // 2 + 3):
        standing = tick(0)
    assert standing == LeaseState(is_own=True), "the other pod did not renew it"
    assert [{term.number for term in prober.terms} for prober in probers] == [{1, 2, 3}, {1}]
    found = api.get("coordination.k8s.io/v1", "Lease", NAME)
    assert found is not None
    assert (found["spec"]["leaseTransitions"], found["metadata"]["annotations"][TERM_ANNOTATION]) == (3, "3")

    api.delete("coordination.k8s.io/v1", "Lease", NAME)
    assert tick(0) == LeaseState(), "it was made anew"
    for _ in range(LEASE_SECONDS // 2 + 3):
        standing = tick(0)
    assert standing == LeaseState(is_own=True)
    assert probers[0].terms[-1].number == 4


def test_without_the_role_the_fault_names_the_right(account: ApiServer, api: ApiClient) -> None:
    lease = SharedLease(
        server=account,
        prober=cast("ProberClient", Prober()),
        namespace=api.namespace,
        name="another-lease",
        holder="pod-0 http://10.0.0.1:8080",
    )
    lease.renew(lambda: False)
    assert 'cannot get resource "leases"' in lease.find_state().fault
