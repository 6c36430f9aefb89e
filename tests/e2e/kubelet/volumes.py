"""A pod's volumes as folders. There are no mounts: paths below a mount's are replaced by the folder's own."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.kubelet.environment import Data, MissingReference, read_field

Manifest = Mapping[str, Any]
Token = Callable[[], str]
"""Gives a token of the pod's service account."""


def write_volumes(
    pod: Manifest, folder: Path, claims: Path, *, data: Data, token: Token, certificate: Path, address: str
) -> dict[str, Path]:
    """Make the pod's volumes, each below the folder, a claim's below `claims`; gives them by name.

    Raises:
        MissingReference: what a volume shows does not exist, or its kind is not supported.
    """
    found = {}
    for volume in pod["spec"].get("volumes") or ():
        home = folder / volume["name"]
        if "persistentVolumeClaim" in volume:
            home = claims / pod["metadata"]["namespace"] / volume["persistentVolumeClaim"]["claimName"]
        home.mkdir(parents=True, exist_ok=True)
        found[volume["name"]] = home
        for source in _sources_of(volume):
            for path, text in _files_of(source, pod, data, token, certificate, address).items():
                file = home / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
    return found


def find_mounts(container: Manifest, volumes: Mapping[str, Path]) -> dict[str, str]:
    """Path in the container to path on this machine, of each of its mounts."""
    return {
        mount["mountPath"].rstrip("/"): str(volumes[mount["name"]] / mount.get("subPath", "")).rstrip("/")
        for mount in container.get("volumeMounts") or ()
        if mount["name"] in volumes
    }


def replace_paths(text: str, mounts: Mapping[str, str]) -> str:
    """The text with each path at or below a mount's replaced; the longest mount counts."""
    if not mounts:
        return text
    paths = "|".join(re.escape(path) for path in sorted(mounts, key=len, reverse=True))
    return re.sub(rf"(?<![\w./-])({paths})(?![\w.-])", lambda found: mounts[found[1]], text)


def _sources_of(volume: Manifest) -> Iterable[Manifest]:
    if "projected" in volume:
        return list(volume["projected"]["sources"])
    known = ("configMap", "secret", "downwardAPI", "emptyDir", "persistentVolumeClaim")
    if not any(kind in volume for kind in known):
        kinds = ", ".join(sorted(volume.keys() - {"name"}))
        raise MissingReference(f"volume {volume['name']}: {kinds} is not supported")
    return [volume]


def _files_of(
    source: Manifest, pod: Manifest, data: Data, token: Token, certificate: Path, address: str
) -> dict[str, str]:
    if "serviceAccountToken" in source:
        return {source["serviceAccountToken"]["path"]: token()}
    if "downwardAPI" in source:
        items = source["downwardAPI"].get("items") or ()
        return {item["path"]: read_field(pod, item["fieldRef"]["fieldPath"], address) for item in items}
    if "configMap" in source:
        reference = source["configMap"]
        if reference["name"] == "kube-root-ca.crt" and data("ConfigMap", reference["name"]) is None:
            return {"ca.crt": certificate.read_text()}
        return _chosen("ConfigMap", reference["name"], reference, data)
    if "secret" in source:
        reference = source["secret"]
        return _chosen("Secret", reference.get("secretName") or reference["name"], reference, data)
    return {}


def _chosen(kind: str, name: str, reference: Manifest, data: Data) -> dict[str, str]:
    found = data(kind, name)
    if found is None:
        if reference.get("optional"):
            return {}
        raise MissingReference(f'{kind.lower()} "{name}" not found')
    items = reference.get("items")
    if not items:
        return dict(found)
    for item in items:
        if item["key"] not in found and not reference.get("optional"):
            raise MissingReference(f"references non-existent config key: {item['key']} of {kind} {name}")
    return {item["path"]: found[item["key"]] for item in items if item["key"] in found}
