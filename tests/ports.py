"""Free TCP ports for servers that a test starts."""

import os
import random
import socket
from itertools import count

FIRST, LAST = 20_000, 32_000
"""Below the ports that Linux gives to connections: one of those could take the port before the server does."""

PORTS_OF_WORKER = 1_000
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_numbers = count(random.randrange(PORTS_OF_WORKER))


def free_port() -> int:
    """Give a TCP port of 127.0.0.1 that nobody listens on, and no worker of this run is given at the same time."""
    while True:
        port = FIRST + (_worker * PORTS_OF_WORKER + next(_numbers) % PORTS_OF_WORKER) % (LAST - FIRST)
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
