"""The imitation engine, ended as the runtime's other engines end. It runs in a worker's pod, from a ConfigMap.

With `START_LATE` it begins so many seconds late, as an engine does that loads weights.

By itself it stops serving as soon as it is told to end, before frontends know. Other engines leave discovery first, and
go on for 5 s (`dynamo/common/utils/graceful_shutdown.py` of 1.5.1 and 1.6.1).
"""

import asyncio
import importlib
import os
import time
from typing import Any

mocker = importlib.import_module("dynamo.mocker.main")
ending = importlib.import_module("dynamo.common.utils.graceful_shutdown")
served: list[tuple[Any, str]] = []
run, end = mocker.run_input, mocker.graceful_shutdown


def run_noted(runtime: Any, endpoint: str, config: Any) -> Any:
    served.append((runtime, endpoint))
    return run(runtime, endpoint, config)


async def leave_first(runtimes: list[Any]) -> None:
    for runtime, endpoint in served:
        await runtime.endpoint(endpoint).unregister_endpoint_instance()
    await asyncio.sleep(ending.get_grace_period_seconds())
    await end(runtimes)


if __name__ == "__main__":
    time.sleep(float(os.environ.get("START_LATE", "0")))
    vars(mocker).update(run_input=run_noted, graceful_shutdown=leave_first)
    mocker.main()
