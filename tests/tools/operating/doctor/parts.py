"""Small facts for checks: objects of a good installation, which a test changes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hooks.ground.k8s.types import Manifest, ReadManifest
from hooks.language.crds import build_crds
from hooks.tools.operating.doctor.facts import InstallationFacts, ReachedService
from hooks.tools.operating.doctor.finding import Finding, Level
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.install_files import SecretKey

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NAMESPACE = "dynamo-system"
GOOD_ARGUMENTS = ("--client-go-qps=100", "--client-go-burst=200", "--workers=10", "--discovery-interval=20s")
TOKEN = SecretKey(namespace=NAMESPACE, name="dynamo-hooks-callers")


def ago(seconds: float) -> str:
    """A time before now, as the API server writes it."""
    return (NOW - timedelta(seconds=seconds)).isoformat()


def workload(kind: str, name: str, namespace: str, containers: list[dict[str, Any]], **more: Any) -> Manifest:
    """A workload whose pods are all ready."""
    replicas = more.pop("replicas", 1)
    metadata = {"name": name, "namespace": namespace, **more.pop("metadata", {})}
    template = {"metadata": {}, "spec": {"serviceAccountName": name, "containers": containers, **more.pop("pod", {})}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    status = {"readyReplicas": more.pop("ready", replicas)}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def metacontroller(*arguments: str, tag: str = "v4.17.2", name: str = "metacontroller", **more: Any) -> Manifest:
    """Metacontroller's StatefulSet."""
    image = f"ghcr.io/metacontroller/metacontroller:{tag}"
    container = {"name": "mc", "image": image, "args": list(arguments or GOOD_ARGUMENTS)}
    return workload("StatefulSet", name, "metacontroller", [container], **more)


def hooks(*, variables: Mapping[str, str] | None = None, tag: str = "0.1.0", **more: Any) -> Manifest:
    """The hooks' Deployment, as the chart makes it."""
    env = [{"name": key, "value": value} for key, value in (variables or {}).items()]
    image = f"registry.example/dynamo-hooks:{tag}"
    arguments = ["serve", "--token-file", "/etc/dynamo-hooks/callers/token"]
    containers: list[dict[str, Any]] = [
        {"name": "hooks", "image": image, "args": arguments, "env": env},
        {"name": "prober", "image": image, "args": ["prober"]},
    ]
    volumes = [
        {"name": "callers", "secret": {"secretName": TOKEN.name}},
        {"name": "certificate", "secret": {"secretName": "dynamo-hooks-admission-tls"}},
    ]
    more = {"replicas": 2, "pod": {"volumes": volumes}, **more}
    metadata = {"annotations": {"meta.helm.sh/release-name": "dynamo-hooks"}}
    return workload("Deployment", "dynamo-hooks", NAMESPACE, containers, metadata=metadata, **more)


def controllers(*with_kinds: str, **options: Any) -> tuple[Manifest, ...]:
    """The five controllers, with uids."""
    found = install_files.controllers("", with_kinds, **{"token_secret": TOKEN, **options})
    return tuple({**c, "metadata": {**c["metadata"], "uid": c["metadata"]["name"]}} for c in found)


def graph(
    name: str = "g", *, generation: int = 1, observed: int | None = 1, age: float = 3600, **metadata: Any
) -> Manifest:
    """A graph, created `age` seconds ago."""
    described = {
        "name": name,
        "namespace": "team",
        "uid": name,
        "generation": generation,
        "creationTimestamp": ago(age),
    }
    status = {} if observed is None else {"observedGeneration": observed}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {**described, **metadata},
        "status": status,
    }


def event(about: ReadManifest, reason: str, message: str = "", *, last: float, first: float | None = None) -> Manifest:
    """An Event, last seen so many seconds ago; with `first` it happened more than once."""
    involved = {"kind": about["kind"], "name": about["metadata"]["name"], "uid": about["metadata"].get("uid")}
    times = {"firstTimestamp": ago(last if first is None else first), "lastTimestamp": ago(last)}
    count = 1 if first is None else 5
    return {"metadata": {}, "involvedObject": involved, "reason": reason, "message": message, "count": count, **times}


def controller_crds() -> dict[str, Manifest]:
    """Metacontroller's CRDs, which keep every field."""
    names = ("compositecontrollers.metacontroller.k8s.io", "decoratorcontrollers.metacontroller.k8s.io")
    schema = {"openAPIV3Schema": {"x-kubernetes-preserve-unknown-fields": True}}
    spec = {"versions": [{"name": "v1alpha1", "served": True, "schema": schema}]}
    return {name: {"kind": "CustomResourceDefinition", "metadata": {"name": name}, "spec": spec} for name in names}


def good(**changes: Any) -> InstallationFacts:
    """The facts of a good installation, with changes."""
    crds = {crd["metadata"]["name"]: crd for crd in build_crds()}
    facts = InstallationFacts(
        now=NOW,
        kubernetes="v1.31.4+k3s1",
        crds={**crds, **controller_crds()},
        controllers=controllers(),
        workloads=(metacontroller(), hooks()),
        backends={(NAMESPACE, "dynamo-hooks"): ReachedService(exists=True, ready=2, status=200)},
        parents=(graph(),),
    )
    return replace(facts, **changes)


def problems(findings: list[Finding]) -> list[Finding]:
    """The findings that are not ok; each has a remedy."""
    found = [finding for finding in findings if finding.level is not Level.OK]
    assert all(finding.remedy for finding in found), found
    return found


def only(findings: list[Finding]) -> Finding:
    """The only problem."""
    found = problems(findings)
    assert len(found) == 1, found
    return found[0]
