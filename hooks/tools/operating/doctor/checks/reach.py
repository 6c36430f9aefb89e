"""The hooks and the prober: whether pods run and are ready, and whether Metacontroller's calls reach them."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from hooks import __version__
from hooks.ground import contract
from hooks.ground.k8s.pod_sets import wanted_replicas
from hooks.ground.k8s.types import Json, ReadManifest, labels_of
from hooks.tools.operating.doctor.facts import (
    InstallationFacts,
    ReachedService,
    containers_of,
    hooks_containers,
    ready_of,
    webhooks_of,
)
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning
from hooks.tools.operating.doctor.remedies import install_hooks, upgrade_hooks

_SERVICE_HOST = re.compile(r"([a-z0-9-]+)\.([a-z0-9-]+)(\.svc(\..+)?)?")
_REFUSED_TO_US = frozenset({401, 403})


def check_pods(facts: InstallationFacts) -> list[Finding]:
    """Whether pods of the hooks are ready, with a prober in each."""
    if "deployments" in facts.unread:
        return []
    if not facts.hooks:
        if facts.own_controllers and all(_find_service(w) is None for w in _webhooks(facts)):
            return [ok("hooks", "the controllers call a URL outside of the cluster, so no pods are looked for")]
        where = f" in namespace {facts.namespace}" if facts.namespace else ""
        remedy = install_hooks(takes_crds=facts.has_crds)
        return [error("hooks", f"no Deployment of the hooks is in the cluster{where}", remedy)]
    return [finding for found in facts.hooks for finding in _judge_deployment(found, facts)]


def check_reach(facts: InstallationFacts) -> list[Finding]:
    """Whether each Service that a controller calls exists, has ready endpoints and answers; a URL is only named."""
    findings: list[Finding] = []
    services: dict[tuple[str, str, int], list[str]] = {}
    urls: dict[str, list[str]] = {}
    for controller in facts.own_controllers:
        for webhook in webhooks_of(controller).values():
            service, name = _find_service(webhook), describe(controller)
            if service is None:
                urls.setdefault(_base_url(webhook), []).append(name)
            else:
                services.setdefault(service, []).append(name)
    for (namespace, name, port), callers in services.items():
        findings.extend(
            _judge_backend(f"Service {namespace}/{name}", facts.backends.get((namespace, name)), callers, port)
        )
    for url, callers in urls.items():
        text = f"{len(set(callers))} controllers call it; only Metacontroller can say whether it answers"
        findings.append(ok(url, text))
    return findings


def find_services(controllers: tuple[ReadManifest, ...]) -> list[tuple[str, str, int]]:
    """Namespace, name and port of the Services that controllers call."""
    webhooks = [webhook for controller in controllers for webhook in webhooks_of(controller).values()]
    return sorted({found for webhook in webhooks if (found := _find_service(webhook)) is not None})


def _webhooks(facts: InstallationFacts) -> Iterator[Mapping[str, Json]]:
    for controller in facts.own_controllers:
        yield from webhooks_of(controller).values()


def _find_service(webhook: Mapping[str, Json]) -> tuple[str, str, int] | None:
    """The Service that a webhook names, also by the DNS name in its URL."""
    service = webhook.get("service")
    if service:
        return str(service["namespace"]), str(service["name"]), int(service.get("port") or 80)
    parts = urlsplit(str(webhook.get("url") or ""))
    match = _SERVICE_HOST.fullmatch(parts.hostname or "")
    if match is None or not (match[3] or "").startswith(".svc"):
        return None
    return match[2], match[1], parts.port or (443 if parts.scheme == "https" else 80)


def _base_url(webhook: Mapping[str, Json]) -> str:
    parts = urlsplit(str(webhook.get("url") or ""))
    return f"{parts.scheme}://{parts.netloc}"


def _judge_backend(about: str, backend: ReachedService | None, callers: list[str], port: int) -> list[Finding]:
    if backend is None:
        return []
    namespace, _, name = about.removeprefix("Service ").partition("/")
    if not backend.exists:
        text = f"it does not exist, but {', '.join(sorted(set(callers)))} call it"
        return [
            error(
                about, text, f"kubectl get services --all-namespaces --selector {contract.LABEL_APP_NAME}=dynamo-hooks"
            )
        ]
    if backend.ready == 0:
        return [
            error(about, "none of its endpoints is ready", f"kubectl --namespace {namespace} get pods,endpointslices")
        ]
    if backend.status == 200:
        return [ok(about, f"{backend.ready} endpoints ready; it answers on port {port}")]
    if backend.status in _REFUSED_TO_US or not backend.status:
        text = f"{backend.ready} endpoints ready; whether it answers was not seen: {backend.said}"
        remedy = f"kubectl --namespace {namespace} port-forward service/{name} 8080:{port}; curl http://127.0.0.1:8080/readyz"
        return [warning(about, text, remedy)]
    text = f"/readyz answers {backend.status} on port {port}: {backend.said}"
    return [
        error(
            about,
            text,
            f"kubectl --namespace {namespace} logs --selector {contract.LABEL_APP_NAME}=dynamo-hooks --all-containers",
        )
    ]


def _judge_deployment(found: ReadManifest, facts: InstallationFacts) -> list[Finding]:
    about, namespace = describe(found), str(found["metadata"]["namespace"])
    kubectl = f"kubectl --namespace {namespace}"
    pods = f"{kubectl} get pods; {kubectl} describe deployment {found['metadata']['name']}"
    if ready_of(found) == 0:
        return [error(about, f"none of its {wanted_replicas(found)} pods is ready", pods)]
    findings = [*_judge_probers(found, facts), *_judge_image(found)]
    if ready_of(found) < wanted_replicas(found):
        findings.append(warning(about, f"only {ready_of(found)} of {wanted_replicas(found)} pods are ready", pods))
    return findings or [ok(about, f"{ready_of(found)} of {wanted_replicas(found)} pods ready, each with a prober")]


def _judge_probers(found: ReadManifest, facts: InstallationFacts) -> Iterator[Finding]:
    namespace = str(found["metadata"]["namespace"])
    if not any(c.get("name") == "prober" for c in containers_of(found)):
        if not any(v["name"] == "DYNAMO_HOOKS_PROBER_URL" for c in hooks_containers(found) for v in c.get("env") or ()):
            text = "its pods have no prober, so no LoRA adapter of a DynamoModel is loaded"
            yield warning(describe(found), text, upgrade_hooks(namespace, release_of(found)))
        return
    for pod in facts.pods:
        if not is_pod_of(pod, found):
            continue
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            if status.get("name") == "prober" and not status.get("ready"):
                name = pod["metadata"]["name"]
                text = "its prober is not ready, so no LoRA adapter of a DynamoModel is loaded"
                yield error(describe(pod), text, f"kubectl --namespace {namespace} logs {name} --container prober")


def is_pod_of(pod: ReadManifest, found: ReadManifest) -> bool:
    """Whether the selector of a workload selects the pod, in its namespace."""
    if pod["metadata"].get("namespace") != found["metadata"].get("namespace"):
        return False
    wanted = (found["spec"].get("selector") or {}).get("matchLabels") or {}
    return bool(wanted) and all(labels_of(pod).get(key) == value for key, value in wanted.items())


def _judge_image(found: ReadManifest) -> Iterator[Finding]:
    """Whether the hooks are of this command's version; else the CRDs and controllers are compared with wrong ones."""
    images = {str(container.get("image") or "") for container in hooks_containers(found)}
    tags = {image.partition("@")[0].rpartition("/")[2].partition(":")[2] for image in images}
    versions = {tag.removeprefix("v") for tag in tags if re.fullmatch(r"v?\d+\.\d+\.\d+.*", tag)}
    for version in sorted(versions - {__version__}):
        text = f"its hooks are of version {version}, this command of {__version__}: they need the same one"
        yield warning(describe(found), text, upgrade_hooks(str(found["metadata"]["namespace"]), release_of(found)))


def release_of(found: ReadManifest) -> str:
    """The Helm release of a workload, by default that of the documentation."""
    annotations = found["metadata"].get("annotations") or {}
    return str(annotations.get("meta.helm.sh/release-name") or "dynamo-hooks")
