"""Sets `failurePolicy: Fail` in webhooks once their servers answer.

Webhooks that fail closed before a server answers would refuse every write of Dynamo's kinds. So the chart creates them
with `Ignore`, and its Job ends that.
"""

import base64
import binascii
import http.client
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from hooks.server.admission.certificates.store import find_host
from hooks.server.clients.api_server import Conversation, Refused

_GROUP = "/apis/admissionregistration.k8s.io/v1"
_PAUSE_SECONDS = 1.0
_ANSWER_SECONDS = 10.0


class Silent(Exception):
    """Admission did not answer in time; the message says what it said at last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the API server calls a webhook, and what it trusts there as PEM text; empty for its own authorities."""

    host: str
    port: int
    authorities: str


_Webhook = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Configuration:
    """A webhook configuration as it was read: its path, its version, its webhooks."""

    path: str
    version: str
    webhooks: tuple[_Webhook, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement:
    """The paths of webhook configurations, such as `mutatingwebhookconfigurations/name`, and how to ask for a server.

    `ask` gives why the server at an address does not answer, empty if it does. `wait` waits some seconds, `clock` gives
    seconds, and `say` is called with each new reason to wait.
    """

    talk: Conversation
    paths: tuple[str, ...]
    ask: Callable[[Address], str]
    say: Callable[[str], None]
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def enforce(self, seconds: float) -> list[str]:
        """Wait until every server answers, at most so long, and let all webhooks fail closed; returns what was done.

        Raises:
            Silent: a server did not answer in time; no webhook was changed since.
            Refused: the API server refuses, or a configuration does not exist.
        """
        until, said, done = self.clock() + seconds, "", list[str]()
        while True:
            lenient = [one for path in self.paths if _find_lenient((one := self._read(path)).webhooks)]
            fault = next((fault for address in _find_addresses(lenient) if (fault := self.ask(address))), "")
            written = [] if fault else [one.path for one in lenient if self._write(one)]
            done += [f"{path}: failurePolicy is Fail now" for path in written]
            if len(written) == len(lenient):
                return done
            if fault and fault != said:
                self.say(said := fault)
            if self.clock() >= until:
                raise Silent(said or "other programs write the webhooks at the same time")
            self.wait(_PAUSE_SECONDS)

    def _read(self, path: str) -> _Configuration:
        found = self.talk.find(f"{_GROUP}/{path}")
        if found is None:
            raise Refused(f"{path} does not exist")
        version = str(found["metadata"]["resourceVersion"])
        return _Configuration(path=path, version=version, webhooks=tuple(found.get("webhooks") or ()))

    def _write(self, configuration: _Configuration) -> bool:
        """Let all its webhooks fail closed; false if another program changed it since it was read."""
        closed = [{**webhook, "failurePolicy": "Fail"} for webhook in configuration.webhooks]
        patch = {"metadata": {"resourceVersion": configuration.version}, "webhooks": closed}
        answer = self.talk.ask("PATCH", f"{_GROUP}/{configuration.path}", patch, also=(HTTPStatus.CONFLICT,))
        return answer.status != HTTPStatus.CONFLICT


def _find_lenient(webhooks: Iterable[_Webhook]) -> list[_Webhook]:
    """The webhooks that let writes pass while no server answers."""
    return [webhook for webhook in webhooks if webhook.get("failurePolicy") != "Fail"]


def _find_addresses(configurations: Iterable[_Configuration]) -> list[Address]:
    """Where the lenient webhooks are called, each place once."""
    clients = [webhook["clientConfig"] for one in configurations for webhook in _find_lenient(one.webhooks)]
    return list(dict.fromkeys(map(_read_address, clients)))


def _read_address(client: Mapping[str, Any]) -> Address:
    service = client.get("service")
    port = service.get("port") if service else urlsplit(str(client.get("url", ""))).port
    try:
        authorities = base64.b64decode(client.get("caBundle") or "", validate=True).decode(errors="replace")
    except binascii.Error:
        authorities = ""
    return Address(host=find_host(client), port=port or http.client.HTTPS_PORT, authorities=authorities)


def ask_readiness(address: Address) -> str:
    """Why admission does not answer at an address, as the API server would see it; empty if it does."""
    url = f"https://{address.host}:{address.port}/readyz"
    try:
        context = ssl.create_default_context(cadata=address.authorities or None)
        context.verify_flags |= (
            ssl.VERIFY_X509_PARTIAL_CHAIN
        )  # the API server trusts a certificate of its bundle itself
        options: dict[str, Any] = {"timeout": _ANSWER_SECONDS, "context": context}
        with closing(http.client.HTTPSConnection(address.host, address.port, **options)) as connection:
            connection.request("GET", "/readyz")
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"{url} does not answer: {error}"
    return "" if status == HTTPStatus.OK else f"{url} is not ready: it answers {status}"
