"""How a main container starts its engine on one of several nodes; all calls of the engines' launch rules are here.

Source: Dynamo operator, internal/dynamo/graph.go, GenerateBasePodSpec, and backend_*.go.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from hooks.component.image.command_line import CommandLine
from hooks.component.image.contents import RAY, has_program
from hooks.component.image.runtime_version import resolve_runtime_version
from hooks.component.pod.backends import Backend
from hooks.component.pod.backends.elastic import launch_alone
from hooks.component.pod.backends.launched import Launched
from hooks.component.pod.backends.sglang import launch_sglang
from hooks.component.pod.backends.trtllm import launch_trtllm
from hooks.component.pod.backends.vllm import launch_vllm
from hooks.component.pod.placement import Placement, Role
from hooks.component.spec.gpus import count_gpus
from hooks.component.spec.operator_release import ALIASES_SINCE, began_with
from hooks.ground import contract
from hooks.ground.k8s.pods import literal_env
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import pod as rules

_STARTS_RAY = re.compile(r"(?<![\w.-])ray start\b")


def launch(
    container: Mapping[str, Json],
    placement: Placement,
    *,
    backend: Backend,
    spec: ComponentSpec,
    mpi_secret: str,
) -> Launched:
    """The main container with the engine's launch rules applied; the container is otherwise complete.

    On a single node it is unchanged, but for an elastic vLLM. If no engine is known, it gets only the variables of its
    place. Of `spec`, the component's, the rules read GPUs, annotations and the release. `mpi_secret` names the Secret
    with the SSH key (of TensorRT-LLM).

    Raises:
        InvalidSpec: the launch rules cannot use the number of GPUs or the command.
    """
    launched = _launch_engine(container, placement, backend, spec, mpi_secret=mpi_secret)
    if backend is Backend.VLLM:
        launched = replace(launched, warnings=(*launched.warnings, *_warn_of_missing_ray(launched.container, spec)))
    if placement.role is Role.MAIN or not began_with(spec.annotations, ALIASES_SINCE):
        return launched
    return replace(launched, container=_with_aliases(launched.container, placement))


def _launch_engine(
    container: Mapping[str, Json], placement: Placement, backend: Backend, spec: ComponentSpec, *, mpi_secret: str
) -> Launched:
    if placement.role is Role.MAIN:
        return Launched(container=launch_alone(container) if backend is Backend.VLLM else dict(container))
    match backend:
        case Backend.VLLM:
            gpus = count_gpus(spec.resources, container)
            return launch_vllm(container, placement, gpus=gpus, annotations=spec.annotations)
        case Backend.SGLANG:
            return launch_sglang(container, placement)
        case Backend.TRTLLM:
            gpus = count_gpus(spec.resources, container, first="requests")
            return launch_trtllm(container, placement, gpus=gpus, mpi_secret=mpi_secret)
        case Backend.NOOP:
            return Launched(container=dict(container))
        case never:
            assert_never(never)


def _warn_of_missing_ray(launched: Mapping[str, Json], spec: ComponentSpec) -> tuple[Problem, ...]:
    """The warning that the container starts Ray, which its image lacks, whoever wrote that into the command."""
    image, version = str(launched.get("image") or ""), resolve_runtime_version(spec)
    line = CommandLine.of(launched).text
    if has_program(RAY, image, version) is not False or not _STARTS_RAY.search(line):
        return ()
    path, annotation = SPEC / "extraPodSpec.mainContainer.image", contract.ANNOTATION_EXECUTOR_BACKEND
    return (rules.RAY_MISSING.at(path, release=str(version), annotation=annotation),)


def _with_aliases(container: Mapping[str, Json], placement: Placement) -> dict[str, Json]:
    """The container with its rank and its leader's address, which replace variables of the user with these names.

    They come first, so that other variables can refer to them. Upstream's flags refer to them too. Ours keep the
    orchestrator's variables, which have the same values and work with Grove before 0.1.0-alpha.14 as well.
    """
    values = {contract.NODE_RANK: placement.rank_reference, contract.NODE_LEADER: placement.leader_host}
    others = [entry for entry in container.get("env") or () if entry["name"] not in values]
    return {**container, "env": [*literal_env(values), *others]}
