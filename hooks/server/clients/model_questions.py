"""What the hook of a model asks before it answers: whose the addresses of the engines are, and the prober."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from flask import has_app_context

from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.settings.facts import Facts
from hooks.model.prober.messages import LoadReport, LoadRequest
from hooks.model.seen.pod_addresses import CheckAddresses
from hooks.model.sync import ModelCall, find_addresses, plan_request
from hooks.server.serving.call_id import UNKNOWN, CallId
from hooks.server.serving.web import find_call_id
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest

AskProber = Callable[[LoadRequest, CallId], LoadReport]
"""Sends the wanted adapters, and of which call they are, to the prober, and returns its report.

Raises `ProberUnavailable`, or `LeaveAlone` while no prober acts.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestions:
    """Whom a model's hook asks: `check` says of addresses whether they are those of their pods."""

    prober: AskProber
    check: CheckAddresses

    def before(
        self, function: Callable[[ModelCall, LoadReport | None], SyncAnswer], *, finalizing: bool = False
    ) -> Callable[[SyncRequest, Facts], SyncAnswer]:
        """The hook that first asks the prober, if there is anything to load or unload."""

        def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
            call = ModelCall(request=request, facts=facts, finalizing=finalizing)
            if addresses := find_addresses(call):
                call = replace(call, verdicts=self.check(addresses))
            wanted = plan_request(call)
            try:
                report = None if wanted is None else _ask(self.prober, wanted)
            except (ProberUnavailable, LeaveAlone):
                if not call.is_last:
                    raise
                report = None
            return function(call, report)

        return sync


def _ask(ask: AskProber, wanted: LoadRequest) -> LoadReport:
    """The prober's report; in a server the prober logs the call's id and trace."""
    return ask(wanted, find_call_id() if has_app_context() else UNKNOWN)
