"""The imitation engine, ended as the runtime's other engines end. It runs in a worker's pod, from a ConfigMap.

By itself it stops serving as soon as it is told to end, before frontends know. Other engines leave discovery first, and
go on for 5 s (`dynamo/common/utils/graceful_shutdown.py` of 1.5.1 and 1.6.1).
"""

import asyncio
from typing import Any

from dynamo.common.utils.graceful_shutdown import get_grace_period_seconds
from dynamo.mocker import main as mocker

served: list[tuple[Any, str]] = []
run, end = mocker.run_input, mocker.graceful_shutdown


def run_noted(runtime: Any, endpoint: str, config: Any) -> Any:
    served.append((runtime, endpoint))
    return run(runtime, endpoint, config)


async def leave_first(runtimes: list[Any]) -> None:
    for runtime, endpoint in served:
        await runtime.endpoint(endpoint).unregister_endpoint_instance()
    await asyncio.sleep(get_grace_period_seconds())
    await end(runtimes)


mocker.run_input, mocker.graceful_shutdown = run_noted, leave_first
mocker.main()
