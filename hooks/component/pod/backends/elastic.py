"""vLLM with elastic expert parallelism: a Ray of the pod's own, in which engines come and go while vLLM serves.

On one node the pod starts Ray, and vLLM once Ray is healthy. Over several nodes the workers join Ray only when the
leader's engine is ready: vLLM places its first engines on all GPUs that Ray has, and there must be no more than these.

Source: Dynamo operator 1.5, internal/dynamo/backend_vllm.go.
"""

from collections.abc import Mapping
from itertools import pairwise

from hooks.component.image.command_line import CommandLine
from hooks.component.image.shell import quote_line, require_command
from hooks.component.pod.defaults.base import SYSTEM_KNOB
from hooks.component.pod.placement import Placement, Role
from hooks.ground import contract
from hooks.ground.k8s.pods import add_named, field_env
from hooks.ground.k8s.types import Json

RAY_PORT = 6379
_FLAG = "--enable-elastic-ep"
_BACKENDS = frozenset({"--data-parallel-backend", "-dpb"})
_POD_IP, _MASTER_IP = "POD_IP", "VLLM_DP_MASTER_IP"


def is_elastic(container: Mapping[str, Json]) -> bool:
    """Whether the command line asks for elastic expert parallelism."""
    return _FLAG in CommandLine.of(container).text.split()


def launch_alone(container: Mapping[str, Json]) -> dict[str, Json]:
    """The container of a pod on one node, behind a Ray of its own if its engine is elastic on Ray.

    The program must be known: without a command the image's own one stays. vLLM looks for Ray at `VLLM_DP_MASTER_IP`.
    """
    words = CommandLine.of(container).text.replace("=", " ").split()
    on_ray = any(word in _BACKENDS and following == "ray" for word, following in pairwise(words))
    if not container.get("command") or not is_elastic(container) or not on_ray:
        return dict(container)
    head = f'ray start --head --port={RAY_PORT} --node-ip-address="${_POD_IP}" --block'
    # The engine replaces the shell, so that it gets SIGTERM.
    line = f"{head} & {_wait_for_ray()}; exec {_engine(container)}"
    addresses = (field_env(_POD_IP, "status.podIP"), field_env(_MASTER_IP, "status.podIP"))
    return {**_in_shell(container, line), "env": add_named(container.get("env") or (), addresses)}


def launch_on_nodes(container: Mapping[str, Json], placement: Placement) -> dict[str, Json]:
    """The container of a node of several.

    Raises:
        InvalidSpec: the command is missing.
    """
    if placement.role is Role.WORKER:
        join = f"ray start --address={placement.leader_host}:{RAY_PORT} --block"
        return _in_shell(container, f"{_wait_for_engine(placement.leader_host, _system_port(container))}; {join}")
    require_command(container, contract.Engine.VLLM.value)
    head = f"ray start --head --port={RAY_PORT} --block"
    return _in_shell(container, f"{head} & {_wait_for_ray()}; {_engine(container)}")


def _in_shell(container: Mapping[str, Json], line: str) -> dict[str, Json]:
    return {**container, "command": ["/bin/sh", "-c"], "args": [line]}


def _engine(container: Mapping[str, Json]) -> str:
    line = CommandLine.of(container)
    return quote_line((*line.command, *line.args))


def _wait_for_ray() -> str:
    """At most five minutes, after which the container ends and starts again."""
    connect = f"import socket; socket.create_connection(('127.0.0.1', {RAY_PORT}), 1).close()"
    return _wait(f'python3 -c "{connect}"', tries=150, seconds=2, what="Ray has not started")


def _system_port(container: Mapping[str, Json]) -> str:
    """The port of the leader's system server, whose variables are the same."""
    values = {entry["name"]: entry.get("value", "") for entry in container.get("env") or ()}
    return values.get(SYSTEM_KNOB.variable) or str(contract.SYSTEM_PORT)


def _wait_for_engine(host: str, port: str) -> str:
    """At most three hours, because the leader loads its model before it is ready."""
    ask = "import sys, urllib.request as web; web.urlopen(sys.argv[1], timeout=5).close()"
    url = f"http://{host}:{port}/live"
    return _wait(f'python3 -c "{ask}" "{url}"', tries=720, seconds=15, what="the leader is not ready")


def _wait(command: str, *, tries: int, seconds: int, what: str) -> str:
    ended = f'if [ "$tries" -ge {tries} ]; then echo "{what} after $tries tries" >&2; exit 1; fi'
    return f"tries=0; until {command} >/dev/null 2>&1; do tries=$((tries + 1)); {ended}; sleep {seconds}; done"
