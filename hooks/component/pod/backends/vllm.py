"""vLLM over several nodes: one engine over all nodes with Ray or multiprocessing, or engines on each node.

| GPUs | mode |
|---|---|
| one engine needs more than a node has | one engine over all nodes: multiprocessing or Ray |
| engines come and go while it serves (`--enable-elastic-ep`) | one Ray over all nodes |
| all engines of data parallelism together need more than a node has | engines on each node, hybrid load balancing |
| a node has enough, or the spec requests none | vLLM does not span nodes; a warning says so |

An annotation chooses between multiprocessing and Ray. Without it, graphs that began with release 1.0 or later use
multiprocessing, and older ones stay on Ray. Whatever needs Ray gets a warning if the image has none.

Source: Dynamo operator, internal/dynamo/backend_vllm.go.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import assert_never

from hooks.component.image.command_line import CommandLine
from hooks.component.image.shell import (
    Program,
    add_flags,
    program_of,
    quote_line,
    require_command,
    warn_of_script,
    warn_of_unread_program,
)
from hooks.component.pod.backends.elastic import RAY_PORT, is_elastic, launch_on_nodes
from hooks.component.pod.backends.launched import Launched, without_probes
from hooks.component.pod.placement import Placement, Role
from hooks.component.spec.operator_release import MULTIPROCESSING_SINCE, began_with
from hooks.ground import contract
from hooks.ground.k8s.pods import add_named, field_env
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, Problem
from hooks.language.rules import pod as rules

DATA_PARALLEL_PORT = 13445
MASTER_PORT = 29500
WAIT_CONTAINER = "wait-for-leader-mp"
WAIT_FOR_RAY_CONTAINER = "wait-for-leader-ray"
SIDE_CHANNEL_HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"

_ENGINE = contract.Engine.VLLM.value
_RAY_FLAG = "--distributed-executor-backend ray"
_SIZE = re.compile(r"[0-9]{1,9}")
_VARIABLE = re.compile(r"\$\((\w+)\)|\$(\w+)|\$\{(\w+)\}")
_TENSOR = frozenset({"--tensor-parallel-size", "-tp"})
_PIPELINE = frozenset({"--pipeline-parallel-size", "-pp"})
_DATA = frozenset({"--data-parallel-size", "-dp"})
_QUOTES = "'\""

# Python is PID 1 in that container, so without a handler it would ignore SIGTERM for the whole grace period.
_WAIT_FOR_LEADER = """\
import signal, socket, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
address = (sys.argv[1], int(sys.argv[2]))
while True:
    try:
        socket.create_connection(address, timeout=5).close()
        break
    except OSError as error:
        print("waiting for the leader at", *address, error, flush=True)
        time.sleep(2)
"""

# The container fails after five minutes and starts again, so that the pod shows that its leader is missing.
_WAIT_FOR_RAY = """\
trap 'exit 143' TERM
tries=0
until ray health-check --address "$1" >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -ge 60 ]; then
    echo "no healthy Ray at $1 after $tries tries" >&2
    exit 1
  fi
  echo "waiting for Ray at $1"
  sleep 5
done
"""


class NodeMode(StrEnum):
    """How vLLM uses the nodes of a replica."""

    ALONE = "alone"
    RAY = "ray"
    MULTIPROCESSING = "mp"
    DATA_PARALLEL = "data-parallel"
    ELASTIC = "elastic"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    """The number of GPUs of one engine, and the number of engines, from the flags; 1 if there is no flag."""

    world: int
    data: int


def launch_vllm(
    container: Mapping[str, Json], placement: Placement, *, gpus: int, annotations: Mapping[str, str]
) -> Launched:
    """Launch vLLM on one of several nodes; each node has `gpus` GPUs.

    Raises:
        InvalidSpec: the command is missing.
    """
    sizes = _read_sizes(container)
    mode = _resolve_mode(sizes, gpus, annotations, is_elastic=is_elastic(container))
    if _resolve_executor(annotations) is NodeMode.MULTIPROCESSING:  # whatever spans the nodes, as upstream decides it
        side_channel = field_env(SIDE_CHANNEL_HOST, "status.podIP")
        container = {**container, "env": add_named(container.get("env") or (), (side_channel,))}
    launched = _launch(mode, container, placement, local_engines=gpus // sizes.world)
    if placement.role is not Role.WORKER:
        return launched
    if mode is NodeMode.RAY:
        launched = replace(launched, init_containers=(_build_ray_wait_container(container, placement),))
    return replace(launched, container=without_probes(launched.container))


def _resolve_mode(sizes: _Sizes, gpus: int, annotations: Mapping[str, str], *, is_elastic: bool) -> NodeMode:
    if gpus == 0:
        return NodeMode.ALONE
    if sizes.world > gpus:
        return _resolve_executor(annotations)
    if is_elastic:
        return NodeMode.ELASTIC
    return NodeMode.DATA_PARALLEL if sizes.world * sizes.data > gpus else NodeMode.ALONE


def _resolve_executor(annotations: Mapping[str, str]) -> NodeMode:
    """Multiprocessing or Ray; an annotation with another value has no effect.

    Source: Dynamo operator, internal/features/compatibility/gates.go, VLLMMultiprocessing.
    """
    executor = annotations.get(contract.ANNOTATION_EXECUTOR_BACKEND, "").strip().lower()
    if executor in {NodeMode.MULTIPROCESSING, NodeMode.RAY}:
        return NodeMode(executor)
    return NodeMode.MULTIPROCESSING if began_with(annotations, MULTIPROCESSING_SINCE) else NodeMode.RAY


def _launch(mode: NodeMode, container: Mapping[str, Json], placement: Placement, *, local_engines: int) -> Launched:
    match mode:
        case NodeMode.ALONE:
            return Launched(container=dict(container), warnings=(_warn_of_separate_engines(placement),))
        case NodeMode.RAY:
            return Launched(container=_with_ray(container, placement), warnings=warn_of_script(container, _ENGINE))
        case NodeMode.ELASTIC:
            return Launched(container=launch_on_nodes(container, placement))
        case NodeMode.MULTIPROCESSING:
            return _with_processes(container, placement)
        case NodeMode.DATA_PARALLEL:
            return _with_data_parallelism(container, placement, local_engines)
        case never:
            assert_never(never)


def _with_ray(container: Mapping[str, Json], placement: Placement) -> dict[str, Json]:
    if placement.role is Role.WORKER:
        line = f"ray start --address={placement.leader_host}:{RAY_PORT} --block"
    else:
        line = f"ray start --head --port={RAY_PORT} && {_engine_on_ray(container)}"
    return {**container, "command": ["/bin/sh", "-c"], "args": [line]}


def _engine_on_ray(container: Mapping[str, Json]) -> str:
    """The user's command as text for a shell; a shell script in it stays one argument."""
    require_command(container, _ENGINE)
    line = CommandLine.of(add_flags(container, _RAY_FLAG, engine=_ENGINE, needs_shell=False))
    flag = f" {_RAY_FLAG}" if program_of(line, _ENGINE) is Program.OTHER else ""
    return f"{quote_line((*line.command, *line.args))}{flag}"


