"""The questions that a frontend answers, and what its answers mean.

Source: lib/llm/src/http/service/openai.rs of Dynamo 1.3.1 to 1.6.1. `/ready` answers 200 or 503 with the same body, by
release; 404 for a model that it does not know, and in releases without that path.
"""

import errno
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import RemoteDisconnected
from urllib.parse import quote

from hooks.model.prober.frontends.answers import OtherDocument, read_models, read_readiness
from hooks.model.prober.frontends.calls import FrontendAction, FrontendAnswer, FrontendCall, FrontendEnd
from hooks.model.seen.engine_addresses import AddressRule, find_refusal
from hooks.server.exchange.connections import BoundedAdapter
from hooks.server.exchange.http_client import MIB, Allowance, HttpClient, Reply, Unanswered, find_cause

MAX_BODY_BYTES = MIB
_HEADERS: Mapping[str, str] = {"Accept": "application/json"}
_WANTS_CERTIFICATE = frozenset(
    {
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "TLSV1_ALERT_UNKNOWN_CA",
    }
)
"""What a server sends that got no client certificate, by its version of TLS."""
_NO_ROUTE = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH})
_CLOSED = frozenset({errno.ECONNRESET, errno.EPIPE})


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontendClient:
    """Asks frontends whose addresses `rule` allows; safe to use from several threads."""

    client: HttpClient
    rule: AddressRule
    _reading: threading.Lock = field(default_factory=threading.Lock)
    """One large answer is in memory at a time as a document."""

    @classmethod
    def open(cls, rule: AddressRule, hosts: int) -> "FrontendClient":
        """A client that keeps connections to `hosts` frontends; like the kubelet it verifies no certificate."""
        transport = BoundedAdapter(MAX_BODY_BYTES, pool_connections=hosts, pool_maxsize=1)
        return cls(client=HttpClient(transport=transport, verify=False), rule=rule)

    def perform(self, call: FrontendCall) -> FrontendAnswer:
        """Make a call and judge the answer; nothing that a frontend does raises an exception."""
        if refusal := find_refusal(call.target.address, self.rule):
            return FrontendAnswer(outcome=FrontendEnd.NOT_CALLED, error=refusal)
        limits = Allowance(seconds=call.timeout, most_bytes=MAX_BODY_BYTES)
        try:
            # A frontend may close an idle connection at the same moment.
            reply = self.client.ask_twice("GET", _write_url(call), limits=limits, headers=_HEADERS)
        except Unanswered as unanswered:
            return _judge_failure(unanswered, call)
        with self._reading:
            return _judge(reply, call)


def _write_url(call: FrontendCall) -> str:
    url = f"{call.target.address}{call.target.path}"
    return url if call.action is FrontendAction.LIST else f"{url}/{quote(call.model, safe='')}/ready"


def _judge(reply: Reply, call: FrontendCall) -> FrontendAnswer:
    try:
        if call.action is FrontendAction.READY:
            return _judge_readiness(reply, call)
        if reply.status == HTTPStatus.OK:
            models, has_more = read_models(reply.body, call.wanted)
            return FrontendAnswer(outcome=FrontendEnd.OK, models=models, has_more=has_more)
    except OtherDocument:
        error = "it answers something else than a list of models"
        return FrontendAnswer(outcome=FrontendEnd.OTHER_DOCUMENT, error=error)
    if HTTPStatus.MULTIPLE_CHOICES <= reply.status < HTTPStatus.BAD_REQUEST:
        error = f"it answers HTTP {reply.status}, a redirect, which is not followed"
        return FrontendAnswer(outcome=FrontendEnd.REDIRECT, error=error)
    return FrontendAnswer(outcome=FrontendEnd.STATUS, error=f"it answers HTTP {reply.status}")


def _judge_readiness(reply: Reply, call: FrontendCall) -> FrontendAnswer:
    """What `/ready` says, by its body; its code is another one by release."""
    if reply.status == HTTPStatus.NOT_FOUND:
        return FrontendAnswer(outcome=FrontendEnd.NOT_KNOWN)
    needs, namespaces = read_readiness(reply.body, call.model, call.namespaces)
    return FrontendAnswer(outcome=FrontendEnd.OK, needs=needs, namespaces=namespaces)


def _judge_failure(unanswered: Unanswered, call: FrontendCall) -> FrontendAnswer:
    """The answer for a call without an HTTP answer, in words of ours."""
    cause = find_cause(unanswered)
    if unanswered.is_too_large:
        error = f"its answer has more than {MAX_BODY_BYTES // MIB} MiB"
        return FrontendAnswer(outcome=FrontendEnd.TOO_LARGE, error=error)
    if unanswered.is_late:
        return FrontendAnswer(outcome=FrontendEnd.TIMEOUT, error=f"it did not answer within {call.timeout:g} s")
    if isinstance(cause, ssl.SSLError):
        is_wanted = cause.reason in _WANTS_CERTIFICATE
        error = "it wants a client certificate" if is_wanted else "no TLS connection to it comes about"
        return FrontendAnswer(outcome=FrontendEnd.TLS, error=error)
    return FrontendAnswer(outcome=FrontendEnd.UNREACHABLE, error=_describe_cause(cause))


def _describe_cause(cause: BaseException) -> str:
    number = cause.errno if isinstance(cause, OSError) else None
    if number == errno.ECONNREFUSED:
        return "it refuses connections"
    if number in _NO_ROUTE:
        return "no route leads to it"
    if isinstance(cause, RemoteDisconnected) or number in _CLOSED:
        return "it closed the connection without an answer"
    return "it answers something else than HTTP" if number is None else "no connection to it comes about"
