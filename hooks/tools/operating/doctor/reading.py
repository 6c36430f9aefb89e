"""Reads the facts from the API server; changes nothing. What the user may not read is noted, not fatal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.endpoint_slices import SERVICE_NAME
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Json,
    ReadManifest,
    annotations_of,
    controller_of,
    labels_of,
    plural_of,
)
from hooks.server.clients.api_server import Refused
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.doctor.checks.certificates import certificate_secrets, decode_text
from hooks.tools.operating.doctor.checks.crds import NAMES
from hooks.tools.operating.doctor.checks.metacontroller import CONTROLLER_CRDS
from hooks.tools.operating.doctor.checks.reach import find_services
from hooks.tools.operating.doctor.checks.statuses import COUNTS
from hooks.tools.operating.doctor.facts import (
    Certificate,
    CertificateSource,
    Counted,
    InstallationFacts,
    ReachedService,
    containers_of,
    is_hooks,
    is_metacontroller,
    status_written,
)
from hooks.tools.operating.doctor.grove_reading import read_grove
from hooks.tools.operating.doctor.reviews import review_rights
from hooks.tools.operating.foreign_owners import find_foreign_owned, getter
from hooks.tools.operating.live_reader import LiveReader, find_installed
from hooks.tools.operating.unmanaged_pods import read_unmanaged
from hooks.wire.metacontroller.controllers import OUR_KINDS

CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_CONTROLLERS = tuple(
    GroupVersionKind("metacontroller.k8s.io", "v1alpha1", kind)
    for kind in ("CompositeController", "DecoratorController")
)
_WEBHOOKS = tuple(
    GroupVersionKind("admissionregistration.k8s.io", "v1", f"{kind}WebhookConfiguration")
    for kind in ("Validating", "Mutating")
)
_TOLD = ("Started", "CreateError", "SyncError")


def read_facts(cluster: Cluster, now: datetime, namespace: str = "") -> InstallationFacts:
    """Read everything that the checks need; `namespace` is that of the hooks, empty for any.

    Raises:
        Refused: the API server does not answer, or fails for another reason than the rights of the user.
    """
    reader = LiveReader(cluster=cluster)
    version = (cluster.read("/version") or {}).get("gitVersion", "")
    crds, deployments = (
        reader.read_all("customresourcedefinitions", CRD),
        reader.read_all("deployments", kinds.DEPLOYMENT),
    )
    parents = tuple(_slim(p) for kind in OUR_KINDS for p in reader.read_all(plural_of(kind), kind))
    facts = InstallationFacts(
        now=now,
        kubernetes=str(version),
        namespace=namespace,
        crds={str(c["metadata"]["name"]): c for c in crds if c["metadata"]["name"] in {*NAMES, *CONTROLLER_CRDS}},
        served=reader.attempt("discovery", lambda: find_installed(cluster), frozenset()),
        controllers=tuple(c for kind in _CONTROLLERS for c in reader.read_all(plural_of(kind), kind)),
        parents=parents,
        claims=_read_claims(reader),
        **_read_workloads(reader, deployments),
        grove=read_grove(reader, crds, deployments),
        constrained=tuple(_title(p) for p in parents if p["kind"] == contract.GRAPH.kind and p.get("spec")),
        webhooks=tuple(w for kind in _WEBHOOKS for w in reader.read_all(plural_of(kind), kind)),
        events=tuple(
            e for reason in _TOLD for e in reader.read_all("events", kinds.EVENT, fieldSelector=f"reason={reason}")
        ),
    )
    facts = replace(facts, pods=_read_pods(reader, facts), certificates=_read_certificates(reader, facts))
    facts = replace(facts, backends=_read_backends(reader, facts))
    unmanaged = read_unmanaged(reader, facts.parents)
    facts = replace(facts, foreign_owned=find_foreign_owned(getter(cluster)), unmanaged_pods=unmanaged)
    return replace(facts, rights=review_rights(reader, facts), unread=dict(reader.unread))


def _slim(parent: ReadManifest) -> ReadManifest:
    """The parts that checks look at: there may be thousands of objects."""
    kept = ("name", "namespace", "uid", "generation", "creationTimestamp", "finalizers", "labels", "ownerReferences")
    metadata: dict[str, Json] = {key: parent["metadata"][key] for key in kept if key in parent["metadata"]}
    metadata["managedFields"] = [
        {key: e[key] for key in ("time", "subresource") if key in e}
        for e in parent["metadata"].get("managedFields") or ()
    ]
    status, constraint = parent.get("status") or {}, (parent.get("spec") or {}).get("topologyConstraint")
    return {
        "apiVersion": parent["apiVersion"],
        "kind": parent["kind"],
        "metadata": metadata,
        **({"spec": {"topologyConstraint": constraint}} if constraint else {}),
        "status": {key: status[key] for key in ("observedGeneration", "service") if key in status},
    }


def _read_claims(reader: LiveReader) -> dict[str, str]:
    found = reader.read_all("namespaces", kinds.NAMESPACE, labelSelector=contract.LABEL_INSTALLATION)
    labels = {str(namespace["metadata"]["name"]): labels_of(namespace) for namespace in found}
    return {name: found[contract.LABEL_INSTALLATION] for name, found in labels.items()}


def _title(parent: ReadManifest) -> str:
    return f"{parent['metadata']['namespace']}/{parent['metadata']['name']}"


def _read_workloads(reader: LiveReader, deployments: Sequence[ReadManifest]) -> dict[str, Any]:
    """The workloads of the hooks, of Metacontroller and of the Go operator; the counts of components' Deployments."""
    found = [*deployments, *reader.read_all("statefulsets", kinds.STATEFUL_SET)]
    operator = {contract.LABEL_APP_NAME: "dynamo-operator"}
    return {
        "workloads": tuple(
            w for w in found if is_hooks(w) or is_metacontroller(w) or operator.items() <= labels_of(w).items()
        ),
        "counted": {
            str(owner.get("uid")): _count(one)
            for one in deployments
            if (owner := controller_of(one)) is not None and owner.get("kind") == contract.COMPONENT.kind
        },
    }


