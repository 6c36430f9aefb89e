"""Builds PersistentVolumeClaims and ConfigMaps.

Source: Kubernetes API reference, core v1.
"""

from collections.abc import Mapping

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, build_manifest, build_metadata


def build_claim(name: str, namespace: str, *, size: str, access_mode: str, storage_class: str) -> Manifest:
    """Build a PersistentVolumeClaim; `size` is a canonical quantity.

    `storage_class` is always written: without it the claim would get the cluster's default class.
    """
    spec = {
        "accessModes": [access_mode],
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage_class,
    }
    return build_manifest(kinds.PERSISTENT_VOLUME_CLAIM, build_metadata(name, namespace), spec=spec)


def build_claim_stub(name: str, namespace: str) -> Manifest:
    """Build the stub that keeps an existing claim; with the strategy OnDelete it is never applied."""
    return build_manifest(kinds.PERSISTENT_VOLUME_CLAIM, build_metadata(name, namespace))


def build_config_map(name: str, namespace: str, labels: Mapping[str, str], data: Mapping[str, str]) -> Manifest:
    """Build a ConfigMap of text values."""
    metadata = build_metadata(name, namespace, labels=labels)
    return build_manifest(kinds.CONFIG_MAP, metadata, data=dict(sorted(data.items())))
