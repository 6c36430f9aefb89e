"""Which workloads wait with new defaults of the hooks, and the annotation of a workload by which that is decided.

A new version of the hooks may render another pod template for an unchanged spec, and so may the hooks for a
workload that the Go operator rendered. That must not restart pods unannounced: the workload stays as it was last
applied until its spec changes. The annotation `nvidia.com/dynamo-hooks-rendering` holds `<revision>.<digest>`: the
revision of the code that rendered the workload, and the digest of the part of the spec that it was rendered from.

A digest has no replica counts, because scaling must not restart pods, and no `spec.restart`, because a restart reaches
one service after the other; the id of the restart that a service got counts.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of

RENDERING_REVISION = 4
"""Raise it whenever the hooks render another pod template, or another component, for an unchanged spec."""
FOREIGN_REVISION = 0
"""The revision of a workload that the Go operator rendered; only `dynamo-hooks migrate` writes it."""

NOT_ROLLING = frozenset({"replicas", "scalingAdapter", "autoscaling"})
"""Fields of a component, or of a service, that say only how many replicas there are."""
_RENDERED_ANNOTATIONS = frozenset(
    {
        contract.ANNOTATION_DISCOVERY_BACKEND,
        contract.ANNOTATION_DISCOVERY_MODE,
        contract.ANNOTATION_ENABLE_GROVE,
        contract.ANNOTATION_ENABLE_METRICS,
        contract.ANNOTATION_EXECUTOR_BACKEND,
        contract.ANNOTATION_KAI_QUEUE,
    }
)
"""Annotations of a graph from which its workloads are rendered."""
_NEVER_IN_PODS = frozenset({"pvcs", "ingress"})
"""Fields of a graph, or of a service, that decide about objects beside the pods."""
_OF_STRATEGY = frozenset(
    {
        contract.ANNOTATION_DEPLOYMENT_STRATEGY,
        contract.ANNOTATION_MAX_SURGE,
        contract.ANNOTATION_MAX_UNAVAILABLE,
    }
)
"""Annotations of a service that say how its pods are replaced."""
_LENGTH = 12


@dataclass(frozen=True, slots=True)
class RenderingMark:
    """The value of the annotation: the revision of the code and the digest of the spec that a workload comes from.

    A workload of the Go operator whose component changes at the move has two digests with a dot between: that of the
    component as its graph writes it, then as it was found.
    """

    revision: int
    digest: str

    @property
    def digests(self) -> list[str]:
        """The digest, or both."""
        return self.digest.split(".")

    def __str__(self) -> str:
        """`1.0a1b2c3d4e5f`."""
        return f"{self.revision}.{self.digest}"


def digest_component(spec: Mapping[str, Json]) -> str:
    """The digest of a DynamoComponentDeployment's spec; its Deployment or LeaderWorkerSets are rendered from it."""
    return _digest(_without(spec, NOT_ROLLING))


def digest_service(graph: ReadManifest, service: str, restart_at: str) -> str:
    """The digest of a graph for the component of one service; the specs of the other services do not count.

    `restart_at` is the id of the restart that the service's pods get, empty for none.
    """
    return _digest(_of_graph(graph, {service: restart_at}))


def is_of_service(mark_: RenderingMark, graph: ReadManifest, service: str, component: Mapping[str, Json]) -> bool:
    """Whether a component with that spec was rendered from this part of the graph, restarts left aside."""
    found = _of_graph(graph, {service: ""})
    restarted_at = _pod_annotations(component).get(contract.ANNOTATION_RESTARTED_AT)
    services = {name: with_restarted_at(spec, restarted_at) for name, spec in found["services"].items()}
    restart = (component.get("annotations") or {}).get(contract.ANNOTATION_RESTART_AT)
    return mark_.digest == _digest({**found, "services": services, "restarts": _ids({service: restart})})


def with_restarted_at(spec: Mapping[str, Json], moment: Json) -> dict[str, Json]:
    """The spec of a service whose pods were restarted at that moment, None for never."""
    annotations = _without(_pod_annotations(spec), {contract.ANNOTATION_RESTARTED_AT})
    told = {**annotations, **({contract.ANNOTATION_RESTARTED_AT: moment} if moment else {})}
    metadata = _without(spec.get("extraPodMetadata") or {}, {"annotations"})
    whole = {**metadata, **({"annotations": told} if told else {})}
    return {**_without(spec, {"extraPodMetadata"}), **({"extraPodMetadata": whole} if whole else {})}


