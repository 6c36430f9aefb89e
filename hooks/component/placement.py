"""Where a pod of a replica over several nodes stands: its role, its rank, and the host names of its fellows.

Host names and ranks are texts that the kubelet (`$(NAME)`) or a shell (`$NAME`, `$(( … ))`) expands in the pod, from
the variables that Grove and LeaderWorkerSet put into every container. It knows no engine.

Source: Dynamo operator, internal/dynamo/grove.go and lws.go; Grove and LeaderWorkerSet, the variables they inject.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from hooks.errors import InvalidSpec
from hooks.problems import SPEC
from hooks.validation.rules import component as rules

NODE_COUNT = SPEC / "multinode.nodeCount"
MAX_NODES = 1000
"""Hosts are listed on one command line, which Linux cuts at 128 KiB."""


class Role(StrEnum):
    """What a pod does in its replica; `main` is that of a replica on one node."""

    MAIN = "main"
    LEADER = "leader"
    WORKER = "worker"


class Orchestrator(StrEnum):
    """Who makes the pods of a replica over several nodes."""

    GROVE = "grove"
    LWS = "lws"


_CLIQUE_SUFFIX = {Role.MAIN: "", Role.LEADER: "-ldr", Role.WORKER: "-wkr"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A pod's place: one of `node_count` nodes of one replica of `service`, a service's name as the user wrote it.

    Raises:
        InvalidSpec: fewer nodes than one, or more than fit on a command line.
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
        """The leader's host name; the kubelet expands it, so that it is right inside and outside of shells."""
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
                # A worker's name is the leader's with its rank behind: <lws>-<group>-<rank>.<subdomain>.<namespace>.
                return tuple(rf"""$(echo "$LWS_LEADER_ADDRESS" | sed 's/\./-{rank}\./')""" for rank in ranks)
            case never:
                assert_never(never)

    @property
    def node_rank(self) -> str:
        """The pod's rank, 0-based, the leader's being 0; see `rank_needs_shell`."""
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
    def rank_needs_shell(self) -> bool:
        """Whether only a shell can expand the rank: Grove counts workers from 0, so that one is to be added."""
        return self.role is Role.WORKER and self.orchestrator is Orchestrator.GROVE

    def scaled_rank(self, factor: int) -> str:
        """The rank times a factor; the leader's is `0`, a worker's is arithmetic that needs a shell.

        Names stand without `$( )` there: the kubelet leaves `$(NAME)` alone inside `$(( … ))`, and the shell would run
        it as a command.
        """
        if self.role is not Role.WORKER:
            return "0"
        rank = "LWS_WORKER_INDEX" if self.orchestrator is Orchestrator.LWS else self.node_rank
        return f"$(( {factor} * {rank} ))"

    def _grove_host(self, role: Role, index: int) -> str:
        clique = clique_name(self.service, role)
        return f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-{clique}-{index}.$(GROVE_HEADLESS_SERVICE)"


def clique_name(service: str, role: Role) -> str:
    """Name of the Grove clique that holds a service's pods of one role."""
    return f"{service.lower()}{_CLIQUE_SUFFIX[role]}"


def plan_roles(node_count: int) -> tuple[tuple[Role, int], ...]:
    """Roles of one replica with the number of their pods, the leader first.

    Raises:
        InvalidSpec: fewer nodes than one, or more than fit on a command line.
    """
    validate_node_count(node_count)
    if node_count == 1:
        return ((Role.MAIN, 1),)
    return (Role.LEADER, 1), (Role.WORKER, node_count - 1)


def validate_node_count(node_count: int) -> None:
    """Refuse a number of nodes that no replica can have.

    Raises:
        InvalidSpec: fewer nodes than one, or more than fit on a command line.
    """
    if not 1 <= node_count <= MAX_NODES:
        raise InvalidSpec(rules.NODE_COUNT.at(NODE_COUNT, count=node_count, most=MAX_NODES))
