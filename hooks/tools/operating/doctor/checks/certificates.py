"""The certificate of admission: until when it is valid, for which names, and whether the webhooks trust it."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import assert_never

from hooks.ground import contract
from hooks.ground.k8s.pod_sets import pod_spec_of
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.server.admission.certificates.authority import Inspected, inspect
from hooks.server.admission.certificates.store import find_host
from hooks.tools.operating.doctor.facts import Certificate, CertificateSource, InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning

_SOON = timedelta(days=14)
"""A certificate that is renewed by itself never comes so near to its end."""


def certificate_secrets(hooks: tuple[ReadManifest, ...]) -> list[tuple[str, str]]:
    """Namespace and name of the Secrets that the hooks' pods mount as admission's certificate."""
    return [
        (str(found["metadata"]["namespace"]), str(volume["secret"]["secretName"]))
        for found in hooks
        for volume in pod_spec_of(found).get("volumes") or ()
        if volume.get("name") == "certificate" and volume.get("secret")
    ]


def check_certificates(facts: InstallationFacts) -> list[Finding]:
    """The findings about each certificate of admission."""
    findings: list[Finding] = []
    for place in certificate_secrets(facts.hooks):
        if place in facts.certificates:
            findings.extend(_judge(place, facts.certificates[place], facts))
    return findings


def _judge(place: tuple[str, str], certificate: Certificate, facts: InstallationFacts) -> Iterator[Finding]:
    about, remedy = f"Secret {place[0]}/{place[1]}", _renew(place, certificate)
    inspected = inspect(certificate.text)
    if inspected is None:
        kept = "pods that run keep the one that they have, and no further pod starts"
        yield error(about, f"it holds no certificate for admission: {kept}", remedy)
        return
    problem = _judge_time(about, inspected, facts, remedy)
    if problem is not None:
        yield problem
    untrusting = [*_find_untrusting(place[0], inspected, facts)]
    yield from (error(describe(configuration), text, remedy) for configuration, text in untrusting)
    if problem is None and not untrusting:
        yield ok(about, f"valid until {inspected.until:%Y-%m-%d}, trusted by the webhooks")


def _judge_time(about: str, inspected: Inspected, facts: InstallationFacts, remedy: str) -> Finding | None:
    until = f"{inspected.until:%Y-%m-%d %H:%M} UTC"
    if inspected.until <= facts.now:
        return error(about, f"the certificate expired on {until}, so the API server refuses every write", remedy)
    if inspected.since > facts.now:
        return error(about, f"the certificate is valid only from {inspected.since:%Y-%m-%d %H:%M} UTC", remedy)
    left, whole = inspected.until - facts.now, inspected.until - inspected.since
    if left <= min(_SOON, whole / 4):
        return warning(about, f"the certificate expires on {until}, and nothing has renewed it", remedy)
    return None


def _find_untrusting(
    namespace: str, inspected: Inspected, facts: InstallationFacts
) -> Iterator[tuple[ReadManifest, str]]:
    """Our webhook configurations and CRDs that do not trust the certificate, each with what is wrong."""
    for configuration in facts.webhooks:
        for webhook in configuration.get("webhooks") or ():
            client = webhook.get("clientConfig") or {}
            service = client.get("service") or {}
            path = str(service.get("path") or "")
            if service.get("namespace") != namespace or not path.startswith("/admission/"):
                continue
            problem = _judge_names(client, inspected) or _judge_trust(client, inspected, facts)
            if problem:
                yield configuration, f"{problem}, {_describe_refusal(webhook)}"
                break
    for crd in facts.crds.values():
        client = ((crd["spec"].get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
        if find_host(client) not in inspected.names:
            continue
        problem = _judge_trust(client, inspected, facts)
        if problem:
            yield crd, f"{problem}, so every request for {contract.BETA_VERSION} is refused"


def _judge_names(client: Mapping[str, Json], inspected: Inspected) -> str:
    host = find_host(client)
    return "" if host in inspected.names else f"the certificate is not for {host}"


def _judge_trust(client: Mapping[str, Json], inspected: Inspected, facts: InstallationFacts) -> str:
    bundle = decode_text(str(client.get("caBundle") or ""))
    if not bundle:
        return "it has no caBundle"
    return "" if inspected.is_trusted_by(bundle, facts.now) else "its caBundle does not trust the certificate"


def _describe_refusal(webhook: Mapping[str, Json]) -> str:
    if webhook.get("failurePolicy") == "Ignore":
        return "so nothing is judged, because of failurePolicy Ignore"
    return f"so every write of {contract.GROUP} is refused"


def _renew(place: tuple[str, str], certificate: Certificate) -> str:
    """The command that renews a certificate."""
    namespace, name = place
    kubectl, job = f"kubectl --namespace {namespace}", name.removesuffix("-tls")
    match certificate.source:
        case CertificateSource.CHART:
            return f"{kubectl} create job {job}-now --from=cronjob/{certificate.renewal or f'{job}-renewal'}"
        case CertificateSource.CERT_MANAGER:
            return f"cmctl --namespace {namespace} renew {job}"
        case CertificateSource.OTHER:
            created = f"{kubectl} create secret tls {name} --cert=tls.crt --key=tls.key --dry-run=client --output=yaml"
            return f"{created} | kubectl apply -f -"
        case unknown:
            assert_never(unknown)


def decode_text(data: str) -> str:
    """The decoded text; empty if `data` is not base64 of UTF-8."""
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
