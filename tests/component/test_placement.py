"""Host names and ranks of the pods of a replica over several nodes."""

import subprocess

import pytest

from hooks.component.pod.placement import MAX_NODES, Orchestrator, Placement, Role, clique_name, plan_roles
from hooks.ground.errors import InvalidSpec

GROVE, LWS = Orchestrator.GROVE, Orchestrator.LWS


def place(role: Role, orchestrator: Orchestrator, nodes: int = 3, service: str = "Test-Service") -> Placement:
    return Placement(role=role, orchestrator=orchestrator, node_count=nodes, service=service)


def in_shell(text: str, **env: str) -> str:
    done = subprocess.run(["/bin/sh", "-c", f"echo {text}"], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("orchestrator", "host"),
    [
        pytest.param(
            GROVE,
            "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-test-service-ldr-0.$(GROVE_HEADLESS_SERVICE)",
            id="grove, the service in lower case",
        ),
        pytest.param(LWS, "$(LWS_LEADER_ADDRESS)", id="lws, expanded by the kubelet (upstream v0.9: by a shell)"),
    ],
)
@pytest.mark.parametrize("role", [Role.LEADER, Role.WORKER])
def test_leader_host_is_a_reference_that_the_kubelet_expands(orchestrator: Orchestrator, host: str, role: Role) -> None:
    assert place(role, orchestrator).leader_host == host


def test_workers_of_grove_are_hosts_of_the_worker_clique_counted_from_zero() -> None:
    prefix = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-test-service-wkr"
    assert place(Role.LEADER, GROVE).worker_hosts == (
        f"{prefix}-0.$(GROVE_HEADLESS_SERVICE)",
        f"{prefix}-1.$(GROVE_HEADLESS_SERVICE)",
    )


def test_workers_of_lws_are_named_like_the_leader_with_their_rank_before_the_first_dot() -> None:
    hosts = place(Role.LEADER, LWS).worker_hosts
    address = "g-worker-0-0.g-worker-0.ns"
    assert hosts[0] == r"""$(echo "$LWS_LEADER_ADDRESS" | sed 's/\./-1\./')"""
    assert [in_shell(host, PATH="/usr/bin:/bin", LWS_LEADER_ADDRESS=address) for host in hosts] == [
        "g-worker-0-0-1.g-worker-0.ns",
        "g-worker-0-0-2.g-worker-0.ns",
    ]


@pytest.mark.parametrize(
    ("role", "orchestrator", "rank", "needs_shell"),
    [
        (Role.LEADER, GROVE, "0", False),
        (Role.LEADER, LWS, "0", False),
        (Role.WORKER, GROVE, "$((GROVE_PCLQ_POD_INDEX + 1))", True),
        pytest.param(Role.WORKER, LWS, "$(LWS_WORKER_INDEX)", False, id="worker-lws, no shell (upstream v0.9: shell)"),
    ],
)
def test_rank_is_the_leaders_zero_or_told_by_the_orchestrator(
    role: Role, orchestrator: Orchestrator, rank: str, needs_shell: bool
) -> None:
    placement = place(role, orchestrator)
    assert (placement.node_rank, placement.rank_needs_shell) == (rank, needs_shell)


@pytest.mark.parametrize(
    ("role", "orchestrator", "text", "value"),
    [
        (Role.LEADER, LWS, "0", "0"),
        (Role.WORKER, GROVE, "$(( 8 * $((GROVE_PCLQ_POD_INDEX + 1)) ))", "24"),
        pytest.param(
            Role.WORKER, LWS, "$(( 8 * LWS_WORKER_INDEX ))", "24", id="worker-lws, no $( ) in it (upstream has it)"
        ),
    ],
)
def test_scaled_rank_is_computed_by_a_shell(role: Role, orchestrator: Orchestrator, text: str, value: str) -> None:
    scaled = place(role, orchestrator).scaled_rank(8)
    assert scaled == text
    assert in_shell(scaled, GROVE_PCLQ_POD_INDEX="2", LWS_WORKER_INDEX="3") == value


@pytest.mark.parametrize(
    ("nodes", "roles"),
    [
        (1, ((Role.MAIN, 1),)),
        (2, ((Role.LEADER, 1), (Role.WORKER, 1))),
        (5, ((Role.LEADER, 1), (Role.WORKER, 4))),
    ],
)
def test_several_nodes_have_one_leader_and_else_workers(nodes: int, roles: tuple[tuple[Role, int], ...]) -> None:
    assert plan_roles(nodes) == roles


@pytest.mark.parametrize(("role", "name"), [(Role.MAIN, "a"), (Role.LEADER, "a-ldr"), (Role.WORKER, "a-wkr")])
def test_clique_is_named_by_its_role(role: Role, name: str) -> None:
    assert clique_name("A", role) == name


@pytest.mark.parametrize("nodes", [0, -1, MAX_NODES + 1])
def test_impossible_node_count_is_refused_with_field_value_and_limit(nodes: int) -> None:
    message = rf"spec\.multinode\.nodeCount: is {nodes}, must be from 2 to {MAX_NODES}"
    with pytest.raises(InvalidSpec, match=message):
        place(Role.LEADER, GROVE, nodes)
    with pytest.raises(InvalidSpec, match=message):
        plan_roles(nodes)


@pytest.mark.parametrize(("role", "nodes"), [(Role.MAIN, 2), (Role.LEADER, 1), (Role.WORKER, 1)])
def test_role_that_the_node_count_excludes_is_a_mistake_of_the_caller(role: Role, nodes: int) -> None:
    with pytest.raises(ValueError, match="does not exist among"):
        place(role, GROVE, nodes)
