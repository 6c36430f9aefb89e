"""Finds problems of the containers that run Dynamo beside the main container, and of the release that a spec names.

Source: Dynamo operator 1.6, internal/webhook/validation/shared_v1alpha1.go, whose texts are kept, and
internal/dynamo/component_dynamo_sidecar.go, ValidateDynamoSidecar.
"""

from collections.abc import Iterator

from hooks.component.image.runtime_version import find_runtime_container, parse_version
from hooks.component.pod.sidecars import FRONTEND_SIDECAR, write_sidecar
from hooks.component.rules.fragments import validate_fragments
from hooks.component.rules.pod_rules.sources import check_reference
from hooks.component.spec.subject import ComponentType
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, FieldPath, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import spec as rules

_ALONE = SPEC / "extraPodSpec.containers" / 0
"""The place of a frontend's container in a pod that has no further container."""
_ANY_MAIN = {"image": "main"}


def find_sidecar_problems(spec: ComponentSpec) -> Iterator[Problem]:
    """Problems of `frontendSidecar`, found by the rules of containers; paths begin with `spec`."""
    sidecar, path = spec.frontend_sidecar, SPEC / "frontendSidecar"
    if sidecar is None:
        return
    if any(name == FRONTEND_SIDECAR for name in _names(spec.extra_pod_spec.get("containers"))):
        yield rules.FRONTEND_SIDECAR.at(path, spec=SPEC)
    alone = ComponentSpec(extra_pod_spec={"mainContainer": _ANY_MAIN, "containers": [write_sidecar(sidecar)]})
    for problem in validate_fragments(alone):
        of_envs = problem.under(path / "envs", instead_of=_ALONE / "env")
        yield of_envs.under(path, instead_of=_ALONE)
    if sidecar.env_from_secret:
        yield from check_reference(sidecar.env_from_secret, path / "envFromSecret")


def find_runtime_problems(spec: ComponentSpec, path: FieldPath) -> Iterator[Problem]:
    """Problems of the release, and of the init container that runs Dynamo; `path` is that of the spec."""
    if spec.runtime_version_override and parse_version(spec.runtime_version_override) is None:
        yield rules.RUNTIME_VERSION.at(path / "runtimeVersionOverride")
    index = find_runtime_container(spec)
    if index is None:
        return
    container = path / "extraPodSpec.initContainers" / index
    if not ComponentType.of(spec.component_type).is_worker:
        yield rules.RUNTIME_SIDECAR_TYPE.at(container / "name")
    elif spec.is_multinode:
        yield rules.RUNTIME_SIDECAR_NODES.at(path / "multinode", container=container)


def _names(containers: Json) -> list[Json]:
    found = containers if isinstance(containers, list | tuple) else ()
    return [container.get("name") for container in found if isinstance(container, dict)]
