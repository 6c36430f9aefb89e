"""Certificates in a cluster: the Secret that the hooks mount, and the `caBundle` of the webhook configurations."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from hooks.certificates.authority import Issued
from hooks.clients.api_server import Answer, Conversation

PARTS = {"certificate": "tls.crt", "key": "tls.key", "authorities": "ca.crt"}
"""Field of `Issued` to its key in a Secret and its file name; cert-manager and upstream use the same names."""

_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"


class WrittenMeanwhile(Exception):
    """Another program changed an object between our read and our write; try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A Secret's certificate, with empty texts for missing keys, and the Secret itself; None if it does not exist."""

    issued: Issued
    secret: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateStore:
    """A Secret, and the webhook configurations that trust its certificate, as paths such as `mutating…/name`."""

    talk: Conversation
    namespace: str
    name: str
    configurations: tuple[str, ...]

    @classmethod
    def of(
        cls, talk: Conversation, secret: str, *, validating: Iterable[str], mutating: Iterable[str]
    ) -> "CertificateStore":
        """Take `secret` as NAMESPACE/NAME, and the names of webhook configurations of both kinds."""
        namespace, _, name = secret.partition("/")
        paths = [f"validatingwebhookconfigurations/{found}" for found in validating]
        paths += [f"mutatingwebhookconfigurations/{found}" for found in mutating]
        return cls(talk=talk, namespace=namespace, name=name, configurations=tuple(paths))

    def read(self) -> Stored:
        """Read the Secret.

        Raises:
            Refused: the API server refuses the request, or does not answer.
        """
        secret = self.talk.find(self._path)
        data = (secret or {}).get("data") or {}
        parts = {part: _decode(data.get(key, "")) for part, key in PARTS.items()}
        return Stored(issued=Issued(**parts), secret=secret)

    def write(self, stored: Stored, issued: Issued) -> None:
        """Write a certificate into the Secret that was read; its other keys stay.

        Raises:
            Refused: the API server refuses a request, or does not answer.
            WrittenMeanwhile: another program changed the Secret since it was read.
        """
        data = {key: _encode(getattr(issued, part)) for part, key in PARTS.items()}
        if stored.secret is not None:
            whole = {**stored.secret, "data": {**(stored.secret.get("data") or {}), **data}}
            _expect_no_conflict(self.talk.ask("PUT", self._path, whole, also=(HTTPStatus.CONFLICT,)))
            return
        metadata = {
            "name": self.name,
            "namespace": self.namespace,
            "labels": {"app.kubernetes.io/managed-by": "dynamo-hooks-certificates"},
        }
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": data}
        path = f"/api/v1/namespaces/{self.namespace}/secrets"
        _expect_no_conflict(self.talk.ask("POST", path, secret, also=(HTTPStatus.CONFLICT,)))

    def publish(self, authorities: str, *, dry_run: bool = False) -> list[str]:
        """Write these authorities into every webhook configuration; returns a sentence for each one that lacked them.

        Raises:
            Refused: the API server refuses a request, or does not answer.
            WrittenMeanwhile: another program changed a configuration since it was read.
        """
        bundle = _encode(authorities)
        return [said for path in self.configurations if (said := self._publish_to(path, bundle, dry_run=dry_run))]

    def _publish_to(self, path: str, bundle: str, *, dry_run: bool) -> str:
        found = self.talk.find(f"{_WEBHOOKS}/{path}")
        if found is None:
            return f"{path} does not exist, so its webhooks do not trust the certificate"
        webhooks = found.get("webhooks") or []
        trusting = [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": bundle}} for hook in webhooks]
        if trusting == webhooks:
            return ""
        if dry_run:
            return f"{path} would trust the certificate"
        version = found["metadata"]["resourceVersion"]  # a patch with another version is refused
        patch = {"metadata": {"resourceVersion": version}, "webhooks": trusting}
        _expect_no_conflict(self.talk.ask("PATCH", f"{_WEBHOOKS}/{path}", patch, also=(HTTPStatus.CONFLICT,)))
        return f"{path} trusts the certificate now"

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/{self.name}"


def _expect_no_conflict(answer: Answer) -> None:
    if answer.status == HTTPStatus.CONFLICT:
        raise WrittenMeanwhile(str(answer.body.get("message", "another program changed it in between")))


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(data: str) -> str:
    """The decoded text; empty if `data` is not base64 of UTF-8."""
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
