"""Where certificates live in a cluster: a Secret that the hooks mount, and the authorities that the webhooks trust."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hooks.api_server import JSON_PATCH, ApiServer
from hooks.cli.authority import Issued

PARTS = {"certificate": "tls.crt", "key": "tls.key", "authorities": "ca.crt"}
"""Part of an `Issued` to its key in a Secret, or its file's name; cert-manager and the operator use the same."""

_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A Secret's certificate, parts that are missing empty, and the object itself, None where there is none."""

    issued: Issued
    secret: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateStore:
    """A Secret, and the webhook configurations that trust what is in it, as paths such as `mutating…/name`."""

    server: ApiServer
    namespace: str
    name: str
    configurations: tuple[str, ...]

    @classmethod
    def of(
        cls, server: ApiServer, secret: str, *, validating: Iterable[str], mutating: Iterable[str]
    ) -> "CertificateStore":
        """Take `secret` as NAMESPACE/NAME, and the names of configurations of both sorts."""
        namespace, _, name = secret.partition("/")
        paths = [f"validatingwebhookconfigurations/{found}" for found in validating]
        paths += [f"mutatingwebhookconfigurations/{found}" for found in mutating]
        return cls(server=server, namespace=namespace, name=name, configurations=tuple(paths))

    def read(self) -> Stored:
        """The Secret as it is.

        Raises:
            ApiServerError: it is not told.
        """
        secret = self.server.get(self._path)
        data = (secret or {}).get("data") or {}
        parts = {part: _decode(data.get(key, "")) for part, key in PARTS.items()}
        return Stored(issued=Issued(**parts), secret=secret)

    def write(self, stored: Stored, issued: Issued) -> None:
        """Put a certificate into the Secret that was read; other keys of it stay.

        Raises:
            ApiServerError: it is refused, with 409 when somebody else wrote the Secret since.
        """
        data = {key: _encode(getattr(issued, part)) for part, key in PARTS.items()}
        if stored.secret is not None:
            whole = {**stored.secret, "data": {**(stored.secret.get("data") or {}), **data}}
            self.server.ask("PUT", self._path, whole)
            return
        metadata = {
            "name": self.name,
            "namespace": self.namespace,
            "labels": {"app.kubernetes.io/managed-by": "dynamo-hooks-certificates"},
        }
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": data}
        self.server.ask("POST", f"/api/v1/namespaces/{self.namespace}/secrets", secret)

    def publish(self, authorities: str, *, dry_run: bool = False) -> list[str]:
        """Let every webhook trust these authorities; returns a sentence for each configuration that does not yet.

        Raises:
            ApiServerError: it is refused, with 422 when somebody else wrote a configuration meanwhile.
        """
        bundle = _encode(authorities)
        return [said for path in self.configurations if (said := self._publish_to(path, bundle, dry_run=dry_run))]

    def _publish_to(self, path: str, bundle: str, *, dry_run: bool) -> str:
        found = self.server.get(f"{_WEBHOOKS}/{path}")
        if found is None:
            return f"{path} does not exist, so nothing trusts the certificate there"
        webhooks = found.get("webhooks") or []
        outdated = [n for n, hook in enumerate(webhooks) if hook["clientConfig"].get("caBundle") != bundle]
        if not outdated:
            return ""
        if dry_run:
            return f"{path} would be told to trust the certificate"
        patch: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}
        ]
        patch += [{"op": "add", "path": f"/webhooks/{n}/clientConfig/caBundle", "value": bundle} for n in outdated]
        self.server.ask("PATCH", f"{_WEBHOOKS}/{path}", patch, content_type=JSON_PATCH)
        return f"{path} trusts the certificate now"

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/{self.name}"


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(data: str) -> str:
    """The text; empty where it is none."""
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
