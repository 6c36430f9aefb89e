"""The accounts that the chart makes for certificates and locks: their rights are enough, and no more than that."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from hooks import contract
from hooks.clients.api_server import ApiServer, Refused
from hooks.clients.namespace_locks import LockReader, OwnLock
from tests.cluster.admission import KINDS, REGISTRATION, account_options, chart_webhooks, registered
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import AsAccount
from tests.contract.backend import Manifest
from tests.ports import free_port
from tests.test_chart import template

NAME = "dynamo-hooks"
ADMISSION = f"{NAME}-admission"
PARTS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
Install = Callable[..., None]


@pytest.fixture
def install(api: ApiClient, admin: ApiClient) -> Iterator[Install]:
    """Gives a function that creates the chart's accounts and rights in the test's namespace, by some values."""
    created: list[Manifest] = []

    def create(*values: str) -> None:
        options = [part for value in values for part in ("--set", value)]
        wanted = [found for found in template("--namespace", api.namespace, *options) if found["kind"] in PARTS]
        created.extend(admin.create(found, strict=True) for found in wanted)

    yield create
    for found in created:
        admin.delete(found["apiVersion"], found["kind"], found["metadata"]["name"], found["metadata"].get("namespace"))


def now() -> datetime:
    return datetime.now(UTC)


def run_certificates(server: ApiServer, secret: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [
        *(sys.executable, "-m", "hooks", "certificates", "--name", "127.0.0.1", "--secret", secret),
        *(*account_options(server), *more),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("account", [f"{ADMISSION}-hook", f"{ADMISSION}-renewal"])
def test_account_of_the_certificate_makes_it_and_lets_it_be_trusted(
    account: str, install: Install, as_account: AsAccount, api: ApiClient, admin: ApiClient
) -> None:
    install("admission.enabled=true")
    server, secret = as_account(account), f"{api.namespace}/{ADMISSION}-tls"
    trusting = ("--validating", NAME, "--mutating", NAME)
    nowhere = "admission.namespaceSelector.matchLabels.judged=never"
    with registered(admin, chart_webhooks(NAME, free_port(), nowhere)):
        done = run_certificates(server, secret, *trusting)
        assert done.returncode == 0, done.stderr
        for kind in KINDS:
            found = admin.get(REGISTRATION, kind, NAME)
            assert found is not None
            assert all(hook["clientConfig"]["caBundle"] for hook in found["webhooks"])
        api.patch("v1", "Secret", f"{ADMISSION}-tls", {"data": {"tls.crt": ""}})
        assert "was issued: it cannot be read" in run_certificates(server, secret, *trusting).stdout
    refused = run_certificates(server, f"{api.namespace}/another")
    assert refused.returncode == 1
    assert "403" in refused.stderr


def test_account_of_a_restricted_installation_holds_its_lease(
    install: Install, as_account: AsAccount, api: ApiClient
) -> None:
    install("settings.installation=team", "settings.namespaceLocks=on")
    lock = OwnLock(
        server=as_account(NAME), clock=now, namespace=api.namespace, installation="team", process="p", is_alone=True
    )
    lock.keep()
    lock.keep()
    assert lock.look(api.namespace) is None
    lock.release()
    assert api.get("coordination.k8s.io/v1", "Lease", contract.NAMESPACE_LOCK) is None
    elsewhere = OwnLock(server=lock.server, clock=now, namespace="default", installation="team", process="p")
    with pytest.raises(Refused, match="403"):
        elsewhere.keep()


def test_account_of_the_whole_cluster_reads_leases_everywhere(
    install: Install, as_account: AsAccount, api: ApiClient
) -> None:
    install("settings.namespaceLocks=on")
    reader = LockReader(server=as_account(NAME), clock=now)
    assert reader.look("default") is None
    assert reader.look(api.namespace) is None
    holding = OwnLock(server=reader.server, clock=now, namespace="default", installation="team", process="p")
    with pytest.raises(Refused, match="403"):
        holding.keep()


def test_without_locks_the_account_cannot_even_read(install: Install, as_account: AsAccount) -> None:
    install()
    hold = LockReader(server=as_account(NAME), clock=now).look("default")
    assert hold is not None
    assert not hold.is_certain
