"""One chat completion by a frontend pod, through the API server's proxy, as the user: its text as it comes, and times.

Source: Dynamo 1.6.1, lib/llm/src/http/service/openai.rs and lib/llm/src/protocols/common/extensions.rs.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from requests import Response

from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import Json
from hooks.server.clients.api_server import Refused
from hooks.server.exchange.documents import Unreadable, parse_object
from hooks.server.exchange.http_client import MIB, Allowance, Unanswered, read_lines, read_reply
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.frontends import Frontend

_LIMIT = 4 * MIB
"""The most bytes of one answer, and of all parts of one that streams."""
_LONGEST = 300
_DATA, _EVENT, _COMMENT, _END = b"data:", b"event:", b":", b"[DONE]"
_BUSY = 529
_WORKERS = (("prefill_worker_id", "prefill"), ("decode_worker_id", "decode"))


class ChatFailed(Exception):
    """There is no answer, or it broke off; the message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatQuestion:
    """What is asked; the whole answer may take `seconds`."""

    model: str
    text: str
    max_tokens: int
    seconds: float

    def as_json(self) -> dict[str, Json]:
        """The body of the request; releases that do not know `nvext` or its field ignore them."""
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": self.text}],
            "max_tokens": self.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            "nvext": {"extra_fields": ["worker_id"]},
        }


@dataclass(slots=True, kw_only=True)
class Measured:
    """What is known of an answer by now: seconds to its first text and to its last part, tokens, and worker ids.

    `workers` are by what they did: `prefill`, `decode`, or one of these for both.
    """

    first_seconds: float | None = None
    seconds: float = 0.0
    tokens: int | None = None
    workers: dict[str, int] = field(default_factory=dict)
    has_ended: bool = False


