"""The program of a pod's processes: `dynamo-hooks`, with a pod's account in the folder that a variable names."""

import os
from pathlib import Path

from hooks.server.clients.api_server import ApiServer
from hooks.server.commands.main import main

ACCOUNT, SERVER = "TEST_ACCOUNT", "TEST_API_SERVER"
"""Variables with the folder of the account's files, and with the URL of the API server."""


def _find_server() -> ApiServer:
    folder = Path(os.environ[ACCOUNT])
    return ApiServer(url=os.environ[SERVER], token_file=folder / "token", ca_file=folder / "ca.crt")


if __name__ == "__main__":
    ApiServer.in_cluster = _find_server  # type: ignore[method-assign, assignment]  # a pod would find it by variables
    main()
