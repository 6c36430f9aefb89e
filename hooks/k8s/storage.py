"""What holds data: PersistentVolumeClaim and ConfigMap.

Source: Kubernetes API reference, core v1.
"""

from collections.abc import Mapping

from hooks.k8s import kinds
from hooks.k8s.types import Manifest, build_manifest, build_metadata


def build_claim(name: str, namespace: str, *, size: str, access_mode: str, storage_class: str) -> Manifest:
    """Build a PersistentVolumeClaim; `size` is a canonical quantity.

    `storage_class` is always written: left out it would mean the cluster's default class.
    """
    spec = {
        "accessModes": [access_mode],
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage_class,
    }
    return build_manifest(kinds.PERSISTENT_VOLUME_CLAIM, build_metadata(name, namespace), spec=spec)


def build_claim_stub(name: str, namespace: str) -> Manifest:
    """Build what keeps an existing claim alive; under the strategy OnDelete nothing of it is applied."""
    return build_manifest(kinds.PERSISTENT_VOLUME_CLAIM, build_metadata(name, namespace))


def build_config_map(name: str, namespace: str, labels: Mapping[str, str], data: Mapping[str, str]) -> Manifest:
    """Build a ConfigMap; the values are texts."""
    metadata = build_metadata(name, namespace, labels=labels)
    return build_manifest(kinds.CONFIG_MAP, metadata, data=dict(sorted(data.items())))