def _reaching(fields: Mapping[str, Json]) -> dict[str, Json]:
    """The fields that reach pods; variables in any order are the same."""
    kept, pod = _without(fields, _NEVER_IN_PODS), fields.get("extraPodSpec") or {}
    main = pod.get("mainContainer") or {}
    if "annotations" in kept:
        kept["annotations"] = _without(kept["annotations"] or {}, _OF_STRATEGY)
    if kept.get("envs"):
        kept["envs"] = sorted(kept["envs"], key=lambda entry: str(entry["name"]))
    if main.get("env"):
        env = sorted(main["env"], key=lambda entry: str(entry["name"]))
        kept["extraPodSpec"] = {**pod, "mainContainer": {**main, "env": env}}
    return kept


def _pod_annotations(spec: Mapping[str, Json]) -> Mapping[str, Json]:
    found: Mapping[str, Json] = (spec.get("extraPodMetadata") or {}).get("annotations") or {}
    return found


def digest_workers(graph: ReadManifest, services: Collection[str]) -> str:
    """Eight hex digits for the specs of these services together, in which nothing counts that reaches no pod.

    Without replicas and restarts, like all digests. The revision of the code is no part of it either.
    """
    found = _of_graph(graph, dict.fromkeys(services, ""))
    reaching = {
        **found,
        "spec": _reaching(found["spec"]),
        "services": {name: _reaching(with_restarted_at(spec, None)) for name, spec in found["services"].items()},
        "annotations": _without(found["annotations"], {contract.ANNOTATION_ENABLE_GROVE}),
        "restarts": {},
    }
    return short_hash(canonical_json(_drop_nulls(reaching)))


def digest_graph(graph: ReadManifest, restarts: Mapping[str, str]) -> str:
    """The digest of a graph for its PodCliqueSet; `restarts` has by service the id that its pods get."""
    services = (graph.get("spec") or {}).get("services") or {}
    return _digest(_of_graph(graph, {service: restarts.get(service, "") for service in services}))


def read_mark(workload: ReadManifest) -> RenderingMark | None:
    """The mark in a workload's annotations; None if there is none, or if it cannot be read."""
    value = annotations_of(workload).get(contract.ANNOTATION_RENDERING, "")
    revision, _, digest = value.partition(".")
    return RenderingMark(int(revision), digest) if revision.isascii() and revision.isdigit() and digest else None


def mark(workload: ReadManifest, digest: str, revision: int | None = None) -> Manifest:
    """The workload with the mark of this revision, by default the present one; it replaces an earlier mark."""
    found = RenderingMark(RENDERING_REVISION if revision is None else revision, digest)
    annotations = {**annotations_of(workload), contract.ANNOTATION_RENDERING: str(found)}
    return {**workload, "metadata": {**workload["metadata"], "annotations": dict(sorted(annotations.items()))}}


def _of_graph(graph: ReadManifest, restarts: Mapping[str, str]) -> dict[str, Json]:
    spec = graph.get("spec") or {}
    services = spec.get("services") or {}
    own = {name: (services.get(name) or {}).get("annotations") or {} for name in restarts}
    ids = {name: restart or own[name].get(contract.ANNOTATION_RESTART_AT) for name, restart in restarts.items()}
    return {
        "spec": _without(spec, {"services", "restart"}),
        "services": {
            name: {
                **_without(services.get(name) or {}, {*NOT_ROLLING, "annotations"}),
                "annotations": _without(own[name], {contract.ANNOTATION_RESTART_AT}),
            }
            for name in restarts
        },
        "annotations": {key: value for key, value in annotations_of(graph).items() if key in _RENDERED_ANNOTATIONS},
        "restarts": _ids(ids),
    }


def _ids(restarts: Mapping[str, Json]) -> dict[str, Json]:
    return {service: restart for service, restart in restarts.items() if restart}


def _without(fields: Mapping[str, Json], dropped: Collection[str]) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if key not in dropped}


def _digest(value: Json) -> str:
    return short_hash(canonical_json(_drop_nulls(value)), _LENGTH)


def _drop_nulls(value: Json) -> Json:
    """The value without nulls: the API server stores them in fields that it does not know, and they mean nothing."""
    if isinstance(value, Mapping):
        return {key: _drop_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_drop_nulls(item) for item in value if item is not None]
    return value
