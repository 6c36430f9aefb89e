"""Requests to a user's cluster: over real TLS, page by page, and with preconditions."""

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import responses
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.server.admission.certificates.authority import Issued, issue
from hooks.server.clients.api_server import Refused
from hooks.tools.operating.cluster import Cluster, open_cluster
from hooks.tools.operating.kubeconfig import Access, Plugin, User

PEM = serialization.Encoding.PEM
URL = "https://192.0.2.1:6443"
GRAPHS = f"{URL}/apis/nvidia.com/v1alpha1"
FOUND = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "g", "namespace": "team", "uid": "u1", "resourceVersion": "7"},
}


@dataclass
class TlsServer:
    """Answers every GET with what it saw: the Authorization header, and whether the caller has a certificate."""

    issued: Issued
    person: tuple[bytes, bytes]
    port: int = 0
    seen: list[tuple[str, bool]] = field(default_factory=list)

    @contextmanager
    def running(self, folder: Path) -> Iterator["TlsServer"]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (folder / "tls.crt").write_text(self.issued.certificate)
        (folder / "tls.key").write_text(self.issued.key)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=self.person[0].decode())
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.socket = context.wrap_socket(server.socket, server_side=True)
        self.port = server.server_port
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield self
        server.shutdown()
        thread.join()
        server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                assert isinstance(self.connection, ssl.SSLSocket)
                seen.append((self.headers.get("Authorization", ""), bool(self.connection.getpeercert())))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
                pass

        return Handler


