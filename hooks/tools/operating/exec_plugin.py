"""Runs the command that a kubeconfig names for a credential, as of `aws`, `gke-gcloud-auth-plugin` or `kubelogin`.

Source: Kubernetes, "Authenticating", client-go credential plugins; client.authentication.k8s.io/v1.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hooks.tools.operating.kubeconfig import InvalidKubeconfig, Plugin

PLUGIN_SECONDS = 120.0
"""How long a plugin may take; some wait for a person at a browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What a plugin printed: a token, or a certificate with its key, and until when they are valid, if it says so."""

    token: str = field(default="", repr=False)
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)
    expires: datetime | None = None


def run_plugin(plugin: Plugin) -> Credential:
    """Run the command and read its answer; its standard error is shown to the user.

    Raises:
        InvalidKubeconfig: it does not start, fails, takes too long, or prints something else than a credential.
    """
    may_ask = plugin.interactive != "Never" and sys.stdin is not None and sys.stdin.isatty()
    if plugin.interactive == "Always" and not may_ask:
        raise InvalidKubeconfig(f"the exec plugin {plugin.command} asks questions, but this is no terminal")
    spec: dict[str, Any] = {"interactive": may_ask} | ({"cluster": plugin.cluster} if plugin.cluster else {})
    question = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    environment = {**os.environ, **plugin.environment, "KUBERNETES_EXEC_INFO": json.dumps(question)}
    try:
        done = subprocess.run(  # noqa: S603 - the command of the user's own kubeconfig, as kubectl runs it
            [plugin.command, *plugin.arguments],
            stdin=None if may_ask else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=environment,
            timeout=PLUGIN_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        hint = f"; {plugin.install_hint}" if plugin.install_hint else ""
        raise InvalidKubeconfig(f"the exec plugin {plugin.command} did not answer: {error}{hint}") from error
    if done.returncode != 0:
        raise InvalidKubeconfig(f"the exec plugin {plugin.command} failed with exit status {done.returncode}")
    return _read_credential(plugin, done.stdout)


def _read_credential(plugin: Plugin, output: bytes) -> Credential:
    try:
        answer = json.loads(output)
        status: Mapping[str, Any] = answer["status"]
        if answer["apiVersion"] != plugin.api_version:
            raise InvalidKubeconfig(
                f"the exec plugin {plugin.command} answered as {answer['apiVersion']}, not as {plugin.api_version}"
            )
        expires = status.get("expirationTimestamp")
        credential = Credential(
            token=str(status.get("token") or ""),
            certificate=str(status["clientCertificateData"]).encode() if status.get("clientCertificateData") else None,
            key=str(status["clientKeyData"]).encode() if status.get("clientKeyData") else None,
            expires=_read_time(expires) if expires else None,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidKubeconfig(f"the exec plugin {plugin.command} printed no ExecCredential with a status") from error
    if not credential.token and (credential.certificate is None or credential.key is None):
        raise InvalidKubeconfig(f"the exec plugin {plugin.command} gave neither a token nor a certificate with its key")
    return credential


def _read_time(text: str) -> datetime:
    """The time of an RFC 3339 text; one without a zone is UTC."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
