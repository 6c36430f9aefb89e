"""Asks the downloader of the Dynamo runtime beside this Python for a source: `download.py URI`, prints its error."""

import asyncio
import importlib
import os
import sys


async def download(uri: str) -> str:
    """What the downloader says; empty if it has the source."""
    downloader = importlib.import_module("dynamo._core").LoRADownloader()
    try:
        await downloader.download_if_needed(uri)
    except RuntimeError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.stdout.write(f"said: {asyncio.run(download(sys.argv[1]))!r}\n")
    sys.stdout.flush()
    os._exit(0)  # 0.9.1 now and then crashes where Python ends in the usual way
