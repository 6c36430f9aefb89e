"""The chart's webhooks on the cluster, aimed at a server of the tests, and `dynamo-hooks certificates` for it."""

import base64
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hooks.server.admission.certificates.authority import Inspected, inspect
from hooks.server.admission.certificates.renewal import Wish, renew_in_cluster
from hooks.server.admission.certificates.store import CertificateStore
from hooks.server.clients.api_server import ApiServer
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ADMIN, ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused, Manifest
from tests.make import with_image
from tests.test_chart import template
from tests.waiting import PATIENCE

REGISTRATION = "admissionregistration.k8s.io/v1"
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
SECRET = "admission-tls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """A Secret with the certificate of 127.0.0.1, its files as a pod would mount them, and who is told to trust it.

    That are the webhook configurations of that name, and the CRDs of these names.
    """

    plane: ControlPlane
    api: ApiClient
    folder: Path
    configurations: str = ""
    definitions: tuple[str, ...] = ()

    def renew(self, *, days: int = 365) -> list[str]:
        """Run the command, mount what is in the Secret then, and give what the command said."""
        said = self.run(days=days)
        self.mount()
        return said

    def run(self, *, days: int = 365) -> list[str]:
        """Run the command and give what it said; the server has its files still."""
        server = self._account()
        command = [
            *(sys.executable, "-m", "hooks", "certificates", "--name", "127.0.0.1", "--days", str(days)),
            *("--secret", f"{self.api.namespace}/{SECRET}"),
            *(("--validating", self.configurations, "--mutating", self.configurations) if self.configurations else ()),
            *(word for name in self.definitions for word in ("--crd", name)),
            *account_options(server),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def run_later(self, by: timedelta) -> list[str]:
        """What the command does and says when some time has passed."""
        names = [self.configurations] if self.configurations else []
        wish = Wish(names=("127.0.0.1",), lifetime=timedelta(days=365), now=datetime.now(UTC) + by)
        with self._account().converse(60) as talk:
            secret = f"{self.api.namespace}/{SECRET}"
            store = CertificateStore.of(talk, secret, validating=names, mutating=names)
            return renew_in_cluster(store.with_definitions(self.definitions, wish.names), wish)

    def lose(self) -> None:
        """Delete the Secret; the server has its files still."""
        self.api.delete("v1", "Secret", SECRET)

    def spoil(self) -> None:
        """Let the certificate be one that must be renewed: the Secret forgets whose it is, the server still has it."""
        self.api.patch("v1", "Secret", SECRET, {"data": {"tls.crt": base64.b64encode(b"none").decode()}})

    def _account(self) -> ApiServer:
        token = self.folder / "token"
        token.write_text(self.plane.tokens[ADMIN])
        return ApiServer(url=self.plane.server, token_file=token, ca_file=self.plane.certificate)

    def mount(self) -> None:
        """A new folder and a link that moves to it, as the kubelet does."""
        secret = self.api.get("v1", "Secret", SECRET)
        assert secret is not None
        fresh = self.folder / f"data-{secret['metadata']['resourceVersion']}"
        fresh.mkdir(exist_ok=True)
        for key, data in secret["data"].items():
            (fresh / key).write_bytes(base64.b64decode(data))
        link = self.folder / "link"
        link.symlink_to(fresh.name)
        link.replace(self.folder / "data")


def account_options(server: ApiServer) -> tuple[str, ...]:
    """The options for a command that acts with this account."""
    return ("--server", server.url, "--token-file", str(server.token_file), "--ca-file", str(server.ca_file))


def admission_server(folder: Path, name: str, port: int, *options: str) -> HttpServer:
    """Admission, not yet started; the certificate is in the folder `data`."""
    url, data = f"https://127.0.0.1:{port}", folder / "data"
    command = [
        *(sys.executable, "-m", "hooks", "serve-admission", f"--bind=127.0.0.1:{port}"),
        *(f"--tls-cert={data / 'tls.crt'}", f"--tls-key={data / 'tls.key'}"),
        *options,
    ]
    return HttpServer(name, command, folder, url=url, health=f"{url}/readyz", trusted=data / "ca.crt")


def shown_by(server: HttpServer) -> Inspected:
    """The certificate that the server shows to a new connection."""
    host, _, port = server.url.removeprefix("https://").partition(":")
    found = inspect(ssl.get_server_certificate((host, int(port))))
    assert found is not None
    return found


def chart_webhooks(name: str, port: int, *values: str) -> list[Manifest]:
    """The chart's two configurations under another name, aimed at the port instead of a Service."""
    options = [part for value in ("admission.enabled=true", *values) for part in ("--set", value)]
    return aim_webhooks(template(*options), name, port)


