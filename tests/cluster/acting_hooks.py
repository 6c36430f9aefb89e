"""The hooks in a thread of the test, with effects carried out on the control plane under the hooks' own account."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import yaml
from werkzeug.serving import make_server

from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.effects import EffectsClient
from hooks.server.routes import served_hooks
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import HOOKS_ACCOUNT, READING_ACCOUNT, ControlPlane
from tests.cluster.dynamo import ROOT

_ROLE, _READS = "dynamo-hooks-effects", "dynamo-hooks-reads"


def effects_client(plane: ControlPlane, folder: Path, **settings: str) -> EffectsClient:
    """The client that a hooks pod would have: with the account's token from a file."""
    token = folder / "token"
    token.write_text(plane.tokens[HOOKS_ACCOUNT])
    server = ApiServer(url=plane.server, token_file=token, ca_file=plane.certificate)
    return EffectsClient(server=server, settings=parse_settings({}, settings))


@contextmanager
def granted_effects(admin: ApiClient) -> Iterator[None]:
    """Let the hooks' account do what the plain manifests let it do, and nothing else."""
    documents = yaml.safe_load_all((ROOT / "metacontroller" / "rbac.yaml").read_text())
    granted = [document for document in documents if document["metadata"]["name"] in {_ROLE, _READS}]
    for document in granted:
        admin.create(document, strict=True)
    for binding in (document for document in granted if document["kind"] == "ClusterRoleBinding"):
        (subject,) = binding["subjects"]
        assert f"system:serviceaccount:{subject['namespace']}:{subject['name']}" == HOOKS_ACCOUNT
    try:
        yield
    finally:
        for document in granted:
            admin.delete(document["apiVersion"], document["kind"], document["metadata"]["name"])


def grant_reads(admin: ApiClient) -> None:
    """Let the reading account read what the plain manifests let the hooks read, as long as the control plane runs.

    It also gets the right to write graphs, by which these are synced when their frontends say something else.
    """
    *_, namespace, name = READING_ACCOUNT.split(":")
    subject = {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    graphs = {"apiGroups": ["nvidia.com"], "resources": ["dynamographdeployments"], "verbs": ["patch"]}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "test-pushed-graphs"}}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "test-pushed-graphs"}
    admin.create({**rbac, "kind": "ClusterRole", "rules": [graphs]}, strict=True)
    admin.create({**rbac, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]}, strict=True)
    for document in yaml.safe_load_all((ROOT / "metacontroller" / "rbac.yaml").read_text()):
        if document["metadata"]["name"] == _READS:
            renamed = {**document, "metadata": {"name": f"test-{_READS}"}}
            if "roleRef" in document:
                renamed |= {"roleRef": {**document["roleRef"], "name": f"test-{_READS}"}, "subjects": [subject]}
            admin.create(renamed, strict=True)


@contextmanager
def acting_hooks(client: EffectsClient, port: int = 0, /, **settings: str) -> Iterator[str]:
    """Serve the hooks, on that port or a free one, and give their URL."""
    parsed = parse_settings({}, settings)
    hooks = served_hooks(parsed, server=client.server)
    app = create_app(parsed, lambda: datetime.now(UTC), carry_out=client, hooks=hooks)
    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
