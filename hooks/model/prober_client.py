"""Sends load requests to the prober over loopback; the prober answers without waiting for an engine."""

import os
import threading
from http import HTTPStatus
from urllib.parse import quote

import msgspec
import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from hooks.errors import ProberUnavailable
from hooks.k8s.messages import one_line, without_user
from hooks.model.prober_messages import LoadReport, LoadRequest, read_message, write_message
from hooks.model.prober_token import read_token

_HINT = "check that the prober container runs (`dynamo-hooks prober`)"


class ProberClient:
    """A client of the prober; safe to use from several threads, each with its own connection."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 1.0) -> None:
        """Take the prober's base URL and a timeout in seconds; `token` defaults to that of the environment."""
        self._url = url.rstrip("/")
        self._token = read_token(os.environ) if token is None else token
        self._timeout = timeout
        self._local = threading.local()

    def ask(self, request: LoadRequest, sync_id: str = "") -> LoadReport:
        """The prober's report on a request; the prober logs `sync_id`.

        Raises:
            ProberUnavailable: no answer in time, or not a report.
        """
        url = f"{self._url}/v1/models/{quote(request.namespace, safe='')}/{quote(request.name, safe='')}"
        headers = {"X-Request-Id": sync_id} if sync_id else {}
        try:
            response = self._session().put(
                url,
                data=write_message(request),
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,
            )
        except requests.Timeout as error:
            raise ProberUnavailable(f"the prober did not answer within {self._timeout:g} s; {_HINT}") from error
        except requests.RequestException as error:
            raise ProberUnavailable(f"the prober cannot be reached at {without_user(self._url)}; {_HINT}") from error
        if response.status_code != HTTPStatus.OK:
            raise ProberUnavailable(f"the prober answered HTTP {response.status_code}: {self._quote(response.text)}")
        try:
            return read_message(response.content, LoadReport)
        except (msgspec.MsgspecError, ValueError) as error:
            raise ProberUnavailable(
                "the prober's answer is not a report; run hooks and prober of one version"
            ) from error

    def _quote(self, text: str) -> str:
        """The first line of an answer; another server at the prober's address could repeat our token."""
        line = text.partition("\n")[0]
        return one_line(line.replace(self._token, "(token)") if self._token else line, 200)

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = self._open_session()
        return session

    def _open_session(self) -> requests.Session:
        """A session that repeats a PUT once, because the prober may close an idle connection at the same moment."""
        session = requests.Session()
        session.trust_env = False
        session.headers["Content-Type"] = "application/json"
        if self._token:
            session.headers["Authorization"] = f"Bearer {self._token}"
        retry = Retry(total=1, connect=0, read=1, status=0, redirect=0, allowed_methods=["PUT"], raise_on_status=False)
        session.mount("http://", HTTPAdapter(max_retries=retry))
        return session
