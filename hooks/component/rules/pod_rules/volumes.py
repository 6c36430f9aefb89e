"""Problems of a pod's volumes: their names, several sources of one volume (none means emptyDir), each source."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from hooks.component.rules.pod_rules.claims import find_claim_problems
from hooks.component.rules.pod_rules.forms import check_form, require
from hooks.component.rules.pod_rules.projections import (
    find_file_problems,
    find_items_problems,
    find_projection_problems,
)
from hooks.component.rules.pod_rules.selectors import find_label_problems
from hooks.component.rules.pod_rules.sources import name_found
from hooks.ground.k8s.names import MAX_LABEL, is_subdomain
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Key, Problem
from hooks.language.rules import pod_values as rules

_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "configMap": ("name",),
    "csi": ("driver",),
    "ephemeral": ("volumeClaimTemplate",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "secret": ("secretName",),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
"""By source: fields that must not be empty."""

_WITHOUT_FIELDS = frozenset({"downwardAPI", "emptyDir", "fc", "flocker", "image", "projected"})
SOURCES = frozenset(_REQUIRED) | _WITHOUT_FIELDS


def find_volume_problems(volumes: Sequence[Mapping[str, Json]], path: FieldPath) -> Iterator[Problem]:
    """Problems of all volumes of a pod; volumes of the same name are found elsewhere."""
    for index, volume in enumerate(volumes):
        at, found = path / index, sorted(SOURCES & volume.keys())
        yield from check_form(volume.get("name"), rules.DNS_LABEL, at / "name")
        if len(found) > 1:
            choices = "configMap, emptyDir, hostPath, persistentVolumeClaim, secret and other sources"
            yield rules.ONE_OF.at(at, choices=choices, found=name_found(found))
        for source in found:
            for field in _REQUIRED.get(source, ()):
                if not volume[source].get(field):
                    yield rules.EMPTY.at(at / source / field)
            find = _FINDERS.get(source)
            if find is not None:
                yield from find(volume[source], at / source)


def _of_host_path(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    yield from check_form(source.get("path"), rules.PATH_WITHOUT_STEPS, path / "path")


def _of_nfs(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    yield from check_form(source.get("path"), rules.ABSOLUTE_PATH, path / "path")


def _of_git(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    yield from check_form(source.get("directory"), rules.RELATIVE_PATH, path / "directory")


def _of_items(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    yield from find_items_problems(source.get("items", ()), path / "items")


def _of_downward_api(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    for index, item in enumerate(source.get("items", ())):
        yield from find_file_problems(item, path / "items" / index)


def _of_csi(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    driver = source.get("driver", "")
    if driver and (len(driver) > MAX_LABEL or not is_subdomain(driver.lower())):
        yield rules.DNS_LABEL.at(path / "driver", found=repr(driver))
    if "nodePublishSecretRef" in source:
        yield from require(source["nodePublishSecretRef"], "name", path / "nodePublishSecretRef", rules.OBJECT_NAME)


def _of_fibre_channel(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    if source.get("targetWWNs") and source.get("wwids"):
        yield rules.NOT_BOTH.at(path / "wwids", other=path / "targetWWNs")
    elif source.get("targetWWNs"):
        if "lun" not in source:
            yield rules.EMPTY.at(path / "lun")
        elif not 0 <= source["lun"] <= 255:
            yield rules.RANGE.at(path / "lun", found=str(source["lun"]), least=0, most=255)
    elif not source.get("wwids"):
        yield rules.EMPTY.at(path / "targetWWNs")


def _of_flocker(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    choices = ("datasetName", "datasetUUID")
    found = [field for field in choices if field in source]
    if len(found) != 1:
        yield rules.ONE_OF.at(path, choices=", ".join(choices), found=name_found(found))
    if "/" in source.get("datasetName", ""):
        yield rules.RELATIVE_PATH.at(path / "datasetName", found=repr(source["datasetName"]))


def _of_ephemeral(source: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    template = source.get("volumeClaimTemplate")
    if template:
        at = path / "volumeClaimTemplate"
        yield from find_claim_problems(template.get("spec", {}), at / "spec")
        metadata = template.get("metadata", {})
        yield from find_label_problems(metadata.get("labels", {}), at / "metadata.labels")
        for key in sorted(metadata.get("annotations", {})):
            yield from check_form(key.lower(), rules.QUALIFIED_NAME, at / "metadata.annotations" / Key(key))


_FINDERS: Mapping[str, Callable[[Mapping[str, Json], FieldPath], Iterator[Problem]]] = {
    "configMap": _of_items,
    "csi": _of_csi,
    "downwardAPI": _of_downward_api,
    "ephemeral": _of_ephemeral,
    "fc": _of_fibre_channel,
    "flocker": _of_flocker,
    "gitRepo": _of_git,
    "hostPath": _of_host_path,
    "nfs": _of_nfs,
    "projected": find_projection_problems,
    "secret": _of_items,
}
