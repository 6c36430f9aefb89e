"""Finds values of a user that ours replace: each is said with its field, and with what is there instead.

Most of our values are defaults, and a user's win. These few are not: what selectors find pods by, what starts replicas
over several nodes, and shared memory of a set size.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hooks.component.pod.volumes import (
    find_dangling,
    is_shared_memory,
    is_shared_memory_path,
    replaces_shared_memory,
    resolve_shared_memory,
)
from hooks.component.rules.fragments import validate_fragments
from hooks.component.spec.operator_release import ALIASES_SINCE, began_with
from hooks.component.spec.subject import Subject, operator_labels
from hooks.ground import contract
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.types import EnvVar, Json
from hooks.ground.problems import SPEC, FieldPath, Key, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import graph as graph_rules
from hooks.language.rules import slips as rules

_MARKS = frozenset({contract.ANNOTATION_DISCOVERED, contract.ANNOTATION_IMMUTABLE_HASH, contract.ANNOTATION_RENDERING})
_BY_LABEL = "pods are found by it"
_BY_WORKLOAD = "it is the same for all pods of the workload"
_OF_NODES = "it tells the node's place among several"
_SHOWN = {
    contract.LABEL_SELECTOR: "the name of its workload",
    contract.LABEL_ROLE: "leader or worker",
    contract.LABEL_INSTANCE: "the number of its replica",
}
"""Labels whose value differs among the pods of a component, with what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacing:
    """What replaces values of a spec: the identity of its component, and what its graph adds.

    `labels` are further ones that its pods get in any case; `common` are the variables of its graph, `annotations` its
    own and the graph's. `has_groups`: LeaderWorkerSets run its replicas over several nodes; `has_numbers`: one each.
    """

    subject: Subject
    labels: Mapping[str, str] = field(default_factory=dict)
    common: Sequence[EnvVar] = ()
    annotations: Mapping[str, str]
    has_groups: bool
    has_numbers: bool


def may_be_replaced(spec: ComponentSpec) -> bool:
    """Whether the user writes anything of which some values are replaced; most specs have nothing of it."""
    written = (spec.labels, spec.annotations, spec.extra_pod_metadata, spec.shared_memory, spec.is_multinode)
    main: Json = spec.main_container  # of any type, in a spec that has problems
    return any(written) or (isinstance(main, Mapping) and bool(main.get("volumeMounts")))


def find_replaced(spec: ComponentSpec, path: FieldPath, replacing: Replacing) -> Iterator[Problem]:
    """Warnings about all values of a spec at that path that have no effect; none if its fragments have problems."""
    if validate_fragments(spec):
        return
    labels = reserved_labels(spec, replacing)
    pods = spec.extra_pod_metadata
    yield from find_replaced_labels(spec.labels, path / "labels", labels)
    if pods is not None:
        yield from find_replaced_labels(pods.labels, path / "extraPodMetadata.labels", labels)
        yield from _find_pod_annotations(pods.annotations, path / "extraPodMetadata.annotations", replacing)
    yield from _find_marks(spec.annotations, path / "annotations")
    model, name = spec.annotations.get(contract.ANNOTATION_BASE_MODEL), replacing.subject.base_model
    if model and name and model != name:
        at = path / "annotations" / Key(contract.ANNOTATION_BASE_MODEL)
        yield rules.REPLACED.at(at, value=model, used=repr(name), why="modelRef names the model")
    scheduler = spec.extra_pod_spec.get("schedulerName")
    if replacing.has_groups and scheduler and scheduler != contract.VOLCANO_SCHEDULER:
        at, used = path / "extraPodSpec.schedulerName", repr(contract.VOLCANO_SCHEDULER)
        yield rules.REPLACED.at(at, value=scheduler, used=used, why="only it starts the pods of several nodes together")
    yield from _find_aliases(spec, path, replacing)
    yield from _find_shared_memory(spec, path)


def find_replaced_labels(labels: Mapping[str, str], path: FieldPath, reserved: Mapping[str, str]) -> Iterator[Problem]:
    """Warnings about labels at that path that have another value in pods; `reserved` are those of the pods."""
    for key, value in sorted(labels.items()):
        used = reserved.get(key)
        if used is None or used == value:
            continue
        yield rules.REPLACED.at(path / Key(key), value=value, used=_SHOWN.get(key) or repr(used), why=_BY_LABEL)


