"""`python -m tests.faults.cluster.broken_hooks`: `dynamo-hooks`, but each sync fails, as with a bug of ours."""

from hooks.component import sync as component
from hooks.graph import sync as graph
from hooks.ground.settings.facts import Facts
from hooks.server.commands.main import main
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest


def _fail(request: SyncRequest, facts: Facts) -> SyncAnswer:
    raise RuntimeError("this replica is broken")


if __name__ == "__main__":
    graph.sync = component.sync = _fail
    main()
