"""Problems of a container's mounts and devices."""

from collections.abc import Callable, Collection, Iterator, Mapping

from hooks.component.rules.pod_rules.forms import check_form
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem
from hooks.language.rules import pod as pod_rules
from hooks.language.rules import pod_values as rules

_DEVICE_SOURCES = ("ephemeral", "persistentVolumeClaim")


def find_mount_problems(
    container: Mapping[str, Json], path: FieldPath, *, is_replaced: Callable[[Mapping[str, Json]], bool]
) -> Iterator[Problem]:
    """Problems of mounts; whether their volumes exist is checked elsewhere. Mounts of ours replace some."""
    is_privileged = bool(container.get("securityContext", {}).get("privileged"))
    for index, mount in enumerate(container.get("volumeMounts", ())):
        at = path / "volumeMounts" / index
        if is_replaced(mount):
            continue
        if not mount.get("mountPath"):
            yield rules.EMPTY.at(at / "mountPath")
        for field in ("subPath", "subPathExpr"):
            yield from check_form(mount.get(field), rules.RELATIVE_PATH, at / field)
        if "subPath" in mount and "subPathExpr" in mount:
            yield rules.NOT_BOTH.at(at / "subPathExpr", other=at / "subPath")
        propagation, recursive = mount.get("mountPropagation", "None"), mount.get("recursiveReadOnly", "Disabled")
        if propagation == "Bidirectional" and not is_privileged:
            yield rules.PRIVILEGED_MOUNT.at(at / "mountPropagation")
        if recursive != "Disabled" and not mount.get("readOnly"):
            yield rules.ONLY_WITH.at(at / "recursiveReadOnly", other=at / "readOnly", value="true")
        if recursive != "Disabled" and propagation != "None":
            yield rules.ONLY_WITH.at(at / "recursiveReadOnly", other=at / "mountPropagation", value="None")


def find_repeated_mounts(container: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Mounts with the path of an earlier one."""
    seen: dict[str, FieldPath] = {}
    for index, mount in enumerate(container.get("volumeMounts", ())):
        at, mount_path = path / "volumeMounts" / index, mount.get("mountPath", "")
        other = seen.setdefault(mount_path, at)
        if mount_path and other is not at:
            yield pod_rules.MOUNT_PATH_TAKEN.at(at / "mountPath", other=other, mount_path=mount_path)


def find_device_problems(
    container: Mapping[str, Json],
    volumes: Mapping[str, Mapping[str, Json]],
    path: FieldPath,
    *,
    mounted: Collection[str],
) -> Iterator[Problem]:
    """Problems of block devices; `volumes` are the pod's by name, `mounted` are the paths of further mounts."""
    mounts = {mount.get("name"): mount.get("mountPath") for mount in container.get("volumeMounts", ())}
    names: dict[str, FieldPath] = {}
    paths: dict[str, FieldPath] = {}
    for index, device in enumerate(container.get("volumeDevices", ())):
        at, name, device_path = path / "volumeDevices" / index, device.get("name", ""), device.get("devicePath", "")
        if name not in volumes:
            yield pod_rules.MOUNT_WITHOUT_VOLUME.at(at / "name", name=name)
        elif not any(source in volumes[name] for source in _DEVICE_SOURCES):
            yield rules.DEVICE_VOLUME.at(at / "name", found=repr(name))
        if not device_path:
            yield rules.EMPTY.at(at / "devicePath")
        yield from check_form(device_path, rules.PATH_WITHOUT_STEPS, at / "devicePath")
        for field, value, seen in (("name", name, names), ("devicePath", device_path, paths)):
            if value and seen.setdefault(value, at) is not at:
                yield rules.REPEATED.at(at / field, found=repr(value), other=seen[value])
        if name in mounts or (device_path and device_path in {*mounts.values(), *mounted}):
            yield rules.REPEATED.at(at, found=repr(name), other=path / "volumeMounts")
