"""`dynamo-hooks mpi-key`: makes the SSH key of multinode TensorRT-LLM, once; the chart's Job runs it."""

import base64
import sys
from collections.abc import Callable
from http import HTTPStatus

import click
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from hooks.component.spec.mpi_key import KEYS
from hooks.server.clients.api_server import ApiServer, Conversation, Refused
from hooks.server.commands.account_options import account_options
from hooks.server.commands.certificates import parse_secret

_SECONDS = 60.0
_BITS = 3072


def issue_key() -> dict[str, str]:
    """A new key: the names of KEYS to the private key as OpenSSH writes it, and to the line of the public key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=_BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return dict(zip(KEYS, (private.decode(), public.decode() + "\n"), strict=True))


def keep_key(talk: Conversation, secret: str) -> str:
    """Create the Secret NAMESPACE/NAME unless it exists; returns what was done, as a sentence.

    Raises:
        Refused: the API server refuses, or the Secret exists and lacks a key.
    """
    namespace, _, name = secret.partition("/")
    path = f"/api/v1/namespaces/{namespace}/secrets"
    found = talk.find(f"{path}/{name}")
    if found is None:
        metadata = {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/managed-by": "dynamo-hooks"}}
        data = {key: base64.b64encode(text.encode()).decode() for key, text in issue_key().items()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
        answer = talk.ask("POST", path, body, also=(HTTPStatus.CONFLICT,))
        if answer.status != HTTPStatus.CONFLICT:
            return f"the Secret {secret} was created with a new key"
        found = talk.find(f"{path}/{name}") or {}
    if missing := [key for key in KEYS if key not in (found.get("data") or {})]:
        raise Refused(
            f"the Secret {secret} exists, but has no {' and no '.join(missing)}; add it, or delete the Secret"
        )
    return f"the Secret {secret} has a key already; nothing was done"


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks mpi-key --secret dynamo-system/mpi-run-ssh-secret
  dynamo-hooks mpi-key --secret team/ssh --server https://10.0.0.1:6443 --token-file token --ca-file ca.crt"""
)
@click.option("--secret", required=True, metavar="NAMESPACE/NAME", callback=parse_secret, help="The Secret to create.")
@account_options
def mpi_key(*, secret: str, find_server: Callable[[], ApiServer]) -> None:
    """Create the Secret with the SSH key of multinode TensorRT-LLM, unless it exists.

    Its keys are private.key and private.key.pub. Name it in the setting `mpi_secret`; the hooks copy it into the
    namespaces of graphs that need it. An existing key is never changed.
    """
    try:
        with find_server().converse(_SECONDS) as talk:
            click.echo(keep_key(talk, secret))
    except Refused as error:
        click.echo(str(error), err=True)
        sys.exit(1)
