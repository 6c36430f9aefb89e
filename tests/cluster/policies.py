"""Admission policies of a cluster: how one is in force for a while, and some that change what is written."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.cluster.api_client import ApiClient, wait_for
from tests.contract.backend import Manifest

REGISTRATION = "admissionregistration.k8s.io/v1"
MIRROR = "mirror.example.com/"
_PODS_OF = {
    "pods": "",
    "deployments": "template.spec.",
    "leaderworkersets": "leaderWorkerTemplate.workerTemplate.spec.",
}
_RULES = {
    "pods": {"apiGroups": [""], "apiVersions": ["v1"]},
    "deployments": {"apiGroups": ["apps"], "apiVersions": ["v1"]},
    "leaderworkersets": {"apiGroups": ["leaderworkerset.x-k8s.io"], "apiVersions": ["v1"]},
}


def mirrored_images(resource: str) -> Manifest:
    """Images of all containers come from the mirror."""
    image = f'c.image.startsWith("{MIRROR}") ? c.image : "{MIRROR}" + c.image'
    typed = f"Object.spec.{_PODS_OF[resource]}containers"
    items = f"object.spec.{_PODS_OF[resource]}containers.map(c, {typed}{{name: c.name, image: {image}}})"
    return _applied(resource, f"containers: {items}")


def added_sidecar(resource: str) -> Manifest:
    """Each pod has a container more."""
    typed = f"Object.spec.{_PODS_OF[resource]}containers"
    return _applied(resource, f'containers: [{typed}{{name: "mesh", image: "mesh:1"}}]')


def added_toleration(resource: str) -> Manifest:
    """Each pod tolerates one taint more; the list is replaced as a whole by whoever writes it."""
    path = "/" + f"spec.{_PODS_OF[resource]}tolerations".replace(".", "/")
    value = '[{"key": "gpu", "operator": "Exists"}]'
    return {
        "patchType": "JSONPatch",
        "jsonPatch": {"expression": f'[JSONPatch{{op: "add", path: "{path}", value: {value}}}]'},
    }


def _applied(resource: str, fields: str) -> Manifest:
    """An apply configuration of pods' spec, wherever the resource has it."""
    parts = [part for part in _PODS_OF[resource].split(".") if part]
    names = ["Object", "Object.spec"]
    for part in parts:
        names.append(f"{names[-1]}.{part}")
    text = f"{names[-1]}{{{fields}}}"
    for name, part in zip(reversed(names[:-1]), reversed(["spec", *parts]), strict=True):
        text = f"{name}{{{part}: {text}}}"
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}


@contextmanager
def registered(admin: ApiClient, kind: str, spec: Manifest, binding: Manifest) -> Iterator[None]:
    """A policy of the kind and its binding, which names it; both are gone afterwards."""
    name = binding["policyName"]
    for one, content in ((kind, spec), (f"{kind}Binding", binding)):
        admin.create(
            {"apiVersion": REGISTRATION, "kind": one, "metadata": {"name": name}, "spec": content}, strict=True
        )
    try:
        yield
    finally:
        admin.delete(REGISTRATION, f"{kind}Binding", name)
        admin.delete(REGISTRATION, kind, name)


@contextmanager
def mutating(admin: ApiClient, api: ApiClient, resource: str, mutation: Mapping[str, Any]) -> Iterator[None]:
    """Let the mutation change each object of the resource that is written in the client's namespace."""
    name = f"changes-{resource}-{api.namespace}"
    rule = {**_RULES[resource], "resources": [resource], "operations": ["CREATE", "UPDATE"]}
    matched = {"resourceRules": [{**rule, "operations": ["CREATE"]} if resource == "pods" else rule]}
    spec = {
        "matchConstraints": matched,
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [mutation],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}
    binding = {"policyName": name, "matchResources": {"namespaceSelector": selector}}
    with registered(admin, "MutatingAdmissionPolicy", spec, binding):
        wait_for(lambda: is_changed(api, resource), "the policy changes what is written")
        yield


def is_changed(api: ApiClient, resource: str) -> bool:
    """Whether a written object comes back with more or other than was sent."""
    pod = {"containers": [{"name": "a", "image": "a"}]}
    labels = {"app": "probe"}
    if resource == "pods":
        sent: Manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": pod}
        found = api.create(sent, dry_run=True)["spec"]
    else:
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        sent = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "probe"}, "spec": spec}
        found = api.create(sent, dry_run=True)["spec"]["template"]["spec"]
    tolerated = {one.get("key") for one in found.get("tolerations") or ()}
    return len(found["containers"]) > 1 or found["containers"][0]["image"] != "a" or "gpu" in tolerated
