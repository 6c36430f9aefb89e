"""What is read from an API server, what is left out, and how the command ends."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import responses
from click.testing import CliRunner, Result
from requests import PreparedRequest

from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.server.clients.api_server import Refused, collection_path
from hooks.tools.cli.doctor import doctor
from hooks.tools.operating.cluster import open_cluster
from hooks.tools.operating.doctor.facts import Certificate, CertificateSource, InstallationFacts, ReachedService
from hooks.tools.operating.doctor.reading import read_facts
from hooks.tools.operating.kubeconfig import Access, User
from hooks.wire.metacontroller import install_files
from tests.tools.operating.doctor.parts import (
    NAMESPACE,
    NOW,
    controller_crds,
    controllers,
    graph,
    hooks,
    metacontroller,
)

URL = "https://192.0.2.1:6443"
SERVICE = f"/api/v1/namespaces/{NAMESPACE}/services"
PROXY = f"{SERVICE}/http:dynamo-hooks:80/proxy/readyz"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
CRON_JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/cronjobs"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/dynamo-hooks-admission-tls"

Answer = tuple[int, Any]


class Server:
    """Answers by path (404 otherwise); grants a right if `grants` says so about its attributes."""

    def __init__(self, *objects: Manifest) -> None:
        self.answers: dict[str, Answer] = {"/version": (200, {"gitVersion": "v1.31.0"})}
        self.reviews: list[dict[str, Any]] = []
        self.everything: frozenset[str] = frozenset()
        for found in objects:
            path = collection_path(gvk_of(found))
            items = self.answers.get(path, (200, {"items": []}))[1]["items"]
            self.answers[path] = (200, {"items": [*items, found]})

    def answer(self, request: PreparedRequest) -> tuple[int, dict[str, str], str]:
        path = urlsplit(str(request.url)).path
        if path.endswith("accessreviews"):
            status, body = self._review(path, json.loads(request.body or "{}"))
        else:
            status, body = self.answers.get(path, (404, {"message": "not found"}))
        return status, {"Content-Type": "application/json"}, json.dumps(body)

    def _review(self, path: str, body: dict[str, Any]) -> Answer:
        if path in self.answers:
            return self.answers[path]
        self.reviews.append(body)
        wanted = body["spec"]["resourceAttributes"]["resource"] != "*" or body["spec"]["user"] in self.everything
        return 201, {"status": {"allowed": wanted}}

    @contextmanager
    def running(self) -> Iterator[None]:
        with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
            for method in ("GET", "POST"):
                mock.add_callback(method, re.compile(f"{re.escape(URL)}/.*"), callback=self.answer)
            yield

    def read(self, namespace: str = "") -> InstallationFacts:
        with self.running(), open_cluster(Access(url=URL, user=User(token="t")), 5) as cluster:
            return read_facts(cluster, NOW, namespace)


def crd(found: Manifest) -> Manifest:
    return {"apiVersion": "apiextensions.k8s.io/v1", **found}


def installed() -> Server:
    crds = [crd(found) for found in (*install_files.crds(), *controller_crds().values())]
    server = Server(*crds, *controllers(), metacontroller(), hooks(), graph())
    server.answers[f"{SERVICE}/dynamo-hooks"] = (200, {"metadata": {"name": "dynamo-hooks"}})
    endpoints = [{"conditions": {"ready": True}}, {"conditions": {"ready": False}}, {"conditions": {}}]
    server.answers[SLICES] = (200, {"items": [{"metadata": {"name": "a"}, "endpoints": endpoints}]})
    server.answers[PROXY] = (200, {})
    return server


def test_everything_is_read() -> None:
    facts = installed().read()
    assert facts.kubernetes == "v1.31.0"
    assert len(facts.crds) == 8
    assert len(facts.own_controllers) == 5
    assert [found["metadata"]["name"] for found in facts.workloads] == ["dynamo-hooks", "metacontroller"]
    assert facts.backends == {(NAMESPACE, "dynamo-hooks"): ReachedService(exists=True, ready=2, status=200)}
    assert [parent["metadata"]["name"] for parent in facts.parents] == ["g"]
    assert facts.unread == {}


@pytest.mark.parametrize(
    ("path", "answer", "backend"),
    [
        (f"{SERVICE}/dynamo-hooks", (404, {}), ReachedService(exists=False)),
        (SLICES, (200, {"items": []}), ReachedService(exists=True)),
        (
            PROXY,
            (403, {"message": "no"}),
            ReachedService(exists=True, ready=2, status=403, said=f"GET {PROXY}: 403 no"),
        ),
        (
            PROXY,
            (503, {"message": "off"}),
            ReachedService(exists=True, ready=2, status=503, said=f"GET {PROXY}: 503 off"),
        ),
    ],
)
def test_service_is_asked_through_the_api_server(path: str, answer: Answer, backend: ReachedService) -> None:
    server = installed()
    server.answers[path] = answer
    assert server.read().backends == {(NAMESPACE, "dynamo-hooks"): backend}


def test_parents_are_kept_small() -> None:
    fields = [{"time": "2026-01-01T00:00:00Z", "fieldsV1": {}}, {"time": "x", "subresource": "status"}]
    server = Server({**graph(managedFields=fields), "spec": {"services": {}}})
    (parent,) = server.read().parents
    assert "spec" not in parent
    assert parent["metadata"]["managedFields"] == [
        {"time": "2026-01-01T00:00:00Z"},
        {"time": "x", "subresource": "status"},
    ]


def test_account_that_may_do_everything_is_asked_about_once() -> None:
    server = installed()
    account = "system:serviceaccount:metacontroller:metacontroller"
    server.everything = frozenset({account})
    facts = server.read()
    assert [right.verb for right in facts.rights if right.user == account] == ["*"]
    asked = [review["spec"] for review in server.reviews if review["spec"].get("user") == account]
    assert len(asked) == 1
    assert "system:serviceaccounts:metacontroller" in asked[0]["groups"]
    assert len([right for right in facts.rights if right.holder == "the hooks"]) == 30


def test_secret_shows_who_renews_the_certificate_and_its_key_is_not_kept() -> None:
    server = installed()
    data = {"tls.crt": "Y2VydA==", "tls.key": "a2V5"}
    for metadata, source in (
        ({"labels": {"app.kubernetes.io/managed-by": "dynamo-hooks-certificates"}}, CertificateSource.CHART),
        ({"annotations": {"cert-manager.io/certificate-name": "x"}}, CertificateSource.CERT_MANAGER),
        ({}, CertificateSource.OTHER),
    ):
        server.answers[SECRET] = (200, {"metadata": {"name": "tls", **metadata}, "data": data})
        (found,) = server.read().certificates.values()
        assert (found.text, found.source) == ("cert", source)
    del server.answers[SECRET]
    assert list(server.read().certificates.values()) == [Certificate(text="", source=CertificateSource.OTHER)]


@pytest.mark.parametrize("data", [None, {"tls.crt": "Y2VydA=="}], ids=["deleted", "made by hand"])
def test_cron_job_shows_that_the_chart_renews_the_certificate(data: dict[str, str] | None) -> None:
    server = installed()
    if data is not None:
        server.answers[SECRET] = (200, {"metadata": {"name": "tls"}, "data": data})
    jobs = [
        cron_job("other", "certificates", "--secret", f"{NAMESPACE}/other"),
        cron_job("backup", "copy", "--secret", f"{NAMESPACE}/dynamo-hooks-admission-tls"),
        cron_job("mine", "certificates", "--name", "x", "--secret", f"{NAMESPACE}/dynamo-hooks-admission-tls"),
    ]
    server.answers[CRON_JOBS] = (200, {"items": jobs})
    (found,) = server.read().certificates.values()
    assert (found.source, found.renewal) == (CertificateSource.CHART, "mine")


def cron_job(name: str, *arguments: str) -> dict[str, Any]:
    pod = {"containers": [{"name": "main", "args": list(arguments)}]}
    return {"metadata": {"name": name}, "spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}}


def test_what_is_forbidden_is_noted() -> None:
    server = installed()
    server.answers["/apis/apps/v1/statefulsets"] = (403, {"message": "you may not"})
    server.answers[REVIEWS] = (403, {"message": "you may not"})
    facts = server.read()
    assert facts.unread == {
        "statefulsets": "GET /apis/apps/v1/statefulsets: 403 you may not",
        "subjectaccessreviews": f"POST {REVIEWS}: 403 you may not",
    }
    assert {right.holder for right in facts.rights} == {"you"}


def test_any_other_failure_ends_the_reading() -> None:
    server = installed()
    server.answers["/apis/apps/v1/deployments"] = (500, {"message": "broken"})
    with pytest.raises(Refused, match="500 broken"):
        server.read()


def test_namespace_restricts_the_search_for_the_hooks() -> None:
    assert installed().read("elsewhere").hooks == ()
    assert len(installed().read(NAMESPACE).hooks) == 1


def call(server: Server, folder: Path, *options: str) -> Result:
    (folder / "token").write_text("t")
    (folder / "ca.crt").write_text("")
    files = ("--token-file", str(folder / "token"), "--ca-file", str(folder / "ca.crt"))
    with server.running():
        return CliRunner().invoke(doctor, ["--server", URL, *files, *options])


def test_command_ends_with_1_if_something_does_not_work(tmp_path: Path) -> None:
    result = call(Server(), tmp_path)
    assert result.exit_code == 1
    assert result.output.startswith("The hooks are not installed.")
    rows = json.loads(call(Server(), tmp_path, "-o", "json").output)
    assert [row["check"] for row in rows if row["level"] == "error"] == [
        "metacontroller",
        "crds",
    ]


def test_command_ends_with_0_if_all_is_good(tmp_path: Path) -> None:
    server = installed()
    server.answers[SECRET] = (403, {"message": "you may not"})
    result = call(server, tmp_path)
    assert (result.exit_code, "0 errors, 1 warning," in result.output) == (0, True)


def test_api_server_that_fails_is_one_line(tmp_path: Path) -> None:
    server = Server()
    server.answers["/version"] = (500, {"message": "broken"})
    result = call(server, tmp_path)
    assert (result.exit_code, result.output) == (1, "GET /version: 500 broken\n")


def test_namespace_must_be_one(tmp_path: Path) -> None:
    assert call(Server(), tmp_path, "-n", "a/b").exit_code == 2
