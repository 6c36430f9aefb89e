"""The place of a pod in a replica over several nodes: its role, its rank, and the host names of the other pods.

Host names and ranks are texts. In the pod, the kubelet (`$(NAME)`) or a shell (`$NAME`, `$(( … ))`) expands them from
the variables that Grove and LeaderWorkerSet set in every container. This module knows no engine.

Source: Dynamo operator, internal/dynamo/grove.go and lws.go; the variables of Grove and LeaderWorkerSet.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from hooks.ground.errors import InvalidSpec
from hooks.ground.problems import SPEC
from hooks.language.rules import component as rules

NODE_COUNT = SPEC / "multinode.nodeCount"
MAX_NODES = 1000
"""One command line lists all hosts, and Linux allows it 128 KiB."""


class Role(StrEnum):
    """The role of a pod in its replica; a replica on one node has only a `main` pod."""

    MAIN = "main"
    LEADER = "leader"
    WORKER = "worker"


class Orchestrator(StrEnum):
    """The operator that creates the pods of a replica over several nodes."""

    GROVE = "grove"
    LWS = "lws"


_CLIQUE_SUFFIX = {Role.MAIN: "", Role.LEADER: "-ldr", Role.WORKER: "-wkr"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A pod's place on one of the `node_count` nodes of a replica; `service` is the service's name in the spec.

    Raises:
        InvalidSpec: there are fewer nodes than one, or more than fit on a command line.
    """

    role: Role
    orchestrator: Orchestrator
    node_count: int
    service: str

    def __post_init__(self) -> None:
        validate_node_count(self.node_count)
        if (self.role is Role.MAIN) != (self.node_count == 1):
            raise ValueError(f"role {self.role} does not exist among {self.node_count} nodes")

    @property
    def leader_host(self) -> str:
        """The leader's host name; the kubelet expands it, so it works with and without a shell."""
        match self.orchestrator:
            case Orchestrator.GROVE:
                return self._grove_host(Role.LEADER, 0)
            case Orchestrator.LWS:
                return "$(LWS_LEADER_ADDRESS)"
            case never:
                assert_never(never)

    @property
    def worker_hosts(self) -> tuple[str, ...]:
        """Host names of all workers by rank; only a shell can expand them."""
        ranks = range(1, self.node_count)
        match self.orchestrator:
            case Orchestrator.GROVE:
                return tuple(self._grove_host(Role.WORKER, rank - 1) for rank in ranks)
            case Orchestrator.LWS:
                # The leader is <lws>-<group>.<subdomain>.<namespace>; a worker has its rank before the first dot.
                return tuple(rf"""$(echo "$LWS_LEADER_ADDRESS" | sed 's/\./-{rank}\./')""" for rank in ranks)
            case never:
                assert_never(never)

    @property
    def node_rank(self) -> str:
        """The pod's rank; the leader has rank 0. See `rank_needs_shell`."""
        if self.role is not Role.WORKER:
            return "0"
        match self.orchestrator:
            case Orchestrator.GROVE:
                return "$((GROVE_PCLQ_POD_INDEX + 1))"
            case Orchestrator.LWS:
                return "$(LWS_WORKER_INDEX)"
            case never:
                assert_never(never)

    @property
    def rank_reference(self) -> str:
        """The pod's rank as the value of a variable, in which the kubelet expands references.

        Grove has this variable, and sets its variables before those of the container, from 0.1.0-alpha.14 on.
        """
        if self.role is not Role.WORKER:
            return "0"
        match self.orchestrator:
            case Orchestrator.GROVE:
                return "$(GROVE_PCSG_POD_INDEX)"
            case Orchestrator.LWS:
                return "$(LWS_WORKER_INDEX)"
            case never:
                assert_never(never)

    @property
    def rank_needs_shell(self) -> bool:
        """Whether only a shell can expand the rank: Grove counts workers from 0, so a shell must add 1."""
        return self.role is Role.WORKER and self.orchestrator is Orchestrator.GROVE

    def scaled_rank(self, factor: int) -> str:
        """The rank times a factor: `0` for the leader, an arithmetic expression of a shell for a worker.

        The expression has variables without `$( )`: the kubelet does not expand `$(NAME)` inside `$(( … ))`, and the
        shell would run NAME as a command.
        """
        if self.role is not Role.WORKER:
            return "0"
        rank = "LWS_WORKER_INDEX" if self.orchestrator is Orchestrator.LWS else self.node_rank
        return f"$(( {factor} * {rank} ))"

    def _grove_host(self, role: Role, index: int) -> str:
        clique = clique_name(self.service, role)
        return f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-{clique}-{index}.$(GROVE_HEADLESS_SERVICE)"


def clique_name(service: str, role: Role) -> str:
    """Name of the Grove clique with a service's pods of one role."""
    return f"{service.lower()}{_CLIQUE_SUFFIX[role]}"


def plan_roles(node_count: int) -> tuple[tuple[Role, int], ...]:
    """The roles of one replica, each with its number of pods; the leader is first.

    Raises:
        InvalidSpec: there are fewer nodes than one, or more than fit on a command line.
    """
    validate_node_count(node_count)
    if node_count == 1:
        return ((Role.MAIN, 1),)
    return (Role.LEADER, 1), (Role.WORKER, node_count - 1)


def validate_node_count(node_count: int) -> None:
    """Check the number of nodes of a replica.

    Raises:
        InvalidSpec: there are fewer nodes than one, or more than fit on a command line.
    """
    if not 1 <= node_count <= MAX_NODES:
        raise InvalidSpec(rules.NODE_COUNT.at(NODE_COUNT, count=node_count, most=MAX_NODES))
