"""What Grove reports: of a PodCliqueSet, and of its parts, the PodCliques and PodCliqueScalingGroups.

While a part has fewer pods than its least, Grove neither ends an update of the set nor observes another generation of
it. What a part has come to is then judged by its content: whether it has the template that the set has.

Source: Grove v0.1.0-alpha.6 to alpha.12, operator/api/core/v1alpha1, and its controllers, run and read.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import is_true
from hooks.ground.k8s.deletion import why_deleting
from hooks.ground.k8s.pod_defaults import without_defaults
from hooks.ground.k8s.pod_sets import cliques_of, wanted_replicas
from hooks.ground.k8s.types import Json, ReadManifest, annotations_of, is_deleting, labels_of, name_of

LABEL_POD_CLIQUE = "grove.io/podclique"
LABEL_GROUP = "grove.io/podcliquescalinggroup"
LABEL_TEMPLATE_HASH = "grove.io/pod-template-hash"
GATE = "grove.io/podgang-pending-creation"
"""The scheduling gate of pods whose gang is not complete yet."""

_OWN_KEYS = re.compile(r"(grove\.io|app\.kubernetes\.io)/")
_OWN_VARIABLES = "GROVE_"
_AVAILABLE = {kinds.POD_CLIQUE.kind: "readyReplicas", kinds.POD_CLIQUE_SCALING_GROUP.kind: "availableReplicas"}
_PROGRESS = ("rollingUpdateProgress", "updateProgress")
"""The first up to alpha.8, the second from alpha.7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalable:
    """A live PodClique or PodCliqueScalingGroup; `observed_generation` is None if its version of Grove reports none.

    `available` is the number of ready pods of a PodClique, or of available replicas of a PodCliqueScalingGroup;
    `scheduled` is the number of those that have nodes, `least` the number that Grove wants there always. An update
    that has not ended, or is still to begin (`is_updating`), has `selected` ready pods for replacement. `template_hash`
    is in the labels of its new pods, of a group all hashes of its members. `is_breached`: Grove counts how long it has
    been below its least. `errors` say why pods that it lacks could not be made. `is_born_empty`: Grove made it with 0
    replicas, which no template has. Where it is judged by content, `unprocessed` says why it does not have the set's
    template, `unfinished` why its pods may not have its own.
    """

    kind: str
    name: str
    generation: int
    observed_generation: int | None
    is_deleting: bool
    desired: int
    replicas: int
    updated: int
    available: int
    scheduled: int
    least: int = 1
    is_updating: bool = False
    selected: int = 0
    template_hash: str = ""
    is_breached: bool = False
    errors: tuple[str, ...] = ()
    is_born_empty: bool = False
    unprocessed: str = ""
    unfinished: str = ""

    @property
    def is_below_least(self) -> bool:
        """Whether Grove waits for pods of it before it says anything about the whole set."""
        return min(self.desired, self.available) < self.least

    @property
    def keeps_size(self) -> bool:
        """Whether it must not become smaller: Grove would wait for as many new ready pods as it has selected."""
        is_clique = self.kind == kinds.POD_CLIQUE.kind
        return is_clique and self.is_updating and bool(self.selected or self.available)

    @property
    def is_stuck(self) -> bool:
        """Whether it became smaller during its update, so that Grove waits for ever."""
        return self.is_updating and self.selected > self.desired > 0

    @property
    def has_stopped(self) -> bool:
        """Whether it went to 0 after pods were selected, and all its pods end: Grove waits for new ones for ever."""
        return self.selected > 0 and self.desired == 0 and self.replicas == 0

    def to_status(self) -> dict[str, Json]:
        """The entry of a graph's `status.services`."""
        return {
            "componentKind": self.kind,
            "componentName": self.name,
            "componentNames": [self.name],
            "replicas": self.replicas,
            "updatedReplicas": self.updated,
            _AVAILABLE[self.kind]: self.available,
            "scheduledReplicas": self.scheduled,
        }


