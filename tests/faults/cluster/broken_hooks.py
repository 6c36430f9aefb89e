"""`python -m tests.faults.cluster.broken_hooks`: `dynamo-hooks`, but each sync fails, as with a bug of ours."""

from hooks.cli.main import main
from hooks.component import sync as component
from hooks.graph import sync as graph
from hooks.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.settings.facts import Facts


def _fail(request: SyncRequest, facts: Facts) -> SyncAnswer:
    raise RuntimeError("this replica is broken")


if __name__ == "__main__":
    graph.sync = component.sync = _fail
    main()