def aim_webhooks(documents: list[Manifest], name: str, port: int) -> list[Manifest]:
    """The webhook configurations among the documents, under that name, aimed at the port instead of a Service."""
    found = [document for document in documents if document["kind"] in KINDS]
    for document in found:
        document["metadata"] = {"name": name}
        for hook in document["webhooks"]:
            path = hook["clientConfig"].pop("service")["path"]
            hook["clientConfig"]["url"] = f"https://127.0.0.1:{port}{path}"
    return found


@contextmanager
def registered(admin: ApiClient, webhooks: list[Manifest]) -> Iterator[None]:
    """Create the configurations, and delete them at the end."""
    created = [admin.create(document, strict=True) for document in webhooks]
    try:
        yield
    finally:
        for document in created:
            admin.delete(REGISTRATION, document["kind"], document["metadata"]["name"])


def wait_until_judging(api: ApiClient) -> None:
    """Wait until the API server asks the webhooks, which it learns a little later."""
    wait_for(lambda: "denied the request" in refusal(api, ONLY_THE_WEBHOOK_KNOWS), "webhooks are asked")


def refusal(api: ApiClient, obj: Manifest) -> str:
    """Why the API server refuses to create the object; empty where it would."""
    try:
        api.create(obj, dry_run=True)
    except ApiRefused as refused:
        return refused.message
    return ""


def graph(name: str = "g", **service: Any) -> Manifest:
    """A graph of one worker with these fields."""
    worker = with_image({"componentType": "worker", **service})
    return {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": {"name": name}, "spec": {"services": {"Worker": worker}}}


def _name_service(name: str) -> dict[str, Any]:
    """The graph with another name of its worker."""
    found = graph("g" * 9)
    return {**found, "spec": {"services": {name: found["spec"]["services"]["Worker"]}}}


ONLY_THE_WEBHOOK_KNOWS = _name_service("Worker" * 6 + "38")
"""A name that Grove's pods would be too long with: no rule of the CRD says so."""


def create_graph(api: ApiClient) -> str:
    """Why the API server refuses a graph, which it does not store; empty if it does not."""
    return refusal(api, graph())


@dataclass
class Writer:
    """Asks for the same thing again and again until it is told to stop: `ask` gives why it was refused."""

    api: ApiClient
    stop: threading.Event
    ask: Callable[[ApiClient], str]
    answered: int = 0
    refused: list[str] = field(default_factory=list)

    def run(self) -> None:
        while not self.stop.is_set():
            said = self.ask(self.api)
            if said:
                self.refused.append(said)
            self.answered += 1


@contextmanager
def writing(clients: list[ApiClient], ask: Callable[[ApiClient], str] = create_graph) -> Iterator[list[Writer]]:
    """A writer for each client, in the background."""
    stop = threading.Event()
    writers = [Writer(client, stop, ask) for client in clients]
    threads = [threading.Thread(target=writer.run) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield writers
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=PATIENCE)


def wait_for_more(writers: list[Writer], answers: int = 20) -> None:
    """Wait until each has got some more answers."""
    before = [writer.answered for writer in writers]
    wait_for(lambda: all(w.answered >= n + answers for w, n in zip(writers, before, strict=True)), "more answers")
