"""The hooks' own server, which remembers so many bytes of whole answers.

Arguments: address, processes, bytes.
"""

import sys
from collections.abc import Callable
from datetime import UTC, datetime

from flask import Flask

from hooks.ground.settings import parse_settings
from hooks.server.serving.logs import set_up_logging
from hooks.server.serving.server import ServerOptions, run_server
from hooks.server.serving.web import ServedBy


def load(is_draining: Callable[[], bool]) -> Flask:
    """The hooks' application."""
    from hooks.server.app import create_app  # noqa: PLC0415 - its metrics look at the environment when imported

    served_by = ServedBy(is_draining=is_draining, resting_bytes=int(sys.argv[3]))
    return create_app(parse_settings({}), lambda: datetime.now(UTC), served_by=served_by)


if __name__ == "__main__":
    set_up_logging("info")
    run_server(ServerOptions(bind=sys.argv[1], workers=int(sys.argv[2])), load)
