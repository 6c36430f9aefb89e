"""Merges `overrides.profilingJob` over the profiling Job: fields of the Job, and of its pod.

Lists with keys, as containers and variables, are merged item by item; tolerations and others are taken as a whole. An
init container `profiler` is one of releases whose profiler was an init container: it is merged over the container.

Source: Dynamo operator 1.x, internal/controller/profiling_job_overrides.go.
"""

from collections.abc import Mapping, Sequence

from hooks.ground import contract
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.pods import single_variables
from hooks.ground.k8s.types import Json, Manifest
from hooks.language.api.merging import merge_by_schema
from hooks.language.api.schema import POD_SPEC
from hooks.language.api.structural import build_kubernetes_schema

_JOB_FIELDS = ("activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_OURS = frozenset({"serviceAccountName", "restartPolicy"})
"""Fields of the pod that the output's copy depends on."""


def override_job(job: Manifest, override: Mapping[str, Json]) -> Manifest:
    """The Job with the user's fields; nothing of ours that its end depends on is lost."""
    if not override:
        return job
    spec, template = job["spec"], _map(override.get("template"))
    given = _map(template.get("spec"))
    pod = merge_by_schema(spec["template"]["spec"], _prepare_pod(given), build_kubernetes_schema(POD_SPEC))
    metadata = {**spec["template"].get("metadata", {})}
    for part in ("labels", "annotations"):
        theirs = _map(_map(template.get("metadata")).get(part))
        if theirs:
            metadata[part] = dict(sorted({**theirs, **metadata.get(part, {})}.items()))
    fields = {name: override[name] for name in _JOB_FIELDS if override.get(name) is not None}
    return {**job, "spec": {**spec, **fields, "template": {**spec["template"], "metadata": metadata, "spec": pod}}}


def _prepare_pod(pod: Mapping[str, Json]) -> dict[str, Json]:
    inits = [_map(one) for one in _list(pod.get("initContainers"))]
    moved = [one for one in inits if one.get("name") == contract.PROFILER_CONTAINER]
    others = [one for one in inits if one.get("name") != contract.PROFILER_CONTAINER]
    containers = [*_list(pod.get("containers")), *moved]
    known = {key: value for key, value in pod.items() if key not in {"containers", "initContainers", *_OURS}}
    given = {
        **known,
        **({"initContainers": others} if others else {}),
        **({"containers": containers} if containers else {}),
    }
    prepared: dict[str, Json] = single_variables(canonical_fragment(given))
    return prepared


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()
