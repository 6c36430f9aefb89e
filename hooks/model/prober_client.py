"""Asks the prober over loopback what it knows; it never waits for an engine."""

import os
import threading
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import quote

import requests
from pydantic import ValidationError
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from hooks.errors import InvalidSettings, ProberUnavailable
from hooks.model.prober_messages import LoadReport, LoadRequest

TOKEN_VARIABLE = "DYNAMO_PROBER_TOKEN"  # noqa: S105 - the variable's name, not a token
"""Environment variable with the token that hooks and prober share; unset or empty means none."""

_HINT = "see that the prober container runs (`dynamo-hooks prober`)"


def read_token(environment: Mapping[str, str]) -> str:
    """The token that hooks and prober share, without blanks around it as a Secret made from a file has; empty for none.

    Raises:
        InvalidSettings: it is nothing but blanks, or no header of HTTP can carry it.
    """
    written = environment.get(TOKEN_VARIABLE, "")
    token = written.strip()
    if written and not token:
        raise InvalidSettings(f"{TOKEN_VARIABLE} is blank; give it a token, or leave it out for none")
    if not (token.isascii() and token.isprintable()):
        raise InvalidSettings(
            f"{TOKEN_VARIABLE} holds a character that no token may; write one line of printable ASCII"
        )
    return token


class Prober:
    """The prober at a URL; may be used by several threads, each of which keeps a connection of its own."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 1.0) -> None:
        """Take the prober's base URL and seconds to wait; without `token` the environment's is used."""
        self._url = url.rstrip("/")
        self._token = read_token(os.environ) if token is None else token
        self._timeout = timeout
        self._of_thread = threading.local()

    def ask(self, request: LoadRequest, sync_id: str = "") -> LoadReport:
        """Tell the prober what is wanted and return what it knows; `sync_id` goes along into its log.

        Raises:
            ProberUnavailable: no answer in time, or one that is no report.
        """
        url = f"{self._url}/v1/models/{quote(request.namespace, safe='')}/{quote(request.name, safe='')}"
        headers = {"X-Request-Id": sync_id} if sync_id else {}
        try:
            response = self._session().put(
                url,
                data=request.model_dump_json(exclude_defaults=True),
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,
            )
        except requests.Timeout as error:
            raise ProberUnavailable(f"the prober did not answer within {self._timeout:g} s; {_HINT}") from error
        except requests.RequestException as error:
            raise ProberUnavailable(f"the prober cannot be reached at {self._url}; {_HINT}") from error
        if response.status_code != HTTPStatus.OK:
            line = response.text.partition("\n")[0][:200]
            raise ProberUnavailable(f"the prober answered HTTP {response.status_code}: {line}")
        try:
            return LoadReport.model_validate_json(response.content)
        except ValidationError as error:
            raise ProberUnavailable("the prober's answer is no report; hooks and prober must be one version") from error

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._of_thread, "session", None)
        if session is None:
            session = self._of_thread.session = self._open_session()
        return session

    def _open_session(self) -> requests.Session:
        """A session that asks again once when the prober closed an idle connection just then: PUT may be repeated."""
        session = requests.Session()
        session.trust_env = False
        session.headers["Content-Type"] = "application/json"
        if self._token:
            session.headers["Authorization"] = f"Bearer {self._token}"
        retry = Retry(total=1, connect=0, read=1, status=0, redirect=0, allowed_methods=["PUT"], raise_on_status=False)
        session.mount("http://", HTTPAdapter(max_retries=retry))
        return session