def list_models(cluster: Cluster, frontend: Frontend) -> tuple[str, ...]:
    """The models that a frontend lists, sorted.

    Raises:
        Refused: the API server refuses to ask it, or does not answer. ChatFailed: the frontend does not answer so.
    """
    limits = Allowance(seconds=cluster.seconds, most_bytes=_LIMIT)
    with cluster.open("GET", frontend.path(frontend.models_path), limits=limits) as response:
        body = _read_answer(response, limits, frontend)
    found = body.get("data")
    names = [one.get("id") for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return tuple(sorted({name for name in names if isinstance(name, str)}))


def stream_chat(
    cluster: Cluster,
    frontend: Frontend,
    question: ChatQuestion,
    measured: Measured,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[str]:
    """The parts of the answer's text as they come; fills `measured` meanwhile.

    Raises:
        Refused: the API server refuses to ask the frontend, or does not answer.
        ChatFailed: the frontend gives no answer, or it breaks off.
    """
    limits = Allowance(seconds=question.seconds, most_bytes=_LIMIT)
    path, begin = frontend.path(frontend.chat_path), clock()
    try:
        with cluster.open("POST", path, question.as_json(), limits=limits) as response:
            if response.status_code != HTTPStatus.OK:
                _read_answer(response, limits, frontend)
            for document in _read_events(response, frontend):
                text = _take(document, measured)
                measured.seconds = clock() - begin
                if text:
                    measured.first_seconds = measured.first_seconds or measured.seconds
                    yield text
    except Refused as refused:
        raise _explain_silence(refused, frontend, question, measured) from refused
    if not measured.has_ended:
        raise ChatFailed(f"the answer of frontend {frontend.pod} broke off")


def _read_events(response: Response, frontend: Frontend) -> Iterator[Mapping[str, Json]]:
    """The documents of a stream of events, until its end.

    Raises:
        ChatFailed: an event is an error, or cannot be read.
    """
    left, is_error = _LIMIT, False
    for line in read_lines(response):
        left -= len(line)
        if left < 0:
            raise ChatFailed(f"the answer of frontend {frontend.pod} has more than {_LIMIT // MIB} MiB")
        if line.startswith(_EVENT):
            is_error = line.removeprefix(_EVENT).strip() == b"error"
        elif is_error and line.startswith((_DATA, _COMMENT)):
            said = line.removeprefix(b"data").removeprefix(_COMMENT).decode(errors="replace")
            raise ChatFailed(f"frontend {frontend.pod} broke the answer off: {one_line(said, _LONGEST)}")
        elif line.startswith(_DATA) and (data := line.removeprefix(_DATA).strip()) != _END:
            try:
                yield parse_object(data)
            except Unreadable as unreadable:
                raise ChatFailed(f"what frontend {frontend.pod} streams cannot be read: {unreadable}") from unreadable


def _take(document: Mapping[str, Any], measured: Measured) -> str:
    """The text in a part of the answer, if any; what else it says goes to `measured`.

    Raises:
        ChatFailed: it is an error.
    """
    choices, usage = document.get("choices"), document.get("usage")
    if not isinstance(choices, list):
        raise ChatFailed(f"the frontend broke the answer off: {_say(document)}")
    if isinstance(usage, dict) and isinstance(usage.get("completion_tokens"), int):
        measured.tokens = usage["completion_tokens"]
    extended = document.get("nvext")
    ids = extended.get("worker_id") if isinstance(extended, dict) else None
    if isinstance(ids, dict):
        measured.workers |= {role: ids[key] for key, role in _WORKERS if isinstance(ids.get(key), int)}
    text = ""
    for choice in choices:
        if isinstance(choice, dict):
            measured.has_ended = measured.has_ended or bool(choice.get("finish_reason"))
            delta = choice.get("delta")
            said = [delta.get(key) for key in ("reasoning_content", "content")] if isinstance(delta, dict) else []
            text += "".join(one for one in said if isinstance(one, str))
    return text


def _read_answer(response: Response, limits: Allowance, frontend: Frontend) -> Mapping[str, Any]:
    """The JSON object of an answer.

    Raises:
        Refused: the API server refuses the request by itself. ChatFailed: the frontend answers something else.
    """
    reply = read_reply(response, limits)
    try:
        body = parse_object(reply.body)
    except Unreadable as unreadable:
        if reply.status == HTTPStatus.OK:
            raise ChatFailed(f"what frontend {frontend.pod} answers cannot be read: {unreadable}") from unreadable
        body = {}
    if reply.status == HTTPStatus.OK:
        return body
    if body.get("kind") == "Status":
        raise _explain_status(reply.status, body, frontend)
    raise ChatFailed(_explain_failure(reply.status, _say(body) or reply.reason, frontend))


def _say(body: Mapping[str, Any]) -> str:
    error = body.get("error")
    said = error.get("message") if isinstance(error, dict) else error
    return one_line(str(body.get("message") or said or ""), _LONGEST)


def _explain_status(status: int, body: Mapping[str, Any], frontend: Frontend) -> Exception:
    """What the API server says by itself: it does not let the user ask, or it does not reach the pod."""
    said = _say(body)
    if status == HTTPStatus.NOT_FOUND:
        return ChatFailed(f"pod {frontend.pod} is gone; ask again")
    if status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.BAD_GATEWAY, HTTPStatus.INTERNAL_SERVER_ERROR}:
        return ChatFailed(
            f"the API server does not reach port {frontend.port} of pod {frontend.pod}: {said}; a NetworkPolicy, a "
            "firewall or a client certificate that the frontend wants may be the cause"
        )
    right = "; that takes the rights get and create of pods/proxy" if status == HTTPStatus.FORBIDDEN else ""
    return Refused(f"pod {frontend.pod} cannot be asked: {status} {said}{right}", status)


def _explain_failure(status: int, said: str, frontend: Frontend) -> str:
    """What an answer of the frontend means."""
    meanings = {
        HTTPStatus.NOT_FOUND: "it does not route this model: no worker has registered it, or the name is another one",
        HTTPStatus.SERVICE_UNAVAILABLE: "it knows the model and cannot route it now: workers of a kind are missing, or "
        "their connection failed",
        HTTPStatus.BAD_REQUEST: "it takes no such request",
        HTTPStatus.INTERNAL_SERVER_ERROR: "the worker that it chose failed; kubectl dynamo logs shows more",
        _BUSY: "all workers are busy; the model is served, ask again later",
    }
    meaning = meanings.get(status)
    return f"frontend {frontend.pod} answers {status} {said}{f': {meaning}' if meaning else ''}"


def _explain_silence(refused: Refused, frontend: Frontend, question: ChatQuestion, measured: Measured) -> Exception:
    """A request without a whole answer; what the API server refuses by itself stays as it is."""
    cause = refused.__cause__
    if not isinstance(cause, Unanswered):
        return refused
    if cause.is_slow:
        begun = "did not end" if measured.first_seconds is not None else "did not begin"
        return ChatFailed(
            f"the answer of frontend {frontend.pod} {begun} within {question.seconds:g} s; --timeout allows more"
        )
    if cause.is_too_large:
        return ChatFailed(f"the answer of frontend {frontend.pod} has more than {_LIMIT // MIB} MiB")
    return refused if measured.first_seconds is None else ChatFailed(f"the answer broke off: {cause}")