def reserved_labels(spec: ComponentSpec, replacing: Replacing) -> dict[str, str]:
    """The labels that the pods get in any case; the value of some is empty, because it differs among the pods."""
    graph = replacing.subject.graph or spec.labels.get(contract.LABEL_GRAPH, "")
    nodes = {contract.LABEL_ROLE: ""} if spec.is_multinode else {}
    numbers = {contract.LABEL_INSTANCE: ""} if replacing.has_numbers else {}
    of_pods = {**operator_labels(replacing.subject), **replacing.labels, contract.LABEL_GRAPH: graph}
    return {**of_pods, contract.LABEL_SELECTOR: "", **nodes, **numbers}


def _find_marks(annotations: Mapping[str, str], path: FieldPath) -> Iterator[Problem]:
    """Annotations by which the hooks remember something about a workload."""
    for key in sorted(_MARKS.intersection(annotations)):
        yield rules.REPLACED.at(path / Key(key), value=annotations[key], used="a mark of the hooks", why="they read it")


def _find_pod_annotations(annotations: Mapping[str, str], path: FieldPath, replacing: Replacing) -> Iterator[Problem]:
    if contract.ANNOTATION_RESTART_AT in annotations:
        yield graph_rules.RESTART_ANNOTATION.at(path / Key(contract.ANNOTATION_RESTART_AT))
    gang = annotations.get(contract.ANNOTATION_GANG)
    if gang and replacing.has_groups:
        at = path / Key(contract.ANNOTATION_GANG)
        yield rules.REPLACED.at(at, value=gang, used="the PodGroup of its replica", why=_BY_WORKLOAD)


def _find_aliases(spec: ComponentSpec, path: FieldPath, replacing: Replacing) -> Iterator[Problem]:
    """Variables that each node of several gets with its own place."""
    if not spec.is_multinode or not began_with(replacing.annotations, ALIASES_SINCE):
        return
    lists = (
        (SPEC / "envs", replacing.common),
        (path / "extraPodSpec.mainContainer.env", spec.main_container.get("env") or ()),
        (path / "envs", spec.envs),
    )
    for at, entries in lists:
        for index, entry in enumerate(entries):
            if entry["name"] in {contract.NODE_RANK, contract.NODE_LEADER}:
                value = str(entry.get("value") or "valueFrom")
                yield rules.REPLACED.at(at / index, value=value, used="the node's own value", why=_OF_NODES)


def _find_shared_memory(spec: ComponentSpec, path: FieldPath) -> Iterator[Problem]:
    try:
        size = resolve_shared_memory(spec.shared_memory)
    except ValueError:
        return  # another rule reports that this is not a quantity
    used, main = f"{size} of memory", path / "extraPodSpec.mainContainer"
    if replaces_shared_memory(spec.shared_memory):
        volumes = {volume["name"]: volume for volume in spec.extra_pod_spec.get("volumes") or ()}
        for at, value, volume in _list_shared_memory(spec, path):
            is_ours = volume == contract.SHARED_MEMORY_VOLUME and volume not in volumes and is_shared_memory_path(value)
            if not is_ours and not _is_memory_of(volumes.get(volume), size):
                yield rules.SHARED_MEMORY.at(at, value=value, used=used, other=path / "sharedMemory")
    elif spec.shared_memory is None and (index := find_dangling(spec)) is not None:
        at, name = main / "volumeMounts" / index, str(spec.main_container["volumeMounts"][index].get("name"))
        yield rules.REPLACED.at(at, value=name, used=used, why="the pod has no volume of this name")


def _list_shared_memory(spec: ComponentSpec, path: FieldPath) -> Iterator[tuple[FieldPath, str, str]]:
    """Mounts and volumes that shared memory of a set size replaces: the field, a word for it, and its volume."""
    mounts = path / "extraPodSpec.mainContainer.volumeMounts"
    for index, mount in enumerate(spec.main_container.get("volumeMounts") or ()):
        if is_shared_memory(mount):
            yield mounts / index, str(mount.get("mountPath")), str(mount.get("name"))
    for index, claim in enumerate(spec.volume_mounts):
        if is_shared_memory({"name": claim.name, "mountPath": claim.mount_point}):
            yield path / "volumeMounts" / index, claim.mount_point, claim.name
    for index, volume in enumerate(spec.extra_pod_spec.get("volumes") or ()):
        if volume["name"] == contract.SHARED_MEMORY_VOLUME:
            yield path / "extraPodSpec.volumes" / index, volume["name"], volume["name"]


def _is_memory_of(volume: Json, size: str) -> bool:
    """Whether a volume is memory of that size."""
    source = (volume or {}).get("emptyDir") or {}
    return source.get("medium") == "Memory" and canonical_fragment(source).get("sizeLimit") == size