def read_scalable(manifest: ReadManifest) -> Scalable:
    """Read a PodClique or PodCliqueScalingGroup; absent counts are 0."""
    status: Mapping[str, Any] = manifest.get("status") or {}
    kind, observed = str(manifest["kind"]), status.get("observedGeneration")
    desired, replicas = wanted_replicas(manifest), int(status.get("replicas") or 0)
    running = [progress for progress in _progress_of(status) if not progress.get("updateEndedAt")]
    return Scalable(
        kind=kind,
        name=name_of(manifest),
        generation=int(manifest["metadata"].get("generation", 0)),
        observed_generation=None if observed is None else int(observed),
        is_deleting=is_deleting(manifest),
        desired=desired,
        replicas=replicas,
        updated=int(status.get("updatedReplicas") or 0),
        available=int(status.get(_AVAILABLE[kind]) or 0),
        scheduled=int(status.get("scheduledReplicas") or 0),
        least=_read_least(manifest),
        is_updating=bool(running),
        selected=max(map(_count_selected, running), default=0),
        template_hash=labels_of(manifest).get(LABEL_TEMPLATE_HASH, ""),
        is_breached=is_true(status.get("conditions") or (), "MinAvailableBreached"),
        errors=read_errors(manifest) if replicas < desired else (),
        is_born_empty=desired == 0 and manifest["metadata"].get("generation") == 1,
    )


def judge_parts(pod_clique_set: ReadManifest, parts: Sequence[ReadManifest]) -> tuple[str, list[Scalable]]:
    """Why the set's parts may be of an older template, empty if that is known of each part; and the parts.

    A group has the errors and hashes of its PodCliques.
    """
    found = {name_of(part): read_scalable(part) for part in parts}
    members = _members_of(parts)
    for name, of_group in members.items():
        if name in found:
            errors = (*found[name].errors, *(one for member in of_group for one in found[name_of(member)].errors))
            hashes = sorted({found[name_of(member)].template_hash for member in of_group} - {""})
            found[name] = replace(found[name], errors=tuple(dict.fromkeys(errors)), template_hash=",".join(hashes))
    unprocessed = why_unprocessed(pod_clique_set)
    if not unprocessed or is_deleting(pod_clique_set):
        return unprocessed, list(found.values())
    can_judge = _can_judge(parts, found.values())
    templates = {str(one.get("name")): one for one in cliques_of(pod_clique_set.get("spec") or {})}
    for part in parts:
        name = name_of(part)
        own = members.get(name, ()) if part["kind"] != kinds.POD_CLIQUE.kind else (part,)
        old = next((name_of(one) for one in own if not _has_template(one, templates)), "")
        is_moving = found[name].is_updating or not all(map(_has_own_pods, own))
        found[name] = replace(
            found[name],
            is_updating=bool(old) or is_moving,
            unprocessed=f"podclique {old} does not have the set's template yet" if old and can_judge else "",
            unfinished="performing rolling update of its pods" if is_moving and can_judge else "",
        )
    return "" if can_judge else unprocessed, list(found.values())


def why_unready(found: Scalable | None) -> str:
    """Why a PodClique or PodCliqueScalingGroup is not ready with its own size and template; empty if it is ready.

    Source: Dynamo operator, internal/dynamo/grove.go, CheckPodCliqueReady and CheckPCSGReady.
    """
    if found is None:
        return "resource not found"
    if found.is_deleting:
        return "it is being deleted"
    if found.is_stuck:
        return f"Grove waits for {found.selected} new pods, and only {found.desired} are wanted"
    observed = found.generation if found.observed_generation is None else found.observed_generation
    if observed < found.generation and not found.has_stopped:
        return f"spec not yet processed: {_generations(found.generation, observed)}"
    return found.unprocessed or (_shortage(found) or found.unfinished if found.desired else "")


def _shortage(found: Scalable) -> str:
    if found.available < found.desired:
        word = _AVAILABLE[found.kind].removesuffix("Replicas")
        return f"desired={found.desired}, {word}={found.available}"
    if found.updated < found.desired:
        return f"desired={found.desired}, updated={found.updated}"
    if found.replicas != found.desired:
        return f"performing rolling update: desired={found.desired}, replicas={found.replicas}"
    return ""


def why_unprocessed(pod_clique_set: ReadManifest) -> str:
    """Why the status of the set's PodCliques may belong to an older template; empty if it belongs to the newest one.

    A version of Grove without observedGeneration is trusted in the first generation, which has no older template.
    """
    if why := why_deleting(pod_clique_set):
        return why
    status: Mapping[str, Any] = pod_clique_set.get("status") or {}
    generation = int(pod_clique_set["metadata"].get("generation", 0))
    observed = status.get("observedGeneration")
    if observed is None:
        return "" if generation <= 1 else "observedGeneration is nil"
    if int(observed) < generation:
        return f"spec not yet processed: {_generations(generation, int(observed))}"
    is_updating = any(not progress.get("updateEndedAt") for progress in _progress_of(status))
    return "performing rolling update of its cliques" if is_updating else ""


