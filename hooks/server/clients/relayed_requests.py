"""Takes requests to the prober of this pod that other hooks pods pass on, and judges them as those of its own syncs.

The prober has no rights, so the hooks of its pod ask the API server: for the stored model, and for the pods whose
addresses the request names. Who has the token of hooks pods can make it do nothing else.
"""

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from hooks.ground.errors import InvalidRequest, LeaveAlone
from hooks.model.prober.messages import EngineTarget, LoadRequest
from hooks.model.seen.pod_addresses import CheckAddresses, NamedAddress
from hooks.server.clients.model_reader import Confirm
from hooks.server.clients.prober_client import RETRY_SECONDS
from hooks.server.serving.call_id import CallId
from hooks.server.serving.prober_relay import Send
from hooks.wire.prober.frontends import FrontendQuestion
from hooks.wire.prober.messages import read_message

_MAX_QUOTED = 300
_R = TypeVar("_R", LoadRequest, FrontendQuestion)


def read_relayed(body: bytes, kind: type[_R], key: str, *, called: str, about: str) -> _R:
    """The message of that kind in a body, about the object with that key (`namespace/name`).

    Raises:
        InvalidRequest: the body is none, or about another object; `called` and `about` name both.
    """
    try:
        found = read_message(body, kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise InvalidRequest(f"the body is not a valid {called}: {str(error)[:_MAX_QUOTED]}") from error
    if found.key != key:
        raise InvalidRequest(f"the body names another {about} than the path")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedRequests:
    """Judges requests and passes them on by `send`; `check` is None if addresses need not be those of pods.

    `engine_port` is the usual port of engines.
    """

    send: Send
    confirm: Confirm
    check: CheckAddresses | None
    engine_port: int

    def take(self, namespace: str, name: str, body: bytes, call_id: CallId) -> bytes:
        """The prober's answer to a request about the model with this name.

        Raises:
            InvalidRequest: the body is not a request about that model.
            LeaveAlone: the stored model does not ask for it, an address is not that of its pod, or not known to be, or
                this prober does not act.
            ProberUnavailable: what is needed cannot be read, or the prober does not work.
        """
        request = read_relayed(body, LoadRequest, f"{namespace}/{name}", called="load request", about="model")
        self.confirm(request)
        if self.check is not None:
            self._check_addresses(request, self.check)
        return self.send(namespace, name, body, call_id)

    def _check_addresses(self, request: LoadRequest, check: CheckAddresses) -> None:
        named = tuple(_name_address(request, target, self.engine_port) for target in request.targets)
        for verdict in check(named).values():
            if reason := verdict.refusal or verdict.doubt:
                raise LeaveAlone(reason, retry_after=RETRY_SECONDS)


def _name_address(request: LoadRequest, target: EngineTarget, usual: int) -> NamedAddress:
    """The address of a target as that of its pod; a request does not name the pod's uid."""
    host, _, port = target.address.removeprefix("http://").rpartition(":")
    own = 0 if int(port) == usual else int(port)
    return NamedAddress(request.namespace, target.pod, "", host.strip("[]"), own)
