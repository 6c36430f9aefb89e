"""Sends load requests to the prober over loopback; the prober answers without waiting for an engine."""

import os
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import quote

import msgspec

from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.k8s.messages import one_line, without_user
from hooks.model.prober.messages import LoadReport, LoadRequest, Term
from hooks.server.clients.prober_token import read_token
from hooks.server.exchange.call_time import seconds_left
from hooks.server.exchange.http_client import MIB, Allowance, Unanswered, open_client
from hooks.server.serving.call_id import UNKNOWN, CallId
from hooks.wire.prober.frontends import ChangedGraph, ChangedGraphs, FrontendQuestion, FrontendReport, TakeChanges
from hooks.wire.prober.messages import read_message, write_message

RELAY_PATH = "/prober"
"""Where the hooks of a pod pass requests of other pods on to their own prober."""
RETRY_SECONDS = 1
"""After how long a model is asked about again whose request the prober did not take."""

_HINT = "check that the prober container runs (`dynamo-hooks prober`)"
_OTHER_REPORT = "the prober's answer is not a report; run hooks and prober of one version"
_MOST_BYTES = 4 * MIB
_CONNECTIONS = 8
_LEAST_SECONDS = 1.0
"""What a prober may take even if the present call has no time left."""
_ASK_AGAIN = frozenset({HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})
"""The prober's answer and that of a relay: this prober does not act now, or the request is outdated."""


class ProberClient:
    """A client of the prober; safe to use from several threads.

    The hooks of the pod whose prober acts answer as their prober does, at a URL that ends in `RELAY_PATH`.
    """

    def __init__(self, url: str, token: str | Callable[[], str] | None = None, timeout: float = 1.0) -> None:
        """Take the prober's base URL, the bearer token (empty for none) or what returns it, and a timeout in seconds.

        The token defaults to that of the environment.
        """
        self._url = url.rstrip("/")
        self._token = read_token(os.environ) if token is None else token
        self._limits = Allowance(seconds=timeout, most_bytes=_MOST_BYTES)
        self._client = open_client(_MOST_BYTES, each=_CONNECTIONS)

    def ask(self, request: LoadRequest, call_id: CallId = UNKNOWN) -> LoadReport:
        """The prober's report on a request; the prober logs the call that it is part of.

        Raises:
            ProberUnavailable: no answer in time, or not a report.
            LeaveAlone: this prober does not act now, or the request is outdated.
        """
        answer = self.send(request.namespace, request.name, write_message(request), call_id)
        try:
            return read_message(answer, LoadReport)
        except (msgspec.MsgspecError, ValueError) as error:
            raise ProberUnavailable(_OTHER_REPORT) from error

    def send(self, namespace: str, name: str, body: bytes, call_id: CallId) -> bytes:
        """The prober's answer to a request that is written already.

        Raises:
            ProberUnavailable: no answer in time, or one that says that it does not work.
            LeaveAlone: this prober does not act now, or the request is outdated.
        """
        return self._call("PUT", f"/v1/models/{quote(namespace, safe='')}/{quote(name, safe='')}", body, call_id)

    def ask_frontends(self, question: FrontendQuestion, call_id: CallId = UNKNOWN) -> FrontendReport:
        """The prober's report on a graph's frontends.

        Raises:
            ProberUnavailable: no answer in time, or not a report.
            LeaveAlone: this prober does not act now.
        """
        body = write_message(question)
        answer = self.send_question(question.namespace, question.name, body, call_id)
        try:
            return read_message(answer, FrontendReport)
        except (msgspec.MsgspecError, ValueError) as error:
            raise ProberUnavailable(_OTHER_REPORT) from error

    def send_question(self, namespace: str, name: str, body: bytes, call_id: CallId) -> bytes:
        """The prober's answer to a question about a graph's frontends that is written already.

        Raises:
            ProberUnavailable: no answer in time, or one that says that it does not work.
            LeaveAlone: this prober does not act now.
        """
        return self._call("PUT", f"/v1/frontends/{quote(namespace, safe='')}/{quote(name, safe='')}", body, call_id)

    def take_changes(self, could_write: bool | None = None) -> tuple[ChangedGraph, ...]:
        """The graphs whose frontends say something else than was last reported.

        `could_write` says whether the last ones could be written; None if that is not known.

        Raises:
            ProberUnavailable: no answer in time, or not a list of graphs.
            LeaveAlone: another version's prober answers so.
        """
        answer = self._call("POST", "/v1/frontends/changes", write_message(TakeChanges(could_write=could_write)))
        try:
            return read_message(answer, ChangedGraphs).graphs
        except (msgspec.MsgspecError, ValueError) as error:
            raise ProberUnavailable(
                "the prober's answer is no list of graphs; run hooks and prober of one version"
            ) from error

    def set_term(self, term: Term) -> None:
        """Begin, renew or end the time for which the prober acts.

        Raises:
            ProberUnavailable: the prober does not answer, so it may still act until the term's end.
            LeaveAlone: the term has ended before.
        """
        self._call("PUT", "/v1/term", write_message(term))

    def read_term(self) -> Term:
        """The newest term of the prober, over or not.

        Raises:
            ProberUnavailable: the prober does not answer, or says that it does not work.
        """
        answer = self._call("GET", "/v1/term")
        try:
            return read_message(answer, Term)
        except (msgspec.MsgspecError, ValueError) as error:
            raise ProberUnavailable("the prober's answer is not a term; run hooks and prober of one version") from error

    def _call(self, method: str, path: str, body: bytes | None = None, call_id: CallId = UNKNOWN) -> bytes:
        token = self._token if isinstance(self._token, str) else self._token()
        headers = {**call_id.headers, "Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        limits = replace(self._limits, seconds=min(self._limits.seconds, max(seconds_left(), _LEAST_SECONDS)))
        try:
            # The prober may close an idle connection at the same moment, and takes a request twice.
            reply = self._client.ask_twice(method, self._url + path, limits=limits, headers=headers, body=body)
        except Unanswered as error:
            if error.is_slow:
                seconds = self._limits.seconds
                raise ProberUnavailable(f"the prober did not answer within {seconds:g} s; {_HINT}") from error
            raise ProberUnavailable(f"the prober cannot be reached at {without_user(self._url)}; {_HINT}") from error
        if reply.status in _ASK_AGAIN:
            raise LeaveAlone(_quote(reply.body, token), retry_after=RETRY_SECONDS)
        if reply.status != HTTPStatus.OK:
            raise ProberUnavailable(f"the prober answered HTTP {reply.status}: {_quote(reply.body, token)}")
        return reply.body


def _quote(body: bytes, token: str) -> str:
    """The first line of an answer; another server at the prober's address could repeat our token."""
    text = body.decode(errors="replace")
    line = text.partition("\n")[0]
    return one_line(line.replace(token, "(token)") if token else line, 200)
