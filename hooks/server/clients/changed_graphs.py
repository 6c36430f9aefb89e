"""Has graphs looked at again of which the frontends say something else: it writes an annotation, which makes a sync.

Metacontroller syncs a graph when it changes, and from time to time. The prober knows at once when a frontend changes
its answer, and has no right to write. So the hooks of the pod whose prober acts ask it for the graphs, and write them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus

from hooks.ground import contract
from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.settings import Settings
from hooks.server.clients.acting_prober import ActingProber
from hooks.server.clients.api_server import REQUEST_SECONDS, ApiServer, Conversation, Refused, object_path
from hooks.server.clients.prober_client import ProberClient
from hooks.server.clients.prober_lease import LeaseTurns
from hooks.server.serving.background import start_repeating
from hooks.server.serving.logs import logger
from hooks.wire.prober.frontends import ChangedGraph

PUSH_SECONDS = 1.0
_DEADLINE_SECONDS = 30.0
_GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
"""The graph is deleted, or another one has its name by now."""


@dataclass(slots=True, kw_only=True)
class ChangedGraphWriter:
    """Writes changed graphs while the own prober acts."""

    server: ApiServer
    own: ProberClient
    turns: LeaseTurns
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _could_write: bool | None = field(default=None, init=False)
    """Whether the last graphs could be written; None if there were none since the prober was told."""
    _fault: str = field(default="", init=False)

    def start(self) -> None:
        """Write changed graphs from now on, in a thread that ends with the process."""
        start_repeating("changed-graphs", self.push, PUSH_SECONDS)

    def push(self) -> None:
        """Write the graphs that the prober names now; never raises. One that is not written is named again."""
        if not self.turns.find_state().is_own:
            return
        try:
            graphs = self.own.take_changes(self._could_write)
        except (ProberUnavailable, LeaveAlone):
            return  # syncs say it
        if not graphs:
            self._could_write = None
            return
        faults = self._write_all(graphs[:1] if self._could_write is False else graphs)
        self._could_write = None in faults
        fault = next((fault for fault in faults if fault is not None), None)
        if fault is not None and str(fault.status) != self._fault:
            logger.warning("what frontends say is seen late: %s", fault)
        self._fault = "" if fault is None else str(fault.status)

    def _write_all(self, graphs: Sequence[ChangedGraph]) -> list[Refused | None]:
        """Write graphs, and return for each why that failed; without an answer the rest is left."""
        faults: list[Refused | None] = []
        with self.server.converse(_DEADLINE_SECONDS, REQUEST_SECONDS) as conversation:
            for graph in graphs:
                try:
                    self._write(conversation, graph)
                except Refused as refused:
                    faults.append(refused)
                    if not refused.status:
                        break
                else:
                    faults.append(None)
        return faults

    def _write(self, conversation: Conversation, graph: ChangedGraph) -> None:
        """Write one graph, if it is still the one with that uid.

        Source: Kubernetes, API conventions: an update that names another uid than the object's is a conflict.
        """
        path = object_path(contract.GRAPH, graph.namespace, graph.name)
        # In whole seconds, a second change within one would be none, and cause no sync.
        moment = self.now().isoformat(timespec="milliseconds")
        annotations = {contract.ANNOTATION_SERVING_CHANGED: moment}
        change = {"metadata": {**({"uid": graph.uid} if graph.uid else {}), "annotations": annotations}}
        conversation.ask("PATCH", path, change, also=_GONE)


def find_graph_writer(settings: Settings, prober: ActingProber) -> ChangedGraphWriter | None:
    """What writes changed graphs in this pod's cluster; None if no frontend is asked, or without an API server."""
    server = ApiServer.in_cluster() if settings.serving != "off" else None
    return None if server is None else ChangedGraphWriter(server=server, own=prober.own, turns=prober.turns)