def _count(deployment: ReadManifest) -> Counted:
    status = deployment.get("status") or {}
    return Counted(
        name=str(deployment["metadata"]["name"]),
        counts={field: int(status.get(field) or 0) for field in COUNTS},
        since=status_written(deployment),
    )


def _read_pods(reader: LiveReader, facts: InstallationFacts) -> tuple[ReadManifest, ...]:
    pods: tuple[ReadManifest, ...] = ()
    for found in facts.hooks:
        labels = (found["spec"].get("selector") or {}).get("matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        pods += reader.read_all("pods", kinds.POD, str(found["metadata"]["namespace"]), labelSelector=selector)
    return pods


def _read_certificates(reader: LiveReader, facts: InstallationFacts) -> Mapping[tuple[str, str], Certificate]:
    """The certificates, without their keys; an empty text for a Secret that does not exist."""
    read: dict[tuple[str, str], Certificate] = {}
    for namespace, name in certificate_secrets(facts.hooks):
        unknown: Certificate | None = None
        parts = reader.attempt("secrets", partial(_read_certificate, reader, namespace, name), unknown)
        if parts is not None:
            read[namespace, name] = parts
    return read


def _read_certificate(reader: LiveReader, namespace: str, name: str) -> Certificate:
    secret: ReadManifest = reader.cluster.find(kinds.SECRET, name, namespace) or {"metadata": {}}
    text = decode_text((secret.get("data") or {}).get("tls.crt", ""))
    if "cert-manager.io/certificate-name" in annotations_of(secret):
        return Certificate(text=text, source=CertificateSource.CERT_MANAGER)
    renewal = _find_renewal(reader, namespace, name)
    if not renewal and not text and "cronjobs" in reader.unread:
        return Certificate(text=text)  # nothing shows who made it, and usually the chart does
    is_chart = renewal or labels_of(secret).get(contract.LABEL_APP_MANAGED_BY) == "dynamo-hooks-certificates"
    source = CertificateSource.CHART if is_chart else CertificateSource.OTHER
    return Certificate(text=text, source=source, renewal=renewal)


def _find_renewal(reader: LiveReader, namespace: str, name: str) -> str:
    """The CronJob that keeps a certificate in this Secret; empty if there is none, or if it may not be read."""
    found = reader.read_all("cronjobs", kinds.CRON_JOB, namespace)
    secret = ["--secret", f"{namespace}/{name}"]
    for cron_job in found:
        for container in containers_of(cron_job["spec"]["jobTemplate"]):
            words = [str(word) for word in container.get("args") or ()]
            if words[:1] == ["certificates"] and any(words[i : i + 2] == secret for i in range(len(words))):
                return str(cron_job["metadata"]["name"])
    return ""


def _read_backends(reader: LiveReader, facts: InstallationFacts) -> Mapping[tuple[str, str], ReachedService]:
    backends: dict[tuple[str, str], ReachedService] = {}
    for namespace, name, port in find_services(facts.own_controllers):
        unknown: ReachedService | None = None
        found = reader.attempt("services", partial(_read_backend, reader.cluster, namespace, name, port), unknown)
        if found is not None:
            backends[namespace, name] = found
    return backends


def _read_backend(cluster: Cluster, namespace: str, name: str, port: int) -> ReachedService:
    if cluster.find(kinds.SERVICE, name, namespace) is None:
        return ReachedService(exists=False)
    slices = cluster.read_all(kinds.ENDPOINT_SLICE, namespace, labelSelector=f"{SERVICE_NAME}={name}")
    ready = sum(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for s in slices
        for endpoint in s.get("endpoints") or ()
    )
    if not ready:
        return ReachedService(exists=True)
    path = f"/api/v1/namespaces/{namespace}/services/http:{name}:{port}/proxy/readyz"
    try:
        cluster.ask("GET", path)
    except Refused as refused:
        return ReachedService(exists=True, ready=ready, status=refused.status, said=str(refused))
    return ReachedService(exists=True, ready=ready, status=HTTPStatus.OK)
