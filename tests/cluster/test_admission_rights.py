"""Accounts that the chart makes for certificates, admission and locks: their rights suffice, and nothing more."""

import base64
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Requester, Review
from hooks.server.admission.access import find_missing_rights
from hooks.server.clients.api_server import ApiServer, Refused
from hooks.server.clients.namespace_locks import LockReader, OwnLock
from tests.cluster.admission import KINDS, REGISTRATION, account_options, chart_webhooks, registered
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import AsAccount, ControlPlane
from tests.contract.backend import Manifest
from tests.ports import free_port
from tests.request import jobs
from tests.test_chart import template

NAME = "dynamo-hooks"
ADMISSION = f"{NAME}-admission"
REVIEWS = "authorization.k8s.io/v1"
FORBIDDEN = (
    "/api/v1/namespaces/{namespace}/secrets",
    "/api/v1/namespaces/{namespace}/pods",
    "/apis/nvidia.com/v1alpha1/namespaces/{namespace}/dynamographdeployments/one",
    "/apis/nvidia.com/v1alpha1/namespaces/{namespace}/dynamomodels",
    "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases",
    "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/other",
)
PARTS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
"""Of the chart's objects, and the Secret with the token of admission."""
Install = Callable[..., None]


def is_wanted(found: Manifest) -> bool:
    return found["kind"] in PARTS or (found["kind"], found["metadata"]["name"]) == ("Secret", ADMISSION)


@pytest.fixture
def install(api: ApiClient, admin: ApiClient) -> Iterator[Install]:
    """Gives a function that creates the chart's accounts and rights in the test's namespace, by some values."""
    created: list[Manifest] = []

    def create(*values: str) -> None:
        options = [part for value in values for part in ("--set", value)]
        wanted = [found for found in template("--namespace", api.namespace, *options) if is_wanted(found)]
        created.extend(admin.create(found, strict=True) for found in wanted)

    yield create
    for found in reversed(created):  # the Secret with a token goes with its account
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
    lock.renew()
    lock.renew()
    assert lock.find_claim(api.namespace) is None
    lock.release()
    assert api.get("coordination.k8s.io/v1", "Lease", contract.NAMESPACE_LOCK) is None
    elsewhere = OwnLock(server=lock.server, clock=now, namespace="default", installation="team", process="p")
    with pytest.raises(Refused, match="403"):
        elsewhere.renew()


def test_account_of_the_whole_cluster_reads_leases_everywhere(
    install: Install, as_account: AsAccount, api: ApiClient
) -> None:
    install("settings.namespaceLocks=on")
    reader = LockReader(server=as_account(NAME), clock=now)
    assert reader.find_claim("default") is None
    assert reader.find_claim(api.namespace) is None
    holding = OwnLock(server=reader.server, clock=now, namespace="default", installation="team", process="p")
    with pytest.raises(Refused, match="403"):
        holding.renew()


def test_account_of_admission_does_what_it_asks_and_nothing_else(
    install: Install, plane: ControlPlane, api: ApiClient, tmp_path: Path
) -> None:
    install("admission.enabled=true", "settings.requestNamespaces=any", "settings.namespaceLocks=on")

    def token() -> str:
        secret = api.get("v1", "Secret", ADMISSION) or {}
        return base64.b64decode(secret.get("data", {}).get("token", "")).decode()

    wait_for(lambda: token() != "", "Kubernetes writes the token into the Secret")
    (tmp_path / "token").write_text(token())
    server = ApiServer(url=plane.server, token_file=tmp_path / "token", ca_file=plane.certificate)
    assert LockReader(server=server, clock=now).find_claim("default") is None
    new = jobs.request(deploymentOverrides={"namespace": "kube-system"})
    settings = parse_settings({}, {"request_namespaces": "any"})
    review = Review(new=new, old=None, user=Requester(name="eve"), settings=settings, installed=None)
    (problem,) = find_missing_rights(review, server)
    assert "user eve may not create dynamographdeployments there" in problem.text
    rules = {"kind": "SelfSubjectRulesReview", "apiVersion": REVIEWS, "spec": {"namespace": api.namespace}}
    with server.converse(10) as talk:
        found = talk.ask("POST", f"/apis/{REVIEWS}/selfsubjectrulesreviews", rules).body["status"]["resourceRules"]
        for path in FORBIDDEN:
            with pytest.raises(Refused, match="403"):
                talk.ask("GET", path.format(namespace=api.namespace))
    granted = {(resource, verb) for rule in found for resource in rule["resources"] for verb in rule["verbs"]}
    everybody = {(resource, verb) for resource, verb in granted if resource.startswith("selfsubject")}
    assert granted - everybody == {
        ("dynamographdeployments", "list"),
        ("leases", "get"),
        ("subjectaccessreviews", "create"),
    }


def test_without_locks_the_account_cannot_even_read(install: Install, as_account: AsAccount) -> None:
    install()
    hold = LockReader(server=as_account(NAME), clock=now).find_claim("default")
    assert hold is not None
    assert not hold.is_certain
