"""Reconciles Services: an EndpointSlice lists the pods that a Service selects, and whether they are ready.

Source: Kubernetes, staging/src/k8s.io/endpointslice/reconciler.go.
"""

from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.endpoint_slices import SERVICE_NAME
from hooks.ground.k8s.hashing import short_hash
from hooks.ground.k8s.types import Json, Manifest
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import Store, ref_of
from hooks.tools.offline.simulator.workloads.pods import is_ready
from hooks.wire.world.equality import are_equal
from hooks.wire.world.ownership import controller_reference

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"


def reconcile_service(store: Store, client: Client, service: Manifest) -> None:
    """Create or update a Service's EndpointSlice; a Service without selector has none."""
    metadata, spec = service["metadata"], service["spec"]
    if "deletionTimestamp" in metadata or not spec.get("selector"):
        return
    pods = [
        pod
        for pod in store.list_labelled(kinds.POD, metadata["namespace"], spec["selector"])
        if pod.get("status", {}).get("podIP")
    ]
    wanted = _build_slice(service, pods)
    live = client.get(ref_of(wanted))
    if live is None:
        client.create(wanted)
        return
    merged = {**live, **wanted, "metadata": {**live["metadata"], **wanted["metadata"]}}
    if not are_equal(merged, live):
        client.update(merged)


def _build_slice(service: Manifest, pods: list[Manifest]) -> Manifest:
    metadata = service["metadata"]
    headless = {"service.kubernetes.io/headless": ""} if service["spec"].get("clusterIP") == "None" else {}
    managed = {MANAGED_BY: "endpointslice-controller.k8s.io", SERVICE_NAME: metadata["name"]}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{metadata['name']}-{short_hash(metadata['uid'], 5)}",
            "namespace": metadata["namespace"],
            "labels": {**(metadata.get("labels") or {}), **headless, **managed},
            "ownerReferences": [controller_reference(service)],
        },
        "addressType": "IPv4",
        "endpoints": [_build_endpoint(pod) for pod in pods],
        "ports": [_build_port(port, pods) for port in service["spec"].get("ports", [])],
    }


def _build_endpoint(pod: Manifest) -> dict[str, Any]:
    ready = is_ready(pod)
    metadata = pod["metadata"]
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready, "serving": ready, "terminating": "deletionTimestamp" in metadata},
        "nodeName": pod["spec"]["nodeName"],
        "targetRef": {
            "kind": "Pod",
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
        },
    }


def _build_port(port: Json, pods: list[Manifest]) -> dict[str, Any]:
    """A port of the slice; a named targetPort is looked up in the first pod that declares it."""
    target = port.get("targetPort", port["port"])
    if isinstance(target, str):
        named = [
            declared["containerPort"]
            for pod in pods
            for container in pod["spec"]["containers"]
            for declared in container.get("ports", [])
            if declared.get("name") == target
        ]
        target = named[0] if named else port["port"]
    return {"name": port.get("name", ""), "port": target, "protocol": port.get("protocol", "TCP")}