def read_errors(manifest: ReadManifest) -> tuple[str, ...]:
    """The errors that Grove reports of a set or a part, in its words; after a pass without any it may keep the last."""
    errors = [one for one in (manifest.get("status") or {}).get("lastErrors") or () if isinstance(one, Mapping)]
    return tuple(str(error.get("description") or error.get("code") or "an error without a text") for error in errors)


def find_cause(error: str) -> str:
    """The words of what failed at the bottom of an error, which Grove wraps in what it was doing."""
    return error.rpartition(", cause: ")[2]


def _progress_of(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [progress for key in _PROGRESS if isinstance(progress := status.get(key), Mapping) and progress]


def _count_selected(progress: Mapping[str, Any]) -> int:
    selected = progress.get("readyPodsSelectedToUpdate") or {}
    return len(selected.get("completed") or ()) + bool(selected.get("current"))


def _read_least(manifest: ReadManifest) -> int:
    """`minAvailable`, which Grove's webhook fills in."""
    return int((manifest.get("spec") or {}).get("minAvailable") or 1)


def _members_of(parts: Iterable[ReadManifest]) -> dict[str, list[ReadManifest]]:
    """By name of a group its PodCliques."""
    found: dict[str, list[ReadManifest]] = {}
    for part in parts:
        group = labels_of(part).get(LABEL_GROUP, "")
        if group and part["kind"] == kinds.POD_CLIQUE.kind:
            found.setdefault(group, []).append(part)
    return found


def _can_judge(parts: Iterable[ReadManifest], found: Iterable[Scalable]) -> bool:
    """Whether Grove's counters of the set stand still for now, and its PodCliques say which template they have."""
    cliques = (part for part in parts if part["kind"] == kinds.POD_CLIQUE.kind)
    return any(one.is_below_least or one.is_stuck for one in found) and all(
        LABEL_TEMPLATE_HASH in labels_of(one) for one in cliques
    )


def _has_template(clique: ReadManifest, templates: Mapping[str, Mapping[str, Json]]) -> bool:
    """Whether a PodClique has its template of the set: the first whose name its own name ends with."""
    template = next((one for name, one in templates.items() if name_of(clique).endswith(f"-{name}")), None)
    if template is None:
        return False
    return _content(clique, clique.get("spec") or {}) == _content({"metadata": template}, template.get("spec") or {})


def _has_own_pods(clique: ReadManifest) -> bool:
    """Whether the pods of a PodClique have its template, of which its label is the hash."""
    status = clique.get("status") or {}
    of_updates = (progress.get("podTemplateHash") for progress in _progress_of(status))
    wanted = labels_of(clique).get(LABEL_TEMPLATE_HASH)
    return {status.get("currentPodTemplateHash"), *filter(None, of_updates)} == {wanted}


def _content(metadata: ReadManifest, spec: Mapping[str, Json]) -> tuple[Json, ...]:
    """Labels, annotations and pods of a PodClique or its template, without what Grove adds: its own labels, variables
    of a member of a group, and claims for devices.
    """
    labels, annotations = (
        {key: value for key, value in found.items() if not _OWN_KEYS.match(key)}
        for found in (labels_of(metadata), annotations_of(metadata))
    )
    pod = without_defaults(spec.get("podSpec") or {})
    containers = {key: [_without_own(one) for one in pod.get(key) or ()] for key in ("containers", "initContainers")}
    return labels, annotations, {**pod, **containers, "resourceClaims": None}


def _without_own(container: Mapping[str, Json]) -> dict[str, Json]:
    env = [one for one in container.get("env") or () if not str(one.get("name")).startswith(_OWN_VARIABLES)]
    resources = {key: value for key, value in (container.get("resources") or {}).items() if key != "claims"}
    return {**container, "env": env, "resources": resources}


def _generations(generation: int, observed: int) -> str:
    return f"generation={generation}, observedGeneration={observed}"
