"""Replicas over several nodes, as groups of LeaderWorkerSets whose pods are scheduled together.

Either each replica has a LeaderWorkerSet and a Volcano PodGroup, both named `<component>-<index>`; or one
LeaderWorkerSet, `<component>-0`, has all replicas, and LeaderWorkerSet makes a PodGroup for each. The setting
`lws_gangs` decides for a component that has neither yet; what exists stays as it is.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go, generateLeaderWorkerSet and,
before 1.x, generateVolcanoPodGroup; LeaderWorkerSet, pkg/webhooks, pkg/schedulerprovider, the names of its objects.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hooks.component.pod.placement import Orchestrator, Placement, Role, validate_node_count
from hooks.component.pod.template import BuiltPod, PodPlan, build_pod
from hooks.component.seen.discovered import Discovered, write_annotation
from hooks.component.seen.observe import Workloads, first_set
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.deletion import why_deleting
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.types import Manifest, PodSpec, ReadManifest, annotations_of, build_metadata
from hooks.ground.k8s.workloads import WorkloadTemplate, build_leader_worker_set, build_pod_group
from hooks.ground.problems import SPEC, FieldPath, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import component as rules

MAX_NAME = 50
"""LeaderWorkerSet creates no workers for a longer name: a label's value of 63 characters contains it and a hash."""

MAX_GROUPS = 1000
"""Each replica may have two objects, and every call of the hook contains all of them."""

_UNREAD = "it is not known whether the Go operator left a LeaderWorkerSet of this component"

