"""`dynamo-hooks` as in a pod: URL of the API server, the account's token file, the authority, then its own words."""

import sys
from pathlib import Path

from hooks.server.clients.api_server import ApiServer
from hooks.server.commands.main import main

if __name__ == "__main__":
    url, token, authority, *words = sys.argv[1:]
    found = ApiServer(url=url, token_file=Path(token), ca_file=Path(authority))
    ApiServer.in_cluster = lambda: found  # type: ignore[method-assign, assignment, misc]  # a pod finds it by variables
    main(words)
