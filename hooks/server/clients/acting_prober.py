"""Asks the prober that acts: the own pod's, or that of the pod that holds the Lease, through the hooks there."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn, TypeVar

from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.settings import Settings
from hooks.model.prober.messages import LoadReport, LoadRequest
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.model_reader import Confirm, confirm_all, find_confirm
from hooks.server.clients.prober_client import RELAY_PATH, RETRY_SECONDS, ProberClient
from hooks.server.clients.prober_lease import TICK_SECONDS, LeaseState, LeaseTurns, OnlyPod, SharedLease
from hooks.server.exchange.http_client import Unanswered
from hooks.server.serving.background import start_repeating
from hooks.server.serving.call_id import UNKNOWN, CallId
from hooks.wire.prober.frontends import FrontendQuestion, FrontendReport

ADDRESS_VARIABLE = "POD_IP"
"""Environment variable with this pod's address, which the other hooks pods call."""
_R = TypeVar("_R")
_RELAY_SECONDS = 6.0
"""How long the hooks of another pod may take: they ask the API server what they do not remember."""
_AGREEING = "the hooks pods have not agreed yet on the one whose prober acts"


@dataclass(frozen=True, slots=True)
class NoTurns:
    """Several hooks pods that cannot share a Lease: no prober acts."""

    fault: str

    def find_state(self) -> LeaseState:
        """No prober acts, and why."""
        return LeaseState(fault=self.fault)

    def renew(self, _is_draining: Callable[[], bool]) -> None:
        """Nothing can be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActingProber:
    """The one prober that acts; `token` is what hooks pods show each other, empty for nothing.

    `confirm` says whether the own prober may act on a request; the hooks of another pod ask that themselves.
    """

    own: ProberClient
    turns: LeaseTurns
    token: Callable[[], str] = lambda: ""
    confirm: Confirm = confirm_all
    _others: dict[str, ProberClient] = field(default_factory=dict)

    def ask(self, request: LoadRequest, call_id: CallId = UNKNOWN) -> LoadReport:
        """The acting prober's report.

        Raises:
            LeaveAlone: no prober acts at this moment, the stored model does not ask for this, or the request is
                outdated.
            ProberUnavailable: the prober or the pod that holds the Lease does not answer, no pod can hold the Lease, or
                it is not known what the stored model asks for.
        """
        lease_state = self.turns.find_state()
        if lease_state.is_own:
            self.confirm(request)
        return self._ask(lease_state, lambda prober: prober.ask(request, call_id))

    def ask_frontends(self, question: FrontendQuestion, call_id: CallId = UNKNOWN) -> FrontendReport:
        """The acting prober's report on a graph's frontends.

        Raises:
            LeaveAlone: no prober acts at this moment, or an address is not called.
            ProberUnavailable: the prober or the pod that holds the Lease does not answer, or no pod can hold the Lease.
        """
        return self._ask(self.turns.find_state(), lambda prober: prober.ask_frontends(question, call_id))

    def _ask(self, lease_state: LeaseState, ask: Callable[[ProberClient], _R]) -> _R:
        """What the acting prober answers; raises as the callers say."""
        if not lease_state.is_own and not lease_state.url:
            _refuse(lease_state)
        try:
            return ask(self.own if lease_state.is_own else self._find(lease_state.url))
        except LeaveAlone as refusal:
            _refuse(lease_state, refusal)
        except ProberUnavailable as error:
            if lease_state.is_own:
                raise
            pod, cause = f"the hooks pod at {lease_state.url}, whose prober acts,", error.__cause__
            if isinstance(cause, Unanswered) and cause.is_slow:
                text = f"{pod} did not answer within {_RELAY_SECONDS:g} s; it may wait for a slow API server"
            else:
                hint = "check that a NetworkPolicy lets hooks pods call each other"
                text = f"{pod} does not pass the request on: {error}; {hint}"
            raise ProberUnavailable(text) from error

    def renew(self, is_draining: Callable[[], bool]) -> None:
        """Keep this pod's turn from now on, in a thread that ends with the process."""
        start_repeating("prober-lease", partial(self.turns.renew, is_draining), TICK_SECONDS)

    def _find(self, url: str) -> ProberClient:
        """The client of another pod's hooks; only that of the present holder is kept."""
        found = self._others.get(url)
        if found is None:
            self._others.clear()
            found = self._others[url] = ProberClient(f"{url}{RELAY_PATH}", self.token, _RELAY_SECONDS)
        return found


def _refuse(lease_state: LeaseState, refusal: LeaveAlone | None = None) -> NoReturn:
    """Say that no prober acts: as a fault if there is one, else as something that passes."""
    if lease_state.fault:
        raise ProberUnavailable(
            "no adapter is loaded or verified, because this pod cannot keep the Lease of the probers: "
            f"{lease_state.fault}"
        ) from refusal
    raise refusal or LeaveAlone(_AGREEING, retry_after=RETRY_SECONDS)


def set_up_prober(settings: Settings, port: int, token: Callable[[], str] | None) -> ActingProber:
    """The acting prober for these settings; `port` is that of these hooks, `token` what hooks pods show each other."""
    own = ProberClient(settings.prober_url)
    if settings.hook_replicas == 1:
        return ActingProber(own=own, turns=OnlyPod(prober=own))
    if token is None:
        return ActingProber(own=own, turns=NoTurns("no --relay-token-file is given, which several hooks pods need"))
    return ActingProber(own=own, turns=_share_lease(settings, own, port), token=token)


def set_up_only_prober(settings: Settings, server: ApiServer | None) -> ActingProber:
    """The prober of the only hooks pod, which acts as long as these hooks run."""
    own = ProberClient(settings.prober_url)
    return ActingProber(own=own, turns=OnlyPod(prober=own), confirm=find_confirm(settings, server))


def _share_lease(settings: Settings, own: ProberClient, port: int) -> LeaseTurns:
    server, address = ApiServer.in_cluster(), os.environ.get(ADDRESS_VARIABLE, "")
    if server is None or not server.own_namespace:
        return NoTurns("this pod mounts no ServiceAccount token with its namespace, which several hooks pods need")
    if not address:
        return NoTurns(
            f"the variable {ADDRESS_VARIABLE} does not say this pod's address, which several hooks pods need"
        )
    host = f"[{address}]" if ":" in address else address
    return SharedLease(
        server=server,
        prober=own,
        namespace=server.own_namespace,
        name=settings.prober_lease,
        holder=f"{socket.gethostname()} http://{host}:{port}",
    )
