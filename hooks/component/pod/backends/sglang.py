"""SGLang over several nodes: each node runs the same command, with the leader's address and its own rank.

Source: Dynamo operator, internal/dynamo/backend_sglang.go.
"""

from collections.abc import Mapping

from hooks.component.image.shell import add_flags, warn_of_unread_program
from hooks.component.pod.backends.launched import Launched, without_probes
from hooks.component.pod.placement import Placement, Role
from hooks.ground.contract import Engine
from hooks.ground.k8s.types import Json

RENDEZVOUS_PORT = 29500
_ENGINE = Engine.SGLANG.value


def launch_sglang(container: Mapping[str, Json], placement: Placement) -> Launched:
    """Launch SGLang on one of several nodes."""
    flags = (
        f"--dist-init-addr {placement.leader_host}:{RENDEZVOUS_PORT} "
        f"--nnodes {placement.node_count} --node-rank {placement.node_rank}"
    )
    changed = add_flags(container, flags, engine=_ENGINE, needs_shell=placement.rank_needs_shell)
    return Launched(
        container=without_probes(changed) if placement.role is Role.WORKER else changed,
        warnings=warn_of_unread_program(container, _ENGINE),
    )
