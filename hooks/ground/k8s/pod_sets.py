"""The workload kinds, and the pods that each makes: how many, from which template, and where the template stands.

Who asks for the number of pods means one of two: those that the spec wants, or those that run. A replica of a
LeaderWorkerSet is a group of `size` pods; a PodCliqueSet has pods of several cliques.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_defaults import without_defaults
from hooks.ground.k8s.types import GroupVersionKind, Json, Manifest, ReadManifest, gvk_of
from hooks.ground.problems import SPEC, FieldPath, Key

ROLLING = frozenset({kinds.DEPLOYMENT, kinds.LEADER_WORKER_SET, kinds.POD_CLIQUE_SET})
"""Workloads of the hooks that replace their pods when the template changes."""
WORKLOADS = ROLLING | {kinds.JOB}
"""Workloads of the hooks."""
NATIVE = frozenset({kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.JOB})
"""Workloads with one template, which the API server itself fills in."""

_TEMPLATE = SPEC / "template"
CLIQUES = _TEMPLATE / "cliques"
_GROUP = "leaderWorkerTemplate"
_PATHS = {field: SPEC / _GROUP / field for field in ("leaderTemplate", "workerTemplate")}
_KNOWN = frozenset((kind.group, kind.kind) for kind in WORKLOADS | NATIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePods:
    """The pods that a workload makes from one template: `each` of them for each of its `replicas`.

    `role` is `leader`, `worker` or the name of a clique, and empty where a workload has one template. Roles with the
    same `rolls_with` are replaced together. `path` is the place of the template. A clique writes its template in its
    own way; `template` has the usual form, with `startsAfter` and `priorityClassName` beside `metadata` and `spec`.
    """

    role: str
    rolls_with: str
    replicas: int
    each: int
    template: Mapping[str, Json]
    path: FieldPath

    @property
    def wanted(self) -> int:
        """The number of pods that the spec wants."""
        return self.replicas * self.each

    @property
    def labels(self) -> Mapping[str, Json]:
        """The labels of the pods."""
        return (self.template.get("metadata") or {}).get("labels") or {}

    @property
    def annotations(self) -> Mapping[str, Json]:
        """The annotations of the pods."""
        return (self.template.get("metadata") or {}).get("annotations") or {}

    @property
    def pod_spec(self) -> Mapping[str, Json]:
        """The spec of the pods."""
        return self.template.get("spec") or {}


def makes_pods(kind: GroupVersionKind) -> bool:
    """Whether objects of the kind, in any version, make pods of templates that are known here."""
    return (kind.group, kind.kind) in _KNOWN


def pods_by_role(workload: ReadManifest) -> tuple[RolePods, ...]:
    """The pods of a workload by role, a leader first; () for other objects."""
    kind, spec = gvk_of(workload), workload.get("spec") or {}
    if not makes_pods(kind):
        return ()
    match kind.kind:
        case kinds.LEADER_WORKER_SET.kind:
            return tuple(_of_group(spec))
        case kinds.POD_CLIQUE_SET.kind:
            return tuple(_of_cliques(spec))
        case kinds.JOB.kind:
            return (_of_template(spec, _number(spec, "parallelism")),)
    return (_of_template(spec, wanted_replicas(workload)),)


def wanted_replicas(workload: ReadManifest) -> int:
    """The replicas that the spec wants, 1 if it does not say: pods, or the groups of a LeaderWorkerSet."""
    return _number(workload.get("spec") or {}, "replicas")


def count_wanted_pods(workload: ReadManifest) -> int:
    """The number of pods that the spec of a workload wants."""
    return sum(one.wanted for one in pods_by_role(workload))


def count_running_pods(workload: ReadManifest) -> int:
    """The number of pods that a workload has, ready or not, as its controller counts them; 0 of other objects.

    Grove counts no pods in the status of a PodCliqueSet, so of it the wanted ones are taken.
    """
    status, roles = workload.get("status") or {}, pods_by_role(workload)
    match gvk_of(workload).kind:
        case kinds.POD_CLIQUE_SET.kind:
            return sum(one.wanted for one in roles)
        case kinds.JOB.kind:
            return int(status.get("active") or 0)
    return int(status.get("replicas") or 0) * sum(one.each for one in roles)


def pod_spec_of(workload: ReadManifest) -> Mapping[str, Json]:
    """The spec of the pods of a workload with one template."""
    template = (workload.get("spec") or {}).get("template") or {}
    return template.get("spec") or {}


def cliques_of(spec: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
    """The cliques in the spec of a PodCliqueSet."""
    return (spec.get("template") or {}).get("cliques") or ()


def template_of(workload: ReadManifest) -> Json:
    """The part of a workload's spec that pods are made from; of a PodCliqueSet without the cliques' replicas."""
    spec = workload.get("spec") or {}
    if gvk_of(workload) != kinds.POD_CLIQUE_SET:
        return spec.get("template") or spec.get(_GROUP) or {}
    return {**(spec.get("template") or {}), "cliques": [_without_replicas(clique) for clique in cliques_of(spec)]}


def restarts_pods(before: ReadManifest, after: ReadManifest) -> bool:
    """Whether an update replaces pods. A template that the API server does not fill in counts as it is written."""
    read = without_defaults if gvk_of(before) in NATIVE else lambda part: part
    return bool(rolling_part(before, read) != rolling_part(after, read))


def rolling_part(workload: ReadManifest, read: Callable[[Json], Json] = without_defaults) -> Json:
    """The part of a workload whose change restarts its pods, by default without the API server's defaults.

    Of a PodCliqueSet, it has the part of each clique by the clique's name.
    """
    spec = workload.get("spec") or {}
    match gvk_of(workload).kind:
        case kinds.POD_CLIQUE_SET.kind:
            return {one.role: [one.labels, one.annotations, read(one.pod_spec)] for one in pods_by_role(workload)}
        case kinds.LEADER_WORKER_SET.kind:
            group = spec.get(_GROUP) or {}
            return read({key: group.get(key) for key in ("size", *_PATHS)})
    return read(spec.get("template") or {})


def with_replicas_of(workload: ReadManifest, other: ReadManifest) -> Manifest:
    """The workload with the replicas of another version of it."""
    spec, theirs = workload.get("spec") or {}, other["spec"]
    if gvk_of(workload) == kinds.POD_CLIQUE_SET:
        return {**workload, "spec": {**spec, "template": _scale_template(spec["template"], theirs["template"])}}
    replicas = {"replicas": theirs["replicas"]} if "replicas" in theirs else {}
    return {**workload, "spec": {**spec, **replicas}}


def place_in_workload(path: FieldPath, template: FieldPath) -> FieldPath:
    """The place in the workload of a path in the template of a role, which stands at `template`."""
    parts = path.parts
    if template.is_within(CLIQUES) and parts:
        match parts[0]:
            case "metadata":
                parts = parts[1:]
            case "spec":
                parts = ("spec", "podSpec", *parts[1:])
            case "startsAfter":
                parts = ("spec", *parts)
            case "priorityClassName":
                return _TEMPLATE / "priorityClassName"
    return FieldPath((*template.parts, *parts))


def _of_template(spec: Mapping[str, Json], replicas: int) -> RolePods:
    template = spec.get("template") or {}
    return RolePods(role="", rolls_with="", replicas=replicas, each=1, template=template, path=_TEMPLATE)


def _of_group(spec: Mapping[str, Json]) -> Iterator[RolePods]:
    group = spec.get(_GROUP) or {}
    leader, worker = _PATHS
    fields = (("leader", leader if group.get(leader) else worker, 1), ("worker", worker, _number(group, "size") - 1))
    for role, field, each in fields:
        if each:
            yield RolePods(
                role=role,
                rolls_with="group",
                replicas=_number(spec, "replicas"),
                each=each,
                template=group.get(field) or {},
                path=_PATHS[field],
            )


def _of_cliques(spec: Mapping[str, Json]) -> Iterator[RolePods]:
    template = spec.get("template") or {}
    groups = {
        name: group for group in template.get("podCliqueScalingGroups") or () for name in group.get("cliqueNames") or ()
    }
    for clique in cliques_of(spec):
        name = str(clique.get("name") or "")
        group = groups.get(name)
        times = _number(spec, "replicas") * (_number(group, "replicas") if group else 1)
        yield RolePods(
            role=name,
            rolls_with=f"group {group.get('name')}" if group else name,
            replicas=_number(clique.get("spec") or {}, "replicas") * times,
            each=1,
            template=_template_of_clique(clique, template.get("priorityClassName")),
            path=CLIQUES / Key(name),
        )


def _template_of_clique(clique: Mapping[str, Json], priority: Json) -> dict[str, Json]:
    own = clique.get("spec") or {}
    beside = {"startsAfter": own.get("startsAfter"), "priorityClassName": priority}
    return {
        "metadata": {field: clique[field] for field in ("labels", "annotations") if clique.get(field)},
        "spec": own.get("podSpec") or {},
        **{field: value for field, value in beside.items() if value},
    }


def _without_replicas(clique: Mapping[str, Json]) -> dict[str, Json]:
    spec = {key: value for key, value in (clique.get("spec") or {}).items() if key != "replicas"}
    return {**clique, "spec": spec}


def _scale_template(applied: Mapping[str, Json], wanted: Mapping[str, Json]) -> dict[str, Json]:
    """The template with the wanted replicas of scaling groups, and of cliques that are in no group."""
    grouped = {name for group in applied.get("podCliqueScalingGroups") or () for name in group.get("cliqueNames") or ()}
    cliques = {clique["name"]: clique["spec"]["replicas"] for clique in wanted["cliques"]}
    groups = {group["name"]: group["replicas"] for group in wanted.get("podCliqueScalingGroups") or ()}
    scaled = [
        {**one, "spec": {**one["spec"], "replicas": cliques[one["name"]]}}
        if one["name"] in cliques and one["name"] not in grouped
        else one
        for one in applied.get("cliques") or ()
    ]
    sets = [
        {**one, "replicas": groups[one["name"]]} if one["name"] in groups else one
        for one in applied.get("podCliqueScalingGroups") or ()
    ]
    return {**applied, "cliques": scaled, **({"podCliqueScalingGroups": sets} if sets else {})}


def _number(fields: Mapping[str, Json], name: str) -> int:
    """A count, 1 if there is none."""
    found = fields.get(name)
    return 1 if found is None else int(found)
