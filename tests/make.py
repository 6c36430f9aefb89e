"""Inputs of tests in one line: parents, children and whole calls as Metacontroller would send them.

State only what the test is about; the rest is filled in.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, gvk_of, name_of
from hooks.ground.problems import HERE, Problem, Reason, Rule
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.language.rules.slips import NO_RELEASE
from hooks.wire.metacontroller.controllers import declared_kinds
from hooks.wire.metacontroller.protocol import Objects, SyncRequest

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NAMESPACE = "default"
_CLUSTER_SCOPED = frozenset({kinds.NAMESPACE, kinds.NODE})


def facts(now: datetime = NOW, **settings: str) -> Facts:
    """Facts with default settings but those given."""
    return Facts(now=now, settings=parse_settings({}, settings))


def service(component_type: str = "worker", image: str = "img:1", **spec: Any) -> dict[str, Any]:
    """A service of a graph; `command` and `args` go into the main container."""
    container: dict[str, Any] = {"image": image}
    container.update({key: spec.pop(key) for key in ("command", "args") if key in spec})
    pod = {**spec.pop("extraPodSpec", {}), "mainContainer": container}
    return {"componentType": component_type, "extraPodSpec": pod, **spec}


def with_image(spec: Any) -> Any:
    """The spec of a component or service with an image where its main container says nothing of one."""
    pod = spec.get("extraPodSpec", {}) if isinstance(spec, dict) else None
    if not isinstance(pod, dict) or not isinstance(main := pod.get("mainContainer", {}), dict):
        return spec
    return {**spec, "extraPodSpec": {**pod, "mainContainer": {"image": "img:1", **main}}}


def graph(services: Mapping[str, Any] | None = None, name: str = "g", **spec: Any) -> Manifest:
    """A graph with a frontend and a vLLM worker, unless services are given; `annotations` and `status` stand apart."""
    default = {"Frontend": service("frontend"), "Worker": service(command=["python3", "-m", "dynamo.vllm"])}
    annotations, status = spec.pop("annotations", None), spec.pop("status", None)
    given = default if services is None else {name: with_image(one) for name, one in services.items()}
    body = {"services": given, **spec}
    return _parent(contract.GRAPH, name, body, annotations, status)


def component(name: str = "c", graph: str = "", **spec: Any) -> Manifest:
    """A component; one of a graph where `graph` is given."""
    annotations, status = spec.pop("metaAnnotations", None), spec.pop("status", None)
    parent = _parent(contract.COMPONENT, name, with_image(spec), annotations, status)
    if graph:
        owner = {
            "apiVersion": contract.GRAPH.api_version,
            "kind": contract.GRAPH.kind,
            "name": graph,
            "uid": "u-" + graph,
        }
        parent["metadata"]["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    return parent


def _parent(
    kind: GroupVersionKind, name: str, spec: Any, annotations: Mapping[str, str] | None, status: Any
) -> Manifest:
    metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE, "uid": f"u-{name}", "generation": 1}
    if annotations:
        metadata["annotations"] = dict(annotations)
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
    return {**manifest, **({"status": status} if status is not None else {})}


def observed(desired: Mapping[str, Any], **fields: Any) -> Manifest:
    """A child as the cluster holds it after Metacontroller applied it; `fields` are set over it (`status=…`)."""
    manifest: Manifest = json.loads(json.dumps(desired))
    metadata = manifest["metadata"]
    text = json.dumps(desired, sort_keys=True, separators=(",", ":"))
    metadata["annotations"] = {**metadata.get("annotations", {}), contract.ANNOTATION_LAST_APPLIED: text}
    metadata["labels"] = {**metadata.get("labels", {}), contract.LABEL_CONTROLLER_UID: "u-parent"}
    metadata.update(namespace=metadata.get("namespace", NAMESPACE), uid=f"u-{name_of(manifest)}", generation=1)
    return {**manifest, **fields}


def deployment_status(replicas: int = 1, *, ready: int | None = None, generation: int = 1) -> dict[str, Any]:
    """Status of a Deployment of which `ready` replicas (all by default) serve."""
    count = replicas if ready is None else ready
    available = "True" if count >= replicas else "False"
    condition = {"type": "Available", "status": available, "reason": "MinimumReplicasAvailable", "message": ""}
    return {
        "observedGeneration": generation,
        "replicas": replicas,
        "updatedReplicas": replicas,
        "readyReplicas": count,
        "availableReplicas": count,
        "conditions": [condition],
    }


def objects(manifests: Iterable[Manifest] = (), declared: Iterable[GroupVersionKind] = ()) -> Objects:
    """Objects of a request: a key for each declared kind, the manifests under theirs."""
    found: dict[str, dict[str, Manifest]] = {kind.key: {} for kind in declared}
    return Objects(_keyed(manifests, found))


def sync_request(
    parent: Manifest,
    children: Iterable[Manifest] = (),
    related: Iterable[Manifest] = (),
    *,
    installed: Iterable[str] = (),
    shown: Iterable[GroupVersionKind] = (),
    finalizing: bool = False,
) -> SyncRequest:
    """A sync call; the controller declares every kind that needs no optional CRD, and those of `installed`.

    Of the kinds `shown` the hook asked for related objects, even if there are none.
    """
    seen = objects(children, declared_kinds(installed))
    return SyncRequest(parent=parent, children=seen, related=objects(related, shown), finalizing=finalizing)


def wire_request(
    parent: Manifest, children: Iterable[Manifest] = (), related: Iterable[Manifest] = (), installed: Iterable[str] = ()
) -> dict[str, Any]:
    """The same call as JSON, as Metacontroller posts it."""
    groups: dict[str, dict[str, Manifest]] = {kind.key: {} for kind in declared_kinds(installed)}
    return {
        "controller": {"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "spec": {}},
        "parent": parent,
        "children": _keyed(children, groups),
        "related": _keyed(related, {}),
        "finalizing": False,
    }


def _keyed(manifests: Iterable[Manifest], groups: dict[str, dict[str, Manifest]]) -> dict[str, dict[str, Manifest]]:
    for manifest in manifests:
        kind, namespace = gvk_of(manifest), manifest["metadata"].get("namespace", NAMESPACE)
        key = name_of(manifest) if kind in _CLUSTER_SCOPED else f"{namespace}/{name_of(manifest)}"
        groups.setdefault(kind.key, {})[key] = manifest
    return groups


def account(name: str, labelled: str = "true") -> Manifest:
    """A ServiceAccount; labelled for the pods of components unless another value is given."""
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {contract.LABEL_COMPONENT_POD: labelled}}
    return {"apiVersion": kinds.SERVICE_ACCOUNT.api_version, "kind": kinds.SERVICE_ACCOUNT.kind, "metadata": metadata}


def pull_secret(name: str, host: str, labels: Mapping[str, str] | None = None) -> Manifest:
    """A registry Secret for one host; labelled for discovery unless other labels are given."""

    text = base64.b64encode(json.dumps({"auths": {host: {"auth": "c2VjcmV0"}}}).encode()).decode()
    label = {contract.LABEL_IMAGE_PULL: "true"} if labels is None else dict(labels)
    return {
        "apiVersion": kinds.SECRET.api_version,
        "kind": kinds.SECRET.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": label},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": text},
    }


def problem(text: str, reason: Reason = Reason.INVALID) -> Problem:
    """A problem that says just this, of no field."""
    return Rule(name="test", text="{text}", reason=reason).at(HERE, text=text)


def problems(*texts: str) -> tuple[Problem, ...]:
    """One problem for each text."""
    return tuple(problem(text) for text in texts)


def without_release(warnings: Iterable[Problem]) -> tuple[Problem, ...]:
    """The warnings without those about images that name no release, such as the default one here."""
    return tuple(one for one in warnings if one.rule is not NO_RELEASE)
