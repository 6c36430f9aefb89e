"""Which optional kinds the cluster has; a thread asks once a minute, so that no review waits for the answer."""

import threading
from dataclasses import dataclass, field

from hooks.clients.api_server import ApiServer, Refused, is_served
from hooks.k8s.types import GroupVersionKind
from hooks.metacontroller.controllers import OPTIONAL_CHILD_KINDS
from hooks.serving.background import start_repeating
from hooks.serving.logs import logger

REFRESH_SECONDS = 60.0
_REQUEST_SECONDS = 10.0


@dataclass(slots=True, kw_only=True)
class InstalledKinds:
    """The optional kinds that the API server served when it last answered."""

    server: ApiServer
    _found: frozenset[GroupVersionKind] | None = field(default=None, init=False)

    def look(self) -> frozenset[GroupVersionKind] | None:
        """The kinds; None before they are known."""
        return self._found

    def refresh(self) -> None:
        """Ask the API server; while it does not answer, its last answer counts."""
        try:
            with self.server.converse(_REQUEST_SECONDS) as talk:
                self._found = frozenset(kind for kind in OPTIONAL_CHILD_KINDS if is_served(talk.read, kind))
        except Refused as refused:
            logger.warning("kinds of the cluster not read: %s", refused)

    def keep(self) -> threading.Thread:
        """Start asking, in a thread that ends with the process."""
        return start_repeating("installed-kinds", self.refresh, REFRESH_SECONDS)