_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_ROLES = (Role.LEADER, Role.WORKER)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSet:
    """One LeaderWorkerSet with so many replicas.

    `index` is that of the only replica of a numbered set, which has a PodGroup of ours; None of other sets.
    """

    name: str
    replicas: int
    index: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsPlan:
    """The LeaderWorkerSets of a component over several nodes.

    `withheld` are those that this answer leaves out: name to reason, which is half a sentence.
    """

    node_count: int
    sets: tuple[PlannedSet, ...]
    withheld: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the LeaderWorkerSets."""
        return tuple(planned.name for planned in self.sets)

    @property
    def replicas(self) -> int:
        """The replicas of all of them."""
        return sum(planned.replicas for planned in self.sets)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadata:
    """The labels and annotations that the objects of all replicas, and their pods, have in common.

    `queue` is the Volcano queue for the PodGroups that LeaderWorkerSet makes, empty for the default one.
    """

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    pod_labels: Mapping[str, str]
    pod_annotations: Mapping[str, str]
    queue: str


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


def plan_groups(name: str, *, node_count: int, replicas: int, observed: Workloads, one_set: bool) -> GroupsPlan:
    """Plan the LeaderWorkerSets of a component; `one_set` says what a component without any gets.

    A numbered set whose immutable fields must change is withheld, so that Metacontroller deletes it; the next answer
    contains it again. A hash in an annotation shows which ones must change. One without the hash comes from another
    version of the hooks, and is kept. More replicas than `MAX_GROUPS` were refused before, but under Grove, which
    needs no names.
    """
    sets = _choose_sets(name, replicas, observed, one_set=one_set)
    live = observed.leader_worker_sets
    reasons = {one.name: _why_replaced(live[one.name], one, node_count) for one in sets if one.name in live}
    if observed.unread and not live:
        # With the name of one that the Go operator left, or beside it: neither is to be decided without knowing.
        reasons = dict.fromkeys((one.name for one in sets), f"{_UNREAD}: {observed.unread}")
    withheld = {wanted: reason for wanted, reason in reasons.items() if reason}
    return GroupsPlan(node_count=node_count, sets=sets, withheld=withheld)


def build_groups(
    plan: GroupsPlan, metadata: GroupMetadata, pod: PodPlan, *, kept: Mapping[str, Discovered]
) -> BuiltGroups:
    """Build the objects of all replicas; `kept` is what a set's pods keep of an earlier discovery, by name of the set.

    Apart from `kept`, the pods of two numbered sets differ only in a label and an annotation.

    Raises:
        InvalidSpec: a pod cannot be built from what the user wrote, or has no command or arguments.
    """
    variants = {found: _build_pods(replace(pod, discovered=found), plan) for found in {pod.discovered, *kept.values()}}
    namespace = pod.subject.namespace
    sets, pod_groups = [], []
    for planned in plan.sets:
        discovered, label = kept.get(planned.name, pod.discovered), _label(planned)
        templates = {
            role: _build_template(metadata, built.spec, role, planned) for role, built in variants[discovered].items()
        }
        annotations = {
            **metadata.annotations,
            **write_annotation(discovered.to_json()),
            **_own_annotations(planned, plan.node_count, metadata),
        }
        own = build_metadata(planned.name, namespace, labels={**metadata.labels, **label}, annotations=annotations)
        leader, worker = templates[Role.LEADER], templates[Role.WORKER]
        sets.append(
            build_leader_worker_set(own, replicas=planned.replicas, size=plan.node_count, leader=leader, worker=worker)
        )
        if planned.index is not None:
            gang = build_metadata(planned.name, namespace, labels=label)
            pod_groups.append(build_pod_group(gang, min_member=plan.node_count))
    warnings = dict.fromkeys(warning for built in variants[pod.discovered].values() for warning in built.warnings)
    return BuiltGroups(sets=tuple(sets), pod_groups=tuple(pod_groups), warnings=tuple(warnings))


def _choose_sets(name: str, replicas: int, observed: Workloads, *, one_set: bool) -> tuple[PlannedSet, ...]:
    """One set for all replicas, or a numbered set for each.

    Beside numbered sets, the first one may be no numbered one: it had all replicas, until an older version of the
    hooks, which does not know such sets, made numbered ones for the others. It stays, for the first replica. Where
    another owner's set has all replicas, as before `dynamo-hooks migrate`, no numbered ones are made beside it.
    """
    first, live = first_set(name), observed.leader_worker_sets
    is_numbered = bool(observed.numbered) or observed.has_pod_groups
    if not is_numbered and (first in live or observed.has_rival or one_set):
        return (PlannedSet(name=first, replicas=replicas, index=None),)
    names = (f"{name}-{index}" for index in range(min(replicas, MAX_GROUPS)))
    return tuple(
        PlannedSet(name=one, replicas=1, index=index if one not in live or one in observed.numbered else None)
        for index, one in enumerate(names)
    )


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


def _why_replaced(live: ReadManifest, planned: PlannedSet, node_count: int) -> str:
    """Why a live set is withheld, empty if it is not; versions that make gangs let the size of a set change."""
    if why := why_deleting(live):
        return why
    if planned.index is None:
        return ""
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


def _label(planned: PlannedSet) -> dict[str, str]:
    return {} if planned.index is None else {contract.LABEL_INSTANCE: str(planned.index)}


def _own_annotations(planned: PlannedSet, node_count: int, metadata: GroupMetadata) -> dict[str, str]:
    """The annotations of a set itself; who names a queue by Volcano's own annotation keeps that one."""
    if planned.index is not None:
        return {contract.ANNOTATION_IMMUTABLE_HASH: _hash_immutable(node_count)}
    queue = metadata.annotations.get(contract.ANNOTATION_GANG_QUEUE) or metadata.queue
    return {contract.ANNOTATION_GANG_QUEUE: queue} if queue else {}


def _build_template(metadata: GroupMetadata, spec: PodSpec, role: Role, planned: PlannedSet) -> WorkloadTemplate:
    """Build the template of one role; our labels override all others.

    Pods of a numbered set name its PodGroup; where LeaderWorkerSet makes the gangs, it names them in the pods.

    A worker serves no requests itself, so only the leader has the label by which a model's endpoints are found.
    """
    dropped = {contract.LABEL_SELECTOR} | ({contract.LABEL_MODEL_HASH} if role is Role.WORKER else set())
    labels = {key: value for key, value in metadata.pod_labels.items() if key not in dropped}
    annotations = {key: value for key, value in metadata.pod_annotations.items() if key != contract.ANNOTATION_GANG}
    named = {} if planned.index is None else {contract.ANNOTATION_GANG: planned.name}
    gang: PodSpec = {**spec, "schedulerName": contract.VOLCANO_SCHEDULER}
    return WorkloadTemplate(
        labels={**labels, **_label(planned), contract.LABEL_ROLE: role.value},
        annotations={**annotations, **named},
        spec=gang,
    )
