"""An API server behind `responses`, with a clock that a test moves."""

from dataclasses import dataclass
from pathlib import Path

from hooks.server.clients.api_server import ApiServer
from tests.played_api_server import URL


@dataclass
class Ticking:
    """`seconds` is the time of its clock."""

    folder: Path
    seconds: float = 1000.0

    @property
    def server(self) -> ApiServer:
        """The server, with an account whose token is in the folder."""
        token = self.folder / "token"
        token.write_text("t")
        return ApiServer(url=URL, token_file=token, ca_file=token, clock=lambda: self.seconds)