def _with_processes(container: Mapping[str, Json], placement: Placement) -> Launched:
    is_worker = placement.role is Role.WORKER
    flags = (
        f"--distributed-executor-backend mp --nnodes {placement.node_count} --master-addr {placement.leader_host} "
        f"--master-port {MASTER_PORT} --node-rank {placement.node_rank}{' --headless' if is_worker else ''}"
    )
    changed = add_flags(container, flags, engine=_ENGINE, needs_shell=placement.rank_needs_shell)
    return Launched(
        container=changed,
        init_containers=(_build_wait_container(container, placement),) if is_worker else (),
        warnings=warn_of_unread_program(container, _ENGINE),
    )


def _with_data_parallelism(container: Mapping[str, Json], placement: Placement, local_engines: int) -> Launched:
    flags = (
        f"--data-parallel-hybrid-lb --data-parallel-size-local {local_engines} "
        f"--data-parallel-start-rank {placement.scaled_rank(local_engines)} "
        f"--data-parallel-address {placement.leader_host} --data-parallel-rpc-port {DATA_PARALLEL_PORT}"
    )
    return Launched(
        container=add_flags(container, flags, engine=_ENGINE, needs_shell=placement.role is Role.WORKER),
        warnings=warn_of_unread_program(container, _ENGINE),
    )


def _build_ray_wait_container(container: Mapping[str, Json], placement: Placement) -> Mapping[str, Json]:
    """Build the init container that ends when the leader's Ray is healthy; the engine's image contains `ray`.

    A worker that joins earlier is lost for good (ai-dynamo/dynamo#14108). Upstream waits in graphs that began with 1.5
    or later alone, and runs a script from a ConfigMap.
    """
    address = f"{placement.leader_host}:{RAY_PORT}"
    command = ["/bin/sh", "-c", _WAIT_FOR_RAY, WAIT_FOR_RAY_CONTAINER, address]
    return {"name": WAIT_FOR_RAY_CONTAINER, **_kept_for_waiting(container), "command": command}


def _build_wait_container(container: Mapping[str, Json], placement: Placement) -> Mapping[str, Json]:
    """Build the init container that ends when the leader listens; it has the engine's image, which contains Python.

    Upstream runs a script from a ConfigMap. The address is an argument, because other variables cannot refer to Grove's
    variables.
    """
    command = ["python3", "-c", _WAIT_FOR_LEADER, placement.leader_host, str(MASTER_PORT)]
    return {"name": WAIT_CONTAINER, **_kept_for_waiting(container), "command": command}


def _kept_for_waiting(container: Mapping[str, Json]) -> dict[str, Json]:
    return {key: container[key] for key in ("image", "imagePullPolicy", "securityContext") if key in container}


def _read_sizes(container: Mapping[str, Json]) -> _Sizes:
    words = CommandLine.of(container).text.split()
    values = {entry["name"]: entry.get("value", "") for entry in container.get("env") or ()}
    return _Sizes(
        world=_read_size(words, _TENSOR, values) * _read_size(words, _PIPELINE, values),
        data=_read_size(words, _DATA, values),
    )


def _read_size(words: list[str], flags: frozenset[str], values: Mapping[str, str]) -> int:
    """The first size that one of these flags sets to a positive number; 1 if none does."""
    for word, following in pairwise([*words, ""]):
        name, equals, value = word.strip(_QUOTES).partition("=")
        if name.replace("_", "-") in flags:
            number = _expand(value if equals else following, values).strip(_QUOTES)
            if _SIZE.fullmatch(number) and int(number) > 0:
                return int(number)
    return 1


def _expand(word: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: values.get(found[found.lastindex or 0], ""), word)


def _warn_of_separate_engines(placement: Placement) -> Problem:
    limit = SPEC / "resources.limits.gpu"
    return rules.SEPARATE_ENGINES.at(SPEC / "multinode", count=placement.node_count, limit=limit)
