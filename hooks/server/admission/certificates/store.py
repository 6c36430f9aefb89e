"""Certificates in a cluster: the Secret that the hooks mount, and the `caBundle` of all webhooks that call them.

These are the webhook configurations of admission, and the conversion webhooks of the CRDs.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from hooks.ground.k8s import kinds
from hooks.server.admission.certificates.authority import Issued
from hooks.server.admission.certificates.bundle import BundleChange, Trust
from hooks.server.clients.api_server import Conversation, ServerAnswer

PARTS = {"certificate": "tls.crt", "key": "tls.key", "authorities": "ca.crt"}
"""Field of `Issued` to its key in a Secret and its file name; cert-manager and upstream use the same names."""

SETTLE = timedelta(hours=1)
"""How long after a change of the Secret a pod may show its former certificate. The kubelet takes up to 90 seconds."""

_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class WrittenMeanwhile(Exception):
    """Another program changed an object between our read and our write; try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A Secret's certificate, with empty texts for missing keys, and the Secret itself; None if it does not exist."""

    issued: Issued
    secret: Mapping[str, Any] | None

    def is_settled(self, now: datetime) -> bool:
        """Whether all pods show this certificate, because the Secret has not been changed for a while.

        False if it does not exist; true if it does not say when it was changed.
        """
        if self.secret is None:
            return False
        metadata = self.secret.get("metadata") or {}
        changes = [e.get("time") for e in metadata.get("managedFields") or () if "f:data" in (e.get("fieldsV1") or {})]
        times = [datetime.fromisoformat(time) for time in (metadata.get("creationTimestamp"), *changes) if time]
        return all(now - time >= SETTLE for time in times)


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
        secret = self.talk.find(self._path, kinds.SECRET)
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

    def publish(self, trust: Trust, *, dry_run: bool = False) -> list[str]:
        """Write these authorities into every webhook, beside its own where they stay; returns what was changed.

        Raises:
            Refused: the API server refuses a request, or does not answer.
            WrittenMeanwhile: another program changed an object since it was read.
        """
        said = [self._publish_to(path, trust, dry_run=dry_run) for path in self.configurations]
        said += [self._publish_to_definition(name, trust, dry_run=dry_run) for name in self.definitions]
        return [sentence for sentence in said if sentence]

    def _publish_to(self, path: str, trust: Trust, *, dry_run: bool) -> str:
        found = self.talk.find(f"{_WEBHOOKS}/{path}")
        if found is None:
            return f"{path} does not exist, so its webhooks do not trust the certificate"
        webhooks = found.get("webhooks") or []
        changes = [trust.replace(_decode(hook["clientConfig"].get("caBundle", ""))) for hook in webhooks]
        trusting = [
            {**hook, "clientConfig": {**hook["clientConfig"], "caBundle": _encode(change.text)}}
            for hook, change in zip(webhooks, changes, strict=True)
        ]
        if trusting == webhooks:
            return ""
        if not dry_run:
            self._patch(f"{_WEBHOOKS}/{path}", found, {"webhooks": trusting})
        return _describe(path, changes, dry_run=dry_run)

    def _publish_to_definition(self, name: str, trust: Trust, *, dry_run: bool) -> str:
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
        change = trust.replace(_decode(client.get("caBundle", "")))
        if client.get("caBundle") == (bundle := _encode(change.text)):
            return ""
        if not dry_run:
            trusting = {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}
            self._patch(f"{_DEFINITIONS}/{name}", found, {"spec": trusting})
        return _describe(path, [change], dry_run=dry_run)

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


def _describe(path: str, changes: Iterable[BundleChange], *, dry_run: bool) -> str:
    """What becomes of an object whose bundles change, as a sentence."""
    changes = list(changes)
    dropped, unreadable = (max(getattr(change, what) for change in changes) for what in ("dropped", "unreadable"))
    if any(change.is_new for change in changes):
        said = [f"{path} would trust the certificate" if dry_run else f"{path} trusts the certificate now"]
    else:
        said = [f"the caBundle of {path} {'would be' if dry_run else 'was'} written again"]
    said += [f"former authorities left out: {dropped}"] if dropped else []
    said += [f"parts of its caBundle that are no certificates: {unreadable}"] if unreadable else []
    return "; ".join(said)


def _expect_no_conflict(answer: ServerAnswer) -> None:
    if answer.status == HTTPStatus.CONFLICT:
        raise WrittenMeanwhile(str(answer.body.get("message", "another program changed it in between")))


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(data: str) -> str:
    """The decoded text, with marks for what is not UTF-8; empty if `data` is not base64."""
    try:
        return base64.b64decode(data, validate=True).decode(errors="replace")
    except binascii.Error:
        return ""
