"""Takes questions about frontends that other hooks pods pass on, and judges them as those of its own syncs.

The prober has no rights, so the hooks of its pod ask the API server for the pods whose addresses a question names.
"""

from dataclasses import dataclass

from hooks.ground.errors import LeaveAlone
from hooks.model.seen.engine_addresses import AddressRule
from hooks.model.seen.pod_addresses import CheckAddresses
from hooks.server.clients.frontend_questions import find_refused
from hooks.server.clients.prober_client import RETRY_SECONDS
from hooks.server.clients.relayed_requests import read_relayed
from hooks.server.serving.call_id import CallId
from hooks.server.serving.prober_relay import Send
from hooks.wire.prober.frontends import FrontendQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedQuestions:
    """Judges questions by `rule` and `check`, and passes them on by `send`."""

    send: Send
    check: CheckAddresses
    rule: AddressRule

    def take(self, namespace: str, name: str, body: bytes, call_id: CallId) -> bytes:
        """The prober's answer to a question about the graph with this name.

        Raises:
            InvalidRequest: the body is no question about that graph.
            LeaveAlone: an address is not that of its pod, or not known to be, or this prober does not act.
            ProberUnavailable: the prober does not work.
        """
        question = read_relayed(body, FrontendQuestion, f"{namespace}/{name}", called="question", about="graph")
        for reason in find_refused(question, self.rule, self.check).values():
            raise LeaveAlone(reason, retry_after=RETRY_SECONDS)
        return self.send(namespace, name, body, call_id)
