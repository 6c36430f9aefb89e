"""Replicas over several nodes: each has a LeaderWorkerSet and a Volcano PodGroup, both named `<component>-<index>`.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go, generateLeaderWorkerSet and
generateVolcanoPodGroup; LeaderWorkerSet, pkg/webhooks and the names of its objects.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hooks import contract
from hooks.api.component_spec import ComponentSpec
from hooks.component.discovered import Discovered, write_annotation
from hooks.component.placement import Orchestrator, Placement, Role, validate_node_count
from hooks.component.pod_template import BuiltPod, PodPlan, build_pod
from hooks.errors import InvalidSpec
from hooks.k8s.hashing import canonical_json, short_hash
from hooks.k8s.types import Manifest, PodSpec, ReadManifest, annotations_of, build_metadata, is_deleting
from hooks.k8s.workloads import PodTemplate, build_leader_worker_set, build_pod_group
from hooks.problems import SPEC, FieldPath, Problem
from hooks.rules import component as rules

MAX_NAME = 50
"""LeaderWorkerSet creates no workers for a longer name: a label's value of 63 characters contains it and a hash."""

MAX_GROUPS = 1000
"""Each replica has two objects, and every call of the hook contains all of them."""

_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_ROLES = (Role.LEADER, Role.WORKER)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsPlan:
    """The replicas of a component over several nodes; `names` are the names of its LeaderWorkerSets, by index.

    `withheld` are LeaderWorkerSets that this answer leaves out: name to reason, which is half a sentence.
    """

    node_count: int
    names: tuple[str, ...]
    withheld: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadata:
    """The labels and annotations that the objects of all replicas, and their pods, have in common."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    pod_labels: Mapping[str, str]
    pod_annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltGroups:
    """The objects of all replicas, including withheld ones, and warnings about their pods."""

    sets: tuple[Manifest, ...]
    pod_groups: tuple[Manifest, ...]
    warnings: tuple[Problem, ...]


def validate_groups(spec: ComponentSpec, name: str, path: FieldPath) -> Iterator[Problem]:
    """Problems of the replicas over several nodes of the component `name`; `path` is that of its spec."""
    try:
        validate_node_count(spec.node_count)
    except InvalidSpec as error:
        yield from (problem.under(path, instead_of=SPEC) for problem in error.problems)
    if not spec.is_multinode:
        return
    replicas = 1 if spec.replicas is None else spec.replicas
    if replicas > MAX_GROUPS:
        yield rules.GROUP_COUNT.at(path / "replicas", count=replicas, most=MAX_GROUPS)
    yield from _validate_name(f"{name}-{max(replicas - 1, 0)}", path / "multinode")


def plan_groups(name: str, *, node_count: int, replicas: int, observed: Mapping[str, ReadManifest]) -> GroupsPlan:
    """Plan the replicas of a component; `observed` are its LeaderWorkerSets by name.

    A LeaderWorkerSet whose immutable fields must change is withheld, so that Metacontroller deletes it; the next answer
    contains it again. A hash in an annotation shows which ones must change. One without the hash comes from another
    version of the hooks, and is kept. More replicas than `MAX_GROUPS` were refused before, but under Grove, which
    needs no names.
    """
    names = tuple(f"{name}-{index}" for index in range(min(replicas, MAX_GROUPS)))
    present = {wanted: observed[wanted] for wanted in names if wanted in observed}
    reasons = {wanted: _why_replaced(live, node_count) for wanted, live in present.items()}
    withheld = {wanted: reason for wanted, reason in reasons.items() if reason}
    return GroupsPlan(node_count=node_count, names=names, withheld=withheld)


def build_groups(
    plan: GroupsPlan, metadata: GroupMetadata, pod: PodPlan, *, kept: Mapping[str, Discovered]
) -> BuiltGroups:
    """Build the objects of all replicas; `kept` is what a set's pods keep of an earlier discovery, by name of the set.

    Apart from `kept`, the pods of two replicas differ only in a label and an annotation.

    Raises:
        InvalidSpec: a pod cannot be built from what the user wrote, or has no command or arguments.
    """
    variants = {found: _build_pods(replace(pod, discovered=found), plan) for found in {pod.discovered, *kept.values()}}
    namespace = pod.subject.namespace
    sets, pod_groups = [], []
    for index, name in enumerate(plan.names):
        label = {contract.LABEL_INSTANCE: str(index)}
        pod_groups.append(build_pod_group(build_metadata(name, namespace, labels=label), min_member=plan.node_count))
        discovered = kept.get(name, pod.discovered)
        templates = {
            role: _build_template(metadata, built.spec, role, name=name, label=label)
            for role, built in variants[discovered].items()
        }
        annotations = {
            **metadata.annotations,
            **write_annotation(discovered.to_json()),
            contract.ANNOTATION_IMMUTABLE_HASH: _hash_immutable(plan.node_count),
        }
        own = build_metadata(name, namespace, labels={**metadata.labels, **label}, annotations=annotations)
        sets.append(
            build_leader_worker_set(
                own, size=plan.node_count, leader=templates[Role.LEADER], worker=templates[Role.WORKER]
            )
        )
    warnings = dict.fromkeys(warning for built in variants[pod.discovered].values() for warning in built.warnings)
    return BuiltGroups(sets=tuple(sets), pod_groups=tuple(pod_groups), warnings=tuple(warnings))


def _build_pods(pod: PodPlan, plan: GroupsPlan) -> dict[Role, BuiltPod]:
    pods = {role: build_pod(pod, _placement(pod, plan.node_count, role)) for role in _ROLES}
    for built in pods.values():
        _check_started(built.spec)
    return pods


def _validate_name(longest: str, path: FieldPath) -> Iterator[Problem]:
    """Problems of the longest name of a LeaderWorkerSet; names of a Service, of pods and of a label begin with it."""
    if len(longest) > MAX_NAME:
        yield rules.GROUP_NAME_LENGTH.at(path, name=longest, length=len(longest))
    if _LABEL_1035.fullmatch(longest) is None:
        yield rules.GROUP_NAME_FORM.at(path, name=longest)


def _why_replaced(live: ReadManifest, node_count: int) -> str:
    if is_deleting(live):
        return "it is being deleted"
    wanted = _hash_immutable(node_count)
    if annotations_of(live).get(contract.ANNOTATION_IMMUTABLE_HASH, wanted) != wanted:
        return "it is deleted and created again, because its number of nodes changed"
    return ""


def _hash_immutable(node_count: int) -> str:
    """Hash of the fields that LeaderWorkerSet refuses to change: the size, before version 0.7."""
    return short_hash(canonical_json({"size": node_count}))


def _placement(pod: PodPlan, node_count: int, role: Role) -> Placement:
    return Placement(role=role, orchestrator=Orchestrator.LWS, node_count=node_count, service=pod.subject.service)


def _check_started(spec: PodSpec) -> None:
    """Refuse a pod without a command or arguments: the image's own command does not know the pod's rank."""
    main = spec["containers"][-1]
    path = SPEC / "extraPodSpec.mainContainer"
    if not main.get("command"):
        raise InvalidSpec(rules.GROUP_COMMAND.at(path / "command"))
    if not main.get("args"):
        raise InvalidSpec(rules.GROUP_ARGS.at(path / "args"))


def _build_template(
    metadata: GroupMetadata, spec: PodSpec, role: Role, *, name: str, label: Mapping[str, str]
) -> PodTemplate:
    """Build the template of one role; our labels override all others.

    A worker serves no requests itself, so only the leader has the label by which a model's endpoints are found.
    """
    dropped = {contract.LABEL_SELECTOR} | ({contract.LABEL_MODEL_HASH} if role is Role.WORKER else set())
    labels = {key: value for key, value in metadata.pod_labels.items() if key not in dropped}
    gang: PodSpec = {**spec, "schedulerName": contract.VOLCANO_SCHEDULER}
    return PodTemplate(
        labels={**labels, **label, contract.LABEL_ROLE: role.value},
        annotations={**metadata.pod_annotations, contract.ANNOTATION_GANG: name},
        spec=gang,
    )
