"""Rules about the ports of a pod: what says them, and who has them."""

from hooks.ground.problems import Rule, Severity

PORTS_DIFFER = Rule(
    name="ports-differ",
    text=(
        "{path}: says port {number}, and {other} says {other_number}, so the program listens at one of them and is "
        "asked at the other; write the same number in both places, or only in one"
    ),
)
PORT_SHARED = Rule(
    name="port-shared",
    text=(
        "{path}: {number} is already a port of {other}, and the containers of a pod share their ports, so the second "
        "program cannot listen; give one of them another port"
    ),
)
POOL_PORTS = Rule(
    name="pool-ports",
    text=(
        "{path}: the frontend beside it listens at {number}, and the one beside {other} at {other_number}; the "
        "InferencePool has one port for all workers, so give both the same"
    ),
)

PORT_UNKNOWN = Rule(
    name="port-unknown",
    text=(
        "{path}: the port cannot be followed, because {why}; the container's port {name}, its probes and whoever calls "
        "it use {number}; write the number there, or make sure that it is {number}"
    ),
    severity=Severity.WARNING,
)
PORT_TOO_HIGH = Rule(
    name="port-too-high",
    text="{path}: {number} is above {most}, the highest port that this program can read, so it ends at its start",
    severity=Severity.WARNING,
)
