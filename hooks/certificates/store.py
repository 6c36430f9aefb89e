"""Certificates in a cluster: the Secret that the hooks mount, and the `caBundle` of all webhooks that call them.

These are the webhook configurations of admission, and the conversion webhooks of the CRDs.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from hooks.certificates.authority import Issued
from hooks.clients.api_server import Answer, Conversation

PARTS = {"certificate": "tls.crt", "key": "tls.key", "authorities": "ca.crt"}
"""Field of `Issued` to its key in a Secret and its file name; cert-manager and upstream use the same names."""

_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class WrittenMeanwhile(Exception):
    """Another program changed an object between our read and our write; try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A Secret's certificate, with empty texts for missing keys, and the Secret itself; None if it does not exist."""

    issued: Issued
    secret: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateStore:
    """A Secret, and what trusts its certificate.

    `configurations` are webhook configurations, as paths such as `mutating…/name`. `definitions` are the names of CRDs;
    their conversion webhook trusts the certificate if it calls one of its `hosts`.
    """

    talk: Conversation
    namespace: str
    name: str
    configurations: tuple[str, ...]
    definitions: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, talk: Conversation, secret: str, *, validating: Iterable[str], mutating: Iterable[str]
    ) -> "CertificateStore":
        """Take `secret` as NAMESPACE/NAME, and the names of webhook configurations of both kinds."""
        namespace, _, name = secret.partition("/")
        paths = [f"validatingwebhookconfigurations/{found}" for found in validating]
        paths += [f"mutatingwebhookconfigurations/{found}" for found in mutating]
        return cls(talk=talk, namespace=namespace, name=name, configurations=tuple(paths))

    def with_definitions(self, definitions: Iterable[str], hosts: Iterable[str]) -> "CertificateStore":
        """The store whose certificate, of these hosts, CRDs trust too."""
        return replace(self, definitions=tuple(definitions), hosts=frozenset(hosts))

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
        """Write these authorities into every webhook; returns a sentence for each object that lacked them.

        Raises:
            Refused: the API server refuses a request, or does not answer.
            WrittenMeanwhile: another program changed an object since it was read.
        """
        bundle = _encode(authorities)
        said = [self._publish_to(path, bundle, dry_run=dry_run) for path in self.configurations]
        said += [self._publish_to_definition(name, bundle, dry_run=dry_run) for name in self.definitions]
        return [sentence for sentence in said if sentence]

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
        self._patch(f"{_WEBHOOKS}/{path}", found, {"webhooks": trusting})
        return f"{path} trusts the certificate now"

    def _publish_to_definition(self, name: str, bundle: str, *, dry_run: bool) -> str:
        path, found = f"customresourcedefinitions/{name}", self.talk.find(f"{_DEFINITIONS}/{name}")
        if found is None:
            return f"{path} does not exist, so its conversion webhook does not trust the certificate"
        conversion = found["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return f"{path} has no conversion webhook, so nothing in it trusts the certificate"
        client = conversion["webhook"].get("clientConfig") or {}
        host = find_host(client)
        if host not in self.hosts:
            return f"{path} is converted by {host}, which is no name of the certificate; it was left alone"
        if client.get("caBundle") == bundle:
            return ""
        if dry_run:
            return f"{path} would trust the certificate"
        self._patch(
            f"{_DEFINITIONS}/{name}",
            found,
            {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}},
        )
        return f"{path} trusts the certificate now"

    def _patch(self, path: str, found: Mapping[str, Any], change: Mapping[str, Any]) -> None:
        """Change an object, unless it was changed since it was read: a patch with another version is refused."""
        patch = {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, **change}
        _expect_no_conflict(self.talk.ask("PATCH", path, patch, also=(HTTPStatus.CONFLICT,)))

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/{self.name}"


def find_host(client: Mapping[str, Any]) -> str:
    """The host that a webhook's `clientConfig` names, as the certificate of its server must name it."""
    if service := client.get("service"):
        return f"{service.get('name')}.{service.get('namespace')}.svc"
    return urlsplit(str(client.get("url", ""))).hostname or ""


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
