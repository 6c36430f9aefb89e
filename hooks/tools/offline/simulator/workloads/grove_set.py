"""A PodCliqueSet as its reconcilers see it, and the objects that are made for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove_parts import LABEL_TEMPLATE_HASH
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import Ref, Store
from hooks.wire.world.equality import are_equal
from hooks.wire.world.ownership import controller_reference


@dataclass(frozen=True, slots=True)
class PodCliqueSet:
    """A PodCliqueSet, with the store and client to reconcile it."""

    store: Store
    client: Client
    owner: Manifest

    @property
    def name(self) -> str:
        """The set's name."""
        name: str = self.owner["metadata"]["name"]
        return name

    @property
    def namespace(self) -> str:
        """Where all of it is."""
        namespace: str = self.owner["metadata"]["namespace"]
        return namespace

    @property
    def template(self) -> Mapping[str, Any]:
        """The template of the set's only replica."""
        template: Mapping[str, Any] = self.owner["spec"]["template"]
        return template

    @property
    def groups(self) -> Sequence[Mapping[str, Any]]:
        """The templates of its groups."""
        groups: Sequence[Mapping[str, Any]] = self.template.get("podCliqueScalingGroups", ())
        return groups

    def clique(self, name: str) -> Mapping[str, Any]:
        """The template of a clique."""
        return next(clique for clique in self.template["cliques"] if clique["name"] == name)

    def find(self, kind: GroupVersionKind, name: str) -> Manifest | None:
        """An object of its namespace, None when there is none."""
        return self.client.get(Ref(kind.group, kind.kind, self.namespace, name))

    def labels(self, component: str, name: str) -> dict[str, str]:
        """The labels of an object that Grove makes for it."""
        return {
            "app.kubernetes.io/managed-by": "grove-operator",
            "app.kubernetes.io/part-of": self.name,
            "app.kubernetes.io/name": name,
            "app.kubernetes.io/component": component,
            "grove.io/podcliqueset-replica-index": "0",
        }


def build(owner: Manifest, kind: GroupVersionKind, name: str, labels: Mapping[str, str], **fields: Any) -> Manifest:
    """A new object that its owner controls."""
    metadata = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "labels": dict(labels),
        "ownerReferences": [controller_reference(owner)],
    }
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}


def ensure_pod_clique(
    grove: PodCliqueSet, owner: Manifest, name: str, *, template: Mapping[str, Any], labels: Mapping[str, str]
) -> None:
    """Create the PodClique, or update all but its replicas to the template."""
    prefix = name.removesuffix(template["name"])
    spec = {**template["spec"]}
    if "startsAfter" in spec:
        spec["startsAfter"] = [f"{prefix}{other}" for other in spec["startsAfter"]]
    all_labels = {**template.get("labels", {}), **labels, LABEL_TEMPLATE_HASH: digest_of(template)}
    annotations = {key: dict(value) for key, value in template.items() if key == "annotations"}
    fresh = build(owner, kinds.POD_CLIQUE, name, all_labels, spec=spec)
    fresh["metadata"] |= annotations
    live = grove.find(kinds.POD_CLIQUE, name)
    if live is None:
        grove.client.create(fresh)
        return
    changed = {**live, "spec": {**spec, "replicas": live["spec"]["replicas"]}}
    changed["metadata"] = {**live["metadata"], "labels": all_labels, **annotations}
    if not are_equal(changed, live):
        grove.client.update(changed)


def digest_of(template: Mapping[str, Any]) -> str:
    """Hash of the parts of a template whose change causes a rollout."""
    part = {key: template.get(key) for key in ("labels", "annotations")}
    return short_hash(canonical_json({**part, "podSpec": template["spec"]["podSpec"]}), 10)