def sign_own_certificate() -> tuple[bytes, bytes]:
    """A client's certificate, which is its own authority, and its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = (
        builder.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    )
    signed = builder.sign(key, hashes.SHA256())
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return signed.public_bytes(PEM), key.private_bytes(PEM, form, plain)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TlsServer]:
    issued = issue(["api.example"], datetime.now(UTC), timedelta(days=1))
    with TlsServer(issued, sign_own_certificate()).running(tmp_path) as started:
        yield started


def access(server: TlsServer, **fields: Any) -> Access:
    trusted = {"authorities": server.issued.authorities.encode(), "server_name": "api.example"}
    return Access(url=f"https://127.0.0.1:{server.port}", **{**trusted, **fields})


def ask(wanted: Access) -> None:
    with open_cluster(wanted, 5) as cluster:
        assert cluster.read("/version") == {}


def test_certificate_of_another_name_is_refused(server: TlsServer) -> None:
    with pytest.raises(Refused, match=r"127\.0\.0\.1"):
        ask(access(server, server_name=""))
    ask(access(server))
    ask(access(server, server_name="", insecure=True))


def test_unknown_authority_is_refused(server: TlsServer) -> None:
    with pytest.raises(Refused, match="CERTIFICATE_VERIFY_FAILED"):
        ask(access(server, authorities=None))


def test_certificate_and_token_reach_the_server(server: TlsServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("fresh\n")
    script = 'printf \'{"apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "printed"}}\''
    plugin = Plugin(api_version="client.authentication.k8s.io/v1", command="/bin/sh", arguments=("-c", script))
    person = User(certificate=server.person[0], key=server.person[1])
    for user in (User(token="old", token_file=token), User(token="plain"), User(plugin=plugin), person):
        ask(access(server, user=user))
    assert server.seen == [("Bearer fresh", False), ("Bearer plain", False), ("Bearer printed", False), ("", True)]


@pytest.mark.parametrize("token", ["hunter2\nhunter2", "hunter2\u00e9"])
def test_token_that_no_header_carries_is_refused_without_showing_it(
    server: TlsServer, tmp_path: Path, token: str
) -> None:
    (tmp_path / "token").write_text(token)
    for user in (User(token_file=tmp_path / "token"), User(token=token)):
        with pytest.raises(Refused, match="a character that no header can carry") as refused:
            ask(access(server, user=user))
        assert "hunter2" not in str(refused.value)
    assert server.seen == []


def test_plugin_is_asked_again_once_its_token_expires(server: TlsServer, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    status = '"status": {"token": "t", "expirationTimestamp": "2020-01-01T00:00:00Z"}'
    script = f'echo run >> {runs}; printf \'{{"apiVersion": "client.authentication.k8s.io/v1", {status}}}\''
    plugin = Plugin(api_version="client.authentication.k8s.io/v1", command="/bin/sh", arguments=("-c", script))
    with open_cluster(access(server, user=User(plugin=plugin)), 5) as cluster:
        cluster.read("/version")
    assert runs.read_text().split() == ["run", "run"]


@contextmanager
def played() -> Iterator[tuple[responses.RequestsMock, Cluster]]:
    with responses.RequestsMock() as mock, open_cluster(Access(url=URL, user=User(token="t")), 5) as cluster:
        yield mock, cluster


def body_of(mock: responses.RequestsMock) -> Any:
    return json.loads(mock.calls[-1].request.body or "null")


def test_lists_are_read_page_by_page_and_name_the_kind() -> None:
    with played() as (mock, cluster):
        first = {"items": [{"metadata": {"name": "a"}}], "metadata": {"continue": "next"}}
        selector = {"limit": 500, "labelSelector": "x=y"}
        mock.get(
            f"{URL}/api/v1/namespaces/team/services",
            json=first,
            match=[responses.matchers.query_param_matcher(selector)],
        )
        more = responses.matchers.query_param_matcher({**selector, "continue": "next"})
        mock.get(f"{URL}/api/v1/namespaces/team/services", json={"items": [{"metadata": {"name": "b"}}]}, match=[more])
        found = list(cluster.read_all(kinds.SERVICE, "team", labelSelector="x=y"))
    assert [(item["kind"], item["apiVersion"], item["metadata"]["name"]) for item in found] == [
        ("Service", "v1", "a"),
        ("Service", "v1", "b"),
    ]


def test_forgotten_list_is_read_anew() -> None:
    with played() as (mock, cluster):
        path = f"{GRAPHS}/dynamographdeployments"
        mock.get(path, json={"items": [{"metadata": {"name": "a"}}], "metadata": {"continue": "next"}})
        mock.get(path, json={"message": "too old"}, status=410)
        mock.get(path, json={"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]})
        found = cluster.read_all(contract.GRAPH)
        assert [item["metadata"]["name"] for item in found] == ["a", "a", "b"]


def test_missing_object_or_kind_is_none() -> None:
    with played() as (mock, cluster):
        mock.get(f"{GRAPHS}/namespaces/team/dynamographdeployments/g", json={}, status=404)
        mock.get(f"{GRAPHS}/dynamographdeployments", json={}, status=404)
        assert cluster.find(contract.GRAPH, "g", "team") is None
        assert list(cluster.read_all(contract.GRAPH)) == []


def test_refusal_has_the_servers_words_and_status() -> None:
    with played() as (mock, cluster):
        mock.get(f"{URL}/version", json={"message": "you may not"}, status=403)
        with pytest.raises(Refused, match="GET /version: 403 you may not") as caught:
            cluster.read("/version")
    assert caught.value.status == 403


@pytest.mark.parametrize(
    ("act", "method", "path", "body"),
    [
        (
            lambda cluster: cluster.patch(FOUND, {"metadata": {"finalizers": None}}),
            "PATCH",
            "",
            {"metadata": {"uid": "u1", "resourceVersion": "7", "finalizers": None}},
        ),
        (
            lambda cluster: cluster.patch(
                {**FOUND, "metadata": {"name": "g", "namespace": "team"}}, {"spec": {}}, "status"
            ),
            "PATCH",
            "/status",
            {"metadata": {}, "spec": {}},
        ),
        (lambda cluster: cluster.replace(FOUND), "PUT", "", FOUND),
        (
            lambda cluster: cluster.delete(FOUND, "Orphan"),
            "DELETE",
            "",
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "propagationPolicy": "Orphan",
                "preconditions": {"uid": "u1"},
            },
        ),
    ],
    ids=["patch", "patch of status", "replace", "delete"],
)
def test_writes_carry_what_was_read(act: Callable[[Cluster], Any], method: str, path: str, body: Any) -> None:
    with played() as (mock, cluster):
        mock.add(method, f"{GRAPHS}/namespaces/team/dynamographdeployments/g{path}", json={})
        act(cluster)
        assert body_of(mock) == body
        assert mock.calls[-1].request.headers["Authorization"] == "Bearer t"


def test_deletion_of_what_is_gone_succeeds_and_creation_posts_to_the_collection() -> None:
    with played() as (mock, cluster):
        mock.delete(f"{GRAPHS}/namespaces/team/dynamographdeployments/g", json={}, status=404)
        mock.post(f"{GRAPHS}/namespaces/team/dynamographdeployments", json=FOUND, status=201)
        cluster.delete(FOUND)
        assert cluster.create(FOUND, dryRun="All") == FOUND
        assert str(mock.calls[-1].request.url).endswith("?dryRun=All")
