"""A worker of the real Dynamo runtime that keeps a list of adapters instead of an engine.

`python lora_worker.py MODE`: `good`; `raising`, whose loads raise; or `plain`, which has no LoRA endpoints.
"""

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator
from typing import Any

Mapping = dict[str, Any]
held: dict[str, int] = {}


async def load_lora(request: Mapping) -> AsyncIterator[Mapping]:
    if sys.argv[1] == "raising":
        raise RuntimeError("no space left on device")
    name = request["lora_name"]
    held.setdefault(name, len(held) + 1)
    yield {"status": "success", "message": "loaded", "lora_name": name, "lora_id": held[name]}


async def unload_lora(request: Mapping) -> AsyncIterator[Mapping]:
    held.pop(request["lora_name"], None)
    yield {"status": "success", "message": "unloaded", "lora_name": request["lora_name"]}


async def list_loras(_request: Mapping) -> AsyncIterator[Mapping]:
    yield {"status": "success", "loras": held, "count": len(held)}


async def generate(_request: Mapping) -> AsyncIterator[Mapping]:
    yield {}


async def main() -> None:
    """Serve the endpoints until the process is ended."""
    runtime_module = importlib.import_module("dynamo.runtime")
    runtime = runtime_module.DistributedRuntime(asyncio.get_running_loop(), "mem", "tcp")
    handlers: dict[str, Any] = {"generate": generate}
    if sys.argv[1] != "plain":
        handlers |= {"load_lora": load_lora, "unload_lora": unload_lora, "list_loras": list_loras}
    served = (runtime.endpoint(f"ns.component.{name}").serve_endpoint(h) for name, h in handlers.items())
    await asyncio.gather(*served)


if __name__ == "__main__":
    asyncio.run(main())
