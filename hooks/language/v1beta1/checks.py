"""Finds the problems of rules that only objects of v1beta1 have; the API server evaluates them in CEL.

Fields of wrong types are skipped: the schema finds them. All other rules judge the object as v1alpha1.

Source: Dynamo operator 1.x, api/v1beta1/*_types.go.
"""

from collections.abc import Iterator, Mapping, Sequence

from hooks.ground import contract
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import SPEC, FieldPath, Problem
from hooks.language.v1beta1 import rules

MAIN = "main"
_EPP = "epp"
_CONTAINERS = "podTemplate.spec.containers"


def find_v1beta1_problems(manifest: ReadManifest) -> Iterator[Problem]:
    """The problems of an object of v1beta1 of any kind; none for kinds without components."""
    components = _list_components(manifest)
    yield from _find_second_pickers(components)
    for path, component in components:
        yield from _find_component_problems(component, path)


def find_v1beta1_warnings(manifest: ReadManifest) -> Iterator[Problem]:
    """Warnings about fields of v1beta1 that have no effect.

    A PodCliqueScalingGroup of pods on one node serves as their PodClique does, so `forceScalingGroup` refuses nothing.
    """
    for path, component in _list_components(manifest):
        grove = _read_map(_read_map(component.get("experimental")).get("grove"))
        is_group = bool(component.get("multinode"))
        if grove.get("forceScalingGroup") is True and not is_group:
            yield rules.SCALING_GROUP_IGNORED.at(path / "experimental.grove.forceScalingGroup")


def _list_components(manifest: ReadManifest) -> list[tuple[FieldPath, Mapping[str, Json]]]:
    """Each component with its path; [] for kinds without components."""
    spec = _read_map(manifest.get("spec"))
    if manifest.get("kind") == contract.COMPONENT.kind:
        return [(SPEC, spec)]
    if manifest.get("kind") != contract.GRAPH.kind:
        return []
    listed = enumerate(_read_list(spec.get("components")))
    return [(SPEC / "components" / index, _read_map(component)) for index, component in listed]


def _find_second_pickers(components: Sequence[tuple[FieldPath, Mapping[str, Json]]]) -> Iterator[Problem]:
    pickers = [path for path, component in components if component.get("type") == _EPP]
    for path in pickers[1:]:
        yield rules.ENDPOINT_PICKERS.at(path / "type", other=pickers[0])


def _find_component_problems(component: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    pod = _read_map(_read_map(component.get("podTemplate")).get("spec"))
    containers = [_read_map(container) for container in _read_list(pod.get("containers"))]
    names = [container.get("name") for container in containers]
    if MAIN not in names:
        yield rules.MAIN_CONTAINER.at(path / _CONTAINERS)
    elif not containers[names.index(MAIN)].get("image"):
        yield rules.MAIN_IMAGE.at(path / _CONTAINERS / names.index(MAIN) / "image")
    sidecar = component.get("frontendSidecar")
    if isinstance(sidecar, str) and sidecar not in names:
        yield rules.FRONTEND_SIDECAR.at(path / "frontendSidecar", name=sidecar)


def _read_map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _read_list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
